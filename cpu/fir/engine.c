/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cpu/fir/engine.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/common/memory.h"
#include "cpu/common/parallel.h"
#include "cpu/fir/line_tables.h"
#include "cpu/fir/tile.h"
#include "plan/int_math.h"

/* The ring of a tile should stay in the second-level cache. Within that limit tiles are as wide as
 * possible: short pieces of rows wait for memory and for the TLB. */
#define RING_BYTES       786432
#define SMALLEST_TILE    512 /* samples */
#define TILES_PER_THREAD 4
/* Matrix products and bytes take equal time per row, and a tile's first rows wait for memory:
 * fewer, larger tiles are faster. */
#define EVEN_TILES_PER_THREAD 1
/* Each strip also filters column.count - 1 rows of its neighbours: at most this share of its own
 * rows. */
#define STRIP_OVERLAP 0.125
/* The least number of products per thread that is worth starting it. */
#define SMALLEST_SHARE 100000.0
/* Matrix products, of 16 rows at once, are used from this height on, and from this many taps in
 * both directions together: below, filters of bytes are faster. */
#define SMALLEST_MATRIX_HEIGHT 32
#define FEWEST_MATRIX_TAPS     22

typedef struct {
  int tile_width; /* pixels */
  int columns;    /* of tiles */
  int strips;
} Grid;

struct CfCpuFir {
  CfVideo video;
  int threads;
  bool has_matrix;      /* cf_fir_matrix_available */
  const CfLines *bytes; /* cf_lines_bytes(), or NULL */
  CfFirPlan plans[2];
  int current; /* index of the plan in force */
  CfFirShare share[CF_MAX_PLANES];
  CfFirWork work[CF_MAX_PLANES];
  Grid grid[CF_MAX_PLANES];
  CfBuffer tables;       /* the tables that `work` points to */
  CfBuffer scratch;      /* of all threads */
  size_t scratch_stride; /* bytes per thread */
  const char *algorithm;
};

/* ---- Choosing the arithmetic ---- */

static bool fixed_error(const CfTaps *taps, CfFixedError *error)
{
  int16_t tap[CF_MAX_TAPS];

  *error = (CfFixedError){0};
  return cf_taps_are_identity(taps) || cf_lines_fixed_taps(taps, tap, error);
}

/* Whether the plane, without weights, is filtered by a mean: taps with a sum of 1, no bias. */
static bool is_mean(const CfFirPlane *plane, const CfPlaneFormat *format)
{
  const double sum = plane->row.sum * plane->column.sum;

  if (plane->unsharp)
    return false;
  for (int c = 0; c < format->channels; c++) {
    const CfFirChannel *channel = &plane->channel[c];

    if (channel->filtered && (fabs(channel->scale * sum - 1.0) > 1e-6 || channel->bias != 0.0))
      return false;
  }
  return true;
}

/* Whether the error of fixed point for 8 bits is always below half a code, so that rounding is off
 * by at most one code, and as a rule below a tenth of a code. */
static bool fixed_suffices(const CfFirPlane *plane)
{
  CfFixedError row, column;

  return fixed_error(&plane->row, &row) && fixed_error(&plane->column, &column) &&
         row.bound + column.bound < 0.5 && hypot(row.rms, column.rms) < 0.03;
}

/* Whether the plane, without weights, is filtered with matrix products. Lays out the tables; with
 * an arena that counts, all but their pointers. */
static bool lay_out_matrix(const CfCpuFir *fir, CfFirWork *work, int p, CfArena *arena)
{
  const CfFormatInfo *info = cf_format_info(fir->video.format);
  const CfTaps *row = &work->plan->row, *column = &work->plan->column;

  return fir->has_matrix && info->bits == 8 && work->copied_count == 0 &&
         work->height >= SMALLEST_MATRIX_HEIGHT &&
         row->count + column->count >= FEWEST_MATRIX_TAPS && is_mean(work->plan, &info->plane[p]) &&
         cf_fir_matrix_lay_out(&work->matrix, row, column, arena);
}

/* The arithmetic for the plane without weights, where matrix products are not used. */
static const CfLines *straight_lines(const CfCpuFir *fir, const CfFirPlane *plan, int p)
{
  const CfFormatInfo *info = cf_format_info(fir->video.format);

  if (fir->bytes && info->bits == 8 && is_mean(plan, &info->plane[p]) && fixed_suffices(plan))
    return fir->bytes;
  return plan->float_suffices ? &cf_lines_float : &cf_lines_double;
}

