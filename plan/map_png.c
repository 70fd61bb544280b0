/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * PNG of every kind. Only one row is in memory besides the values.
 */
#include <png.h>
#include <setjmp.h>
#include <stdlib.h>

#include "plan/map_reader.h"

typedef struct {
  CfMapReader *reader;
  png_structp png;
  png_infop info;
  png_bytep row; /* 8 bits, or big-endian 16 bits, per channel */
  int channels, bits;
} Decoder;

static void png_failed(png_structp png, png_const_charp message)
{
  const CfMapReader *reader = png_get_error_ptr(png);

  cf_fail(reader->status, CF_ERROR_INVALID, "the blur map %s is no readable PNG: %s", reader->path,
          message);
  longjmp(png_jmpbuf(png), 1);
}

static void png_warned(png_structp png, png_const_charp message)
{
}

/* Reads the header, and has libpng expand rows to 1 or 3 channels of 8 or 16 bits. */
static bool read_header(Decoder *decoder)
{
  CfMapReader *reader = decoder->reader;

  png_init_io(decoder->png, reader->file);
  png_set_user_limits(decoder->png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
  png_read_info(decoder->png, decoder->info);
  if (!cf_map_allocate(reader, png_get_image_width(decoder->png, decoder->info),
                       png_get_image_height(decoder->png, decoder->info)))
    return false;
  png_set_expand(decoder->png);
  png_set_strip_alpha(decoder->png);
  png_read_update_info(decoder->png, decoder->info);
  decoder->channels = png_get_channels(decoder->png, decoder->info);
  decoder->bits = png_get_bit_depth(decoder->png, decoder->info);
  decoder->row = malloc(png_get_rowbytes(decoder->png, decoder->info));
  if (!decoder->row)
    return cf_fail(reader->status, CF_ERROR_NO_MEMORY, "no memory to read the blur map %s",
                   reader->path);
  return true;
}

/* Converts `count` pixels of the row; writes every `step`-th value of `to`. */
static void convert_row(const Decoder *decoder, int count, int step, uint16_t *to)
{
  const uint8_t *from = decoder->row;
  uint16_t channel[3];

  for (int i = 0; i < count; i++, to += step) {
    for (int c = 0; c < decoder->channels; c++, from += decoder->bits / 8)
      channel[c] = (uint16_t)(decoder->bits == 16 ? from[0] << 8 | from[1] : from[0] * 257);
    *to = decoder->channels == 1 ? channel[0] : cf_map_luma(channel);
  }
}

static void read_rows(const Decoder *decoder)
{
  const CfMapReader *reader = decoder->reader;

  for (int y = 0; y < reader->height; y++) {
    png_read_row(decoder->png, decoder->row, NULL);
    convert_row(decoder, reader->width, 1, reader->values + (size_t)y * (size_t)reader->width);
  }
}

/* Adam7: each pass is an image of its own. */
static void read_interlaced_rows(const Decoder *decoder)
{
  const CfMapReader *reader = decoder->reader;

  for (int pass = 0; pass < PNG_INTERLACE_ADAM7_PASSES; pass++) {
    const int count = (int)PNG_PASS_COLS((png_uint_32)reader->width, pass);
    const int rows = (int)PNG_PASS_ROWS((png_uint_32)reader->height, pass);

    for (int i = 0; count > 0 && i < rows; i++) {
      const size_t y = (size_t)PNG_ROW_FROM_PASS_ROW(i, pass);

      png_read_row(decoder->png, decoder->row, NULL);
      convert_row(decoder, count, 1 << PNG_PASS_COL_SHIFT(pass),
                  reader->values + y * (size_t)reader->width + PNG_PASS_START_COL(pass));
    }
  }
}

/* False where libpng (by longjmp) or this code gave up; the status has the reason. */
static bool decode(Decoder *decoder)
{
  if (setjmp(png_jmpbuf(decoder->png)))
    return false;
  if (!read_header(decoder))
    return false;
  if (png_get_interlace_type(decoder->png, decoder->info) == PNG_INTERLACE_NONE)
    read_rows(decoder);
  else
    read_interlaced_rows(decoder);
  png_read_end(decoder->png, NULL);
  return true;
}

bool cf_map_read_png(CfMapReader *reader)
{
  Decoder decoder = {
      .reader = reader,
      .png = png_create_read_struct(PNG_LIBPNG_VER_STRING, reader, png_failed, png_warned)};
  bool good = false;

  decoder.info = decoder.png ? png_create_info_struct(decoder.png) : NULL;
  if (!decoder.info)
    cf_fail(reader->status, CF_ERROR_NO_MEMORY, "no memory to read the blur map %s", reader->path);
  else
    good = decode(&decoder);
  png_destroy_read_struct(&decoder.png, &decoder.info, NULL);
  free(decoder.row);
  return good;
}
