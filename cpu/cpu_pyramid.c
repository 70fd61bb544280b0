/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cpu_pyramid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "engine.h"
#include "fir_format.h"
#include "fir_tile.h"
#include "pyramid_rows.h"

/* Samples of a tile in the column prefilter. The source rows of narrow ones stay in the first
 * cache, but rows read in short pieces wait for memory: best of 256..8192. */
#define TILE_SAMPLES 1024
/* Fine rows that a tile makes: the more, the fewer source rows are read twice. */
#define STRIP_FINE_ROWS 16
/* Rows of the result that share their interpolated coarse rows. */
#define STRIP_RESULT_ROWS 32

#define LARGEST_DECIMATION 8
#define LARGEST_FACTOR     16

/* One arithmetic for what runs over all samples. */
typedef struct {
  const CfLines *lines; /* NULL: not needed */
  CfLineFormat format;
  CfLineTaps down, *up;
} Way;

/* Memory that only grows. */
typedef struct {
  void *base;
  size_t bytes;
} Block;

struct CfCpuPyramid {
  const CfCpuPyramid *owner; /* of the fine samples and the scratch; NULL: itself */
  CfVideo video;
  int p, threads;
  int width, height, channels, bytes;
  CfBorder border;
  CfFirPlane plan; /* without taps: rows and columns only by their sum */
  CfPyramidAxis x, y;
  uint8_t border_pixel[8];
  Way straight, weighted; /* as in CfFirWork */

  /* Laid out in the block `tables`. */
  CfLineTaps x_prefilter, x_low, *x_spline, y_low, *y_spline;
  CfRowMargins source_margins, fine_margins;

  /* Rows of single-precision pixels, in the block `images`. */
  float *fine, *coarse;
  size_t fine_stride, coarse_stride; /* floats */

  size_t scratch_stride; /* bytes a thread */
  Block tables, images, scratch;
};

/* Choosing factors */

/* Sigma in D that keeps the pyramid accurate for samples of so many bits. */
static double smallest_ratio(int bits)
{
  return bits > 10 ? 16.0 : bits > 8 ? 3.0 : 2.0;
}

static CfPyramidFactors choose_factors(int bits, double sigma)
{
  const double ratio = smallest_ratio(bits);
  CfPyramidFactors factors = {.decimation = 1,
                              .thinning = 1,
                              .prefilter_sigma = bits > 10 ? 1.0 : 0.8,
                              .prefilter_reach = bits > 10 ? 5.0 : 4.0};
  int factor = 1;

  while (factor < LARGEST_FACTOR && sigma >= 2 * factor * ratio)
    factor *= 2;
  factors.decimation = factor < LARGEST_DECIMATION ? factor : LARGEST_DECIMATION;
  factors.thinning = factor / factors.decimation;
  return factors;
}

/* Measured where the pyramid takes as long as the taps. */
#define SMALLEST_SIGMA 5.0

bool cf_cpu_pyramid_pays(int bits, double horizontal, double vertical, CfPyramidFactors *x,
                         CfPyramidFactors *y)
{
  *x = choose_factors(bits, horizontal);
  *y = choose_factors(bits, vertical);
  return fmax(horizontal, vertical) >= SMALLEST_SIGMA && (x->decimation > 1 || y->decimation > 1);
}

/* Tables */

static CfTaps symmetric_taps(double *tap, int count)
{
  CfTaps taps = {.count = count, .tap = tap};

  for (int i = 0; i < count; i++) {
    taps.sum += tap[i];
    taps.magnitude += fabs(tap[i]);
  }
  return taps;
}

static CfLineTaps *lay_out_spline(const CfLines *lines, const CfPyramidAxis *axis, CfArena *arena)
{
  CfLineTaps *spline = cf_arena_take(arena, (size_t)axis->factor * sizeof *spline);

  for (int p = 0; p < axis->factor; p++) {
    const CfTaps taps = symmetric_taps(&axis->spline[4 * p], axis->spline_count);
    const CfLineTaps laid_out = cf_line_taps(lines, &taps, arena);

    if (spline)
      spline[p] = laid_out;
  }
  return spline;
}

