/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What a picture is, for every engine: planes of interleaved samples, each channel with a role.
 * Plain C, no GStreamer, no CUDA types: device pointers are `uint8_t *` too.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "status.h"

#define CF_MAX_PLANES   4
#define CF_MAX_CHANNELS 4

/* Limits of a picture in luma pixels, so that 32-bit indices and the grid of a launch suffice for
 * all formats. */
#define CF_LARGEST_SIDE 65535
#define CF_MOST_PIXELS  (1 << 29)

/* Names are GStreamer's. All formats with 2-byte samples are little endian. */
typedef enum {
  CF_FORMAT_GRAY8,
  CF_FORMAT_GRAY16_LE,
  CF_FORMAT_I420,
  CF_FORMAT_YV12,
  CF_FORMAT_NV12,
  CF_FORMAT_NV21,
  CF_FORMAT_Y42B,
  CF_FORMAT_Y444,
  CF_FORMAT_I420_10LE,
  CF_FORMAT_I422_10LE,
  CF_FORMAT_Y444_10LE,
  CF_FORMAT_P010_10LE,
  CF_FORMAT_P012_LE,
  CF_FORMAT_P016_LE,
  CF_FORMAT_Y444_16LE,
  CF_FORMAT_UYVY,
  CF_FORMAT_YUY2,
  CF_FORMAT_RGB,
  CF_FORMAT_BGR,
  CF_FORMAT_RGBx,
  CF_FORMAT_BGRx,
  CF_FORMAT_xRGB,
  CF_FORMAT_xBGR,
  CF_FORMAT_RGBA,
  CF_FORMAT_BGRA,
  CF_FORMAT_ARGB,
  CF_FORMAT_ABGR,
  CF_FORMAT_AYUV,
  CF_FORMAT_GBR,
  CF_FORMAT_COUNT
} CfFormat;

typedef enum {
  CF_ROLE_LUMA,
  CF_ROLE_CHROMA_BLUE, /* Cb, U */
  CF_ROLE_CHROMA_RED,  /* Cr, V */
  CF_ROLE_RED,
  CF_ROLE_GREEN,
  CF_ROLE_BLUE,
  CF_ROLE_ALPHA,
  CF_ROLE_PADDING, /* the x of RGBx: engines may write anything there */
  CF_ROLE_COUNT
} CfRole;

static inline bool cf_is_chroma(CfRole role)
{
  return role == CF_ROLE_CHROMA_BLUE || role == CF_ROLE_CHROMA_RED;
}

/* A plane's pixel. In packed formats it is a macropixel: two luma samples and the chroma they
 * share. */
typedef struct {
  int channels;                 /* interleaved samples in one pixel of the plane, 1..4 */
  CfRole role[CF_MAX_CHANNELS]; /* in memory order */
  int subsampling_x;            /* log2, 0 or 1: 1 where the plane has half the luma columns */
  int subsampling_y;            /* the same for rows */
} CfPlaneFormat;

typedef struct {
  const char *name; /* as in caps */
  int planes;       /* 1..3 */
  CfPlaneFormat plane[CF_MAX_PLANES];
  int bits;   /* significant bits of a sample: 8, 10, 12 or 16 */
  int shift;  /* bits below the significant ones: 6 for P010_10LE, whose low bits are 0 */
  bool rgb;   /* red, green, blue instead of luma and chroma */
  bool alpha; /* one channel is alpha; it lies in the same plane as the colours */

  /* Two channels of a pixel are luma, of neighbours in a row. Where the picture's width is odd, the
   * second luma of a row's last pixel belongs to no pixel of the picture and is copied from the
   * source. */
  bool packed;
} CfFormatInfo;

/* Where code values put black and white. RGB formats are always full range. */
typedef enum { CF_RANGE_FULL, CF_RANGE_LIMITED } CfRange;

/* Transfer function: how code values stand for light. Only tone mapping reads it; other effects
 * filter code values whatever they stand for. */
typedef enum {
  CF_TRANSFER_SDR, /* any gamma, or unknown */
  CF_TRANSFER_PQ,  /* SMPTE ST 2084 */
  CF_TRANSFER_HLG, /* ARIB STD-B67 */
} CfTransfer;

/* Chromaticities of red, green and blue. Only tone mapping reads them. */
typedef enum {
  CF_PRIMARIES_2020,   /* ITU-R BT.2020, or unknown */
  CF_PRIMARIES_P3,     /* SMPTE EG 432-1, white D65 */
  CF_PRIMARIES_P3_DCI, /* SMPTE RP 431-2, with the white point of cinemas */
  CF_PRIMARIES_709,    /* ITU-R BT.709 */
} CfPrimaries;

