/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "compare.h"

#include <math.h>
#include <string.h>

typedef struct {
  const CfTestPicture *got, *want;
  const CfFormatInfo *format;
  bool premultiplied;
  double tolerance;
  double squares;
  CfDifference result;
} Comparison;

static double weighted(int code, int alpha, CfRole role, const CfVideo *video)
{
  const bool chroma = role == CF_ROLE_CHROMA_BLUE || role == CF_ROLE_CHROMA_RED;

  return (code - (chroma ? cf_chroma_centre(video) : 0.0)) * alpha;
}

static void compare_sample(Comparison *comparison, CfOffender at)
{
  const CfVideo *video = &comparison->got->video;
  CfDifference *result = &comparison->result;
  const int raw = cf_picture_raw(comparison->got, at.plane, at.x, at.y, at.channel);

  at.got = raw >> comparison->format->shift;
  at.want = cf_picture_get(comparison->want, at.plane, at.x, at.y, at.channel);
  at.difference = fabs((double)at.got - at.want);
  if (comparison->premultiplied && at.role != CF_ROLE_ALPHA)
    at.difference = fmin(at.difference, fabs(weighted(at.got, at.got_alpha, at.role, video) -
                                             weighted(at.want, at.want_alpha, at.role, video)) /
                                            cf_max_code(comparison->format));

  result->samples++;
  result->low_bits |= raw != at.got << comparison->format->shift;
  result->differing += at.got != at.want;
  comparison->squares += at.difference * at.difference;
  if (at.difference > result->largest[at.role])
    result->largest[at.role] = at.difference;
  if (at.difference > result->worst)
    result->worst = at.difference;
  if (at.difference > comparison->tolerance && result->first.plane < 0)
    result->first = at;
}

/* Fast path for engines that are exact. Formats with bits below the code are looked at in full. */
static bool rows_are_equal(const Comparison *comparison, int plane, int y)
{
  const CfPicture *got = &comparison->got->planes, *want = &comparison->want->planes;

  return comparison->format->shift == 0 &&
         memcmp(got->data[plane] + y * got->stride[plane],
                want->data[plane] + y * want->stride[plane],
                cf_row_bytes(&comparison->got->video, plane)) == 0;
}

static CfDifference compare(const CfTestPicture *got, const CfTestPicture *want, bool premultiplied,
                            double tolerance)
{
  Comparison comparison = {.got = got,
                           .want = want,
                           .format = cf_format_info(got->video.format),
                           .premultiplied = premultiplied,
                           .tolerance = tolerance,
                           .result = {.first = {.plane = -1}}};
  CfDifference *result = &comparison.result;

  for (int plane = 0; plane < comparison.format->planes; plane++) {
    const CfPlaneFormat *info = &comparison.format->plane[plane];
    const int alpha = cf_alpha_channel(info);

    for (int y = 0; y < cf_plane_height(&got->video, plane); y++) {
      if (rows_are_equal(&comparison, plane, y)) {
        result->samples += (long)cf_plane_width(&got->video, plane) * info->channels;
        continue;
      }
      for (int x = 0; x < cf_plane_width(&got->video, plane); x++) {
        const int got_alpha = alpha < 0 ? -1 : cf_picture_get(got, plane, x, y, alpha);
        const int want_alpha = alpha < 0 ? -1 : cf_picture_get(want, plane, x, y, alpha);

        for (int channel = 0; channel < info->channels; channel++) {
          if (info->role[channel] != CF_ROLE_PADDING)
            compare_sample(&comparison, (CfOffender){.plane = plane,
                                                     .x = x,
                                                     .y = y,
                                                     .channel = channel,
                                                     .role = info->role[channel],
                                                     .got_alpha = got_alpha,
                                                     .want_alpha = want_alpha});
        }
      }
    }
  }
  const double maximum = cf_max_code(comparison.format);
  result->psnr = comparison.squares > 0.0
                     ? 10.0 * log10(maximum * maximum * result->samples / comparison.squares)
                     : INFINITY;
  return *result;
}

CfDifference cf_picture_compare(const CfTestPicture *got, const CfTestPicture *want,
                                double tolerance)
{
  return compare(got, want, cf_format_info(got->video.format)->alpha, tolerance);
}

CfDifference cf_picture_compare_exact(const CfTestPicture *got, const CfTestPicture *want)
{
  return compare(got, want, false, 0.0);
}

const char *cf_role_name(CfRole role)
{
  static const char *const names[CF_ROLE_COUNT] = {
      [CF_ROLE_LUMA] = "luma",
      [CF_ROLE_CHROMA_BLUE] = "chroma-blue",
      [CF_ROLE_CHROMA_RED] = "chroma-red",
      [CF_ROLE_RED] = "red",
      [CF_ROLE_GREEN] = "green",
      [CF_ROLE_BLUE] = "blue",
      [CF_ROLE_ALPHA] = "alpha",
      [CF_ROLE_PADDING] = "padding",
  };

  return names[role];
}
