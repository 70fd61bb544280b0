/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "image.h"

#include <math.h>
#include <string.h>

#define Y CF_ROLE_LUMA
#define U CF_ROLE_CHROMA_BLUE
#define V CF_ROLE_CHROMA_RED
#define R CF_ROLE_RED
#define G CF_ROLE_GREEN
#define B CF_ROLE_BLUE
#define A CF_ROLE_ALPHA
#define X CF_ROLE_PADDING

#define PLANE_1(a, sx, sy)                                                                         \
  {                                                                                                \
    1, {a}, sx, sy                                                                                 \
  }
#define PLANE_2(a, b, sx, sy)                                                                      \
  {                                                                                                \
    2, {a, b}, sx, sy                                                                              \
  }
#define PLANE_3(a, b, c)                                                                           \
  {                                                                                                \
    3, {a, b, c}, 0, 0                                                                             \
  }
#define PLANE_4(a, b, c, d)                                                                        \
  {                                                                                                \
    4, {a, b, c, d}, 0, 0                                                                          \
  }

/* A plane of luma, and one of interleaved chroma at half the width and height. */
#define PLANES_NV(a, b)                                                                            \
  {                                                                                                \
    PLANE_1(Y, 0, 0), PLANE_2(a, b, 1, 1)                                                          \
  }

/* Three planes, of which the second and third are subsampled. */
#define PLANES_3(a, b, c, sx, sy)                                                                  \
  {                                                                                                \
    PLANE_1(a, 0, 0), PLANE_1(b, sx, sy), PLANE_1(c, sx, sy)                                       \
  }

#define PLANE_422(a, b, c, d)                                                                      \
  {                                                                                                \
    4, {a, b, c, d}, 1, 0                                                                          \
  }

/* clang-format off */
static const CfFormatInfo formats[CF_FORMAT_COUNT] = {
    /* name, planes, channels in memory order, bits, shift, rgb, alpha, packed */
    [CF_FORMAT_GRAY8]     = {"GRAY8",     1, {PLANE_1(Y, 0, 0)}, 8, 0, false, false, false},
    [CF_FORMAT_GRAY16_LE] = {"GRAY16_LE", 1, {PLANE_1(Y, 0, 0)}, 16, 0, false, false, false},
    [CF_FORMAT_I420]      = {"I420",      3, PLANES_3(Y, U, V, 1, 1), 8, 0, false, false, false},
    [CF_FORMAT_YV12]      = {"YV12",      3, PLANES_3(Y, V, U, 1, 1), 8, 0, false, false, false},
    [CF_FORMAT_NV12]      = {"NV12",      2, PLANES_NV(U, V), 8, 0, false, false, false},
    [CF_FORMAT_NV21]      = {"NV21",      2, PLANES_NV(V, U), 8, 0, false, false, false},
    [CF_FORMAT_Y42B]      = {"Y42B",      3, PLANES_3(Y, U, V, 1, 0), 8, 0, false, false, false},
    [CF_FORMAT_Y444]      = {"Y444",      3, PLANES_3(Y, U, V, 0, 0), 8, 0, false, false, false},
    [CF_FORMAT_I420_10LE] = {"I420_10LE", 3, PLANES_3(Y, U, V, 1, 1), 10, 0, false, false, false},
    [CF_FORMAT_I422_10LE] = {"I422_10LE", 3, PLANES_3(Y, U, V, 1, 0), 10, 0, false, false, false},
    [CF_FORMAT_Y444_10LE] = {"Y444_10LE", 3, PLANES_3(Y, U, V, 0, 0), 10, 0, false, false, false},
    [CF_FORMAT_P010_10LE] = {"P010_10LE", 2, PLANES_NV(U, V), 10, 6, false, false, false},
    [CF_FORMAT_P012_LE]   = {"P012_LE",   2, PLANES_NV(U, V), 12, 4, false, false, false},
    [CF_FORMAT_P016_LE]   = {"P016_LE",   2, PLANES_NV(U, V), 16, 0, false, false, false},
    [CF_FORMAT_Y444_16LE] = {"Y444_16LE", 3, PLANES_3(Y, U, V, 0, 0), 16, 0, false, false, false},
    [CF_FORMAT_UYVY]      = {"UYVY",      1, {PLANE_422(U, Y, V, Y)}, 8, 0, false, false, true},
    [CF_FORMAT_YUY2]      = {"YUY2",      1, {PLANE_422(Y, U, Y, V)}, 8, 0, false, false, true},
    [CF_FORMAT_RGB]       = {"RGB",       1, {PLANE_3(R, G, B)}, 8, 0, true, false, false},
    [CF_FORMAT_BGR]       = {"BGR",       1, {PLANE_3(B, G, R)}, 8, 0, true, false, false},
    [CF_FORMAT_RGBx]      = {"RGBx",      1, {PLANE_4(R, G, B, X)}, 8, 0, true, false, false},
    [CF_FORMAT_BGRx]      = {"BGRx",      1, {PLANE_4(B, G, R, X)}, 8, 0, true, false, false},
    [CF_FORMAT_xRGB]      = {"xRGB",      1, {PLANE_4(X, R, G, B)}, 8, 0, true, false, false},
    [CF_FORMAT_xBGR]      = {"xBGR",      1, {PLANE_4(X, B, G, R)}, 8, 0, true, false, false},
    [CF_FORMAT_RGBA]      = {"RGBA",      1, {PLANE_4(R, G, B, A)}, 8, 0, true, true, false},
    [CF_FORMAT_BGRA]      = {"BGRA",      1, {PLANE_4(B, G, R, A)}, 8, 0, true, true, false},
    [CF_FORMAT_ARGB]      = {"ARGB",      1, {PLANE_4(A, R, G, B)}, 8, 0, true, true, false},
    [CF_FORMAT_ABGR]      = {"ABGR",      1, {PLANE_4(A, B, G, R)}, 8, 0, true, true, false},
    [CF_FORMAT_AYUV]      = {"AYUV",      1, {PLANE_4(A, Y, U, V)}, 8, 0, false, true, false},
    [CF_FORMAT_GBR]       = {"GBR",       3, PLANES_3(G, B, R, 0, 0), 8, 0, true, false, false},
};
/* clang-format on */