static Way lay_out_way(CfCpuPyramid *pyramid, const CfLines *lines, bool premultiplied,
                       CfArena *arena)
{
  const CfFormatInfo *info = cf_format_info(pyramid->video.format);
  const CfTaps down = symmetric_taps(pyramid->y.prefilter, pyramid->y.prefilter_count);
  Way way = {.lines = lines,
             .format = {.channels = pyramid->channels,
                        .alpha = cf_alpha_channel(&info->plane[pyramid->p]),
                        .bytes = pyramid->bytes,
                        .shift = info->shift,
                        .max_code = cf_max_code(info),
                        .premultiplied = premultiplied,
                        .plan = &pyramid->plan}};

  way.down = cf_line_taps(lines, &down, arena);
  way.up = lay_out_spline(lines, &pyramid->y, arena);
  cf_line_format_tables(&way.format, lines, (size_t)pyramid->width * (size_t)pyramid->channels,
                        arena);
  return way;
}

/* Columns outside 0..width-1 that the made fine samples read. */
static CfRowMargins lay_out_source_margins(const CfCpuPyramid *pyramid, CfArena *arena)
{
  const CfPyramidAxis *axis = &pyramid->x;
  const int first = axis->factors.decimation * axis->made_first + axis->prefilter_first;
  const int end = first + axis->factors.decimation * (axis->made_count - 1) + axis->prefilter_count;
  CfRowMargins margins = {.before = first < 0 ? -first : 0,
                          .after = end > axis->size ? end - axis->size : 0};
  int *index = cf_arena_take(arena, (size_t)(margins.before + margins.after) * sizeof *index);

  for (int i = 0; index && i < margins.before; i++)
    index[i] = cf_border_index(pyramid->border, i - margins.before, axis->size);
  for (int i = 0; index && i < margins.after; i++)
    index[margins.before + i] = cf_border_index(pyramid->border, axis->size + i, axis->size);
  margins.index = index;
  return margins;
}

/* Whose fine samples these are. */
static const CfCpuPyramid *owner_of(const CfCpuPyramid *pyramid)
{
  return pyramid->owner ? pyramid->owner : pyramid;
}

/* Fine samples that were not made, because they equal the outermost made ones. The made ones may
 * begin earlier and end later, where the owner's Gaussian is larger. */
static CfRowMargins lay_out_fine_margins(const CfCpuPyramid *pyramid, CfArena *arena)
{
  const CfPyramidAxis *axis = &pyramid->x, *made = &owner_of(pyramid)->x;
  const int before = made->made_first - axis->fine_first;
  const int after = axis->fine_first + axis->fine_count - made->made_first - made->made_count;
  CfRowMargins margins = {.before = before > 0 ? before : 0, .after = after > 0 ? after : 0};
  int *index = cf_arena_take(arena, (size_t)(margins.before + margins.after) * sizeof *index);

  for (int i = 0; index && i < margins.before + margins.after; i++)
    index[i] = i < margins.before ? 0 : made->made_count - 1 + (before < 0 ? before : 0);
  margins.index = index;
  return margins;
}

/* With an arena that only counts, all but the pointers. */
static void lay_out_tables(CfCpuPyramid *pyramid, CfArena *arena)
{
  const CfFormatInfo *info = cf_format_info(pyramid->video.format);
  const CfPyramidAxis *x = &pyramid->x, *y = &pyramid->y;
  const CfTaps x_prefilter = symmetric_taps(x->prefilter, x->prefilter_count);
  const CfTaps x_low = symmetric_taps(x->low, x->low_count);
  const CfTaps y_low = symmetric_taps(y->low, y->low_count);

  pyramid->x_prefilter = cf_line_taps(&cf_lines_float, &x_prefilter, arena);
  pyramid->x_low = cf_line_taps(&cf_lines_float, &x_low, arena);
  pyramid->y_low = cf_line_taps(&cf_lines_float, &y_low, arena);
  pyramid->x_spline = lay_out_spline(&cf_lines_float, x, arena);
  pyramid->y_spline = lay_out_spline(&cf_lines_float, y, arena);
  pyramid->source_margins = lay_out_source_margins(pyramid, arena);
  pyramid->fine_margins = lay_out_fine_margins(pyramid, arena);
  pyramid->straight =
      lay_out_way(pyramid, info->bits == 8 ? &cf_lines_fixed : &cf_lines_float, false, arena);
  pyramid->weighted = (Way){0};
  if (pyramid->plan.premultiplied)
    pyramid->weighted = lay_out_way(pyramid, &cf_lines_float, true, arena);
}

