/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The way down the blur pyramid of bytes: both axes at once.
 *
 * A warp makes two tiles of 16 fine samples next to each other, from strips of the picture, 16 rows
 * a step. First the taps along rows: taps (16 fine samples x 32 bytes) by source (32 bytes x 8
 * rows), u8 by u8 into int. How these products spread the bytes over the threads of a warp is what
 * lets each thread load 16 bytes at once and use them as they are. The sums, exact, are then the
 * left matrix of the products with the taps along columns (16 rows x 8 fine rows), each split into
 * a half and the rest, that is a half too: then nothing is lost.
 */
#include "pyramid_bytes.cuh"

namespace
{

constexpr int kBias = 0x4b400000; /* this integer is the float 1.5 * 2^23, whose last digit is 1 */

__device__ inline void multiply_bytes(int (&sum)[4], const uint4 &a, uint32_t b0, uint32_t b1)
{
#ifdef CF_TENSOR_OPS
  asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
               "{%8,%9}, {%0,%1,%2,%3};"
               : "+r"(sum[0]), "+r"(sum[1]), "+r"(sum[2]), "+r"(sum[3])
               : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b0), "r"(b1));
#endif
}

__device__ inline int floor_modulo(int value, int divisor)
{
  return value & (divisor - 1); /* a power of two */
}

/* ---- taps, as the products of matrices want them ---- */

struct SharedTaps {
  uint4 rows[2 * 4][32]; /* two products a chunk */
  uint2 columns[4][32];  /* by step modulo 8 fine rows */
};

/* The taps of a tile's fine samples for the bytes of a chunk. Fine sample o is of channel
 * o / kColumns. */
template <int C, int D>
__device__ inline uint32_t row_taps(const CfBytesJob &job, int chunk, int word, int o)
{
  typedef CfBytesTile<C, D> Tile;
  const int lane = (int)threadIdx.x % 4;
  uint32_t taps = 0;

#pragma unroll
  for (int b = 0; b < 4; b++) {
    const int byte = 64 * chunk + 16 * lane + 4 * word + b;
    const int tap = byte / C - Tile::kBefore - Tile::kFirst - D * (o % Tile::kColumns);

    if (byte % C == o / Tile::kColumns && tap >= 0 && tap < Tile::kTaps)
      taps |= (uint32_t)job.prefilter[D == 8][tap] << 8 * b;
  }
  return taps;
}

template <int C, int D>
__device__ inline void share_row_taps(const CfBytesJob &job, SharedTaps &taps)
{
  const int lane = (int)threadIdx.x % 32, g = lane / 4;

  for (int i = (int)threadIdx.x / 32; i < 2 * CfBytesTile<C, D>::kChunks; i += kBytesWarps) {
    const int chunk = i / 2, word = i % 2 * 2;

    taps.rows[i][lane] = make_uint4(
        row_taps<C, D>(job, chunk, word, g), row_taps<C, D>(job, chunk, word, g + 8),
        row_taps<C, D>(job, chunk, word + 1, g), row_taps<C, D>(job, chunk, word + 1, g + 8));
  }
}

/* Step j sees rows 16 j + prefilter_first and the 15 below. Of the fine rows in which these have a
 * share it completes 16 / D1, the first of which is number first_done(j). Eight sums are kept, that
 * of fine row m in column m + kAhead modulo 8. */
__device__ inline int ahead(int decimation)
{
  return decimation == 8 ? 1 : 2;
}

__device__ inline int first_done(int decimation, int step)
{
  return decimation == 8 ? 2 * step - 3 : 4 * step - 2;
}

/* The fine row that column `n` stands for during a step. */
__device__ inline int row_of_column(int decimation, int step, int n)
{
  const int done = first_done(decimation, step);

  return done + floor_modulo(n - done - ahead(decimation), 8);
}

__device__ inline uint32_t column_tap(const CfBytesJob &job, const CfBytesLine &line, int step,
                                      int n, int k)
{
  const int tap = 16 * step + k - line.decimation * row_of_column(line.decimation, step, n);
  const bool inside = tap >= 0 && tap < line.prefilter_count;

  return __half_as_ushort(__int2half_rn(inside ? job.prefilter[line.decimation == 8][tap] : 0));
}

