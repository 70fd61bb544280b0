/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cpu/common/packed.h"

#include "cpu/common/cpu.h"
#include "cpu/common/parallel.h"

/* A macropixel is a little-endian word of four bytes, and so are two luma samples one of two bytes.
 * Rows need no alignment. */
typedef uint16_t Word2 __attribute__((aligned(1), may_alias));
typedef uint32_t Word4 __attribute__((aligned(1), may_alias));

/* Bit positions of the first luma sample of a macropixel, of Cb and of Cr; the second luma sample
 * lies 16 bits above the first. */
typedef struct {
  int luma, blue, red;
} Shifts;

static Shifts shifts_of(const CfVideo *video)
{
  const CfFormatInfo *format = cf_format_info(video->format);
  int plane, luma, blue, red;

  cf_find_role(format, CF_ROLE_LUMA, &plane, &luma);
  cf_find_role(format, CF_ROLE_CHROMA_BLUE, &plane, &blue);
  cf_find_role(format, CF_ROLE_CHROMA_RED, &plane, &red);
  return (Shifts){8 * luma, 8 * blue, 8 * red};
}

/* ---- Rows of whole macropixels ---- */

CF_MULTIVERSION
static void unpack_row(const Word4 *packed, Shifts at, int count, uint8_t *restrict luma,
                       uint8_t *restrict blue, uint8_t *restrict red)
{
  const Word2 *pairs = (const Word2 *)packed;

  for (int i = 0; i < 2 * count; i++)
    luma[i] = (uint8_t)(pairs[i] >> at.luma);
  for (int i = 0; i < count; i++)
    blue[i] = (uint8_t)(packed[i] >> at.blue);
  for (int i = 0; i < count; i++)
    red[i] = (uint8_t)(packed[i] >> at.red);
}

INLINE uint32_t packed_word(uint32_t pair, uint32_t blue, uint32_t red, Shifts at)
{
  return ((pair & 0xff) | (pair & 0xff00) << 8) << at.luma | blue << at.blue | red << at.red;
}

CF_MULTIVERSION
static void pack_row(Word4 *restrict packed, Shifts at, int count, const Word2 *restrict luma,
                     const uint8_t *restrict blue, const uint8_t *restrict red)
{
  for (int i = 0; i < count; i++)
    packed[i] = packed_word(luma[i], blue[i], red[i], at);
}

CF_MULTIVERSION
static void pack_changes(Word4 *restrict packed, Shifts at, int count, const Word2 *restrict luma,
                         const uint8_t *restrict blue, const uint8_t *restrict red)
{
  for (int i = 0; i < count; i++) {
    const uint32_t word = packed_word(luma[i], blue[i], red[i], at);

    if (packed[i] != word)
      packed[i] = word;
  }
}

/* ---- Pictures ---- */

typedef struct {
  const CfPicture *planes, *source, *destination;
  CfPlaneRows rows;
  Shifts at;
  int macropixels; /* complete ones in a row */
  bool odd;        /* one with a single pixel follows */
} Work;

static void unpack_rows(void *context, int first, int end)
{
  const Work *work = context;
  const int count = work->macropixels;

  for (int y = work->rows.first + first; y < work->rows.first + end; y++) {
    const Word4 *from = (const Word4 *)cf_row(work->source, 0, y);
    uint8_t *luma = cf_row(work->planes, 0, y);
    uint8_t *blue = cf_row(work->planes, 1, y), *red = cf_row(work->planes, 2, y);

    unpack_row(from, work->at, count, luma, blue, red);
    if (work->odd) {
      luma[2 * count] = (uint8_t)(from[count] >> work->at.luma);
      blue[count] = (uint8_t)(from[count] >> work->at.blue);
      red[count] = (uint8_t)(from[count] >> work->at.red);
    }
  }
}

static void pack_rows(void *context, int first, int end)
{
  const Work *work = context;
  const int count = work->macropixels;
  const bool in_place = work->source->data[0] == work->destination->data[0];

  for (int y = work->rows.first + first; y < work->rows.first + end; y++) {
    const Word4 *source = (const Word4 *)cf_row(work->source, 0, y);
    Word4 *to = (Word4 *)cf_row(work->destination, 0, y);
    const uint8_t *luma = cf_row(work->planes, 0, y);
    const uint8_t *blue = cf_row(work->planes, 1, y), *red = cf_row(work->planes, 2, y);

    (in_place ? pack_changes : pack_row)(to, work->at, count, (const Word2 *)luma, blue, red);
    if (work->odd) {
      const uint32_t no_pixel = source[count] >> (work->at.luma + 16) & 0xff;
      const Word2 pair = (Word2)(luma[2 * count] | no_pixel << 8);

      (in_place ? pack_changes : pack_row)(to + count, work->at, 1, &pair, blue + count,
                                           red + count);
    }
  }
}

static void run(CfLoopBody body, const CfVideo *video, Work work, int threads)
{
  work.at = shifts_of(video);
  work.macropixels = video->width / 2;
  work.odd = video->width % 2;
  cf_parallel_evenly(threads, work.rows.end - work.rows.first, body, &work);
}

void cf_cpu_unpack(const CfVideo *video, const CfPicture *packed, const CfPicture *planes,
                   CfPlaneRows rows, int threads)
{
  run(unpack_rows, video, (Work){.planes = planes, .source = packed, .rows = rows}, threads);
}

void cf_cpu_pack(const CfVideo *video, const CfPicture *planes, const CfPicture *source,
                 const CfPicture *destination, CfPlaneRows rows, int threads)
{
  run(pack_rows, video, (Work){planes, source, destination, .rows = rows}, threads);
}