/* Scratch of a thread, in each of the three steps. */

/* Sums run over whole granules, so rows have room for one more. */
static size_t row_samples(const CfCpuPyramid *pyramid, int pixels)
{
  return (size_t)cf_round_to_granule(pixels * pyramid->channels) + CF_LINE_GRANULE;
}

static int strip_source_rows(const CfPyramidAxis *axis)
{
  return (STRIP_FINE_ROWS - 1) * axis->factors.decimation + axis->prefilter_count;
}

typedef struct {
  uint8_t *tile;      /* of source rows, in working samples */
  const void **lines; /* its rows */
  uint8_t *filtered;  /* STRIP_FINE_ROWS rows of the plane's width, in working samples */
  size_t filtered_bytes;
  float *line, *extended, *work;
} DownScratch;

static DownScratch take_down(const CfCpuPyramid *pyramid, CfArena *arena)
{
  const CfPyramidAxis *x = &pyramid->x;
  const int rows = strip_source_rows(&pyramid->y);
  const int extended =
      pyramid->source_margins.before + pyramid->width + pyramid->source_margins.after;
  DownScratch scratch = {.filtered_bytes = row_samples(pyramid, pyramid->width) * sizeof(float)};

  scratch.tile = cf_arena_take(arena, (size_t)rows * (TILE_SAMPLES + CF_LINE_GRANULE) * 4);
  scratch.lines = cf_arena_take(arena, (size_t)rows * sizeof *scratch.lines);
  scratch.filtered = cf_arena_take(arena, STRIP_FINE_ROWS * scratch.filtered_bytes);
  scratch.line = cf_arena_take(arena, row_samples(pyramid, pyramid->width) * sizeof(float));
  scratch.extended =
      cf_arena_take(arena, row_samples(pyramid, extended + LARGEST_FACTOR) * sizeof(float));
  scratch.work = cf_arena_take(arena, cf_row_work(extended + x->factors.decimation,
                                                  pyramid->channels, x->factors.decimation) *
                                          sizeof(float));
  return scratch;
}

typedef struct {
  const void **lines;
  float *line, *extended, *work;
} LowScratch;

static LowScratch take_low(const CfCpuPyramid *pyramid, CfArena *arena)
{
  const CfPyramidAxis *x = &pyramid->x;
  LowScratch scratch;

  scratch.lines = cf_arena_take(arena, (size_t)pyramid->y.low_count * sizeof *scratch.lines);
  scratch.line = cf_arena_take(arena, row_samples(pyramid, x->made_count) * sizeof(float));
  scratch.extended =
      cf_arena_take(arena, row_samples(pyramid, x->fine_count + LARGEST_FACTOR) * sizeof(float));
  scratch.work = cf_arena_take(arena, cf_row_work(x->fine_count + x->factors.thinning,
                                                  pyramid->channels, x->factors.thinning) *
                                          sizeof(float));
  return scratch;
}

typedef struct {
  uint8_t *rows; /* interpolated along x, in working samples */
  size_t row_bytes;
  float *line, *work;
  uint8_t *result;
} UpScratch;

static UpScratch take_up(const CfCpuPyramid *pyramid, CfArena *arena)
{
  const int rows = STRIP_RESULT_ROWS / pyramid->y.factor + 5;
  const int whole_blocks = pyramid->width + pyramid->x.factor;
  UpScratch scratch = {.row_bytes = row_samples(pyramid, whole_blocks) * sizeof(float)};

  scratch.rows = cf_arena_take(arena, (size_t)rows * scratch.row_bytes);
  scratch.line = cf_arena_take(arena, scratch.row_bytes);
  scratch.work = cf_arena_take(
      arena, cf_row_work(pyramid->width, pyramid->channels, pyramid->x.factor) * sizeof(float));
  scratch.result = cf_arena_take(arena, scratch.row_bytes);
  return scratch;
}