/* The geometry and format that an engine is opened for; cf_video_check checks it. */
typedef struct {
  CfFormat format; /* below CF_FORMAT_COUNT */
  int width;       /* luma pixels, 1..CF_LARGEST_SIDE */
  int height;      /* luma pixels, 1..CF_LARGEST_SIDE; rows of one field where fields are filtered
                      separately */
  CfRange range;
  double luma_red;  /* kr, the weight of red in luma: 0.299 for BT.601, 0.2126 for BT.709 */
  double luma_blue; /* kb, the weight of blue: 0.114, 0.0722; the weight of green is 1 - kr - kb
                       > 0 */
  CfTransfer transfer;
  CfPrimaries primaries;
  bool field; /* one field of interlaced video: each row stands for two of the frame where distances
                 or sides along rows and columns are compared */
} CfVideo;

/* One picture in memory, planes in the order of its format; entries beyond the format's planes are
 * ignored. data[p] points to row 0, and row y starts y * stride[p] bytes after it. Neither planes
 * nor rows of a picture overlap; bytes between the end of a row and the next row are never written.
 * In host memory addresses and strides may be any number of bytes, odd ones with 16-bit samples
 * included, and strides may be negative (pictures stored bottom up). In device memory strides are
 * positive, and with 16-bit samples addresses and strides are even. The magnitude of a stride is at
 * least the bytes of a row. */
typedef struct {
  uint8_t *data[CF_MAX_PLANES];
  ptrdiff_t stride[CF_MAX_PLANES];
} CfPicture;

/* The table entry of `format`, which must be below CF_FORMAT_COUNT. */
const CfFormatInfo *cf_format_info(CfFormat format);

/* `video` with the planar format (Y42B) of the same samples where its format is packed; else
 * unchanged. */
CfVideo cf_planar_video(const CfVideo *video);

/* Finds a format by its GStreamer name; false, with `format` untouched, for other names. */
bool cf_format_from_name(const char *name, CfFormat *format);

/* Refuses (CF_ERROR_INVALID) unknown formats, sizes beyond the limits above and impossible luma
 * weights, saying what is allowed. */
bool cf_video_check(const CfVideo *video, CfStatus *status);

/* A CfVideo with the defaults of the format: full range for RGB and gray, limited range for YUV;
 * the BT.601 weights of MATLAB's rgb2gray; SDR. */
CfVideo cf_video(CfFormat format, int width, int height);

/* Bytes of a sample, 1 or 2. */
static inline int cf_sample_bytes(const CfFormatInfo *format)
{
  return format->bits > 8 ? 2 : 1;
}

/* Largest code value of a sample, after `shift` has been removed. */
static inline int cf_max_code(const CfFormatInfo *format)
{
  return (1 << format->bits) - 1;
}

/* Samples in a row, and rows, of a plane: rounded up, so a luma pixel without a partner has a
 * chroma sample too. */
static inline int cf_plane_width(const CfVideo *video, int plane)
{
  const int shift = cf_format_info(video->format)->plane[plane].subsampling_x;
  return (video->width + (1 << shift) - 1) >> shift;
}

static inline int cf_plane_height(const CfVideo *video, int plane)
{
  const int shift = cf_format_info(video->format)->plane[plane].subsampling_y;
  return (video->height + (1 << shift) - 1) >> shift;
}

/* Bytes of one row of samples, without padding. */
static inline size_t cf_row_bytes(const CfVideo *video, int plane)
{
  const CfFormatInfo *format = cf_format_info(video->format);
  return (size_t)cf_plane_width(video, plane) * (size_t)format->plane[plane].channels *
         (size_t)cf_sample_bytes(format);
}

/* The first byte of row `y`, which may lie outside the picture: nothing is read. */
static inline uint8_t *cf_row(const CfPicture *picture, int plane, int y)
{
  return picture->data[plane] + y * picture->stride[plane];
}

/* The channel of `plane` that holds alpha, or -1. */
int cf_alpha_channel(const CfPlaneFormat *plane);

/* Finds plane and channel of a role (in packed formats the first luma); false, with both untouched,
 * where the format has no such channel. */
bool cf_find_role(const CfFormatInfo *format, CfRole role, int *plane, int *channel);

/* Code value of nominal 0, and the distance in codes from nominal 0 to nominal 1. In limited range
 * and 8 bits luma has {16, 219} and chroma {16, 224} (about its centre, 128), scaled by powers of
 * two for more bits (ITU-R BT.601, BT.709, BT.2100); all else has {0, max code}. */
void cf_code_range(const CfVideo *video, CfRole role, double *offset, double *scale);

/* The neutral code value of a chroma channel: 1 << (bits - 1). */
double cf_chroma_centre(const CfVideo *video);

/* The code of no signal: the neutral code for chroma, else 0. */
double cf_neutral_code(const CfVideo *video, CfRole role);

/* Code values, indexed by CfRole, of a colour 0xAARRGGBB (8-bit full-range RGB), not rounded. */
void cf_color_codes(const CfVideo *video, uint32_t argb, double codes[CF_ROLE_COUNT]);

/* The code value of one role, rounded half up. */
int cf_color_code(const CfVideo *video, uint32_t argb, CfRole role);

/* A pixel of `plane` in that colour, as in memory, each code rounded half up; returns its bytes. */
size_t cf_color_pixel(const CfVideo *video, uint32_t argb, int plane,
                      uint8_t pixel[2 * CF_MAX_CHANNELS]);
