/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cuda/fir/fused_fp32.cuh"
#include "cuda/fir/fused_fp32_load.cuh"
#include "cuda/fir/fused_fp32_store.cuh"
#include "cuda/common/half2.cuh"
#include "cuda/common/ptx_async.cuh"
#include "cuda/common/ptx_mma.cuh"
#include "cuda/common/pdl.cuh"

#include <string.h>

namespace
{

constexpr int kResident = 4;      /* blocks on an SM that registers are meant for */
constexpr int kMinimumStrip = 64; /* rows */

/* ---- the kernel ---- */

template <int C, bool Weighted, typename Sample>
__device__ inline void filter_strip(const CfPlainJob &job, const CfFirWork &work,
                                    const CfPlainStrip &strip, int index, float *shared)
{
  const CfPlainLayout<C> layout(strip);
  const int x0 = index % strip.across * CfPlainLayout<C>::kPixels;
  const int top = work.first + index / strip.across * strip.rows;
  const int bottom = min(top + strip.rows, work.end);
  const int left = x0 - work.row_anchor;
  float *input = shared, *ring = input + layout.input_floats();
  float *output = shared + layout.output_offset();
  int *column_map = (int *)(output + kPlainStep * CfPlainLayout<C>::kPixels * C);
  const float *row_taps = job.row[work.set], *column_taps = job.column[work.set];

  /* Pieces of 16 bytes must lie in the row from the first to the last byte. */
  constexpr int kPiecePixels = C == 3 ? 1 : 16 / (int)sizeof(Sample) / C;
  const bool inside =
      C != 3 && work.vector && left >= 0 &&
      (left + layout.input_pixels - 1) / kPiecePixels * kPiecePixels + kPiecePixels <= work.width;
  if (!inside) {
    for (int x = threadIdx.x; x < layout.input_pixels; x += kPlainThreads)
      column_map[x] = cf::fold_index(work.border, left + x, work.width);
    __syncthreads();
  }

  const int lag = CfPlainLayout<C>::lag(strip);
  const int steps = (bottom - top + kPlainStep - 1) / kPlainStep + lag - 1;
  int slot = 0; /* of the ring, in steps */

  for (int step = 0; step < steps; step++) {
    const int y0 = top - work.column_anchor + step * kPlainStep;

    if constexpr (C != 3) {
      if (inside)
        cf_plain_load_pieces<C, Weighted, Sample>(work, layout, left, y0, input);
    }
    if (!inside)
      cf_plain_load_pixels<C, Weighted, Sample>(work, layout, y0, column_map, input);
    __syncthreads();
    cf_plain_filter_rows<C>(work, layout, strip, row_taps, input, slot * kPlainStep, ring);
    __syncthreads();
    slot = slot + 1 == lag ? 0 : slot + 1;
    if (step < lag - 1)
      continue;

    /* The slot to be written next is the oldest, where this output's rows begin. */
    const int out = top + (step - lag + 1) * kPlainStep;
    if constexpr (Weighted) {
      cf_plain_collect_sums<C>(work, layout, strip, column_taps, ring, slot * kPlainStep, output);
      __syncthreads();
      cf_plain_store_weighted<C, Sample>(work, x0, out, bottom, output);
    } else {
      cf_plain_finish_samples<C, Sample>(work, layout, strip, column_taps, ring, slot * kPlainStep,
                                         x0, out, (Sample *)output);
      __syncthreads();
      cf_plain_store_samples<C, Sample>(work, x0, out, bottom, (const Sample *)output);
    }
  }
}

/* Channels = 1 serves planes of one and of two channels, as 4:2:0 formats mix them. */
template <int Channels, bool Weighted, typename Sample>
__global__ void __launch_bounds__(kPlainThreads, kResident)
    filter_plain(const __grid_constant__ CfPlainJob job)
{
  extern __shared__ __align__(16) float shared[];
  int p = 0;

  while (p + 1 < job.planes && (int)blockIdx.x >= job.strip[p + 1].first_block)
    p++;
  const CfFirWork &work = job.plane[p];
  const CfPlainStrip &strip = job.strip[p];
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

typedef void (*Kernel)(CfPlainJob);

Kernel choose_kernel(const CfFirPicture *picture)
{
  if (picture->sample_bytes == 2)
    return filter_plain<1, false, uint16_t>;
  switch (picture->plane[0].channels) {
  case 3:
    return filter_plain<3, false, uint8_t>;
  case 4:
    return picture->plane[0].alpha >= 0 ? filter_plain<4, true, uint8_t>
                                        : filter_plain<4, false, uint8_t>;
  default:
    return filter_plain<1, false, uint8_t>;
  }
}

int strip_pixels(int channels)
{
  return channels >= 3 ? 32 : 128 / channels;
}

size_t strip_bytes(int channels, const CfPlainStrip &strip)
{
  switch (channels) {
  case 1:
    return CfPlainLayout<1>(strip).bytes();
  case 2:
    return CfPlainLayout<2>(strip).bytes();
  case 3:
    return CfPlainLayout<3>(strip).bytes();
  default:
    return CfPlainLayout<4>(strip).bytes();
  }
}

CfPlainStrip describe_strip(const CfFirPlane *plan)
{
  CfPlainStrip strip;

  memset(&strip, 0, sizeof strip);
  strip.row_groups = (plan->row.count + 2 * kPlainOutputs - 2) / kPlainOutputs;
  strip.column_groups = (plan->column.count + 2 * kPlainOutputs - 2) / kPlainOutputs;
  return strip;
}

size_t shared_bytes(const CfFirPicture *picture)
{
  size_t largest = 0;

  for (int p = 0; p < picture->planes; p++) {
    const size_t bytes = strip_bytes(picture->plane[p].channels, describe_strip(picture->plan[p]));
    largest = bytes > largest ? bytes : largest;
  }
  return largest;
}

void copy_taps(float (&to)[kPlainTapSlots], const CfTaps *taps)
{
  memset(to, 0, sizeof to);
  for (int i = 0; i < taps->count; i++)
    to[i] = (float)taps->tap[i];
}

/* One wave of resident blocks, shared between the planes in proportion to their samples; strips of
 * at least twice the rows that their first step of output needs. Returns the blocks of the grid. */
int share_blocks(CfPlainJob *job, const CfFirPicture *picture, const CfDevice *device, size_t bytes)
{
  const int fitting = (int)((size_t)device->info.shared_per_sm / (bytes + 1024));
  const int resident = fitting < 1 ? 1 : fitting > kResident ? kResident : fitting;
  double samples = 0.0;
  int blocks = 0;

  for (int p = 0; p < picture->planes; p++)
    samples += (double)picture->plane[p].width * (picture->plane[p].end - picture->plane[p].first) *
               picture->plane[p].channels;
  for (int p = 0; p < picture->planes; p++) {
    const CfFirWork *work = &picture->plane[p];
    const int height = work->end - work->first;
    CfPlainStrip *strip = &job->strip[p];
    const double share = (double)work->width * height * work->channels / samples;
    const int pixels = strip_pixels(work->channels);

    strip->across = (work->width + pixels - 1) / pixels;
    int down = (int)(device->info.multiprocessors * resident * share / strip->across);
    down = down < 1 ? 1 : down;
    int rows = (height + down - 1) / down;
    const int least = 2 * kPlainOutputs * strip->column_groups;
    rows = rows < least ? least : rows;
    rows = rows < kMinimumStrip ? kMinimumStrip : rows;
    strip->rows = (rows + kPlainStep - 1) / kPlainStep * kPlainStep;
    strip->first_block = blocks;
    blocks += strip->across * ((height + strip->rows - 1) / strip->rows);
  }
  return blocks;
}

} // namespace

bool cf_fir_plain_prepare(const CfDevice *device, CfStatus *status)
{
  static const Kernel kernels[] = {
      filter_plain<1, false, uint8_t>,  filter_plain<3, false, uint8_t>,
      filter_plain<4, false, uint8_t>,  filter_plain<4, true, uint8_t>,
      filter_plain<1, false, uint16_t>,
  };

  for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++) {
    if (!cf_fir_prepare_kernel((const void *)kernels[i], device->info.shared_per_block, status))
      return false;
  }
  return true;
}

bool cf_fir_plain_fits(const CfFirPicture *picture, const CfDevice *device)
{
  for (int p = 0; p < picture->planes; p++) {
    if (picture->plan[p]->row.count > kPlainMaxTaps ||
        picture->plan[p]->column.count > kPlainMaxTaps)
      return false;
  }
  return shared_bytes(picture) <= (size_t)device->info.shared_per_block;
}

bool cf_fir_plain_run(const CfFirPicture *picture, const CfDevice *device, void *stream,
                      CfStatus *status)
{
  const size_t bytes = shared_bytes(picture);
  CfPlainJob job;

  memset(&job, 0, sizeof job);
  job.planes = picture->planes;
  for (int p = 0; p < picture->planes; p++) {
    job.plane[p] = picture->plane[p];
    job.strip[p] = describe_strip(picture->plan[p]);
    copy_taps(job.row[picture->plane[p].set], &picture->plan[p]->row);
    copy_taps(job.column[picture->plane[p].set], &picture->plan[p]->column);
  }

  const int blocks = share_blocks(&job, picture, device, bytes);
  choose_kernel(picture)<<<blocks, kPlainThreads, bytes, (cudaStream_t)stream>>>(job);
  return cf_cuda_launched("filtering in single precision", status);
}
