/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/fir.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/gaussian.h"
#include "plan/presets.h"

/* Settings that all channels of all planes share. */
typedef struct {
  double scale;
  double bias; /* as a fraction of full scale */
  bool absolute;
  bool unsharp;
  double amount, threshold; /* threshold: as a fraction of full scale */
  uint32_t border_color;
  int planes; /* CfSepconvPlanes */
} ChannelSettings;

static bool is_selected(CfRole role, int planes)
{
  if (role == CF_ROLE_PADDING)
    return false;
  if (role == CF_ROLE_ALPHA)
    return planes & CF_SEPCONV_PLANE_ALPHA;
  return planes & (cf_is_chroma(role) ? CF_SEPCONV_PLANE_CHROMA : CF_SEPCONV_PLANE_LUMA);
}

/* ---- Taps ---- */

bool cf_taps_are_identity(const CfTaps *taps)
{
  return taps->tap[taps->anchor] == 1.0 && taps->magnitude == 1.0;
}

CfTaps cf_taps(const double *tap, int count, int anchor)
{
  CfTaps taps = {.count = count, .anchor = anchor, .tap = tap};

  for (int i = 0; i < count; i++) {
    taps.sum += tap[i];
    taps.magnitude += fabs(tap[i]);
  }
  return taps;
}

static bool sums_to_zero(double sum, double magnitude)
{
  return fabs(sum) <= CF_FIR_ZERO_SUM * magnitude;
}

static bool reserve(CfFirPlan *plan, size_t doubles, CfStatus *status)
{
  double *storage;

  if (doubles <= plan->capacity)
    return true;
  storage = malloc(doubles * sizeof *storage);
  if (!storage)
    return cf_fail(status, CF_ERROR_NO_MEMORY, "no memory for %zu filter taps", doubles);
  /* The plan's taps are about to be replaced, so the old memory need not be kept. */
  free(plan->storage);
  plan->storage = storage;
  plan->capacity = doubles;
  return true;
}

/* ---- Channels ---- */

static double alpha_scale(const CfFirPlane *plane)
{
  const double sum = plane->row.sum * plane->column.sum;

  return sums_to_zero(sum, plane->row.magnitude * plane->column.magnitude) ? 0.0 : 1.0 / sum;
}

static CfFirChannel plan_channel(const CfVideo *video, const CfFirPlane *plane, CfRole role,
                                 const ChannelSettings *settings)
{
  CfFirChannel channel = {.filtered = is_selected(role, settings->planes),
                          .centre = cf_neutral_code(video, role),
                          .border = cf_color_code(video, settings->border_color, role)};

  if (role == CF_ROLE_ALPHA) {
    channel.scale = alpha_scale(plane);
    channel.filtered = channel.filtered && channel.scale != 0.0;
    return channel;
  }
  channel.scale = settings->scale;
  if (!cf_is_chroma(role)) {
    channel.bias = settings->bias * cf_max_code(cf_format_info(video->format));
    channel.absolute = settings->absolute;
  }
  return channel;
}

/* `absolute` changes nothing here, since taps that are a delta leave no negative value. */
static bool channel_is_identity(const CfFirChannel *channel)
{
  return channel->scale == 1.0 && channel->bias == 0.0;
}

static bool single_precision_suffices(const CfFirPlane *plane, int channels, int max_code)
{
  const double growth = sqrt(plane->row.count + plane->column.count);
  double scale = 0.0;

  for (int c = 0; c < channels; c++) {
    if (plane->channel[c].filtered)
      scale = fmax(scale, fabs(plane->channel[c].scale));
  }
  const double sums = plane->row.magnitude * plane->column.magnitude;
  const double gain = plane->unsharp ? 1.0 + plane->amount * (1.0 + sums) : sums;

  return scale * gain * max_code * 0x1p-24 * growth <= 0.25;
}

static void plan_channels(CfFirPlane *plane, const CfVideo *video, const CfPlaneFormat *format,
                          const ChannelSettings *settings)
{
  const bool delta = cf_taps_are_identity(&plane->row) && cf_taps_are_identity(&plane->column);
  bool colour = false;

  plane->filtered = false;
  plane->unsharp = settings->unsharp;
  plane->amount = settings->amount;
  plane->threshold = settings->threshold * cf_max_code(cf_format_info(video->format));
  for (int c = 0; c < format->channels; c++) {
    const CfRole role = format->role[c];
    CfFirChannel *channel = &plane->channel[c];

    *channel = plan_channel(video, plane, role, settings);
    if (delta && channel_is_identity(channel))
      channel->filtered = false;
    plane->filtered = plane->filtered || channel->filtered;
    colour = colour || (channel->filtered && role != CF_ROLE_ALPHA);
  }
  plane->premultiplied =
      colour && cf_alpha_channel(format) >= 0 && is_selected(CF_ROLE_ALPHA, settings->planes);
  plane->float_suffices = single_precision_suffices(plane, format->channels,
                                                    cf_max_code(cf_format_info(video->format)));
}

