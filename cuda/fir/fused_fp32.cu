/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The separable filter in single precision: kernels of the functions in fused_fp32.cuh, and the
 * host's side.
 */
#include <string.h>

#include "cuda/common/launch.cuh"
#include "cuda/fir/fused_fp32.cuh"
#include "cuda/fir/tuning.h"

namespace cf::fir
{
namespace
{

/* ---- the kernel ---- */

template <int C, bool Weighted, typename Sample>
__device__ inline void filter_strip(const FusedJob &job, const PlaneWork &work,
                                    const FusedStrip &strip, int index, float *shared)
{
  const FusedLayout<C> layout(strip);
  const int x0 = index % strip.across * FusedLayout<C>::kPixels;
  const int top = work.first + index / strip.across * strip.rows;
  const int bottom = min(top + strip.rows, work.end);
  const int left = x0 - work.row_anchor;
  float *input = shared, *ring = input + layout.input_floats();
  float *output = shared + layout.output_offset();
  int *column_map = (int *)(output + kFusedStepRows * FusedLayout<C>::kPixels * C);
  const float *row_taps = job.row[work.tap_set], *column_taps = job.column[work.tap_set];

  /* load_pieces() needs the strip's 16-byte pieces to lie in the row as a whole. */
  constexpr int kPiecePixels = C == 3 ? 1 : 16 / (int)sizeof(Sample) / C;
  const bool inside =
      C != 3 && work.vector_aligned && left >= 0 &&
      (left + layout.input_pixels - 1) / kPiecePixels * kPiecePixels + kPiecePixels <= work.width;
  if (!inside) {
    for (int x = threadIdx.x; x < layout.input_pixels; x += kFusedThreads)
      column_map[x] = fold_index(work.border, left + x, work.width);
    __syncthreads();
  }

  const int lag = FusedLayout<C>::lag(strip);
  const int steps = (bottom - top + kFusedStepRows - 1) / kFusedStepRows + lag - 1;
  int slot = 0; /* of the ring, in steps */

  for (int step = 0; step < steps; step++) {
    const int y0 = top - work.column_anchor + step * kFusedStepRows;

    if constexpr (C != 3) {
      if (inside)
        load_pieces<C, Weighted, Sample>(work, layout, left, y0, input);
    }
    if (!inside)
      load_pixels<C, Weighted, Sample>(work, layout, y0, column_map, input);
    __syncthreads(); /* input is complete; the last step's output has been stored */
    filter_rows<C>(work, layout, strip, row_taps, input, slot * kFusedStepRows, ring);
    __syncthreads(); /* the ring's slot is complete; input may be overwritten */
    slot = slot + 1 == lag ? 0 : slot + 1;
    if (step < lag - 1)
      continue;

    /* The slot to be written next holds the oldest rows, the first that this output needs. */
    const int out = top + (step - lag + 1) * kFusedStepRows;
    if constexpr (Weighted) {
      filter_columns_to_sums<C>(work, layout, strip, column_taps, ring, slot * kFusedStepRows,
                                output);
      __syncthreads();
      store_unpremultiplied<C, Sample>(work, x0, out, bottom, output);
    } else {
      filter_columns_to_samples<C, Sample>(work, layout, strip, column_taps, ring,
                                           slot * kFusedStepRows, x0, out, (Sample *)output);
      __syncthreads();
      store_samples<C, Sample>(work, x0, out, bottom, (const Sample *)output);
    }
  }
}

/* Channels = 1 serves planes of one and of two channels, as 4:2:0 formats mix them. */
template <int Channels, bool Weighted, typename Sample>
__global__ void __launch_bounds__(kFusedThreads, kFusedResident)
    filter_fused_fp32(const __grid_constant__ FusedJob job)
{
  extern __shared__ __align__(16) float shared[];
  int p = 0;

  while (p + 1 < job.planes && (int)blockIdx.x >= job.strip[p + 1].first_block)
    p++;
  const PlaneWork &work = job.plane[p];
  const FusedStrip &strip = job.strip[p];
  const int index = (int)blockIdx.x - strip.first_block;

  if constexpr (Channels > 1) {
    filter_strip<Channels, Weighted, Sample>(job, work, strip, index, shared);
  } else {
    if (work.channels == 2)
      filter_strip<2, false, Sample>(job, work, strip, index, shared);
    else
      filter_strip<1, false, Sample>(job, work, strip, index, shared);
  }
}

/* ---- the host's side ---- */

typedef void (*Kernel)(FusedJob);

Kernel choose_kernel(const Picture *picture)
{
  if (picture->sample_bytes == 2)
    return filter_fused_fp32<1, false, uint16_t>;
  switch (picture->plane[0].channels) {
  case 3:
    return filter_fused_fp32<3, false, uint8_t>;
  case 4:
    return picture->plane[0].alpha >= 0 ? filter_fused_fp32<4, true, uint8_t>
                                        : filter_fused_fp32<4, false, uint8_t>;
  default:
    return filter_fused_fp32<1, false, uint8_t>;
  }
}

int strip_pixels(int channels)
{
  return channels >= 3 ? 32 : 128 / channels;
}

size_t strip_bytes(int channels, const FusedStrip &strip)
{
  switch (channels) {
  case 1:
    return FusedLayout<1>(strip).bytes();
  case 2:
    return FusedLayout<2>(strip).bytes();
  case 3:
    return FusedLayout<3>(strip).bytes();
  default:
    return FusedLayout<4>(strip).bytes();
  }
}

FusedStrip describe_strip(const CfFirPlane *plan)
{
  FusedStrip strip;

  memset(&strip, 0, sizeof strip);
  strip.row_groups = (plan->row.count + 2 * kFusedOutputs - 2) / kFusedOutputs;
  strip.column_groups = (plan->column.count + 2 * kFusedOutputs - 2) / kFusedOutputs;
  return strip;
}

size_t shared_bytes(const Picture *picture)
{
  size_t largest = 0;

  for (int p = 0; p < picture->planes; p++) {
    const size_t bytes = strip_bytes(picture->plane[p].channels, describe_strip(picture->plan[p]));
    largest = bytes > largest ? bytes : largest;
  }
  return largest;
}

void copy_taps(float (&to)[kFusedTapSlots], const CfTaps *taps)
{
  memset(to, 0, sizeof to);
  for (int i = 0; i < taps->count; i++)
    to[i] = (float)taps->tap[i];
}

/* Divides the planes into strips so that the grid is about one wave of CTAs. Strips have at least
 * twice the rows that the first step of output needs. Returns the CTAs of the grid. */
int fill_one_wave(FusedJob *job, const Picture *picture, const CfDevice *device, size_t bytes)
{
  const int fitting = (int)((size_t)device->info.shared_per_sm / (bytes + 1024));
  const int resident = fitting < 1 ? 1 : fitting > kFusedResident ? kFusedResident : fitting;
  double samples = 0.0;
  int ctas = 0;

  for (int p = 0; p < picture->planes; p++)
    samples += (double)picture->plane[p].width * (picture->plane[p].end - picture->plane[p].first) *
               picture->plane[p].channels;
  for (int p = 0; p < picture->planes; p++) {
    const PlaneWork *work = &picture->plane[p];
    const int height = work->end - work->first;
    FusedStrip *strip = &job->strip[p];
    const double share = (double)work->width * height * work->channels / samples;
    const int pixels = strip_pixels(work->channels);

    strip->across = (work->width + pixels - 1) / pixels;
    int down = (int)(device->info.multiprocessors * resident * share / strip->across);
    down = down < 1 ? 1 : down;
    int rows = (height + down - 1) / down;
    const int least = 2 * kFusedOutputs * strip->column_groups;
    rows = rows < least ? least : rows;
    rows = rows < kFusedMinimumStrip ? kFusedMinimumStrip : rows;
    strip->rows = (rows + kFusedStepRows - 1) / kFusedStepRows * kFusedStepRows;
    strip->first_block = ctas;
    ctas += strip->across * ((height + strip->rows - 1) / strip->rows);
  }
  return ctas;
}

} // namespace

bool fused_fp32_prepare(const CfDevice *device, CfStatus *status)
{
  static const Kernel kernels[] = {
      filter_fused_fp32<1, false, uint8_t>,  filter_fused_fp32<3, false, uint8_t>,
      filter_fused_fp32<4, false, uint8_t>,  filter_fused_fp32<4, true, uint8_t>,
      filter_fused_fp32<1, false, uint16_t>,
  };

  for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++) {
    if (!prepare_kernel((const void *)kernels[i], device->info.shared_per_block, status))
      return false;
  }
  return true;
}