/* ---- Tables ---- */

static CfFirPath lay_out_path(const CfCpuFir *fir, const CfFirPlane *plan, int p,
                              const CfLines *lines, bool premultiplied, int tile_width,
                              CfArena *arena)
{
  const size_t channels = (size_t)cf_format_info(fir->video.format)->plane[p].channels;
  CfFirPath path = {.lines = lines, .tile_width = tile_width};

  path.row = cf_line_taps(lines, &plan->row, arena);
  path.column = cf_line_taps(lines, &plan->column, arena);
  path.format = cf_line_format(&fir->video, p, plan, premultiplied, lines,
                               (size_t)tile_width * channels, arena);
  return path;
}

/* ---- Describing a plane ---- */

static void describe_channels(CfFirWork *work, const CfPlaneFormat *format)
{
  for (int c = 0; c < format->channels; c++) {
    if (format->role[c] == CF_ROLE_PADDING)
      work->padding = c;
    else if (!work->plan->channel[c].filtered)
      work->copied[work->copied_count++] = c;
  }
}

static CfFirWork describe_plane(const CfVideo *video, const CfFirPlan *plan, int p)
{
  const CfFormatInfo *info = cf_format_info(video->format);
  CfFirWork work = {
      .plan = &plan->plane[p],
      .border = plan->border,
      .width = cf_plane_width(video, p),
      .height = cf_plane_height(video, p),
      .channels = info->plane[p].channels,
      .sample_bytes = cf_sample_bytes(info),
      .alpha = cf_alpha_channel(&info->plane[p]),
      .padding = -1,
  };

  describe_channels(&work, &info->plane[p]);
  cf_border_pixel(video, work.plan, work.border_pixel);
  return work;
}

static Grid choose_grid(const CfFirWork *work, const CfLines *lines, int threads)
{
  const int rows = work->plan->column.count, channels = work->channels;
  /* Pixels whose samples fill whole granules. */
  const int granule = channels == 3 ? CF_LINE_GRANULE : CF_LINE_GRANULE / channels;
  const int narrowest = SMALLEST_TILE / channels;
  const int fitting = (int)(RING_BYTES / lines->size) / ((rows + CF_FIR_BLOCK_ROWS) * channels);
  const int widest = cf_max(fitting, narrowest);
  const int most_columns = cf_divide_up(work->width, narrowest);
  const bool even = work->matrix.row_tiles > 0 || cf_lines_are_bytes(lines);
  const int share = even ? EVEN_TILES_PER_THREAD : TILES_PER_THREAD;
  const int wanted = threads > 1 ? share * threads : 1;
  const int cheap = cf_clamp((int)(work->height * STRIP_OVERLAP / rows), 1, wanted);
  Grid grid;

  grid.columns = cf_divide_up(work->width, widest);
  grid.columns = cf_clamp(cf_divide_up(wanted, cheap), grid.columns, most_columns);
  grid.tile_width = cf_divide_up(cf_divide_up(work->width, grid.columns), granule) * granule;
  grid.columns = cf_divide_up(work->width, grid.tile_width);
  grid.strips = cf_divide_up(threads, grid.columns);
  grid.strips =
      cf_clamp(cf_divide_up(wanted, grid.columns), grid.strips, cf_max(cheap, grid.strips));
  grid.strips = cf_min(grid.strips, work->height);
  return grid;
}

/* Fills in all that depends on the plan; with an arena that counts, all but the pointers. */
static void lay_out_plane(const CfCpuFir *fir, CfFirWork *work, Grid *grid, int p, CfArena *arena)
{
  const CfFirPlane *plan = work->plan;
  const CfLines *real = plan->float_suffices ? &cf_lines_float : &cf_lines_double;
  const CfLines *straight = straight_lines(fir, plan, p);
  const bool matrix = lay_out_matrix(fir, work, p, arena);

  *grid = choose_grid(work, straight, fir->threads);
  if (!matrix)
    work->straight = lay_out_path(fir, plan, p, straight, false, grid->tile_width, arena);
  if (straight == fir->bytes)
    work->straight.format.dropped = plan->premultiplied ? work->alpha : work->padding;
  work->only_opaque = plan->premultiplied && fir->share[p] == CF_FIR_IF_OPAQUE;
  if (plan->premultiplied && !work->only_opaque)
    work->weighted = lay_out_path(fir, plan, p, real, true, grid->tile_width, arena);
}