static size_t scratch_bytes(const CfCpuPyramid *pyramid)
{
  CfArena down = {0}, low = {0}, up = {0};

  take_down(pyramid, &down);
  take_low(pyramid, &low);
  take_up(pyramid, &up);
  return (size_t)fmax((double)down.used, fmax((double)low.used, (double)up.used));
}

static CfArena thread_scratch(const CfCpuPyramid *pyramid)
{
  const CfCpuPyramid *owner = owner_of(pyramid);

  return (CfArena){.base = (uint8_t *)owner->scratch.base +
                           owner->scratch_stride * (size_t)cf_thread_index()};
}

/* State */

CfCpuPyramid *cf_cpu_pyramid_open(const CfVideo *video, int plane, int threads, CfStatus *status)
{
  const CfFormatInfo *info = cf_format_info(video->format);
  CfCpuPyramid *pyramid = calloc(1, sizeof *pyramid);

  if (!pyramid) {
    cf_fail(status, CF_ERROR_NO_MEMORY, "no memory for a blur pyramid");
    return NULL;
  }
  pyramid->video = *video;
  pyramid->p = plane;
  pyramid->threads = threads;
  pyramid->width = cf_plane_width(video, plane);
  pyramid->height = cf_plane_height(video, plane);
  pyramid->channels = info->plane[plane].channels;
  pyramid->bytes = cf_sample_bytes(info);
  return pyramid;
}

static void describe(CfCpuPyramid *pyramid, const CfFirPlan *plan)
{
  const int shift = cf_format_info(pyramid->video.format)->shift;

  pyramid->border = plan->border;
  pyramid->plan = plan->plane[pyramid->p];
  pyramid->plan.row.tap = pyramid->plan.column.tap = NULL;
  for (int c = 0; c < pyramid->channels; c++) {
    const uint16_t border = (uint16_t)(pyramid->plan.channel[c].border << shift);

    if (pyramid->bytes == 1)
      pyramid->border_pixel[c] = (uint8_t)border;
    else
      memcpy(&pyramid->border_pixel[2 * c], &border, sizeof border);
  }
}

/* Makes sure of at least `bytes` bytes, all 0: sums also run over what no row fills, where stale
 * bytes might be slow denormal numbers. */
static bool reserve(Block *block, size_t bytes, CfStatus *status)
{
  void *memory;

  if (bytes <= block->bytes)
    return true;
  memory = cf_aligned_alloc(bytes);
  if (!memory)
    return cf_fail(status, CF_ERROR_NO_MEMORY, "no memory for a blur pyramid of %zu bytes", bytes);
  memset(memory, 0, bytes);
  free(block->base);
  *block = (Block){memory, bytes};
  return true;
}

/* Lays everything out for the axes and the channels set; the blocks grow where they must. */
static bool prepare(CfCpuPyramid *pyramid, CfStatus *status)
{
  CfArena counted = {0}, placed;

  lay_out_tables(pyramid, &counted);
  pyramid->fine_stride = row_samples(pyramid, pyramid->x.made_count);
  pyramid->coarse_stride = row_samples(pyramid, pyramid->x.coarse_count + 1);
  pyramid->scratch_stride = scratch_bytes(pyramid);

  const size_t fine = pyramid->owner ? 0 : pyramid->fine_stride * (size_t)pyramid->y.made_count;
  const size_t coarse = pyramid->coarse_stride * (size_t)pyramid->y.coarse_count;
  const size_t slack = CF_LINE_GRANULE; /* sums of the last row run over it */
  if (!reserve(&pyramid->tables, counted.used, status) ||
      !reserve(&pyramid->images, (fine + coarse + slack) * sizeof(float), status) ||
      (!pyramid->owner &&
       !reserve(&pyramid->scratch, pyramid->scratch_stride * (size_t)pyramid->threads, status)))
    return false;
  placed = (CfArena){.base = pyramid->tables.base};
  lay_out_tables(pyramid, &placed);
  pyramid->fine = pyramid->images.base;
  pyramid->coarse = pyramid->fine + fine;
  return true;
}

