/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "basefilter.h"

G_BEGIN_DECLS

G_DECLARE_FINAL_TYPE(GstCudaBlockAvg, gst_cuda_block_avg, GST, CUDA_BLOCK_AVG, GstCudaFiltersBase)
GST_ELEMENT_REGISTER_DECLARE(cudablockavg);

G_END_DECLS
