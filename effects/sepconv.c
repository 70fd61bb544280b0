/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/fir.h"
#include "plan/presets.h"

static const CfChoice plane_choices[] = {
    {CF_SEPCONV_PLANE_LUMA, "luma", "luma, or red, green and blue"},
    {CF_SEPCONV_PLANE_CHROMA, "chroma", "both chroma channels"},
    {CF_SEPCONV_PLANE_ALPHA, "alpha", "alpha, which then also weighs the colours"},
    {0, NULL, NULL},
};

#define ALL_PLANES (CF_SEPCONV_PLANE_LUMA | CF_SEPCONV_PLANE_CHROMA | CF_SEPCONV_PLANE_ALPHA)

static const CfParam params[] = {
    {"row-kernel", "Row kernel",
     "Taps of the filter along rows, 1 to 255; the first is that of the leftmost sample "
     "(preset=custom)",
     CF_PARAM_KERNEL, offsetof(CfSepconvParams, row_kernel), 0.0, 0.0, 1.0, NULL, NULL,
     .group = "Kernel"},
    {"column-kernel", "Column kernel",
     "Taps of the filter along columns, 1 to 255; the first is that of the topmost sample "
     "(preset=custom)",
     CF_PARAM_KERNEL, offsetof(CfSepconvParams, column_kernel), 0.0, 0.0, 1.0, NULL, NULL},
    {"preset", "Preset", "Ready-made filter with preset-size taps", CF_PARAM_ENUM,
     offsetof(CfSepconvParams, preset), CF_SEPCONV_CUSTOM, CF_SEPCONV_UNSHARP, CF_SEPCONV_CUSTOM,
     "GstCudaSepconvPreset", cf_sepconv_preset_choices},
    {"preset-size", "Preset size", "Number of taps of the preset, odd", CF_PARAM_INT,
     offsetof(CfSepconvParams, preset_size), 3.0, CF_MAX_TAPS, 5.0, NULL, NULL, .soft_minimum = 3.0,
     .soft_maximum = 51.0, .step = 2.0},
    {"amount", "Amount",
     "How much of the difference between a sample and the Gaussian mean around it is added "
     "(preset=unsharp)",
     CF_PARAM_DOUBLE, offsetof(CfSepconvParams, amount), 0.0, 10.0, 1.0, NULL, NULL,
     .soft_minimum = 0.0, .soft_maximum = 3.0},
    {"threshold", "Threshold",
     "Samples that differ from that mean by this or less stay as they are, as a fraction of full "
     "scale (preset=unsharp)",
     CF_PARAM_DOUBLE, offsetof(CfSepconvParams, threshold), 0.0, 1.0, 0.0, NULL, NULL,
     .soft_minimum = 0.0, .soft_maximum = 0.1},
    {"anchor-x", "Horizontal anchor",
     "Index of the tap of row-kernel that lies on the output sample (-1 = middle)", CF_PARAM_INT,
     offsetof(CfSepconvParams, anchor_x), -1.0, CF_MAX_TAPS - 1, -1.0, NULL, NULL,
     .soft_minimum = -1.0, .soft_maximum = 50.0},
    {"anchor-y", "Vertical anchor",
     "Index of the tap of column-kernel that lies on the output sample (-1 = middle)", CF_PARAM_INT,
     offsetof(CfSepconvParams, anchor_y), -1.0, CF_MAX_TAPS - 1, -1.0, NULL, NULL,
     .soft_minimum = -1.0, .soft_maximum = 50.0},
    {"normalize", "Normalize", "Divide each kernel by the sum of its taps", CF_PARAM_BOOL,
     offsetof(CfSepconvParams, normalize), 0.0, 1.0, 0.0, NULL, NULL},
    {"scale", "Scale", "Factor that the result is multiplied by", CF_PARAM_DOUBLE,
     offsetof(CfSepconvParams, scale), -1e9, 1e9, 1.0, NULL, NULL, .group = "Result",
     .soft_minimum = 0.0, .soft_maximum = 8.0, .scale = CF_SCALE_SQUARE},
    {"bias", "Bias", "Offset added to the result, as a fraction of full scale", CF_PARAM_DOUBLE,
     offsetof(CfSepconvParams, bias), -16.0, 16.0, 0.0, NULL, NULL, .soft_minimum = -1.0,
     .soft_maximum = 1.0},
    {"absolute", "Absolute", "Take the absolute value of the result, before bias is added",
     CF_PARAM_BOOL, offsetof(CfSepconvParams, absolute), 0.0, 1.0, 0.0, NULL, NULL},
    {"border", "Border", "How the picture continues beyond its edges", CF_PARAM_ENUM,
     offsetof(CfSepconvParams, border), CF_BORDER_REPLICATE, CF_BORDER_CONSTANT,
     CF_BORDER_REPLICATE, "GstCudaFiltersBorder", cf_border_choices, .group = "Border and planes"},
    {"border-color", "Border colour", "Colour beyond the edges, as 0xAARRGGBB (border=constant)",
     CF_PARAM_COLOR, offsetof(CfSepconvParams, border_color), 0.0, UINT32_MAX, 0xff000000, NULL,
     NULL},
    {"planes", "Planes", "Channels to filter; the others are copied", CF_PARAM_FLAGS,
     offsetof(CfSepconvParams, planes), 0.0, ALL_PLANES, ALL_PLANES, "GstCudaSepconvPlanes",
     plane_choices},
    {0},
};

static bool check(const CfVideo *video, const void *values, CfStatus *status)
{
  return cf_sepconv_check(values, status);
}

static bool is_identity(const void *values)
{
  return cf_sepconv_is_identity(values);
}

static bool is_preset(const void *values)
{
  return ((const CfSepconvParams *)values)->preset != CF_SEPCONV_CUSTOM;
}

static bool is_custom(const void *values)
{
  return !is_preset(values);
}

static bool is_not_unsharp(const void *values)
{
  return ((const CfSepconvParams *)values)->preset != CF_SEPCONV_UNSHARP;
}

static bool has_no_border_color(const void *values)
{
  return ((const CfSepconvParams *)values)->border != CF_BORDER_CONSTANT;
}

static const CfRemark remarks[] = {
    {"row-kernel", is_preset, "row-kernel has no effect: it is for preset=custom"},
    {"column-kernel", is_preset, "column-kernel has no effect: it is for preset=custom"},
    {"preset-size", is_custom, "preset-size has no effect: it is for presets other than custom"},
    {"amount", is_not_unsharp, "amount has no effect: it is for preset=unsharp"},
    {"threshold", is_not_unsharp, "threshold has no effect: it is for preset=unsharp"},
    {"border-color", has_no_border_color, "border-color has no effect: it is for border=constant"},
    {0},
};

static const CfEngine *const engines[] = {
    &cf_sepconv_reference,
    &cf_sepconv_cpu,
#ifdef CF_HAVE_CUDA
    &cf_sepconv_cuda,
#endif
    NULL,
};

const CfEffect cf_sepconv = {
    .name = "sepconv",
    .params_size = sizeof(CfSepconvParams),
    .params = params,
    .check = check,
    .is_identity = is_identity,
    .remarks = remarks,
    .engines = engines,
};