bool cf_cpu_pyramid_update(CfCpuPyramid *pyramid, const CfFirPlan *plan, double horizontal,
                           double vertical, const CfPyramidFactors *x, const CfPyramidFactors *y,
                           const CfCpuPyramid *owner, CfStatus *status)
{
  CfCpuPyramid before = *pyramid;

  pyramid->x = pyramid->y = (CfPyramidAxis){0};
  pyramid->owner = owner;
  describe(pyramid, plan);
  if (cf_pyramid_axis(&pyramid->x, horizontal, pyramid->width, plan->border, x, status) &&
      cf_pyramid_axis(&pyramid->y, vertical, pyramid->height, plan->border, y, status) &&
      prepare(pyramid, status)) {
    cf_pyramid_axis_free(&before.x);
    cf_pyramid_axis_free(&before.y);
    return true;
  }
  cf_pyramid_axis_free(&pyramid->x);
  cf_pyramid_axis_free(&pyramid->y);
  /* Blocks that grew serve the plan before as well. */
  before.tables = pyramid->tables;
  before.images = pyramid->images;
  before.scratch = pyramid->scratch;
  *pyramid = before;
  if (pyramid->x.storage)
    prepare(pyramid, NULL);
  return false;
}

void cf_cpu_pyramid_close(CfCpuPyramid *pyramid)
{
  if (!pyramid)
    return;
  cf_pyramid_axis_free(&pyramid->x);
  cf_pyramid_axis_free(&pyramid->y);
  free(pyramid->tables.base);
  free(pyramid->images.base);
  free(pyramid->scratch.base);
  free(pyramid);
}

/* Ranges of rows that a range of the result needs, first to last. */

typedef struct {
  int first, last;
} Rows;

static int clamp(int value, int least, int most)
{
  return value < least ? least : value > most ? most : value;
}

/* By index from coarse_first. */
static Rows coarse_rows(const CfPyramidAxis *axis, int y0, int y1)
{
  const int last = y1 - 1;

  return (Rows){y0 / axis->factor + axis->spline_first[y0 % axis->factor] - axis->coarse_first,
                last / axis->factor + axis->spline_first[last % axis->factor] + axis->spline_count -
                    1 - axis->coarse_first};
}

/* By index from the owner's made_first. */
static int made_row(const CfCpuPyramid *pyramid, int coarse, int tap)
{
  const CfPyramidAxis *axis = &pyramid->y, *made = &owner_of(pyramid)->y;
  const int fine = axis->factors.thinning * (coarse + axis->coarse_first) + axis->low_first + tap;

  return clamp(fine - made->made_first, 0, made->made_count - 1);
}

/* Step 1: prefilter and decimate */

typedef struct {
  CfCpuPyramid *pyramid;
  const Way *way;
  const uint8_t *source;
  ptrdiff_t source_stride;
  uint8_t *destination;
  ptrdiff_t destination_stride;
  CfRect rect;
  bool watch_alpha;
} Run;

/* Loads pixels x0..x1-1 of the source rows that `rows` fine rows from `first` on read. False where
 * one of them is not opaque and should be. */
static bool load_tile(const Run *run, const DownScratch *scratch, int first, int rows, int x0,
                      int x1)
{
  const CfCpuPyramid *pyramid = run->pyramid;
  const CfPyramidAxis *axis = &pyramid->y;
  const int step = axis->factors.decimation, pixel = pyramid->channels * pyramid->bytes;
  const int top = step * (axis->made_first + first) + axis->prefilter_first;
  const int count = step * (rows - 1) + axis->prefilter_count;
  const CfLines *lines = run->way->lines;
  const size_t line_bytes = (TILE_SAMPLES + CF_LINE_GRANULE) * lines->size;

  for (int i = 0; i < count; i++) {
    const int y = cf_border_index(pyramid->border, top + i, pyramid->height);
    uint8_t *to = scratch->tile + (size_t)i * line_bytes;

    scratch->lines[i] = to;
    if (y < 0) {
      for (int x = x0; x < x1; x++)
        lines->load(&run->way->format, pyramid->border_pixel, pyramid->channels,
                    to + (size_t)(x - x0) * (size_t)pyramid->channels * lines->size);
      continue;
    }
    const uint8_t *from = run->source + y * run->source_stride + (ptrdiff_t)x0 * pixel;
    if (run->watch_alpha && !cf_pixels_are_opaque(from, run->way->format.alpha, x1 - x0))
      return false;
    lines->load(&run->way->format, from, (x1 - x0) * pyramid->channels, to);
  }
  return true;
}