static void plan_all_channels(CfFirPlan *plan, const CfVideo *video,
                              const ChannelSettings *settings)
{
  const CfFormatInfo *format = cf_format_info(video->format);

  for (int p = 0; p < format->planes; p++)
    plan_channels(&plan->plane[p], video, &format->plane[p], settings);
}

/* ---- Gaussian blur ---- */

static CfTaps gaussblur_taps(double sigma, bool sharpen, double *tap)
{
  const int radius = cf_gaussian_radius(sigma);

  cf_gaussian_taps(sigma, radius, tap);
  if (sharpen)
    cf_sharpening_taps(radius, tap);
  return cf_taps(tap, 2 * radius + 1, radius);
}

bool cf_fir_plan_gaussblur(CfFirPlan *plan, const CfVideo *video, const CfGaussblurParams *params,
                           CfStatus *status)
{
  const CfFormatInfo *format = cf_format_info(video->format);
  const double horizontal = fabs(params->sigma);
  const double vertical = params->sigma_vertical < 0.0 ? horizontal : params->sigma_vertical;
  const bool sharpen = params->sigma < 0.0;
  const ChannelSettings settings = {.scale = 1.0,
                                    .border_color = 0xff000000,
                                    .planes = CF_SEPCONV_PLANE_LUMA | CF_SEPCONV_PLANE_CHROMA |
                                              CF_SEPCONV_PLANE_ALPHA};
  const int longest = 2 * (cf_gaussian_radius(horizontal) + cf_gaussian_radius(vertical) + 1);
  double *tap;

  if (!reserve(plan, (size_t)longest * (size_t)format->planes, status))
    return false;

  plan->border = (CfBorder)params->border;
  plan->planes = format->planes;
  tap = plan->storage;
  for (int p = 0; p < format->planes; p++) {
    CfFirPlane *plane = &plan->plane[p];

    plane->row = gaussblur_taps(ldexp(horizontal, -format->plane[p].subsampling_x), sharpen, tap);
    tap += plane->row.count;
    plane->column = gaussblur_taps(ldexp(vertical, -format->plane[p].subsampling_y), sharpen, tap);
    tap += plane->column.count;
  }
  plan_all_channels(plan, video, &settings);
  return true;
}

bool cf_fir_plan_channels(CfFirPlan *plan, const CfVideo *video, CfBorder border, CfStatus *status)
{
  const CfGaussblurParams any = {.sigma = 1.0, .sigma_vertical = -1.0, .border = border};

  return cf_fir_plan_gaussblur(plan, video, &any, status);
}

/* ---- Separable convolution ---- */

/* The kernels after preset and normalize, and their anchors. */
typedef struct {
  CfKernel row, column;
  int anchor_x, anchor_y;
} Kernels;

static bool normalize_kernel(CfKernel *kernel, const char *name, CfStatus *status)
{
  const CfTaps taps = cf_taps(kernel->tap, kernel->taps, 0);

  if (sums_to_zero(taps.sum, taps.magnitude))
    return cf_fail(status, CF_ERROR_INVALID,
                   "normalize divides by the sum of the taps, but the taps of %s sum to 0", name);
  for (int i = 0; i < kernel->taps; i++)
    kernel->tap[i] /= taps.sum;
  return true;
}

static bool resolve_anchor(int anchor, int taps, const char *name, int *resolved, CfStatus *status)
{
  if (anchor >= taps)
    return cf_fail(status, CF_ERROR_INVALID,
                   "%s is %d, allowed is -1 to %d for a kernel of %d taps", name, anchor, taps - 1,
                   taps);
  *resolved = anchor < 0 ? taps / 2 : anchor;
  return true;
}

static bool resolve_kernels(const CfSepconvParams *params, Kernels *kernels, CfStatus *status)
{
  if (params->preset == CF_SEPCONV_CUSTOM) {
    kernels->row = params->row_kernel;
    kernels->column = params->column_kernel;
  } else if (params->preset_size % 2 == 0) {
    return cf_fail(status, CF_ERROR_INVALID, "preset-size is %d, allowed is an odd number",
                   params->preset_size);
  } else {
    cf_sepconv_preset_kernels((CfSepconvPreset)params->preset, params->preset_size, &kernels->row,
                              &kernels->column);
  }
  if (params->normalize && (!normalize_kernel(&kernels->row, "the row kernel", status) ||
                            !normalize_kernel(&kernels->column, "the column kernel", status)))
    return false;
  return resolve_anchor(params->anchor_x, kernels->row.taps, "anchor-x", &kernels->anchor_x,
                        status) &&
         resolve_anchor(params->anchor_y, kernels->column.taps, "anchor-y", &kernels->anchor_y,
                        status);
}