bool fused_fp32_fits(const Picture *picture, const CfDevice *device)
{
  for (int p = 0; p < picture->planes; p++) {
    if (picture->plan[p]->row.count > kFusedMaxTaps ||
        picture->plan[p]->column.count > kFusedMaxTaps)
      return false;
  }
  return shared_bytes(picture) <= (size_t)device->info.shared_per_block;
}

bool fused_fp32_run(const Picture *picture, const CfDevice *device, void *stream, CfStatus *status)
{
  const size_t bytes = shared_bytes(picture);
  FusedJob job;

  memset(&job, 0, sizeof job);
  job.planes = picture->planes;
  for (int p = 0; p < picture->planes; p++) {
    job.plane[p] = picture->plane[p];
    job.strip[p] = describe_strip(picture->plan[p]);
    copy_taps(job.row[picture->plane[p].tap_set], &picture->plan[p]->row);
    copy_taps(job.column[picture->plane[p].tap_set], &picture->plan[p]->column);
  }

  const int ctas = fill_one_wave(&job, picture, device, bytes);
  Launch how = {};

  how.grid = dim3((unsigned)ctas);
  how.block = dim3(kFusedThreads);
  how.shared_bytes = bytes;
  how.stream = (cudaStream_t)stream;
  return launch(how, "filtering in single precision", status, choose_kernel(picture), job);
}

} // namespace cf::fir
