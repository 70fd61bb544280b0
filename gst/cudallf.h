/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "basefilter.h"

G_BEGIN_DECLS

G_DECLARE_FINAL_TYPE(GstCudaLlf, gst_cuda_llf, GST, CUDA_LLF, GstCudaFiltersBase)
GST_ELEMENT_REGISTER_DECLARE(cudallf);

G_END_DECLS
