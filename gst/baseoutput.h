/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The buffers that frames leave in: the input itself, or one with a layout that the receiver can
 * read. Streaming thread. Knows baseengine.h and basereport.h.
 */
#pragma once

#include "basefilter.h"

/* GstBaseTransform::prepare_output_buffer. */
GstFlowReturn gst_cuda_filters_base_prepare_output(GstBaseTransform *trans, GstBuffer *input,
                                                   GstBuffer **output);

/* `output` becomes `input`, which is taken, or a copy of it where the receiver could not read its
 * layout. */
GstFlowReturn gst_cuda_filters_base_hand_on(GstCudaFiltersBase *self, GstBuffer *input,
                                            GstBuffer **output);
