/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the base class does with frames: the ways through an engine (the CPU and CUDA memory here,
 * system memory through the device in basestaged.h), identity, and what must stay in order with
 * them. Knows baseengine.h, baseoutput.h, basestaged.h and basereport.h.
 */
#pragma once

#include "basefilter.h"

/* Sets the functions of `klass` that frames, events and queries pass; called once, from the base
 * class's init. */
void gst_cuda_filters_base_install_frames(GstBaseTransformClass *klass);