__device__ inline void share_column_taps(const CfBytesJob &job, const CfBytesLine &line,
                                         SharedTaps &taps)
{
  const int lane = (int)threadIdx.x % 32, n = lane / 4, k = lane % 4 * 2;
  const int step = (int)threadIdx.x / 32;

  taps.columns[step][lane] = make_uint2(
      column_tap(job, line, step, n, k) | column_tap(job, line, step, n, k + 1) << 16,
      column_tap(job, line, step, n, k + 8) | column_tap(job, line, step, n, k + 9) << 16);
}

/* ---- the source ---- */

/* A row of the source, or that of the constant border. */
struct Row {
  const uint8_t *first;
  bool border;

  __device__ Row(const CfBytesPlane &plane, int y)
  {
    const int folded = cf_fold(plane.y.border, y, plane.height);
    const int readable = min(max(folded, plane.readable_first), plane.readable_end - 1);

    first = plane.source + (ptrdiff_t)readable * plane.source_stride;
    border = folded < 0;
  }
};

template <int C>
__device__ inline uint32_t load_pixel(const CfBytesPlane &plane, const uint8_t *from)
{
  uint32_t value = 0;

  if (C == 4 && plane.source_vector)
    return __ldg((const uint32_t *)from);
#pragma unroll
  for (int c = 0; c < C; c++)
    value |= (uint32_t)from[c] << 8 * c;
  return value;
}

/* 16 bytes of pixels inside and outside. Apart, so that there is one copy of it. */
template <int C>
__device__ __noinline__ uint4 gather(const CfBytesPlane &plane, const uint8_t *row, int x)
{
  constexpr uint32_t kMask = C == 4 ? 0xffffffffu : (1u << 8 * (C % 4)) - 1;
  uint32_t word[4] = {};

#pragma unroll
  for (int i = 0; i < 16 / C; i++) {
    const int from = cf_fold(plane.x.border, x + i, plane.width);
    const uint32_t value =
        from < 0 ? plane.border : load_pixel<C>(plane, row + (ptrdiff_t)from * C);

    word[C * i / 4] |= (value & kMask) << 8 * (C * i % 4);
  }
  return make_uint4(word[0], word[1], word[2], word[3]);
}

/* The bytes of two tiles in one row for a thread, 16 of each chunk. */
template <int C, int D> struct Source {
  typedef CfBytesTile<C, D> Tile;
  static constexpr int kChunks = Tile::kChunks + (kBytesTiles - 1) * Tile::kShift;
  static constexpr int kPixels = 16 / C;

  const CfBytesPlane &plane;
  int x;       /* first pixel of the thread in the first chunk */
  int end;     /* pixels from here on are not needed */
  bool inside; /* all chunks of the warp can be read as they are */
  bool flat;   /* pixels outside are those at the edge, or constant */

  __device__ Source(const CfBytesPlane &plane, int column) : plane(plane)
  {
    const int left = D * column - Tile::kBefore;

    x = left + (int)threadIdx.x % 4 * kPixels;
    end = D * plane.x.made_end + Tile::kTaps;
    inside = plane.source_vector && left >= 0 && left + kChunks * Tile::kPixels <= plane.width;
    flat = plane.x.border == CF_BORDER_REPLICATE || plane.x.border == CF_BORDER_CONSTANT;
  }

  __device__ static uint4 all(uint32_t word)
  {
    return make_uint4(word, word, word, word);
  }

  __device__ bool is_outside(int x0) const
  {
    return flat && (x0 + kPixels <= 0 || x0 >= plane.width);
  }

  /* Nothing that is loaded is used before all loads are under way. */
  __device__ void load_at_edge(const uint8_t *row, uint4 (&to)[kChunks]) const
  {
    constexpr uint32_t kRepeated = C == 1 ? 0x01010101u : C == 2 ? 0x00010001u : 1u;

#pragma unroll
    for (int c = 0; c < kChunks; c++) {
      const int x0 = x + c * Tile::kPixels;

      if (is_outside(x0) || x0 >= end)
        to[c].x = load_pixel<C>(plane, row + (ptrdiff_t)C * (x0 < 0 ? 0 : plane.width - 1));
      else if (plane.source_vector && x0 >= 0 && x0 + kPixels <= plane.width)
        to[c] = __ldg((const uint4 *)(row + (ptrdiff_t)C * x0));
      else
        to[c] = gather<C>(plane, row, x0);
    }
#pragma unroll
    for (int c = 0; c < kChunks; c++) {
      if (is_outside(x + c * Tile::kPixels) || x + c * Tile::kPixels >= end)
        to[c] = all(plane.x.border == CF_BORDER_CONSTANT ? plane.border : to[c].x * kRepeated);
    }
  }

  __device__ void load(const Row &row, uint4 (&to)[kChunks]) const
  {
    if (inside) {
#pragma unroll
      for (int c = 0; c < kChunks; c++)
        to[c] = __ldg((const uint4 *)(row.first + (ptrdiff_t)C * (x + c * Tile::kPixels)));
    } else {
      load_at_edge(row.first, to);
    }
    if (row.border) {
#pragma unroll
      for (int c = 0; c < kChunks; c++)
        to[c] = all(plane.border);
    }
  }
};

