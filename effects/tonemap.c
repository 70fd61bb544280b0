/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tonemap.h"

#define FIELD(name) offsetof(CfTonemapParams, name)

static const CfParam params[] = {
    {"detail", "Detail", "Local contrast: below 1 less, above 1 more, 1 = as filmed",
     CF_PARAM_DOUBLE, FIELD(detail), 0.0, 2.0, 1.0, NULL, NULL, .group = "Tones"},
    {"contrast", "Contrast",
     "Overall contrast: below 1 flatter, above 1 harder, 1 = as the tone curve gives it",
     CF_PARAM_DOUBLE, FIELD(contrast), 0.5, 1.5, 1.0, NULL, NULL},
    {"sigma", "Sigma",
     "Brightness differences below this are local contrast, in stops (one stop = twice the light)",
     CF_PARAM_DOUBLE, FIELD(sigma), 0.25, 8.0, 1.0, NULL, NULL, .soft_minimum = 0.25,
     .soft_maximum = 4.0, .scale = CF_SCALE_LOG},
    {"noise-floor", "Noise floor",
     "Local differences below this are noise and are not raised, in stops (detail above 1)",
     CF_PARAM_DOUBLE, FIELD(noise_floor), 0.0, 2.0, 0.1, NULL, NULL, .soft_minimum = 0.0,
     .soft_maximum = 0.5},
    {"saturation", "Saturation", "Saturation of colours: 0 = grey, 1 = natural for the new tones",
     CF_PARAM_DOUBLE, FIELD(saturation), 0.0, 2.0, 1.0, NULL, NULL, .group = "Colours",
     .soft_minimum = 0.5, .soft_maximum = 1.5},
    {"peak", "Peak",
     "Luminance in nits that becomes white (0 = the peak that the stream's metadata gives)",
     CF_PARAM_DOUBLE, FIELD(peak), 0.0, 10000.0, 0.0, NULL, NULL, .group = "Light",
     .soft_minimum = 0.0, .soft_maximum = 4000.0},
    {"dynamic", "Dynamic", "Measure the peak of each frame and follow it (peak=0)", CF_PARAM_BOOL,
     FIELD(dynamic), 0.0, 1.0, 0.0, NULL, NULL},
    {"target-nits", "Target nits", "White of the display in nits (100 = what SDR is graded for)",
     CF_PARAM_DOUBLE, FIELD(target_nits), 50.0, 1000.0, 100.0, NULL, NULL, .soft_minimum = 50.0,
     .soft_maximum = 400.0, .scale = CF_SCALE_LOG},
    {"dither", "Dither", "Dither the result, so that skies and other gradients show no bands",
     CF_PARAM_BOOL, FIELD(dither), 0.0, 1.0, 1.0, NULL, NULL},
    {0},
};

static bool has_peak(const void *values)
{
  return ((const CfTonemapParams *)values)->peak > 0.0;
}

static bool has_fields(const void *values)
{
  return ((const CfTonemapParams *)values)->fields;
}

static const CfRemark remarks[] = {
    {"dynamic", has_peak, "dynamic has no effect: it is for peak=0"},
    {"dynamic", has_fields, "dynamic has no effect on interlaced video: put deinterlace in front"},
    {0},
};

static const CfFormat sources[] = {CF_FORMAT_P010_10LE, CF_FORMAT_I420_10LE, CF_FORMAT_I422_10LE,
                                   CF_FORMAT_P012_LE,   CF_FORMAT_P016_LE,   CF_FORMAT_Y444_10LE,
                                   CF_FORMAT_Y444_16LE};
static const CfFormat destinations[] = {CF_FORMAT_NV12, CF_FORMAT_I420, CF_FORMAT_RGBA,
                                        CF_FORMAT_BGRA, CF_FORMAT_P010_10LE};

static bool is_one_of(CfFormat format, const CfFormat *formats, size_t count)
{
  for (size_t i = 0; i < count; i++) {
    if (formats[i] == format)
      return true;
  }
  return false;
}

static bool check(const CfVideo *video, const void *values, CfStatus *status)
{
  if (!is_one_of(video->format, sources, sizeof sources / sizeof sources[0]))
    return cf_fail(
        status, CF_ERROR_INVALID,
        "HDR in the format %s is not supported, allowed are P010_10LE, I420_10LE, I422_10LE, "
        "P012_LE, "
        "P016_LE, Y444_10LE and Y444_16LE: put videoconvert ! video/x-raw,format=P010_10LE "
        "in front",
        cf_format_info(video->format)->name);
  if (video->transfer == CF_TRANSFER_SDR)
    return cf_fail(status, CF_ERROR_INVALID, "the source is SDR, allowed are PQ and HLG");
  return true;
}

static bool check_destination(const CfVideo *video, const CfVideo *destination, CfStatus *status)
{
  if (!is_one_of(destination->format, destinations, sizeof destinations / sizeof destinations[0]))
    return cf_fail(status, CF_ERROR_INVALID,
                   "SDR in the format %s is not supported, allowed are NV12, I420, RGBA, BGRA and "
                   "P010_10LE: put videoconvert behind this element",
                   cf_format_info(destination->format)->name);
  if (destination->transfer != CF_TRANSFER_SDR)
    return cf_fail(status, CF_ERROR_INVALID, "the destination is HDR, allowed is SDR");
  if (destination->width != video->width || destination->height != video->height)
    return cf_fail(status, CF_ERROR_INVALID,
                   "the destination is %dx%d, allowed is the source's "
                   "%dx%d",
                   destination->width, destination->height, video->width, video->height);
  return true;
}

/* Codes of HDR and SDR always differ. */
static bool is_identity(const void *values)
{
  return false;
}

static const CfEngine *const engines[] = {
    &cf_tonemap_reference,
    &cf_tonemap_cpu,
#ifdef CF_HAVE_CUDA
    &cf_tonemap_cuda,
#endif
    NULL,
};

const CfEffect cf_tonemap = {
    .name = "tonemap",
    .params_size = sizeof(CfTonemapParams),
    .params = params,
    .check = check,
    .check_destination = check_destination,
    .is_identity = is_identity,
    .remarks = remarks,
    .engines = engines,
};
