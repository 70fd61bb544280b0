/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "basefilter.h"

G_BEGIN_DECLS

G_DECLARE_FINAL_TYPE(GstCudaSepConv, gst_cuda_sep_conv, GST, CUDA_SEP_CONV, GstCudaFiltersBase)
GST_ELEMENT_REGISTER_DECLARE(cudasepconv);

G_END_DECLS