/* ---- alpha ---- */

template <int N>
__device__ inline bool is_opaque(const CfBytesPlane &plane, const uint4 (&words)[2][N])
{
  const uint32_t mask = plane.alpha == 0 ? 0xffu : 0xff000000u;
  uint32_t all = mask;

#pragma unroll
  for (int h = 0; h < 2; h++) {
#pragma unroll
    for (int c = 0; c < N; c++)
      all &= words[h][c].x & words[h][c].y & words[h][c].z & words[h][c].w;
  }
  return __all_sync(0xffffffffu, all == mask);
}

/* Of a pixel the bytes of 16-bit numbers: (colour - 128) alpha + 32768, and 256 alpha. */
struct Weighted {
  uint32_t high, low;

  __device__ Weighted(uint32_t pixel, int alpha_channel)
  {
    const uint32_t mask = alpha_channel == 0 ? 0xffu : 0xff000000u;
    const uint32_t alpha = alpha_channel == 0 ? pixel & 0xff : pixel >> 24;
    const uint32_t offset = 0x80008000u - 0x00800080u * alpha;
    const uint32_t even = (pixel & 0x00ff00ff) * alpha + offset;
    const uint32_t odd = (pixel >> 8 & 0x00ff00ff) * alpha + offset;

    high = (__byte_perm(even, odd, 0x7351) & ~mask) | (pixel & mask);
    low = __byte_perm(even, odd, 0x6240) & ~mask;
  }
};

/* ---- a step ---- */

/* Sums along rows as codes, less the centre. */
struct Scale {
  int start;          /* of sums of bytes: minus the centre */
  float exact;        /* to codes */
  int weighted_start; /* of the sums of 16-bit numbers */
  float weighted;

  __device__ Scale(const CfBytesPlane &plane, int channel, int one)
  {
    const bool alpha = channel == plane.alpha;

    start = kBias - one * (alpha ? 255 : 128);
    exact = 1.0f / (float)one;
    weighted_start = -one * (alpha ? 255 * 256 : 32768);
    weighted = 1.0f / ((float)one * (alpha ? 256.0f : 255.0f));
  }

  __device__ float of(int sum) const
  {
    return (__int_as_float(sum) - 12582912.0f) * exact;
  }
};

/* 16 fine samples by 16 rows: two products' results. */
struct Sums {
  float value[2][4];
};

template <int C, int D, int N>
__device__ inline void filter_rows(const uint4 (&words)[2][N], const uint4 *taps,
                                   const Scale (&scale)[2], Sums (&sums)[kBytesTiles])
{
  typedef CfBytesTile<C, D> Tile;

#pragma unroll
  for (int t = 0; t < kBytesTiles; t++) {
#pragma unroll
    for (int h = 0; h < 2; h++) {
      int sum[4] = {scale[0].start, scale[0].start, scale[1].start, scale[1].start};

#pragma unroll
      for (int c = 0; c < Tile::kChunks; c++) {
        const uint4 &word = words[h][c + t * Tile::kShift];

        multiply_bytes(sum, taps[64 * c], word.x, word.y);
        multiply_bytes(sum, taps[64 * c + 32], word.z, word.w);
      }
#pragma unroll
      for (int i = 0; i < 4; i++)
        sums[t].value[h][i] = scale[i / 2].of(sum[i]);
    }
  }
}