static bool is_unsharp(const CfSepconvParams *params)
{
  return params->preset == CF_SEPCONV_UNSHARP;
}

static bool check_gain(const CfSepconvParams *params, const Kernels *kernels, CfStatus *status)
{
  const CfTaps row = cf_taps(kernels->row.tap, kernels->row.taps, 0);
  const CfTaps column = cf_taps(kernels->column.tap, kernels->column.taps, 0);
  const double sums = row.magnitude * column.magnitude;
  const double gain =
      fabs(params->scale) * (is_unsharp(params) ? 1.0 + params->amount * (1.0 + sums) : sums);

  if (gain <= CF_FIR_MAX_GAIN)
    return true;
  return cf_fail(status, CF_ERROR_INVALID,
                 "scale times the magnitudes of both kernels is %g, allowed is up to %g: "
                 "a smaller scale, or normalize, helps",
                 gain, CF_FIR_MAX_GAIN);
}

bool cf_sepconv_check(const CfSepconvParams *params, CfStatus *status)
{
  Kernels kernels;

  return resolve_kernels(params, &kernels, status) && check_gain(params, &kernels, status);
}

bool cf_sepconv_is_identity(const CfSepconvParams *params)
{
  Kernels kernels;
  CfTaps row, column;

  if (params->planes == 0)
    return true;
  if (!resolve_kernels(params, &kernels, NULL))
    return false;
  if (is_unsharp(params))
    return params->amount == 0.0 && params->scale == 1.0 && params->bias == 0.0;
  row = cf_taps(kernels.row.tap, kernels.row.taps, kernels.anchor_x);
  column = cf_taps(kernels.column.tap, kernels.column.taps, kernels.anchor_y);
  return cf_taps_are_identity(&row) && cf_taps_are_identity(&column) && params->scale == 1.0 &&
         params->bias == 0.0;
}

/* Sums of magnitudes from 2^-16 to 2^16 are kept: single precision holds both kernels, their
 * product with 16-bit samples times alpha, and the inverse of that. */
#define LARGEST_EXPONENT 16

/* Scales other kernels by a power of two, which rounds nothing, so that their magnitude is 1/2..1.
 * Adds its exponent to `exponent`, by which the caller scales the result. */
static CfTaps stored_taps(const CfKernel *kernel, int anchor, double *storage, int *exponent)
{
  const CfTaps taps = cf_taps(kernel->tap, kernel->taps, anchor);
  int own = 0;

  frexp(taps.magnitude, &own);
  own = abs(own) > LARGEST_EXPONENT ? own : 0;
  for (int i = 0; i < kernel->taps; i++)
    storage[i] = ldexp(kernel->tap[i], -own);
  *exponent += own;
  return cf_taps(storage, kernel->taps, anchor);
}

bool cf_fir_plan_sepconv(CfFirPlan *plan, const CfVideo *video, const CfSepconvParams *params,
                         CfStatus *status)
{
  ChannelSettings settings = {.bias = params->bias,
                              .absolute = params->absolute,
                              .unsharp = is_unsharp(params),
                              .amount = params->amount,
                              .threshold = params->threshold,
                              .border_color = params->border_color,
                              .planes = params->planes};
  Kernels kernels;
  CfTaps row, column;
  int exponent = 0;

  if (!resolve_kernels(params, &kernels, status) || !check_gain(params, &kernels, status) ||
      !reserve(plan, (size_t)(kernels.row.taps + kernels.column.taps), status))
    return false;

  row = stored_taps(&kernels.row, kernels.anchor_x, plan->storage, &exponent);
  column = stored_taps(&kernels.column, kernels.anchor_y, plan->storage + row.count, &exponent);
  settings.scale = ldexp(params->scale, exponent);
  if (!params->absolute)
    settings.bias += cf_sepconv_preset_bias((CfSepconvPreset)params->preset);
  plan->border = (CfBorder)params->border;
  plan->planes = cf_format_info(video->format)->planes;
  for (int p = 0; p < plan->planes; p++) {
    plan->plane[p].row = row;
    plan->plane[p].column = column;
  }
  plan_all_channels(plan, video, &settings);
  return true;
}

void cf_fir_plan_free(CfFirPlan *plan)
{
  free(plan->storage);
  memset(plan, 0, sizeof *plan);
}