const CfFormatInfo *cf_format_info(CfFormat format)
{
  return &formats[format];
}

CfVideo cf_planar_video(const CfVideo *video)
{
  CfVideo planar = *video;

  if (formats[video->format].packed)
    planar.format = CF_FORMAT_Y42B;
  return planar;
}

bool cf_format_from_name(const char *name, CfFormat *format)
{
  for (int i = 0; i < CF_FORMAT_COUNT; i++) {
    if (strcmp(formats[i].name, name) == 0) {
      *format = (CfFormat)i;
      return true;
    }
  }
  return false;
}

static bool is_gray(CfFormat format)
{
  return format == CF_FORMAT_GRAY8 || format == CF_FORMAT_GRAY16_LE;
}

bool cf_video_check(const CfVideo *video, CfStatus *status)
{
  const double red = video->luma_red, blue = video->luma_blue;

  if ((unsigned)video->format >= CF_FORMAT_COUNT)
    return cf_fail(status, CF_ERROR_INVALID, "format %d, allowed is 0 to %d", (int)video->format,
                   CF_FORMAT_COUNT - 1);
  if (video->width < 1 || video->height < 1 || video->width > CF_LARGEST_SIDE ||
      video->height > CF_LARGEST_SIDE || (int64_t)video->width * video->height > CF_MOST_PIXELS)
    return cf_fail(status, CF_ERROR_INVALID,
                   "a picture of %dx%d, allowed are sides of 1 to %d and %d million pixels",
                   video->width, video->height, CF_LARGEST_SIDE, CF_MOST_PIXELS / 1000000);
  if (!(red > 0.0 && blue > 0.0 && red + blue < 1.0))
    return cf_fail(status, CF_ERROR_INVALID,
                   "luma weighs red by %g and blue by %g, allowed is above 0 and together below 1",
                   red, blue);
  return true;
}