template <int D, int N>
__device__ inline void filter_weighted_rows(const CfBytesPlane &plane, const uint4 (&words)[2][N],
                                            const uint4 *taps, const Scale (&scale)[2],
                                            Sums (&sums)[kBytesTiles])
{
  typedef CfBytesTile<4, D> Tile;

#pragma unroll
  for (int h = 0; h < 2; h++) {
    int high[kBytesTiles][4] = {}, low[kBytesTiles][4] = {};

#pragma unroll
    for (int c = 0; c < N; c++) {
      const Weighted a(words[h][c].x, plane.alpha), b(words[h][c].y, plane.alpha);
      const Weighted d(words[h][c].z, plane.alpha), e(words[h][c].w, plane.alpha);

#pragma unroll
      for (int t = 0; t < kBytesTiles; t++) {
        const int own = c - t * Tile::kShift;

        if (own >= 0 && own < Tile::kChunks) {
          multiply_bytes(high[t], taps[64 * own], a.high, b.high);
          multiply_bytes(high[t], taps[64 * own + 32], d.high, e.high);
          multiply_bytes(low[t], taps[64 * own], a.low, b.low);
          multiply_bytes(low[t], taps[64 * own + 32], d.low, e.low);
        }
      }
    }
#pragma unroll
    for (int t = 0; t < kBytesTiles; t++) {
#pragma unroll
      for (int i = 0; i < 4; i++)
        sums[t].value[h][i] = (float)(256 * high[t][i] + low[t][i] + scale[i / 2].weighted_start) *
                              scale[i / 2].weighted;
    }
  }
}

__device__ inline uint32_t take_half(float &low, float &high)
{
  const uint32_t pair = cf_pack_halves(low, high);
  __half2 halves;

  memcpy(&halves, &pair, sizeof halves);
  low -= __low2float(halves);
  high -= __high2float(halves);
  return pair;
}

__device__ inline void filter_columns(float (&sum)[4], Sums &sums, uint2 taps)
{
#pragma unroll
  for (int part = 0; part < 2; part++) {
    uint32_t a[4];

#pragma unroll
    for (int i = 0; i < 4; i++)
      a[i] = take_half(sums.value[i / 2][i % 2 * 2], sums.value[i / 2][i % 2 * 2 + 1]);
    cf_mma(sum, a, taps.x, taps.y);
  }
}

/* ---- a strip ---- */

/* A warp's tiles and fine rows. */
struct Strip {
  int column, first, end;

  template <int C> __device__ static Strip of(const CfBytesPlane &plane, int block)
  {
    constexpr int kColumns = kBytesTiles * 16 / C; /* of a warp */
    const int columns = plane.x.made_end - plane.left;
    const int across = (columns + kColumns * kBytesWarps - 1) / (kColumns * kBytesWarps);
    Strip strip;

    strip.column = plane.left + (block % across * kBytesWarps + (int)threadIdx.x / 32) * kColumns;
    strip.first = (plane.fine_first & ~3) + block / across * plane.strip;
    strip.end = min(strip.first + plane.strip, plane.fine_end);
    return strip;
  }
};

/* The sums of the fine rows that a step completes, which some of the threads have. */
template <int C>
__device__ inline void store_done(const CfBytesPlane &plane, const Strip &strip, int step,
                                  float scale, float (&sum)[kBytesTiles][4])
{
  constexpr int kColumns = 16 / C;
  const int decimation = plane.y.decimation, lane = (int)threadIdx.x % 32;
  const int n = lane % 4 * 2, rows = plane.fine_end - plane.fine_first;
  const int row = row_of_column(decimation, step, n);

  if (row >= first_done(decimation, step) + 16 / decimation)
    return;
#pragma unroll
  for (int t = 0; t < kBytesTiles; t++) {
#pragma unroll
    for (int i = 0; i < 4; i++) {
      const int o = lane / 4 + i / 2 * 8, y = row + i % 2;
      const int x = strip.column + t * kColumns + o % kColumns;

      if (y >= strip.first && y >= plane.fine_first && y < strip.end && x < plane.x.made_end)
        plane.fine[((size_t)(o / kColumns) * rows + (y - plane.fine_first)) * plane.fine_pitch +
                   (x - plane.left)] = sum[t][i] * scale;
      sum[t][i] = 0.0f;
    }
  }
}

