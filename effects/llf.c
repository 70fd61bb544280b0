/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "llf.h"

#define FIELD(name) offsetof(CfLlfParams, name)

static const CfChoice methods[] = {
    {CF_LLF_FAST, "fast", "Remapping curve as a series of sines"},
    {CF_LLF_SAMPLED, "sampled", "Interpolates between sampled intensities"},
    {CF_LLF_EXACT, "exact", "Remaps the neighbourhood of each coefficient (slow)"},
    {0, NULL, NULL},
};

static const CfChoice color_modes[] = {
    {CF_LLF_LUMINANCE, "luminance", "Filters luma; colours follow its gain"},
    {CF_LLF_SEPARATE, "separate", "Filters each component by itself"},
    {CF_LLF_RGB, "rgb",
     "Measures differences as distances in RGB (engine=exact and RGB formats only)"},
    {0, NULL, NULL},
};

static const CfParam params[] = {
    {"sigma", "Sigma",
     "Differences below this are detail, larger ones are edges (1 = from black to white)",
     CF_PARAM_DOUBLE, FIELD(sigma), 0.01, 1.0, 0.2, NULL, NULL, .group = "Detail and tones",
     .soft_minimum = 0.02, .soft_maximum = 1.0, .scale = CF_SCALE_LOG},
    {"alpha", "Alpha", "Detail: below 1 raises it, above 1 smooths it, 1 = unchanged",
     CF_PARAM_DOUBLE, FIELD(alpha), 0.05, 10.0, 0.5, NULL, NULL, .soft_minimum = 0.1,
     .soft_maximum = 4.0, .scale = CF_SCALE_LOG},
    {"beta", "Beta", "Tones: below 1 compresses their range, above 1 expands it, 1 = unchanged",
     CF_PARAM_DOUBLE, FIELD(beta), 0.0, 5.0, 1.0, NULL, NULL, .soft_minimum = 0.0,
     .soft_maximum = 2.0},
    {"levels", "Levels", "Number of pyramid levels to filter, from the finest (0 = all)",
     CF_PARAM_INT, FIELD(levels), 0.0, 16.0, 0.0, NULL, NULL, .soft_minimum = 0.0,
     .soft_maximum = 8.0},
    {"engine", "Engine", "How the filter is computed", CF_PARAM_ENUM, FIELD(method), 0.0, 0.0,
     CF_LLF_FAST, "GstCudaLlfEngine", methods, .group = "Algorithm"},
    {"harmonics", "Harmonics",
     "Number of sines in the series: more are more exact and slower (engine=fast)", CF_PARAM_INT,
     FIELD(harmonics), 2.0, 16.0, 8.0, NULL, NULL},
    {"intensity-levels", "Intensity levels",
     "Number of sampled intensities (engine=sampled; 0 = by alpha and noise-floor, else 2 to 256)",
     CF_PARAM_INT, FIELD(intensity_levels), 0.0, 256.0, 0.0, NULL, NULL},
    {"color-mode", "Color mode", "How colours are treated", CF_PARAM_ENUM, FIELD(color_mode), 0.0,
     0.0, CF_LLF_LUMINANCE, "GstCudaLlfColorMode", color_modes},
    {"noise-floor", "Noise floor",
     "Differences below this are noise and are not raised (alpha below 1)", CF_PARAM_DOUBLE,
     FIELD(noise_floor), 0.0, 0.1, 0.02, NULL, NULL, .group = "Detail and tones"},
    {"reach", "Reach",
     "Size of the largest detail to change, as a fraction of the frame's shorter side (0 = any "
     "size)",
     CF_PARAM_DOUBLE, FIELD(reach), 0.0, 1.0, 0.0, NULL, NULL},
    {"protect", "Protect", "Change less near black and white, so that nothing new clips",
     CF_PARAM_BOOL, FIELD(protect), 0.0, 1.0, 1.0, NULL, NULL},
    {"strength", "Strength", "Mix of the input (0) and the filtered picture (1)", CF_PARAM_DOUBLE,
     FIELD(strength), 0.0, 1.0, 1.0, NULL, NULL},
    {0},
};

static bool check(const CfVideo *video, const void *values, CfStatus *status)
{
  const CfLlfParams *llf = values;
  const CfFormatInfo *format = cf_format_info(video->format);

  if (llf->intensity_levels == 1)
    return cf_fail(status, CF_ERROR_INVALID,
                   "intensity-levels is 1, allowed is 0 (automatic) and 2 to 256");
  if (llf->color_mode == CF_LLF_RGB && llf->method != CF_LLF_EXACT)
    return cf_fail(status, CF_ERROR_INVALID,
                   "color-mode=rgb exists for engine=exact only: set engine=exact, or "
                   "color-mode=luminance or separate");
  if (llf->color_mode == CF_LLF_RGB && !format->rgb)
    return cf_fail(status, CF_ERROR_INVALID,
                   "color-mode=rgb needs an RGB format, not %s: put videoconvert and RGB caps in "
                   "front, or set color-mode=luminance or separate",
                   format->name);
  return true;
}

static bool is_identity(const void *values)
{
  const CfLlfParams *llf = values;

  return (llf->alpha == 1.0 && llf->beta == 1.0) || llf->strength == 0.0;
}

static bool is_not_fast(const void *values)
{
  return ((const CfLlfParams *)values)->method != CF_LLF_FAST;
}

static bool is_not_sampled(const void *values)
{
  return ((const CfLlfParams *)values)->method != CF_LLF_SAMPLED;
}

static const CfRemark remarks[] = {
    {"harmonics", is_not_fast, "harmonics has no effect: it is for engine=fast"},
    {"intensity-levels", is_not_sampled,
     "intensity-levels has no effect: it is for engine=sampled"},
    {0},
};

static const CfEngine *const engines[] = {
    &cf_llf_reference,
    &cf_llf_cpu,
#ifdef CF_HAVE_CUDA
    &cf_llf_cuda,
#endif
    NULL,
};

const CfEffect cf_llf = {
    .name = "llf",
    .params_size = sizeof(CfLlfParams),
    .params = params,
    .check = check,
    .is_identity = is_identity,
    .remarks = remarks,
    .engines = engines,
};
