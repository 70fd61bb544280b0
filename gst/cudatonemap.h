/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "basefilter.h"

G_BEGIN_DECLS

G_DECLARE_FINAL_TYPE(GstCudaTonemap, gst_cuda_tonemap, GST, CUDA_TONEMAP, GstCudaFiltersBase)
GST_ELEMENT_REGISTER_DECLARE(cudatonemap);

G_END_DECLS