CfVideo cf_video(CfFormat format, int width, int height)
{
  const bool full = formats[format].rgb || is_gray(format);
  const CfVideo video = {.format = format,
                         .width = width,
                         .height = height,
                         .range = full ? CF_RANGE_FULL : CF_RANGE_LIMITED,
                         .luma_red = 0.298936021293776,
                         .luma_blue = 0.114020904255103};

  return video;
}

int cf_alpha_channel(const CfPlaneFormat *plane)
{
  for (int channel = 0; channel < plane->channels; channel++) {
    if (plane->role[channel] == CF_ROLE_ALPHA)
      return channel;
  }
  return -1;
}

bool cf_find_role(const CfFormatInfo *format, CfRole role, int *plane, int *channel)
{
  for (int p = 0; p < format->planes; p++) {
    for (int c = 0; c < format->plane[p].channels; c++) {
      if (format->plane[p].role[c] == role) {
        *plane = p;
        *channel = c;
        return true;
      }
    }
  }
  return false;
}

void cf_code_range(const CfVideo *video, CfRole role, double *offset, double *scale)
{
  const CfFormatInfo *format = cf_format_info(video->format);

  if (video->range == CF_RANGE_LIMITED && (cf_is_chroma(role) || role == CF_ROLE_LUMA)) {
    const double unit = (double)(1 << (format->bits - 8));
    *offset = 16.0 * unit;
    *scale = (cf_is_chroma(role) ? 224.0 : 219.0) * unit;
  } else {
    *offset = 0.0;
    *scale = cf_max_code(format);
  }
}

double cf_chroma_centre(const CfVideo *video)
{
  return (double)(1 << (cf_format_info(video->format)->bits - 1));
}

double cf_neutral_code(const CfVideo *video, CfRole role)
{
  return cf_is_chroma(role) ? cf_chroma_centre(video) : 0.0;
}

void cf_color_codes(const CfVideo *video, uint32_t argb, double codes[CF_ROLE_COUNT])
{
  const double alpha = (argb >> 24 & 255) / 255.0, red = (argb >> 16 & 255) / 255.0;
  const double green = (argb >> 8 & 255) / 255.0, blue = (argb & 255) / 255.0;
  const double kr = video->luma_red, kb = video->luma_blue;
  const double luma = kr * red + (1.0 - kr - kb) * green + kb * blue;
  const double normalised[CF_ROLE_COUNT] = {
      [CF_ROLE_LUMA] = luma,
      [CF_ROLE_CHROMA_BLUE] = 0.5 * (blue - luma) / (1.0 - kb),
      [CF_ROLE_CHROMA_RED] = 0.5 * (red - luma) / (1.0 - kr),
      [CF_ROLE_RED] = red,
      [CF_ROLE_GREEN] = green,
      [CF_ROLE_BLUE] = blue,
      [CF_ROLE_ALPHA] = alpha,
  };

  for (int role = 0; role < CF_ROLE_COUNT; role++) {
    const bool chroma = cf_is_chroma((CfRole)role);
    double offset, scale;

    cf_code_range(video, (CfRole)role, &offset, &scale);
    codes[role] = normalised[role] * scale + (chroma ? cf_chroma_centre(video) : offset);
  }
}

int cf_color_code(const CfVideo *video, uint32_t argb, CfRole role)
{
  double codes[CF_ROLE_COUNT];

  cf_color_codes(video, argb, codes);
  return (int)fmin(fmax(floor(codes[role] + 0.5), 0.0), cf_max_code(cf_format_info(video->format)));
}

size_t cf_color_pixel(const CfVideo *video, uint32_t argb, int plane,
                      uint8_t pixel[2 * CF_MAX_CHANNELS])
{
  const CfFormatInfo *format = cf_format_info(video->format);
  const CfPlaneFormat *info = &format->plane[plane];
  const size_t bytes = (size_t)cf_sample_bytes(format);

  for (int k = 0; k < info->channels; k++) {
    const uint16_t sample = (uint16_t)(cf_color_code(video, argb, info->role[k]) << format->shift);

    memcpy(pixel + (size_t)k * bytes, &sample, bytes);
  }
  return (size_t)info->channels * bytes;
}
