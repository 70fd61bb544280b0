/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Blur maps in files, and their properties once they are read.
 */
#include "plan/map.h"

#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"

static bool write_file(const char *path, const char *content, size_t bytes)
{
  FILE *file = fopen(path, "wb");
  const bool good = file && fwrite(content, 1, bytes, file) == bytes;

  if (file)
    fclose(file);
  return good;
}

static void load(CfTest *test, const char *content, size_t bytes, int width, int height,
                 const int *values, const char *word)
{
  char path[] = "/tmp/cf-map-XXXXXX";
  const int file = mkstemp(path);
  CfStatus status = {CF_OK, ""};

  cf_test_context(test, "\"%.20s\"", content);
  if (!CF_EXPECT(test, file >= 0 && write_file(path, content, bytes), "no file"))
    return;
  CfMap *map = cf_map_load(path, &status);
  CF_EXPECT(test, !map == !values, "%s", status.message);
  CF_EXPECT(test, map || (status.code == CF_ERROR_INVALID && strstr(status.message, word)),
            "\"%s\" lacks \"%s\"", status.message, word);
  if (map) {
    CF_EXPECT(test, cf_map_width(map) == width && cf_map_height(map) == height, "%dx%d",
              cf_map_width(map), cf_map_height(map));
    for (int i = 0; i < width * height; i++)
      CF_EXPECT(test, cf_map_values(map)[i] == values[i], "value %d is %d", i,
                cf_map_values(map)[i]);
  }
  cf_map_unref(map);
  close(file);
  unlink(path);
}

#define LOAD(test, content, ...) load(test, content, sizeof content - 1, __VA_ARGS__)

static void pgm_files(CfTest *test)
{
  LOAD(test, "P5 2 1 255\n\x01\xff", 2, 1, ((int[]){257, 65535}), "");
  LOAD(test, "P5\n# hello\n1 2\n# again\n65535\n\x12\x34\xff\xff", 1, 2, ((int[]){0x1234, 65535}),
       "");
  LOAD(test, "P5 1 1 100\n\x32", 1, 1, ((int[]){32768}), "");
  LOAD(test, "P2\n3 1\n4\n0 2\n4\n", 3, 1, ((int[]){0, 32768, 65535}), "");
  LOAD(test, "P5 2 2 255\n\x01\xff", 2, 2, NULL, "too early");
  LOAD(test, "P5 1 1 100\n\x65", 1, 1, NULL, "maximum");
  LOAD(test, "P5 0 1 255\n", 1, 1, NULL, "0x1");
  LOAD(test, "P5 40000 1 255\n", 1, 1, NULL, "40000x1");
  LOAD(test, "P5 16384 8193 255\n", 1, 1, NULL, "134217728 in all");
  LOAD(test, "P5 1 1 65536\n\x01\x01", 1, 1, NULL, "header");
  LOAD(test, "P5 x 1 255\n\x01", 1, 1, NULL, "header");
  LOAD(test, "P5 1 1 65535\n", 1, 1, NULL, "too early");
  LOAD(test, "P5 1 1 65535\n\x01", 1, 1, NULL, "too early");
  LOAD(test, "P4 8 1\n\x01", 1, 1, NULL, "neither a PNG nor a PGM or PPM");
  LOAD(test, "P\0 8 1\n\x01", 1, 1, NULL, "neither");
  LOAD(test, "", 1, 1, NULL, "neither");
}

/* 0.2126 R + 0.7152 G + 0.0722 B. */
static void ppm_files(CfTest *test)
{
  LOAD(test, "P6 2 1 255\n\xff\x00\x00\x05\x05\x05", 2, 1, ((int[]){13933, 1285}), "");
  LOAD(test, "P6 1 1 65535\n\x00\x00\xff\xff\x00\x00", 1, 1, ((int[]){46870}), "");
  LOAD(test, "P3 2 1 1\n0 0 1  1 1 1", 2, 1, ((int[]){4732, 65535}), "");
  LOAD(test, "P6 1 1 255\n\x01\x01", 1, 1, NULL, "too early");
}

