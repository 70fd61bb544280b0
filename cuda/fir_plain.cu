/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Separable filter in single precision: all formats, borders and kernels that fit shared memory,
 * one launch, one read, one write.
 *
 * A block of threads marches down a strip, 16 rows a step: their samples become floats in shared
 * memory, the row filter puts its sums into a ring of rows, and the column filter takes 16 rows of
 * output from the ring. A thread computes 8 neighbouring sums at a time, so that each sample it
 * loads serves 8 products, with the taps in a sliding window of registers.
 */
#include "fir.cuh"
#include "tensor_ops.cuh"

#include <string.h>

namespace
{

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;
constexpr int kStep = 16;    /* rows */
constexpr int kOutputs = 8;  /* of a thread and pass */
constexpr int kResident = 4; /* blocks on an SM that registers are meant for */
constexpr int kMaxTaps = CF_MAX_TAPS + 1;
constexpr int kTapSlots = kMaxTaps + kOutputs; /* a multiple of 8, zeros behind the last tap */
constexpr int kMinimumStrip = 64;              /* rows */

struct Strip {
  int first_block;               /* of the grid */
  int across;                    /* strips side by side */
  int rows;                      /* of a strip, a multiple of kStep */
  int row_groups, column_groups; /* of 8 taps, with those that only shifted outputs need */
};

struct Job {
  CfFirWork plane[CF_MAX_PLANES];
  Strip strip[CF_MAX_PLANES];
  int planes;
  float row[2][kTapSlots], column[2][kTapSlots];
};

/* Shared memory of one block, in floats. Row strides are 1 modulo 32: then the 8 rows by 4 groups
 * of 8 pixels that a warp filters lie in 32 different banks, and so do neighbouring pixels. */
template <int C> struct Layout {
  static constexpr int kPixels = C >= 3 ? 32 : 128 / C; /* width of a strip */
  static constexpr int kRingStride = kPixels + 1;

  int input_pixels, input_stride, ring_rows;

  __host__ __device__ Layout(const Strip &strip)
  {
    input_pixels = kPixels - kOutputs + strip.row_groups * kOutputs;
    input_stride = (input_pixels + 30) / 32 * 32 + 1;
    ring_rows = lag(strip) * kStep;
  }

  /* Steps of rows that one step of output needs. */
  __host__ __device__ static int lag(const Strip &strip)
  {
    return (strip.column_groups + 2) / 2;
  }

  __host__ __device__ int input_floats() const
  {
    return C * kStep * input_stride;
  }

  __host__ __device__ int ring_floats() const
  {
    return C * ring_rows * kRingStride;
  }

  /* A multiple of 16 bytes. */
  __host__ __device__ int output_offset() const
  {
    return (input_floats() + ring_floats() + 3) / 4 * 4;
  }

  /* Output of a step: sums where alpha is to divide them, else samples of up to 2 bytes. Then the
   * column of the source that each input pixel reads. */
  __host__ __device__ size_t bytes() const
  {
    return sizeof(float) * ((size_t)output_offset() + kStep * kPixels * C) +
           sizeof(int) * (size_t)input_pixels;
  }
};

/* ---- samples to floats ---- */

template <typename Sample> __device__ inline float load_code(const CfFirWork &work, Sample sample)
{
  return (float)(sample >> work.shift);
}

/* A pixel's values as the sums run over them: around the centre, weighted by alpha. */
template <int C, bool Weighted, typename Sample>
__device__ inline void weigh_pixel(const CfFirWork &work, const Sample *pixel, float (&value)[C])
{
#pragma unroll
  for (int c = 0; c < C; c++)
    value[c] = load_code(work, pixel[c]);
  if constexpr (Weighted) {
    const float weight = cf_weight(work.alpha == 0 ? value[0] : value[C - 1]);
#pragma unroll
    for (int c = 0; c < C; c++)
      value[c] = (value[c] - work.tone[c].centre) * (c == work.alpha ? 1.0f : weight);
  } else {
#pragma unroll
    for (int c = 0; c < C; c++)
      value[c] -= work.tone[c].centre;
  }
}

/* Any border and alignment: pixel by pixel, through the map of columns. */
template <int C, bool Weighted, typename Sample>
__device__ inline void load_pixels(const CfFirWork &work, const Layout<C> &layout, int y0,
                                   const int *column_map, float *input)
{
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;

  for (int row = warp; row < kStep; row += kWarps) {
    const int y = cf_source_row(work, y0 + row);
    const Sample *source =
        (const Sample *)(work.source + (ptrdiff_t)max(y, 0) * work.source_stride);

    for (int x = lane; x < layout.input_pixels; x += 32) {
      const int from = y < 0 ? -1 : column_map[x];
      float value[C];

      if (from < 0) {
#pragma unroll
        for (int c = 0; c < C; c++)
          value[c] = work.tone[c].border;
      } else {
        weigh_pixel<C, Weighted>(work, source + (size_t)from * C, value);
      }
#pragma unroll
      for (int c = 0; c < C; c++)
        input[(c * kStep + row) * layout.input_stride + x] = value[c];
    }
  }
}

template <int Count, typename Sample>
__device__ inline void unpack(const uint4 &piece, Sample (&samples)[Count])
{
  constexpr int kPerWord = 4 / (int)sizeof(Sample);
  const uint32_t words[4] = {piece.x, piece.y, piece.z, piece.w};

#pragma unroll
  for (int i = 0; i < Count; i++)
    samples[i] = (Sample)(words[i / kPerWord] >> 8 * (int)sizeof(Sample) * (i % kPerWord));
}

/* Inside the picture's columns: 16 bytes at a time, a warp on 8 rows by 4 pieces. */
template <int C, bool Weighted, typename Sample>
__device__ inline void load_pieces(const CfFirWork &work, const Layout<C> &layout, int x0, int y0,
                                   float *input)
{
  constexpr int kPiecePixels = 16 / (int)sizeof(Sample) / C;
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const int row = (warp & 1) * 8 + (lane & 7), y = cf_source_row(work, y0 + row);
  const uint8_t *source = work.source + (ptrdiff_t)max(y, 0) * work.source_stride;
  const int first = x0 / kPiecePixels, end = (x0 + layout.input_pixels - 1) / kPiecePixels + 1;

  for (int piece = first + (warp >> 1) * 4 + (lane >> 3); piece < end; piece += kWarps / 2 * 4) {
    Sample samples[kPiecePixels * C];

    if (y >= 0)
      unpack(__ldg((const uint4 *)source + piece), samples);
#pragma unroll
    for (int i = 0; i < kPiecePixels; i++) {
      const int x = piece * kPiecePixels + i - x0;
      float value[C];

      if (y < 0) {
#pragma unroll
        for (int c = 0; c < C; c++)
          value[c] = work.tone[c].border;
      } else {
        weigh_pixel<C, Weighted>(work, samples + i * C, value);
      }
      if (x >= 0 && x < layout.input_pixels) {
#pragma unroll
        for (int c = 0; c < C; c++)
          input[(c * kStep + row) * layout.input_stride + x] = value[c];
      }
    }
  }
}

/* ---- sums ---- */

/* Adds 8 samples to 8 sums that lie one sample apart; `tap` are the 8 taps of the first sum on
 * these samples and `before` the 8 in front of them. */
__device__ inline void accumulate(float (&sum)[kOutputs], const float (&sample)[kOutputs],
                                  const float (&before)[kOutputs], const float (&tap)[kOutputs])
{
#pragma unroll
  for (int i = 0; i < kOutputs; i++) {
#pragma unroll
    for (int o = 0; o < kOutputs; o++)
      sum[o] = fmaf(sample[i], i >= o ? tap[i - o] : before[kOutputs + i - o], sum[o]);
  }
}

__device__ inline void next_taps(float (&before)[kOutputs], float (&tap)[kOutputs],
                                 const float *taps)
{
#pragma unroll
  for (int i = 0; i < kOutputs; i++) {
    before[i] = tap[i];
    tap[i] = taps[i];
  }
}

/* A warp's task in both passes: one channel, 32 pixels, 8 rows. */
struct Task {
  int channel, pixel, row;