static bool prefilter_columns(const Run *run, const DownScratch *scratch, int first, int rows)
{
  const CfCpuPyramid *pyramid = run->pyramid;
  const CfLines *lines = run->way->lines;
  const int step = pyramid->y.factors.decimation, widest = TILE_SAMPLES / pyramid->channels;

  for (int x0 = 0; x0 < pyramid->width; x0 += widest) {
    const int x1 = x0 + widest < pyramid->width ? x0 + widest : pyramid->width;
    const int samples = (x1 - x0) * pyramid->channels;
    const size_t offset = (size_t)x0 * (size_t)pyramid->channels * lines->size;

    if (!load_tile(run, scratch, first, rows, x0, x1))
      return false;
    for (int i = 0; i < rows; i++) {
      uint8_t *to = scratch->filtered + (size_t)i * scratch->filtered_bytes + offset;

      if (run->way->down.tap)
        lines->sum(&run->way->down, scratch->lines + i * step, cf_round_to_granule(samples), to);
      else
        memcpy(to, scratch->lines[i], (size_t)samples * lines->size);
    }
  }
  return true;
}

static void prefilter_row(const Run *run, const DownScratch *scratch, const void *filtered,
                          const float *border_pixel, float *to)
{
  const CfCpuPyramid *pyramid = run->pyramid;
  const CfRowFilter filter = {.step = pyramid->x.factors.decimation,
                              .channels = pyramid->channels,
                              .taps = pyramid->x_prefilter};
  const int first = filter.step * pyramid->x.made_first + pyramid->x.prefilter_first;

  cf_row_to_float(run->way->lines, filtered, pyramid->width * pyramid->channels, scratch->line);
  cf_row_extend(scratch->line, pyramid->width, pyramid->channels, &pyramid->source_margins,
                border_pixel, scratch->extended);
  /* Where no margin is needed the first pixels may not be either. */
  cf_row_filter(&filter,
                scratch->extended +
                    (ptrdiff_t)(first + pyramid->source_margins.before) * pyramid->channels,
                pyramid->x.made_count, scratch->work, to);
}

/* False where pixels are not opaque and should be. */
static bool make_fine_strip(const Run *run, int first, int rows)
{
  CfCpuPyramid *pyramid = run->pyramid;
  CfArena arena = thread_scratch(pyramid);
  const DownScratch scratch = take_down(pyramid, &arena);
  const CfLines *lines = run->way->lines;
  float border_pixel[CF_MAX_CHANNELS], working[CF_MAX_CHANNELS];

  lines->load(&run->way->format, pyramid->border_pixel, pyramid->channels, working);
  cf_row_to_float(lines, working, pyramid->channels, border_pixel);
  if (!prefilter_columns(run, &scratch, first, rows))
    return false;
  for (int i = 0; i < rows; i++)
    prefilter_row(run, &scratch, scratch.filtered + (size_t)i * scratch.filtered_bytes,
                  border_pixel, pyramid->fine + (size_t)(first + i) * pyramid->fine_stride);
  return true;
}

static bool make_fine(const Run *run, Rows rows)
{
  const int count = rows.last - rows.first + 1;
  const int strips = (count + STRIP_FINE_ROWS - 1) / STRIP_FINE_ROWS;
  bool good = true;

#pragma omp parallel for schedule(dynamic) num_threads(run->pyramid->threads) reduction(&& : good)
  for (int i = 0; i < strips; i++) {
    const int first = rows.first + i * STRIP_FINE_ROWS, left = rows.last - first + 1;

    good = make_fine_strip(run, first, left < STRIP_FINE_ROWS ? left : STRIP_FINE_ROWS) && good;
  }
  return good;
}

/* Step 2: the rest of the Gaussian */

