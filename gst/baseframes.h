/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The path of a frame through the base class: an engine on the CPU or on CUDA memory (system memory
 * through the GPU is in basestaged.h), or untouched for identity settings; and the events and
 * queries that have to stay in order with frames.
 */
#pragma once

#include "basefilter.h"

/* Sets the virtual functions of `klass` for frames, events and queries; called once, from the base
 * class's class_init. */
void gst_cuda_filters_base_install_frames(GstBaseTransformClass *klass);