  __device__ Task(int index, int pixels)
  {
    const int across = pixels / 32;
    row = (index & 1) * 8;
    pixel = (index >> 1) % across * 32;
    channel = (index >> 1) / across;
  }
};

template <int C>
__device__ inline void filter_rows(const CfFirWork &work, const Layout<C> &layout,
                                   const Strip &strip, const float *taps, const float *input,
                                   int ring_row, float *ring)
{
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;

  for (int index = warp; index < C * 2 * Layout<C>::kPixels / 32; index += kWarps) {
    const Task task(index, Layout<C>::kPixels);
    const int row = task.row + (lane & 7), pixel = task.pixel + (lane >> 3) * kOutputs;
    const float *samples = input + (task.channel * kStep + row) * layout.input_stride + pixel;
    float sum[kOutputs] = {}, before[kOutputs], tap[kOutputs] = {};

    if (work.tone[task.channel].use != CF_FIR_FILTER)
      continue;
    for (int group = 0; group < strip.row_groups; group++) {
      float sample[kOutputs];
#pragma unroll
      for (int i = 0; i < kOutputs; i++)
        sample[i] = samples[group * kOutputs + i];
      next_taps(before, tap, taps + group * kOutputs);
      accumulate(sum, sample, before, tap);
    }

    float *out = ring + (task.channel * layout.ring_rows + ring_row + row) * layout.kRingStride;
#pragma unroll
    for (int o = 0; o < kOutputs; o++)
      out[pixel + o] = sum[o];
  }
}

/* Sums of the 8 rows of `task` at this lane's pixel. The rows start at `ring_row` of the ring. */
template <int C>
__device__ inline void filter_column(const Layout<C> &layout, const Strip &strip, const float *taps,
                                     const float *ring, const Task &task, int ring_row,
                                     float (&sum)[kOutputs])
{
  const int pixel = task.pixel + (threadIdx.x & 31);
  const float *column = ring + task.channel * layout.ring_rows * layout.kRingStride + pixel;
  float before[kOutputs], tap[kOutputs] = {};
  int row = ring_row + task.row;

  for (int group = 0; group < strip.column_groups; group++) {
    float sample[kOutputs];
#pragma unroll
    for (int i = 0; i < kOutputs; i++)
      sample[i] = column[(row + i) * layout.kRingStride];
    next_taps(before, tap, taps + group * kOutputs);
    accumulate(sum, sample, before, tap);
    row += kOutputs;
    row = row == layout.ring_rows ? 0 : row;
  }
}

/* ---- output ---- */

template <int C, typename Sample>
__device__ inline uint32_t source_sample(const CfFirWork &work, int x, int y, int channel)
{
  const Sample *row = (const Sample *)(work.source + (ptrdiff_t)y * work.source_stride);

  return row[(size_t)x * C + channel] >> work.shift << work.shift;
}

/* Without weights: each warp finishes its channel, and the samples meet in shared memory. */
template <int C, typename Sample>
__device__ inline void finish_samples(const CfFirWork &work, const Layout<C> &layout,
                                      const Strip &strip, const float *taps, const float *ring,
                                      int ring_row, int x0, int y0, Sample *output)
{
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;

  for (int index = warp; index < C * 2 * Layout<C>::kPixels / 32; index += kWarps) {
    const Task task(index, Layout<C>::kPixels);
    const CfFirTone &tone = work.tone[task.channel];
    const int pixel = task.pixel + lane;
    float sum[kOutputs] = {};

    if (tone.use == CF_FIR_FILTER)
      filter_column<C>(layout, strip, taps, ring, task, ring_row, sum);
#pragma unroll
    for (int o = 0; o < kOutputs; o++) {
      const int row = task.row + o;
      uint32_t sample = 0;

      if (tone.use == CF_FIR_FILTER)
        sample = cf_to_sample(work, cf_apply_tone(tone, sum[o]));
      else if (tone.use == CF_FIR_COPY && x0 + pixel < work.width && y0 + row < work.end)
        sample = source_sample<C, Sample>(work, x0 + pixel, y0 + row, task.channel);
      output[(row * Layout<C>::kPixels + pixel) * C + task.channel] = (Sample)sample;
    }
  }
}

template <int C, typename Sample>
__device__ inline void store_samples(const CfFirWork &work, int x0, int y0, int y1,
                                     const Sample *output)
{
  constexpr int kRowBytes = Layout<C>::kPixels * C * (int)sizeof(Sample);
  constexpr int kPieces = kRowBytes / 16;
  const int first = x0 * C * (int)sizeof(Sample);
  const int valid = min(kRowBytes, work.width * C * (int)sizeof(Sample) - first);

  for (int index = threadIdx.x; index < kStep * kPieces; index += kThreads) {
    const int row = index / kPieces, at = index % kPieces * 16;
    const uint8_t *from = (const uint8_t *)output + row * kRowBytes + at;
    uint8_t *to = work.destination + (ptrdiff_t)(y0 + row) * work.destination_stride + first + at;

    if (y0 + row >= y1)
      continue;
    if (work.vector && at + 16 <= valid) {
      *(uint4 *)to = *(const uint4 *)from;
    } else {
      for (int i = 0; i < min(16, valid - at); i += (int)sizeof(Sample))
        *(Sample *)(to + i) = *(const Sample *)(from + i);
    }
  }
}

/* With weights: the sums of a pixel's channels meet in shared memory, planes of kStep rows. */
template <int C>
__device__ inline void collect_sums(const CfFirWork &work, const Layout<C> &layout,
                                    const Strip &strip, const float *taps, const float *ring,
                                    int ring_row, float *output)
{
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;

  for (int index = warp; index < C * 2 * Layout<C>::kPixels / 32; index += kWarps) {
    const Task task(index, Layout<C>::kPixels);
    float sum[kOutputs] = {};

    if (work.tone[task.channel].use != CF_FIR_FILTER)
      continue;
    filter_column<C>(layout, strip, taps, ring, task, ring_row, sum);
#pragma unroll
    for (int o = 0; o < kOutputs; o++)
      output[(task.channel * kStep + task.row + o) * Layout<C>::kPixels + task.pixel + lane] =
          sum[o];
  }
}

template <int C, typename Sample>
__device__ inline void store_weighted(const CfFirWork &work, int x0, int y0, int y1,
                                      const float *output)
{
  constexpr int kPixels = Layout<C>::kPixels;

  for (int index = threadIdx.x; index < kStep * kPixels; index += kThreads) {
    const int row = index / kPixels, x = x0 + index % kPixels, y = y0 + row;
    float sum[C], alpha = 0.0f;

    if (y >= y1 || x >= work.width)
      continue;
#pragma unroll
    for (int c = 0; c < C; c++) {
      sum[c] = output[c * kStep * kPixels + index];
      if (c == work.alpha)
        alpha = work.tone[c].use == CF_FIR_FILTER
                    ? cf_apply_tone(work.tone[c], sum[c])
                    : (float)(source_sample<C, Sample>(work, x, y, c) >> work.shift);
    }

    Sample sample[C];
#pragma unroll
    for (int c = 0; c < C; c++) {
      const CfFirTone &tone = work.tone[c];
      float value;

      if (tone.use != CF_FIR_FILTER)
        value = (float)(source_sample<C, Sample>(work, x, y, c) >> work.shift);
      else if (c == work.alpha)
        value = alpha;
      else
        value = cf_unweigh(tone, sum[c], alpha);
      sample[c] = (Sample)cf_to_sample(work, value);
    }

    Sample *to =
        (Sample *)(work.destination + (ptrdiff_t)y * work.destination_stride) + (size_t)x * C;
    if (work.vector) {
      static_assert(C * sizeof(Sample) == 4, "a weighted pixel is one word");
      *(uint32_t *)to = sample[0] | sample[1] << 8 | sample[2] << 16 | (uint32_t)sample[3] << 24;
    } else {
#pragma unroll
      for (int c = 0; c < C; c++)
        to[c] = sample[c];
    }
  }
}

/* ---- the kernel ---- */

template <int C, bool Weighted, typename Sample>
__device__ inline void filter_strip(const Job &job, const CfFirWork &work, const Strip &strip,
                                    int index, float *shared)
{
  const Layout<C> layout(strip);
  const int x0 = index % strip.across * Layout<C>::kPixels;
  const int top = work.first + index / strip.across * strip.rows;
  const int bottom = min(top + strip.rows, work.end);
  const int left = x0 - work.row_anchor;
  float *input = shared, *ring = input + layout.input_floats();
  float *output = shared + layout.output_offset();
  int *column_map = (int *)(output + kStep * Layout<C>::kPixels * C);
  const float *row_taps = job.row[work.set], *column_taps = job.column[work.set];

  /* Pieces of 16 bytes must lie in the row from the first to the last byte. */
  constexpr int kPiecePixels = C == 3 ? 1 : 16 / (int)sizeof(Sample) / C;
  const bool inside =
      C != 3 && work.vector && left >= 0 &&
      (left + layout.input_pixels - 1) / kPiecePixels * kPiecePixels + kPiecePixels <= work.width;
  if (!inside) {
    for (int x = threadIdx.x; x < layout.input_pixels; x += kThreads)
      column_map[x] = cf_fold(work.border, left + x, work.width);
    __syncthreads();
  }

  const int lag = Layout<C>::lag(strip);
  const int steps = (bottom - top + kStep - 1) / kStep + lag - 1;
  int slot = 0; /* of the ring, in steps */

  for (int step = 0; step < steps; step++) {
    const int y0 = top - work.column_anchor + step * kStep;

    if constexpr (C != 3) {
      if (inside)
        load_pieces<C, Weighted, Sample>(work, layout, left, y0, input);
    }
    if (!inside)
      load_pixels<C, Weighted, Sample>(work, layout, y0, column_map, input);
    __syncthreads();
    filter_rows<C>(work, layout, strip, row_taps, input, slot * kStep, ring);
    __syncthreads();
    slot = slot + 1 == lag ? 0 : slot + 1;
    if (step < lag - 1)
      continue;

    /* The slot to be written next is the oldest, where this output's rows begin. */
    const int out = top + (step - lag + 1) * kStep;
    if constexpr (Weighted) {
      collect_sums<C>(work, layout, strip, column_taps, ring, slot * kStep, output);
      __syncthreads();
      store_weighted<C, Sample>(work, x0, out, bottom, output);
    } else {
      finish_samples<C, Sample>(work, layout, strip, column_taps, ring, slot * kStep, x0, out,
                                (Sample *)output);
      __syncthreads();
      store_samples<C, Sample>(work, x0, out, bottom, (const Sample *)output);
    }
  }
}

/* Channels = 1 serves planes of one and of two channels, as 4:2:0 formats mix them. */
template <int Channels, bool Weighted, typename Sample>
__global__ void __launch_bounds__(kThreads, kResident) filter_plain(const __grid_constant__ Job job)
{
  extern __shared__ __align__(16) float shared[];
  int p = 0;

  while (p + 1 < job.planes && (int)blockIdx.x >= job.strip[p + 1].first_block)
    p++;
  const CfFirWork &work = job.plane[p];
  const Strip &strip = job.strip[p];
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

typedef void (*Kernel)(Job);

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

size_t strip_bytes(int channels, const Strip &strip)
{
  switch (channels) {
  case 1:
    return Layout<1>(strip).bytes();
  case 2:
    return Layout<2>(strip).bytes();
  case 3:
    return Layout<3>(strip).bytes();
  default:
    return Layout<4>(strip).bytes();
  }
}

Strip describe_strip(const CfFirPlane *plan)
{
  Strip strip;

  memset(&strip, 0, sizeof strip);
  strip.row_groups = (plan->row.count + 2 * kOutputs - 2) / kOutputs;
  strip.column_groups = (plan->column.count + 2 * kOutputs - 2) / kOutputs;
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

void copy_taps(float (&to)[kTapSlots], const CfTaps *taps)
{
  memset(to, 0, sizeof to);
  for (int i = 0; i < taps->count; i++)
    to[i] = (float)taps->tap[i];
}

/* One wave of resident blocks, shared between the planes in proportion to their samples; strips of
 * at least twice the rows that their first step of output needs. Returns the blocks of the grid. */
int share_blocks(Job *job, const CfFirPicture *picture, const CfDevice *device, size_t bytes)
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
    Strip *strip = &job->strip[p];
    const double share = (double)work->width * height * work->channels / samples;
    const int pixels = strip_pixels(work->channels);

    strip->across = (work->width + pixels - 1) / pixels;
    int down = (int)(device->info.multiprocessors * resident * share / strip->across);
    down = down < 1 ? 1 : down;
    int rows = (height + down - 1) / down;
    const int least = 2 * kOutputs * strip->column_groups;
    rows = rows < least ? least : rows;
    rows = rows < kMinimumStrip ? kMinimumStrip : rows;
    strip->rows = (rows + kStep - 1) / kStep * kStep;
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
    if (picture->plan[p]->row.count > kMaxTaps || picture->plan[p]->column.count > kMaxTaps)
      return false;
  }
  return shared_bytes(picture) <= (size_t)device->info.shared_per_block;
}

bool cf_fir_plain_run(const CfFirPicture *picture, const CfDevice *device, void *stream,
                      CfStatus *status)
{
  const size_t bytes = shared_bytes(picture);
  Job job;

  memset(&job, 0, sizeof job);
  job.planes = picture->planes;
  for (int p = 0; p < picture->planes; p++) {
    job.plane[p] = picture->plane[p];
    job.strip[p] = describe_strip(picture->plan[p]);
    copy_taps(job.row[picture->plane[p].set], &picture->plan[p]->row);
    copy_taps(job.column[picture->plane[p].set], &picture->plan[p]->column);
  }

  const int blocks = share_blocks(&job, picture, device, bytes);
  choose_kernel(picture)<<<blocks, kThreads, bytes, (cudaStream_t)stream>>>(job);
  return cf_cuda_launched("filtering in single precision", status);
}