/* Files that are not regular, which do not end or never begin. */
static void odd_files(CfTest *test)
{
  char directory[] = "/tmp/cf-map-XXXXXX", fifo[sizeof directory + 8];
  const char *const paths[] = {directory, fifo, "/dev/zero"};

  if (!CF_EXPECT(test, mkdtemp(directory), "no directory"))
    return;
  snprintf(fifo, sizeof fifo, "%s/fifo", directory);
  CF_EXPECT(test, mkfifo(fifo, 0600) == 0, "no FIFO");
  for (int i = 0; i < 3; i++) {
    CfStatus status = {CF_OK, ""};

    cf_test_context(test, "%s", paths[i]);
    CF_EXPECT(test, !cf_map_load(paths[i], &status), "it is a map");
    CF_EXPECT(test, strstr(status.message, "regular file") && strstr(status.message, paths[i]),
              "%s", status.message);
  }
  unlink(fifo);
  rmdir(directory);
}

/* The format of the rows of a PNG. */
typedef struct {
  int type, bits;
  bool interlaced;
  png_color palette[4];
  int transparent; /* transparent entries of the palette, or of gray and RGB one transparent
                      colour */
} PngFormat;

typedef struct {
  char content[65536];
  size_t bytes;
} PngBuffer;

static void write_part(png_structp png, png_bytep data, size_t bytes)
{
  PngBuffer *buffer = png_get_io_ptr(png);

  if (buffer->bytes + bytes > sizeof buffer->content)
    png_error(png, "too long");
  memcpy(buffer->content + buffer->bytes, data, bytes);
  buffer->bytes += bytes;
}

static void describe_png(png_structp png, png_infop info, const PngFormat *format, int width,
                         int height)
{
  const uint8_t clear[4] = {0};
  const png_color_16 gray = {.gray = 1, .red = 1, .green = 2, .blue = 3};

  png_set_IHDR(png, info, (png_uint_32)width, (png_uint_32)height, format->bits, format->type,
               format->interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  if (format->type == PNG_COLOR_TYPE_PALETTE)
    png_set_PLTE(png, info, format->palette, 4);
  if (format->transparent)
    png_set_tRNS(png, info, clear, format->transparent, &gray);
}

/* Writes a PNG from rows that are `pitch` bytes apart. */
static void write_png(CfTest *test, const PngFormat *format, int width, int height,
                      const uint8_t *rows, size_t pitch, PngBuffer *buffer)
{
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
  png_infop info = png_create_info_struct(png);

  buffer->bytes = 0;
  if (!CF_EXPECT(test, setjmp(png_jmpbuf(png)) == 0, "no PNG")) {
    png_destroy_write_struct(&png, &info);
    return;
  }
  png_set_write_fn(png, buffer, write_part, NULL);
  describe_png(png, info, format, width, height);
  png_write_info(png, info);
  const int passes = format->interlaced ? png_set_interlace_handling(png) : 1;
  for (int pass = 0; pass < passes; pass++) {
    for (int y = 0; y < height; y++)
      png_write_row(png, rows + (size_t)y * pitch);
  }
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
}

static void png_file(CfTest *test, const PngFormat *format, int width, int height,
                     const uint8_t *rows, size_t pitch, const int *values)
{
  static PngBuffer buffer;

  write_png(test, format, width, height, rows, pitch, &buffer);
  cf_test_context(test, "type %d, %d bits", format->type, format->bits);
  load(test, buffer.content, buffer.bytes, width, height, values, "");
  load(test, buffer.content, buffer.bytes / 2, width, height, NULL, "PNG");
}

/* 2x2 pixels of every type and depth; transparency changes nothing. */
static void png_files(CfTest *test)
{
  const png_color colours[4] = {{255, 0, 0}, {0, 255, 0}, {0, 0, 255}, {7, 7, 7}};
  const int primaries[] = {13933, 46870, 4732, 7 * 257}, grays[] = {0, 21845, 43690, 65535};
  const struct {
    int type, bits;
    uint8_t rows[2 * 16];
    size_t pitch;
    const int *values;
  } files[] = {
      {PNG_COLOR_TYPE_GRAY, 1, {0x40, 0x80}, 1, (int[]){0, 65535, 65535, 0}},
      {PNG_COLOR_TYPE_GRAY, 2, {0x10, 0xb0}, 1, grays},
      {PNG_COLOR_TYPE_GRAY, 4, {0x05, 0xaf}, 1, grays},
      {PNG_COLOR_TYPE_GRAY, 8, {0, 85, 170, 255}, 2, grays},
      {PNG_COLOR_TYPE_GRAY,
       16,
       {0, 0, 0x12, 0x34, 0xfe, 0xdc, 255, 255},
       4,
       (int[]){0, 0x1234, 0xfedc, 65535}},
      {PNG_COLOR_TYPE_GRAY_ALPHA, 8, {0, 0, 85, 9, 170, 0, 255, 255}, 4, grays},
      {PNG_COLOR_TYPE_PALETTE, 2, {0x10, 0xb0}, 1, primaries},
      {PNG_COLOR_TYPE_PALETTE, 8, {0, 1, 2, 3}, 2, primaries},
      {PNG_COLOR_TYPE_RGB, 8, {255, 0, 0, 0, 255, 0, 0, 0, 255, 7, 7, 7}, 6, primaries},
      {PNG_COLOR_TYPE_RGBA,
       8,
       {255, 0, 0, 0, 0, 255, 0, 1, 0, 0, 255, 2, 7, 7, 7, 255},
       8,
       primaries},
      {PNG_COLOR_TYPE_RGB,
       16,
       {255, 255, 0, 0, 0, 0, 0, 0, 255, 255, 0, 0, 0, 0, 0, 0, 255, 255, 7, 7, 7, 7, 7, 7},
       12,
       primaries},
  };

  for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
    for (int transparent = 0; transparent < 2; transparent++) {
      PngFormat format = {.type = files[i].type, .bits = files[i].bits};

      memcpy(format.palette, colours, sizeof colours);
      format.transparent = format.type & PNG_COLOR_MASK_ALPHA ? 0 : 2 * transparent;
      png_file(test, &format, 2, 2, files[i].rows, files[i].pitch, files[i].values);
    }
  }
}