static size_t lay_out_planes(const CfCpuFir *fir, const CfFirPlan *plan, CfFirWork *work,
                             Grid *grid, CfArena *arena)
{
  size_t scratch = 0;

  for (int p = 0; p < plan->planes; p++) {
    work[p] = describe_plane(&fir->video, plan, p);
    if (fir->share[p] == CF_FIR_NOTHING) {
      grid[p] = (Grid){0};
      continue;
    }
    if (!work[p].plan->filtered) {
      grid[p] = (Grid){.tile_width = work[p].width, .columns = 1, .strips = fir->threads};
      continue;
    }
    lay_out_plane(fir, &work[p], &grid[p], p, arena);
    const size_t bytes = cf_fir_tile_scratch(&work[p], grid[p].tile_width);
    scratch = bytes > scratch ? bytes : scratch;
  }
  return scratch;
}

/* ---- State ---- */

CfCpuFir *cf_cpu_fir_open(const CfVideo *video, const CfOpenOptions *options, CfStatus *status)
{
  CfCpuFir *fir = cf_zeroed(sizeof *fir, status);

  if (!fir)
    return NULL;
  fir->video = *video;
  fir->threads = cf_thread_count(options->threads);
  fir->has_matrix = cf_fir_matrix_available();
  fir->bytes = cf_lines_bytes();
  fir->algorithm = "none";
  return fir;
}

const CfVideo *cf_cpu_fir_video(const CfCpuFir *fir)
{
  return &fir->video;
}

CfFirPlan *cf_cpu_fir_next_plan(CfCpuFir *fir)
{
  return &fir->plans[1 - fir->current];
}

void cf_cpu_fir_share(CfCpuFir *fir, int plane, CfFirShare share)
{
  fir->share[plane] = share;
}

bool cf_cpu_fir_is_fast(const CfCpuFir *fir, int plane)
{
  CfFirWork work = describe_plane(&fir->video, &fir->plans[1 - fir->current], plane);
  CfArena counted = {0};

  return work.plan->filtered && (lay_out_matrix(fir, &work, plane, &counted) ||
                                 cf_lines_are_bytes(straight_lines(fir, work.plan, plane)));
}

bool cf_cpu_fir_commit(CfCpuFir *fir, CfStatus *status)
{
  const CfFirPlan *plan = cf_cpu_fir_next_plan(fir);
  CfFirWork work[CF_MAX_PLANES];
  Grid grid[CF_MAX_PLANES];
  CfArena counted = {0}, placed;
  const size_t stride = lay_out_planes(fir, plan, work, grid, &counted);

  /* The tables last: where anything fails, those of the current plan are still in place. */
  if (!cf_buffer_reserve(&fir->scratch, stride * (size_t)fir->threads, "rows to filter", status) ||
      !cf_buffer_reserve(&fir->tables, counted.used, "filter tables", status))
    return false;
  placed = (CfArena){.base = fir->tables.base};
  fir->scratch_stride = lay_out_planes(fir, plan, fir->work, fir->grid, &placed);
  fir->current = 1 - fir->current;
  return true;
}

const char *cf_cpu_fir_algorithm(const void *state)
{
  const CfCpuFir *fir = state;

  return fir->algorithm;
}

void cf_cpu_fir_close(void *state)
{
  CfCpuFir *fir = state;

  if (!fir)
    return;
  cf_fir_plan_free(&fir->plans[0]);
  cf_fir_plan_free(&fir->plans[1]);
  free(fir->tables.base);
  free(fir->scratch.base);
  free(fir);
}

/* ---- Frames ---- */

/* Tile `index`, clipped to a rectangle. */
static CfRect tile_at(const CfFirWork *work, const Grid *grid, int index, const CfRect *within)
{
  const int column = index % grid->columns, strip = index / grid->columns;

  return (CfRect){
      .x0 = cf_max(column * grid->tile_width, within->x0),
      .y0 = cf_max((int)((long)work->height * strip / grid->strips), within->y0),
      .x1 = cf_min((column + 1) * grid->tile_width, within->x1),
      .y1 = cf_min((int)((long)work->height * (strip + 1) / grid->strips), within->y1),
  };
}

