/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <fcntl.h>
#include <png.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plan/map_reader.h"

bool cf_map_refuse(const CfMapReader *reader, const char *reason)
{
  return cf_fail(reader->status, CF_ERROR_INVALID,
                 "the blur map %s %s; allowed is a PNG, PGM or PPM of 1 to 16 bits a channel",
                 reader->path, reason);
}

bool cf_map_allocate(CfMapReader *reader, unsigned long width, unsigned long height)
{
  if (width < 1 || height < 1 || width > CF_MAP_LARGEST_SIZE || height > CF_MAP_LARGEST_SIZE ||
      width * height > CF_MAP_MOST_PIXELS)
    return cf_fail(reader->status, CF_ERROR_INVALID,
                   "the blur map %s has %lux%lu pixels; allowed are 1x1 to %dx%d and %d in all",
                   reader->path, width, height, CF_MAP_LARGEST_SIZE, CF_MAP_LARGEST_SIZE,
                   CF_MAP_MOST_PIXELS);
  reader->width = (int)width;
  reader->height = (int)height;
  reader->values = malloc(width * height * sizeof *reader->values);
  if (!reader->values)
    return cf_fail(reader->status, CF_ERROR_NO_MEMORY, "no memory for the blur map %s of %lux%lu",
                   reader->path, width, height);
  return true;
}

static bool refuse_kind(const CfMapReader *reader)
{
  return cf_fail(
      reader->status, CF_ERROR_INVALID,
      "the blur map %s is a directory, FIFO, socket or device; allowed is a regular file",
      reader->path);
}

/* Opens a regular file. Does not open a FIFO, which could block, nor a device, where opening could
 * have effects. */
static bool open_file(CfMapReader *reader)
{
  struct stat info;
  int file = -1;

  if (stat(reader->path, &info) == 0) {
    if (!S_ISREG(info.st_mode))
      return refuse_kind(reader);
    file = open(reader->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  }
  if (file < 0 || fstat(file, &info) != 0 ||
      (S_ISREG(info.st_mode) && !(reader->file = fdopen(file, "rb"))))
    cf_fail(reader->status, CF_ERROR_INVALID, "the blur map %s cannot be opened: %s", reader->path,
            strerror(errno));
  else if (!reader->file)
    refuse_kind(reader);
  if (file >= 0 && !reader->file)
    close(file);
  return reader->file;
}

static bool read_image(CfMapReader *reader)
{
  uint8_t magic[8] = {0};
  const size_t got = fread(magic, 1, sizeof magic, reader->file);

  rewind(reader->file);
  if (got == sizeof magic && png_sig_cmp(magic, 0, sizeof magic) == 0)
    return cf_map_read_png(reader);
  if (got > 2 && magic[0] == 'P' && magic[1] != '\0' && strchr("2356", magic[1]))
    return cf_map_read_pnm(reader);
  return cf_map_refuse(reader, "is neither a PNG nor a PGM or PPM");
}

CfMap *cf_map_load(const char *path, CfStatus *status)
{
  CfMapReader reader = {.path = path, .status = status};
  CfMap *map = NULL;

  if (!open_file(&reader))
    return NULL;
  if (read_image(&reader)) {
    map = cf_map_take(reader.width, reader.height, reader.values, status);
    reader.values = NULL;
  }
  free(reader.values);
  fclose(reader.file);
  return map;
}