/* Sizes with and without empty passes. */
static void interlaced_png_files(CfTest *test)
{
  for (int width = 1; width <= 19; width += 2) {
    for (int height = 1; height <= 13; height += 3) {
      uint8_t rows[19 * 13 * 3];
      int values[19 * 13];

      for (int i = 0; i < width * height; i++) {
        const int v = cf_random_below(&test->random, 256);

        rows[3 * i] = rows[3 * i + 1] = rows[3 * i + 2] = (uint8_t)v;
        values[i] = 257 * v;
      }
      png_file(test, &(PngFormat){.type = PNG_COLOR_TYPE_RGB, .bits = 8, .interlaced = true}, width,
               height, rows, (size_t)width * 3, values);
    }
  }
}

/* The CRC of annex D of the PNG specification. */
static uint32_t crc_of(const char *bytes, int count)
{
  uint32_t crc = 0xffffffff;

  for (int i = 0; i < count; i++) {
    crc ^= (uint8_t)bytes[i];
    for (int bit = 0; bit < 8; bit++)
      crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc;
}

/* A few kilobytes that would expand to gigabytes. */
static void large_files_are_refused(CfTest *test)
{
  const struct {
    const char *size;
    const char *word;
  } cases[] = {{"\0\0\x80\0\0\0\x80\0", "32768x32768"},
               {"\x7f\xff\xff\xff\0\0\0\1", "2147483647x1"}};

  for (int i = 0; i < 2; i++) {
    static PngBuffer buffer;
    const uint8_t row[1] = {0};

    write_png(test, &(PngFormat){.type = PNG_COLOR_TYPE_GRAY, .bits = 8}, 1, 1, row, 1, &buffer);
    memcpy(buffer.content + 16, cases[i].size, 8);
    const uint32_t crc = crc_of(buffer.content + 12, 17);
    for (int k = 0; k < 4; k++)
      buffer.content[29 + k] = (char)(crc >> (24 - 8 * k));
    load(test, buffer.content, buffer.bytes, 1, 1, NULL, cases[i].word);
  }
}

/* Whether a map is constant is computed once: 500 looks at all its pixels would take a second or
 * more. */
static void constant_maps_are_known(CfTest *test)
{
  const CfVideo video = cf_video(CF_FORMAT_GRAY8, 16, 16);
  CfGaussblurParams params = {.map_mode = CF_MAP_FILE};
  static uint16_t values[4096 * 2048];
  double m = 0.0;

  for (int last = 0; last < 2; last++) {
    values[4096 * 2048 - 1] = (uint16_t)last;
    CfMap *map = cf_map_new(4096, 2048, values, NULL);
    const clock_t start = clock();

    params.map = map;
    for (int i = 0; i < 500; i++)
      CF_EXPECT(test, cf_map_is_constant(&video, &params, &m) == !last && m == 0.0, "last %d",
                last);
    CF_EXPECT(test, clock() - start < CLOCKS_PER_SEC / 5, "%ld clocks", (long)(clock() - start));
    cf_map_unref(map);
  }
}

static void references_count(CfTest *test)
{
  const uint16_t value = 7;
  CfMap *map = cf_map_new(1, 1, &value, NULL);

  CF_EXPECT(test, cf_map_ref(map) == map, "another map");
  cf_map_unref(map);
  CF_EXPECT(test, cf_map_values(map)[0] == 7, "it is gone");
  cf_map_unref(map);
  cf_map_unref(NULL);
  CF_EXPECT(test, cf_map_ref(NULL) == NULL, "nothing became something");
}

/* Circles are circles, and lines have their angle, in a frame that is filtered by field: the value
 * of a row is between those of the two rows of the frame that it stands for. */
static void fields_show_the_same(CfTest *test)
{
  for (int i = 0; i < 2 * CF_FORMAT_COUNT; i++) {
    const CfVideo frame = cf_video((CfFormat)(i / 2), 40, 24);
    const CfGaussblurParams params = {.sigma = 4.0,
                                      .map_mode = i % 2 ? CF_MAP_LINEAR : CF_MAP_RADIAL,
                                      .map_x = 0.3,
                                      .map_y = 0.25,
                                      .map_inner = 0.05,
                                      .map_outer = 0.9,
                                      .map_angle = 40.0};
    CfVideo field = frame;

    field.height /= 2;
    field.field = true;
    for (int p = 0; p < cf_format_info(frame.format)->planes; p++) {
      const CfMapShape whole = cf_map_shape(&frame, &params, p);
      const CfMapShape half = cf_map_shape(&field, &params, p);

      for (int y = 0; y < cf_plane_height(&field, p); y++) {
        for (int x = 0; x < cf_plane_width(&field, p); x++) {
          const float upper = cf_map_analytic(&whole, x, 2 * y);
          const float lower = cf_map_analytic(&whole, x, 2 * y + 1);
          const float m = cf_map_analytic(&half, x, y);

          CF_EXPECT(test, fabsf(m - (upper + lower) / 2.0f) < 0.02f, "%s x%d y%d: %g, not %g to %g",
                    cf_format_info(frame.format)->name, x, y, m, upper, lower);
        }
      }
    }
  }
}

static const CfTestCase cases[] = {
    {"fields-show-the-same", fields_show_the_same, CF_ONCE},
    {"pgm-files", pgm_files, CF_ONCE},
    {"ppm-files", ppm_files, CF_ONCE},
    {"odd-files", odd_files, CF_ONCE},
    {"png-files", png_files, CF_ONCE},
    {"interlaced-png-files", interlaced_png_files, CF_ONCE},
    {"large-files-are-refused", large_files_are_refused, CF_ONCE},
    {"constant-maps-are-known", constant_maps_are_known, CF_ONCE},
    {"references-count", references_count, CF_ONCE},
    {0},
};

int main(int argc, char **argv)
{
  const CfTestSuite suite = {NULL, cases};

  return cf_test_main(&suite, argc, argv);
}