template <int C, int D>
__device__ inline void load_step(const CfBytesPlane &plane, const Source<C, D> &source, int step,
                                 uint4 (&words)[2][Source<C, D>::kChunks])
{
#pragma unroll
  for (int h = 0; h < 2; h++)
    source.load(Row(plane, 16 * step + plane.y.prefilter_first + 8 * h + (int)threadIdx.x % 32 / 4),
                words[h]);
}

template <int C, int D, bool Alpha>
__device__ inline void decimate(const CfBytesJob &job, const CfBytesPlane &plane, int block,
                                SharedTaps &shared)
{
  constexpr int kOne = 2 * D * D * D, kColumns = 16 / C;
  const Strip strip = Strip::of<C>(plane, block);
  const int lane = (int)threadIdx.x % 32, decimation = plane.y.decimation;
  const int per_step = 16 / decimation;
  const float scale_columns = 1.0f / (float)(2 * decimation * decimation * decimation);

  share_row_taps<C, D>(job, shared);
  share_column_taps(job, plane.y, shared);
  __syncthreads();
  if (strip.column >= plane.x.made_end)
    return;

  const Source<C, D> source(plane, strip.column);
  const Scale scale[2] = {Scale(plane, lane / 4 / kColumns, kOne),
                          Scale(plane, (lane / 4 + 8) / kColumns, kOne)};
  float sum[kBytesTiles][4] = {};
  uint4 words[2][Source<C, D>::kChunks];

  /* Strips start at multiples of four rows. */
  int step = strip.first / per_step;
  load_step(plane, source, step, words);
  while (first_done(decimation, step) < strip.end) {
    Sums sums[kBytesTiles];

    if (Alpha && !is_opaque(plane, words))
      filter_weighted_rows<D>(plane, words, &shared.rows[0][lane], scale, sums);
    else
      filter_rows<C, D>(words, &shared.rows[0][lane], scale, sums);
    if (first_done(decimation, step + 1) < strip.end)
      load_step(plane, source, step + 1, words);
#pragma unroll
    for (int t = 0; t < kBytesTiles; t++)
      filter_columns(sum[t], sums[t], shared.columns[floor_modulo(step, 4)][lane]);
    store_done<C>(plane, strip, step, scale_columns, sum);
    step++;
  }
}

template <bool Alpha>
__global__ void __launch_bounds__(kBytesThreads)
    pixels_down_kernel(const __grid_constant__ CfBytesJob job)
{
  __shared__ SharedTaps shared;
  const CfBytesPlane &plane = job.plane[0];

  cf_let_next_kernel_start();
  if (plane.x.decimation == 8)
    decimate<4, 8, Alpha>(job, plane, (int)blockIdx.x, shared);
  else
    decimate<4, 4, Alpha>(job, plane, (int)blockIdx.x, shared);
}

__global__ void __launch_bounds__(kBytesThreads)
    planes_down_kernel(const __grid_constant__ CfBytesJob job)
{
  __shared__ SharedTaps shared;
  int block;
  const CfBytesPlane &plane = cf_bytes_plane(job, &CfBytesPlane::down_blocks, &block);

  cf_let_next_kernel_start();
  if (plane.channels == 1 && plane.x.decimation == 8)
    decimate<1, 8, false>(job, plane, block, shared);
  else if (plane.channels == 1)
    decimate<1, 4, false>(job, plane, block, shared);
  else if (plane.x.decimation == 8)
    decimate<2, 8, false>(job, plane, block, shared);
  else
    decimate<2, 4, false>(job, plane, block, shared);
}

} // namespace

bool cf_bytes_down(const CfBytesJob *job, int blocks, void *stream, CfStatus *status)
{
  const cudaStream_t on = (cudaStream_t)stream;

  if (job->plane[0].channels != 4)
    planes_down_kernel<<<blocks, kBytesThreads, 0, on>>>(*job);
  else if (job->plane[0].alpha >= 0)
    pixels_down_kernel<true><<<blocks, kBytesThreads, 0, on>>>(*job);
  else
    pixels_down_kernel<false><<<blocks, kBytesThreads, 0, on>>>(*job);
  return cf_cuda_launched("decimating for a blur", status);
}
