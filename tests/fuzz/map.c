/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Fuzzes the reader of blur maps. An input's first byte says what the rest is: a file as it is, a
 * PNG whose checksums are made right first, or the header and the rows of a PNG, which are then
 * packed. So what is wrong reaches all parts of the reader.
 */
#define _GNU_SOURCE /* memfd_create */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "driver.h"
#include "plan/map.h"

enum { AS_IT_IS, MEND_CHECKSUMS, PACK, KINDS };

#define SIGNATURE      "\x89PNG\r\n\x1a\n"
#define SIGNATURE_SIZE 8

/* A file that grows; what does not fit is left out. */
typedef struct {
  uint8_t data[3 * FUZZ_LARGEST_INPUT];
  size_t size;
} File;

const char *const fuzz_words[] = {
    "P2", "P5",   "P6",   " 1 ",  " 0 ",  " 255\n", " 65535\n", "32768", "32769", "-1",      "#",
    "\n", "IHDR", "IDAT", "PLTE", "tRNS", "IEND",   "gAMA",     "iCCP",  "zTXt",  SIGNATURE, NULL};

static void put(File *file, const void *bytes, size_t count)
{
  if (file->size + count > sizeof file->data)
    count = sizeof file->data - file->size;
  memcpy(file->data + file->size, bytes, count);
  file->size += count;
}

static void put_number(File *file, uint32_t number)
{
  const uint8_t bytes[] = {(uint8_t)(number >> 24), (uint8_t)(number >> 16), (uint8_t)(number >> 8),
                           (uint8_t)number};

  put(file, bytes, sizeof bytes);
}

static uint32_t get_number(const uint8_t *bytes)
{
  return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static void put_chunk(File *file, const char *type, const uint8_t *data, size_t size)
{
  const size_t start = file->size + 4;

  put_number(file, (uint32_t)size);
  put(file, type, 4);
  put(file, data, size);
  put_number(file, (uint32_t)crc32(0, file->data + start, (uInt)(file->size - start)));
}

static void mend_checksums(File *file)
{
  size_t at = SIGNATURE_SIZE;

  while (at + 12 <= file->size) {
    const uint32_t size = get_number(file->data + at);
    File sum = {.size = 0};

    if (size > file->size - at - 12)
      break;
    put_number(&sum, (uint32_t)crc32(0, file->data + at + 4, size + 4));
    memcpy(file->data + at + 8 + size, sum.data, 4);
    at += 12 + (size_t)size;
  }
}

/* Of bytes: width, height, depth, colour type, interlacing, then the rows with their filters. */
static void pack(File *file, const uint8_t *data, size_t size)
{
  static const uint8_t depths[] = {8, 16, 1, 2, 4, 3};
  static const uint8_t colours[] = {0, 0, 2, 3, 4, 6, 1};
  const uint8_t palette[3 * 256] = {0};
  uint8_t header[13] = {0}, packed[2 * FUZZ_LARGEST_INPUT];
  uLongf bytes = sizeof packed;

  if (size < 5)
    return;
  header[3] = data[0];
  header[7] = data[1];
  header[8] = depths[data[2] % sizeof depths];
  header[9] = colours[data[3] % sizeof colours];
  header[12] = data[4] % 3;
  put(file, SIGNATURE, SIGNATURE_SIZE);
  put_chunk(file, "IHDR", header, sizeof header);
  if (header[9] == 3)
    put_chunk(file, "PLTE", palette, sizeof palette);
  if (compress2(packed, &bytes, data + 5, size - 5, 1) == Z_OK)
    put_chunk(file, "IDAT", packed, bytes);
  put_chunk(file, "IEND", header, 0);
}

/* A regular file in memory, made once, whose content is replaced. */
static const char *path_of(const File *content)
{
  static char path[64];
  static int file = -1;

  if (file < 0) {
    file = memfd_create("map", 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  }
  FUZZ_REQUIRE(file >= 0 && ftruncate(file, 0) == 0 &&
               pwrite(file, content->data, content->size, 0) == (ssize_t)content->size);
  return path;
}

static void check_map(const CfMap *map)
{
  const size_t width = (size_t)cf_map_width(map), height = (size_t)cf_map_height(map);
  const uint16_t *values = cf_map_values(map);
  unsigned least = CF_MAP_ONE;

  FUZZ_REQUIRE(width >= 1 && width <= CF_MAP_LARGEST_SIZE);
  FUZZ_REQUIRE(height >= 1 && height <= CF_MAP_LARGEST_SIZE);
  for (size_t i = 0; i < width * height; i++)
    least = values[i] < least ? values[i] : least;
  FUZZ_REQUIRE(least <= CF_MAP_ONE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  CfStatus status = {CF_OK, ""};
  File file = {.size = 0};
  CfMap *map;

  if (size < 1)
    return 0;
  if (data[0] % KINDS == PACK) {
    pack(&file, data + 1, size - 1 < FUZZ_LARGEST_INPUT ? size - 1 : FUZZ_LARGEST_INPUT);
  } else {
    put(&file, data + 1, size - 1);
    if (data[0] % KINDS == MEND_CHECKSUMS)
      mend_checksums(&file);
  }
  map = cf_map_load(path_of(&file), &status);
  if (map) {
    check_map(map);
    cf_map_unref(cf_map_ref(map));
  } else {
    FUZZ_REQUIRE(status.code == CF_ERROR_INVALID || status.code == CF_ERROR_NO_MEMORY);
    FUZZ_REQUIRE(status.message[0] && memchr(status.message, 0, sizeof status.message));
  }
  cf_map_unref(map);
  return 0;
}

/* Examples: PGMs, and a PNG of each kind. */

static const char *const pgms[] = {
    "P2 3 2 15\n0 7 15 15 7 0\n",
    "P2\n# text\n1 1\n65535\n65535",
    "P5 4 2 255\nabcdefgh",
    "P5 2 2 1000\n\x01\x02\x03\x04\x01\x01\x02\x02",
    "P5 32768 1 255\nends too early",
    "P2 1 1 0\n0",
    "P5 1 1 255\n#",
    "P6 1 1 255\nabc",
    "P2 99999999999999999999 1 255\n1 ",
};
enum { PGMS = sizeof pgms / sizeof pgms[0], PNGS = 5 * 4 * 2 };

/* Rows of 7 pixels; depth and colour as `pack` reads them. */
static size_t png_rows(int index, uint8_t *data)
{
  const uint8_t head[] = {7, 5, (uint8_t)(index % 5), (uint8_t)(index / 5 % 4 + 1),
                          (uint8_t)(index / 20)};
  const size_t rows = 5 * (1 + 7 * 8);

  memcpy(data, head, sizeof head);
  for (size_t i = 0; i < rows; i++)
    data[sizeof head + i] = (uint8_t)(i % 8 == 0 ? i % 5 : 31 * i);
  return sizeof head + rows;
}

size_t fuzz_example(int index, uint8_t *data)
{
  if (index < PGMS) {
    const size_t size = strlen(pgms[index]);

    data[0] = AS_IT_IS;
    memcpy(data + 1, pgms[index], size);
    return size + 1;
  }
  index -= PGMS;
  if (index < PNGS) {
    data[0] = PACK;
    return 1 + png_rows(index, data + 1);
  }
  index -= PNGS;
  if (index < PNGS) {
    File file = {.size = 0};
    uint8_t rows[FUZZ_LARGEST_INPUT];

    pack(&file, rows, png_rows(index, rows));
    data[0] = MEND_CHECKSUMS;
    memcpy(data + 1, file.data, file.size);
    return file.size + 1;
  }
  return 0;
}
