/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <ctype.h>
#include <errno.h>
#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "map.h"

/* A file being read; `values` is what it shows so far. */
typedef struct {
  const char *path;
  FILE *file;
  int width, height;
  uint16_t *values;
  CfStatus *status;
} Reader;

static bool refuse(const Reader *reader, const char *reason)
{
  return cf_fail(reader->status, CF_ERROR_INVALID,
                 "the blur map %s %s; allowed is a gray PGM or PNG of 8 or 16 bits", reader->path,
                 reason);
}

static bool allocate(Reader *reader, unsigned long width, unsigned long height)
{
  if (width < 1 || height < 1 || width > CF_MAP_LARGEST_SIZE || height > CF_MAP_LARGEST_SIZE)
    return cf_fail(reader->status, CF_ERROR_INVALID,
                   "the blur map %s has %lux%lu pixels; allowed are 1x1 to %dx%d", reader->path,
                   width, height, CF_MAP_LARGEST_SIZE, CF_MAP_LARGEST_SIZE);
  reader->width = (int)width;
  reader->height = (int)height;
  reader->values = malloc(width * height * sizeof *reader->values);
  if (!reader->values)
    return cf_fail(reader->status, CF_ERROR_NO_MEMORY, "no memory for the blur map %s of %lux%lu",
                   reader->path, width, height);
  return true;
}

/* PGM (Netpbm's pgm(5)) */

static int next_character(FILE *file)
{
  int character = getc(file);

  while (character == '#') {
    while (character != '\n' && character != EOF)
      character = getc(file);
    character = character == EOF ? EOF : getc(file);
  }
  return character;
}

/* A decimal number after white space and comments, and one character after it; false where there is
 * none. */
static bool read_number(FILE *file, unsigned long *number)
{
  int character = next_character(file);
  bool found = false;

  while (isspace(character))
    character = next_character(file);
  for (*number = 0; character >= '0' && character <= '9' && *number < 1000000UL; found = true) {
    *number = 10 * *number + (unsigned long)(character - '0');
    character = getc(file);
  }
  if (character != EOF && !isspace(character))
    ungetc(character, file);
  return found;
}

static bool read_plain_value(FILE *file, unsigned long *value)
{
  return read_number(file, value);
}

static bool read_byte(FILE *file, unsigned long *value)
{
  const int byte = getc(file);

  *value = (unsigned long)byte;
  return byte != EOF;
}

static bool read_word(FILE *file, unsigned long *value)
{
  const int high = getc(file), low = getc(file);

  *value = (unsigned long)(high << 8 | low);
  return low != EOF;
}

static bool read_pgm(Reader *reader)
{
  unsigned long width, height, largest, value;
  const bool plain = getc(reader->file) == 'P' && getc(reader->file) == '2';

  if (!read_number(reader->file, &width) || !read_number(reader->file, &height) ||
      !read_number(reader->file, &largest) || largest < 1 || largest > 65535)
    return refuse(reader, "has a damaged PGM header");
  if (!allocate(reader, width, height))
    return false;

  bool (*const read_value)(FILE *, unsigned long *) = plain           ? read_plain_value
                                                      : largest > 255 ? read_word
                                                                      : read_byte;
  for (size_t i = 0; i < (size_t)width * height; i++) {
    if (!read_value(reader->file, &value))
      return refuse(reader, "ends too early");
    if (value > largest)
      return refuse(reader, "has a value above its own maximum");
    reader->values[i] = (uint16_t)((value * CF_MAP_ONE + largest / 2) / largest);
  }
  return true;
}

/* PNG */

static void png_failed(png_structp png, png_const_charp message)
{
  Reader *reader = png_get_error_ptr(png);

  cf_fail(reader->status, CF_ERROR_INVALID, "the blur map %s is no readable PNG: %s", reader->path,
          message);
  longjmp(png_jmpbuf(png), 1);
}

static void png_warned(png_structp png, png_const_charp message)
{
  (void)png;
  (void)message;
}

/* Each row arrives as big-endian words; interlaced images in several passes. */
static void read_png_rows(Reader *reader, png_structp png)
{
  const int passes = png_set_interlace_handling(png);
  const size_t width = (size_t)reader->width;

  for (int pass = 0; pass < passes; pass++) {
    for (int y = 0; y < reader->height; y++)
      png_read_row(png, (png_bytep)(reader->values + (size_t)y * width), NULL);
  }
}

/* 8 bits were stored in the first half of each row. */
static void widen_bytes(Reader *reader)
{
  for (int y = 0; y < reader->height; y++) {
    uint16_t *row = reader->values + (size_t)y * (size_t)reader->width;
    const uint8_t *bytes = (const uint8_t *)row;

    for (int x = reader->width - 1; x >= 0; x--)
      row[x] = (uint16_t)(bytes[x] * 257);
  }
}

static void swap_words(Reader *reader)
{
  const size_t count = (size_t)reader->width * (size_t)reader->height;

  for (size_t i = 0; i < count; i++) {
    const uint8_t *bytes = (const uint8_t *)&reader->values[i];

    reader->values[i] = (uint16_t)(bytes[0] << 8 | bytes[1]);
  }
}

/* False where libpng or this code gave up; the status says why. */
static bool decode_png(Reader *reader, png_structp png, png_infop info)
{
  if (setjmp(png_jmpbuf(png)))
    return false;
  png_init_io(png, reader->file);
  png_set_user_limits(png, CF_MAP_LARGEST_SIZE, CF_MAP_LARGEST_SIZE);
  png_read_info(png, info);
  if (png_get_color_type(png, info) != PNG_COLOR_TYPE_GRAY)
    return refuse(reader, "is not gray, or has transparency");
  if (!allocate(reader, png_get_image_width(png, info), png_get_image_height(png, info)))
    return false;

  const int bits = png_get_bit_depth(png, info);
  if (bits < 8)
    png_set_expand_gray_1_2_4_to_8(png);
  read_png_rows(reader, png);
  png_read_end(png, NULL);
  if (bits == 16)
    swap_words(reader);
  else
    widen_bytes(reader);
  return true;
}

static bool read_png(Reader *reader)
{
  png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, reader, png_failed, png_warned);
  png_infop info = png ? png_create_info_struct(png) : NULL;
  bool good = false;

  if (!info)
    cf_fail(reader->status, CF_ERROR_NO_MEMORY, "no memory to read the blur map %s", reader->path);
  else
    good = decode_png(reader, png, info);
  png_destroy_read_struct(&png, &info, NULL);
  return good;
}

/* Files */

static bool read_image(Reader *reader)
{
  uint8_t magic[8] = {0};
  const size_t got = fread(magic, 1, sizeof magic, reader->file);

  rewind(reader->file);
  if (got == sizeof magic && png_sig_cmp(magic, 0, sizeof magic) == 0)
    return read_png(reader);
  if (got > 2 && magic[0] == 'P' && (magic[1] == '2' || magic[1] == '5'))
    return read_pgm(reader);
  return refuse(reader, "is neither");
}

CfMap *cf_map_load(const char *path, CfStatus *status)
{
  Reader reader = {.path = path, .file = fopen(path, "rb"), .status = status};
  CfMap *map = NULL;

  if (!reader.file) {
    cf_fail(status, CF_ERROR_INVALID, "the blur map %s cannot be opened: %s", path,
            strerror(errno));
    return NULL;
  }
  if (read_image(&reader))
    map = cf_map_new(reader.width, reader.height, reader.values, status);
  free(reader.values);
  fclose(reader.file);
  return map;
}