static void make_coarse_row(const CfCpuPyramid *pyramid, int row)
{
  const CfCpuPyramid *owner = owner_of(pyramid);
  const CfRowMargins *margins = &pyramid->fine_margins;
  CfArena arena = thread_scratch(pyramid);
  const LowScratch scratch = take_low(pyramid, &arena);
  const CfRowFilter filter = {
      .step = pyramid->x.factors.thinning, .channels = pyramid->channels, .taps = pyramid->x_low};
  const int unread = pyramid->x.fine_first - owner->x.made_first;
  const float *line = scratch.line;

  for (int t = 0; t < pyramid->y.low_count; t++)
    scratch.lines[t] = owner->fine + (size_t)made_row(pyramid, row, t) * owner->fine_stride;
  if (pyramid->y_low.tap)
    cf_lines_float.sum(&pyramid->y_low, scratch.lines,
                       cf_round_to_granule(owner->x.made_count * pyramid->channels), scratch.line);
  else
    line = scratch.lines[0];
  cf_row_extend(line + (ptrdiff_t)(unread > 0 ? unread : 0) * pyramid->channels,
                pyramid->x.fine_count - margins->before - margins->after, pyramid->channels,
                margins, NULL, scratch.extended);
  cf_row_filter(&filter, scratch.extended, pyramid->x.coarse_count, scratch.work,
                pyramid->coarse + (size_t)row * pyramid->coarse_stride);
}

static void make_coarse(const CfCpuPyramid *pyramid, Rows rows)
{
#pragma omp parallel for schedule(dynamic, 4) num_threads(pyramid->threads)
  for (int row = rows.first; row <= rows.last; row++)
    make_coarse_row(pyramid, row);
}

/* Step 3: interpolate */

static void store_columns(const Run *run, const void *line, int y)
{
  const CfCpuPyramid *pyramid = run->pyramid;
  const CfLines *lines = run->way->lines;
  const ptrdiff_t sample = (ptrdiff_t)run->rect.x0 * pyramid->channels;
  const ptrdiff_t offset = sample * pyramid->bytes;

  lines->store(&run->way->format, (const uint8_t *)line + sample * (ptrdiff_t)lines->size,
               (run->rect.x1 - run->rect.x0) * pyramid->channels,
               run->source + y * run->source_stride + offset,
               run->destination + y * run->destination_stride + offset);
}

static void interpolate_strip(const Run *run, int y0, int y1)
{
  const CfCpuPyramid *pyramid = run->pyramid;
  const CfPyramidAxis *axis = &pyramid->y;
  const CfLines *lines = run->way->lines;
  CfArena arena = thread_scratch(pyramid);
  const UpScratch scratch = take_up(pyramid, &arena);
  const Rows rows = coarse_rows(axis, y0, y1);
  const int samples = pyramid->width * pyramid->channels;

  for (int row = rows.first; row <= rows.last; row++) {
    cf_row_expand(&pyramid->x, pyramid->x_spline, pyramid->channels,
                  pyramid->coarse + (size_t)row * pyramid->coarse_stride, 0, pyramid->width,
                  scratch.work, scratch.line);
    cf_row_from_float(lines, scratch.line, samples,
                      scratch.rows + (size_t)(row - rows.first) * scratch.row_bytes);
  }
  for (int y = y0; y < y1; y++) {
    const Rows used = coarse_rows(axis, y, y + 1);
    const CfLineTaps *taps = &run->way->up[y % axis->factor];
    const uint8_t *first = scratch.rows + (size_t)(used.first - rows.first) * scratch.row_bytes;
    const void *line[] = {first, first + scratch.row_bytes, first + 2 * scratch.row_bytes,
                          first + 3 * scratch.row_bytes};

    if (taps->tap)
      lines->sum(taps, line, cf_round_to_granule(samples), scratch.result);
    store_columns(run, taps->tap ? scratch.result : first, y);
  }
}

static void interpolate(const Run *run)
{
  const int count = run->rect.y1 - run->rect.y0;
  const int strips = (count + STRIP_RESULT_ROWS - 1) / STRIP_RESULT_ROWS;

#pragma omp parallel for schedule(dynamic) num_threads(run->pyramid->threads)
  for (int i = 0; i < strips; i++) {
    const int y0 = run->rect.y0 + i * STRIP_RESULT_ROWS, y1 = y0 + STRIP_RESULT_ROWS;

    interpolate_strip(run, y0, y1 < run->rect.y1 ? y1 : run->rect.y1);
  }
}

/* Planes */

