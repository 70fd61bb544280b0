/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * PGM and PPM, as defined by Netpbm's pgm(5) and ppm(5).
 */
#include <ctype.h>

#include "plan/map_reader.h"

/* ---- Numbers ---- */

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

/* A decimal number after white space and comments, and the one white space after it; false where
 * there is no number. */
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

static bool read_byte(FILE *file, unsigned long *value)
{
  const int byte = getc(file);

  *value = byte == EOF ? 0 : (unsigned long)byte;
  return byte != EOF;
}

static bool read_word(FILE *file, unsigned long *value)
{
  unsigned long high, low;

  if (!read_byte(file, &high) || !read_byte(file, &low))
    return false;
  *value = high << 8 | low;
  return true;
}

/* ---- Pixels ---- */

typedef struct {
  bool (*read)(FILE *file, unsigned long *value);
  unsigned long largest;
  int channels;
} Kind;

static bool read_pixel(const CfMapReader *reader, const Kind *kind, uint16_t *to)
{
  uint16_t channel[3];

  for (int c = 0; c < kind->channels; c++) {
    unsigned long value;

    if (!kind->read(reader->file, &value))
      return cf_map_refuse(reader, "ends too early");
    if (value > kind->largest)
      return cf_map_refuse(reader, "has a value above its own maximum");
    channel[c] = (uint16_t)((value * CF_MAP_ONE + kind->largest / 2) / kind->largest);
  }
  *to = kind->channels == 1 ? channel[0] : cf_map_luma(channel);
  return true;
}

bool cf_map_read_pnm(CfMapReader *reader)
{
  unsigned long width, height;
  Kind kind;

  getc(reader->file); /* P */
  const int number = getc(reader->file);
  if (!read_number(reader->file, &width) || !read_number(reader->file, &height) ||
      !read_number(reader->file, &kind.largest) || kind.largest < 1 || kind.largest > 65535)
    return cf_map_refuse(reader, "has a damaged PGM or PPM header");
  kind.channels = number == '3' || number == '6' ? 3 : 1;
  kind.read = number == '2' || number == '3' ? read_number
              : kind.largest > 255           ? read_word
                                             : read_byte;
  if (!cf_map_allocate(reader, width, height))
    return false;
  for (size_t i = 0; i < (size_t)width * height; i++) {
    if (!read_pixel(reader, &kind, &reader->values[i]))
      return false;
  }
  return true;
}
