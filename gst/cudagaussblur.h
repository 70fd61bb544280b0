/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "basefilter.h"

G_BEGIN_DECLS

G_DECLARE_FINAL_TYPE(GstCudaGaussBlur, gst_cuda_gauss_blur, GST, CUDA_GAUSS_BLUR,
                     GstCudaFiltersBase)
GST_ELEMENT_REGISTER_DECLARE(cudagaussblur);

G_END_DECLS