/* The fine rows that the result's rows y0..y1-1 need. */
static Rows fine_rows(const CfCpuPyramid *pyramid, int y0, int y1)
{
  const Rows coarse = coarse_rows(&pyramid->y, y0, y1);

  return (Rows){made_row(pyramid, coarse.first, 0),
                made_row(pyramid, coarse.last, pyramid->y.low_count - 1)};
}

static bool run_way(const Run *run)
{
  const int y0 = run->rect.y0, y1 = run->rect.y1;

  if (!make_fine(run, fine_rows(run->pyramid, y0, y1)))
    return false;
  make_coarse(run->pyramid, coarse_rows(&run->pyramid->y, y0, y1));
  interpolate(run);
  return true;
}

static Run run_of(CfCpuPyramid *pyramid, const CfJob *job, CfRect rect)
{
  return (Run){.pyramid = pyramid,
               .way = &pyramid->straight,
               .source = job->source.data[pyramid->p],
               .source_stride = job->source.stride[pyramid->p],
               .destination = job->destination.data[pyramid->p],
               .destination_stride = job->destination.stride[pyramid->p],
               .rect = rect};
}

const char *cf_cpu_pyramid_run(CfCpuPyramid *pyramid, const CfJob *job, CfRect rect)
{
  Run run = run_of(pyramid, job, rect);

  run.watch_alpha = pyramid->weighted.lines != NULL;
  if (!cf_rect_is_empty(rect) && !run_way(&run)) {
    run.way = &pyramid->weighted;
    run.watch_alpha = false;
    run_way(&run);
  }
  return run.way->lines == &cf_lines_fixed ? "pyramid-fixed" : "pyramid-float";
}

/* Levels of blur maps */

void cf_cpu_pyramid_make_fine(CfCpuPyramid *pyramid, const CfJob *job, bool weighted, int y0,
                              int y1)
{
  Run run = run_of(pyramid, job, (CfRect){0, y0, pyramid->width, y1});

  if (weighted)
    run.way = &pyramid->weighted;
  make_fine(&run, fine_rows(pyramid, y0, y1));
}

void cf_cpu_pyramid_make_coarse(CfCpuPyramid *pyramid, int y0, int y1)
{
  make_coarse(pyramid, coarse_rows(&pyramid->y, y0, y1));
}

/* Rows of a tile that are interpolated along x first. */
static int tile_coarse_rows(const CfCpuPyramid *pyramid, int height)
{
  return height / pyramid->y.factor + 5;
}

static size_t tile_row(const CfCpuPyramid *pyramid, int width)
{
  return row_samples(pyramid, width + pyramid->x.factor);
}

size_t cf_cpu_pyramid_tile_work(const CfCpuPyramid *pyramid, int width, int height)
{
  return tile_row(pyramid, width) * (size_t)tile_coarse_rows(pyramid, height) +
         cf_row_work(width, pyramid->channels, pyramid->x.factor);
}

void cf_cpu_pyramid_tile(const CfCpuPyramid *pyramid, CfRect tile, float *work, float *to,
                         size_t stride)
{
  const CfPyramidAxis *axis = &pyramid->y;
  const Rows rows = coarse_rows(axis, tile.y0, tile.y1);
  const int width = tile.x1 - tile.x0, samples = width * pyramid->channels;
  const size_t row_floats = tile_row(pyramid, width);
  float *expanded = work + cf_row_work(width, pyramid->channels, pyramid->x.factor);

  for (int row = rows.first; row <= rows.last; row++)
    cf_row_expand(&pyramid->x, pyramid->x_spline, pyramid->channels,
                  pyramid->coarse + (size_t)row * pyramid->coarse_stride, tile.x0, width, work,
                  expanded + (size_t)(row - rows.first) * row_floats);
  for (int y = tile.y0; y < tile.y1; y++, to += stride) {
    const int first = coarse_rows(axis, y, y + 1).first - rows.first;
    const CfLineTaps *taps = &pyramid->y_spline[y % axis->factor];
    const float *row = expanded + (size_t)first * row_floats;
    const void *lines[] = {row, row + row_floats, row + 2 * row_floats, row + 3 * row_floats};

    if (taps->tap)
      cf_lines_float.sum(taps, lines, cf_round_to_granule(samples), to);
    else
      memcpy(to, row, (size_t)samples * sizeof *to);
  }
}
