/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Output buffers: the input itself, or one with a layout that downstream can read. Streaming
 * thread.
 */
#pragma once

#include "basefilter.h"

/* GstBaseTransform::prepare_output_buffer. */
GstFlowReturn gst_cuda_filters_base_prepare_output(GstBaseTransform *trans, GstBuffer *input,
                                                   GstBuffer **output);

/* Sets `output` to `input` (transfer full), or to a copy where downstream cannot read its layout.
 */
GstFlowReturn gst_cuda_filters_base_pass_through(GstCudaFiltersBase *self, GstBuffer *input,
                                                 GstBuffer **output);