static void copy_tile(const CfFirWork *work, const CfFirRows *rows, const CfRect *tile)
{
  const ptrdiff_t pixel = work->channels * work->sample_bytes;

  for (int y = tile->y0; y < tile->y1; y++)
    memcpy(rows->destination + y * rows->destination_stride + tile->x0 * pixel,
           rows->source + y * rows->source_stride + tile->x0 * pixel,
           (size_t)((tile->x1 - tile->x0) * pixel));
}

/* Filters tile `index`, counted over all planes. */
static CfFirArithmetic run_tile(const CfCpuFir *fir, const CfJob *job, const CfRect *within,
                                int index, void *scratch)
{
  int p = 0;

  while (index >= fir->grid[p].columns * fir->grid[p].strips) {
    index -= fir->grid[p].columns * fir->grid[p].strips;
    p++;
  }
  const CfFirWork *work = &fir->work[p];
  const CfRect plane = {0, 0, work->width, work->height};
  const CfRect tile = tile_at(work, &fir->grid[p], index, within ? &within[p] : &plane);
  const CfFirRows rows = {.source = job->source.data[p],
                          .source_stride = job->source.stride[p],
                          .destination = job->destination.data[p],
                          .destination_stride = job->destination.stride[p]};

  if (cf_rect_is_empty(tile))
    return CF_FIR_COPY;
  if (work->plan->filtered)
    return cf_fir_tile_run(work, &rows, &tile, scratch);
  copy_tile(work, &rows, &tile);
  return CF_FIR_COPY;
}

/* The number of threads worth starting. */
static int team_size(const CfCpuFir *fir, int tiles)
{
  double products = 0.0;

  for (int p = 0; p < fir->plans[fir->current].planes; p++) {
    const CfFirWork *work = &fir->work[p];
    if (fir->share[p] == CF_FIR_NOTHING)
      continue;
    products += (double)work->width * work->height * work->channels *
                (work->plan->row.count + work->plan->column.count);
  }
  return (int)fmax(1.0, fmin(fmin(fir->threads, tiles), products / SMALLEST_SHARE));
}

/* The loop over all tiles of a job. */
typedef struct {
  const CfCpuFir *fir;
  const CfJob *job;
  const CfRect *within;
  atomic_uint used; /* one bit per CfFirArithmetic */
} Tiles;

static void run_tiles(void *context, int first, int end)
{
  Tiles *tiles = context;
  uint8_t *scratch = tiles->fir->scratch.base;
  unsigned used = 0;

  if (scratch)
    scratch += tiles->fir->scratch_stride * (size_t)cf_thread_index();
  for (int i = first; i < end; i++)
    used |= 1u << run_tile(tiles->fir, tiles->job, tiles->within, i, scratch);
  atomic_fetch_or(&tiles->used, used);
}

bool cf_cpu_fir_run(void *state, const CfJob *job, CfStatus *status)
{
  cf_cpu_fir_run_within(state, job, NULL);
  return true;
}

bool cf_cpu_fir_run_within(CfCpuFir *fir, const CfJob *job, const CfRect *within)
{
  static const char *const names[] = {
      [CF_FIR_COPY] = "copy",       [CF_FIR_MATRIX] = "fir-matrix", [CF_FIR_FIXED] = "fir-fixed",
      [CF_FIR_FLOAT] = "fir-float", [CF_FIR_DOUBLE] = "fir-double", [CF_FIR_LEFT] = "none"};
  Tiles all = {.fir = fir, .job = job, .within = within};
  int tiles = 0, slowest = CF_FIR_COPY;

  for (int p = 0; p < fir->plans[fir->current].planes; p++)
    tiles += fir->grid[p].columns * fir->grid[p].strips;

  cf_parallel_for(team_size(fir, tiles), tiles, 1, run_tiles, &all);
  while (atomic_load(&all.used) >> (slowest + 1))
    slowest++;
  fir->algorithm = names[slowest];
  return slowest != CF_FIR_LEFT;
}
