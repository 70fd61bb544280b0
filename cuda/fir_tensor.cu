/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Separable filter of 8-bit pictures on tensor cores: fp16 products, fp32 sums, one launch, one
 * read, one write.
 *
 * A block of threads marches down a strip of 256 samples, 16 rows a step. Their bytes become halves
 * minus 128, which is exact, one plane a channel. Rows: a tile of 16 rows by 16 pixels of input is
 * multiplied by a banded Toeplitz matrix, 16 pixels in by 16 out; `Tiles` such products give one
 * tile of output, whose rounding to halves is the only one before the last. It goes into a ring of
 * rows, and columns are filtered likewise, with the Toeplitz matrices on the left. The matrices of
 * both directions stay in registers.
 *
 * Of 16 pixels that lie side by side the ring holds 0 1 4 5 8 9 12 13 2 3 6 7 10 11 14 15: then the
 * fragments of the last product give each thread four neighbouring pixels, which it stores at once.
 */
#include "fir.cuh"
#include "tensor_ops.cuh"

#include <math.h>
#include <string.h>

namespace
{

constexpr int kThreads = 128;
constexpr int kSamples = 256; /* width of a strip */
constexpr int kStep = 16;     /* rows */
constexpr int kMaxTiles = 9;
constexpr int kMargin = 16; /* zeros around the taps, which the Toeplitz matrices reach into */
constexpr int kTapSlots = 16 * (kMaxTiles - 1) + 2 * kMargin;
constexpr int kTapPairs = kTapSlots / 2;

/* What fp16 may cost, in code values: coefficients, and coefficients with the ring's rounding. */
constexpr double kCoefficientError = 0.05;
constexpr double kTotalError = 0.25;

struct Strip {
  int first_block; /* of the grid */
  int across;      /* strips side by side */
  int rows;        /* of a strip, a multiple of kStep */
  int absolute;
  float factor[4], addend[4], offset[4]; /* of a channel's result, in units of 255 */
};

struct Job {
  CfFirWork plane[CF_MAX_PLANES];
  Strip strip[CF_MAX_PLANES];
  int planes;
  int opaque; /* channel that must be, where not_opaque is not NULL */
  unsigned *not_opaque;
  unsigned frame;
  uint32_t taps[2][2][kTapPairs]; /* [set][row, column]: halves, the anchor's in the middle */
};

/* The padded kernels of both directions. In shared memory each lies twice, paired from even and
 * from odd taps on. */
template <int Tiles> struct Taps {
  static constexpr int kPairs = 8 * (Tiles - 1) + kMargin;
  static constexpr int kBytes = 4 * kPairs * 4;

  __device__ static void share(const uint32_t (&taps)[2][kTapPairs], uint32_t *shared)
  {
    for (int index = threadIdx.x; index < 2 * kPairs; index += kThreads) {
      const int direction = index / kPairs, i = index - direction * kPairs;
      const uint32_t pair = taps[direction][i];
      const uint32_t next = i + 1 < kPairs ? taps[direction][i + 1] : 0;

      shared[2 * direction * kPairs + i] = pair;
      shared[(2 * direction + 1) * kPairs + i] = pair >> 16 | next << 16;
    }
  }

  /* Taps `tap` and `tap` + 1, from -15 on. */
  __device__ static uint32_t pair(const uint32_t *shared, int direction, int tap)
  {
    const int slot = tap + kMargin;

    return shared[(2 * direction + (slot & 1)) * kPairs + (slot >> 1)];
  }
};

/* Steps start at multiples of kStep in every band: which of a product's places a tap is in may
 * show in the last bit of the sum. */
__host__ __device__ inline int first_step(const CfFirWork &work)
{
  return work.first / kStep * kStep;
}

/* Shared memory of a block, in bytes. */
template <int C, int Tiles> struct Layout {
  static constexpr int kPixels = kSamples / C;
  static constexpr int kRadius = 8 * (Tiles - 1);
  static constexpr int kPiecePixels = 16 / C;
  static constexpr int kHalo = (kRadius + kPiecePixels - 1) / kPiecePixels * kPiecePixels;
  static constexpr int kInputPixels = kPixels + 2 * kHalo;
  static constexpr int kInputStride = kInputPixels + 8; /* halves; free of bank conflicts */
  static constexpr int kRingStride = kPixels + 8;
  static constexpr int kPieces = kInputPixels / kPiecePixels; /* of a row */
  static constexpr int kLoads = (kPieces * kStep + kThreads - 1) / kThreads;

  /* Copies run two steps ahead, except where their buffer would leave one block on an SM. */
  static constexpr bool kAsync = !(C == 4 && Tiles == 9);

  static constexpr int kInput = C * kStep * kInputStride * 2;
  static constexpr int kRing = C * kStep * Tiles * kRingStride * 2;
  static constexpr int kStage = kAsync ? kStep * kInputPixels * C : 0; /* one of two */
  static constexpr int kBytes = kInput + kRing + 2 * kStage + Taps<Tiles>::kBytes;
};

/* ---- input ---- */

/* Replicates the border into a piece of 16 bytes at pixel x, which was loaded from the nearest
 * place in the row. The grid is one wave, so that its slowest block is the time: what the outer
 * strips do more than the others must be a few instructions. Measured: 40 of them for each piece
 * cost 0.7 us a step. */
template <int C> __device__ inline uint4 replicate(uint4 piece, int x, int width)
{
  constexpr int kPiecePixels = 16 / C;
  const int last = (width - 1) % kPiecePixels * C; /* byte of the last pixel in its piece */
  const uint32_t first_byte = x < 0 ? 0 : last % 4;
  uint32_t pixel = x < 0 || last < 4 ? piece.x : last < 8 ? piece.y : last < 12 ? piece.z : piece.w;

  if (C == 1)
    pixel = __byte_perm(pixel, 0, first_byte * 0x1111);
  else if (C == 2)
    pixel = __byte_perm(pixel, 0, first_byte * 0x1111 + 0x1010);
  if (x < 0 || x >= width)
    return make_uint4(pixel, pixel, pixel, pixel);
  if (x + kPiecePixels <= width)
    return piece;

  uint32_t words[4] = {piece.x, piece.y, piece.z, piece.w};
#pragma unroll
  for (int i = 0; i < 4; i++) {
    const int available = (width - x) * C - 4 * i;
    const uint32_t keep = available >= 4 ? ~0u : available <= 0 ? 0 : (1u << 8 * available) - 1;
    words[i] = (words[i] & keep) | (pixel & ~keep);
  }
  return make_uint4(words[0], words[1], words[2], words[3]);
}

/* The pixels of a piece of four that lie in the row. */
__device__ inline uint4 load_pixels(const uint8_t *from, int pixels)
{
  const uint32_t *words = (const uint32_t *)from;

  if (pixels >= 4)
    return __ldg((const uint4 *)from);
  return make_uint4(__ldg(words), pixels > 1 ? __ldg(words + 1) : 0,
                    pixels > 2 ? __ldg(words + 2) : 0, 0);
}

/* 16 bytes to the halves of C planes, `plane` bytes apart. */
template <int C> __device__ inline void store_halves(const uint4 &v, uint8_t *to, int plane)
{
  if constexpr (C == 4) {
    const uint32_t a = __byte_perm(v.x, v.y, 0x5140), b = __byte_perm(v.x, v.y, 0x7362);
    const uint32_t c = __byte_perm(v.z, v.w, 0x5140), d = __byte_perm(v.z, v.w, 0x7362);

    *(uint2 *)to = make_uint2(cf_centred_halves(a, 0x4140), cf_centred_halves(c, 0x4140));
    *(uint2 *)(to + plane) = make_uint2(cf_centred_halves(a, 0x4342), cf_centred_halves(c, 0x4342));
    *(uint2 *)(to + 2 * plane) =
        make_uint2(cf_centred_halves(b, 0x4140), cf_centred_halves(d, 0x4140));
    *(uint2 *)(to + 3 * plane) =
        make_uint2(cf_centred_halves(b, 0x4342), cf_centred_halves(d, 0x4342));
  } else if constexpr (C == 2) {
    *(uint4 *)to = make_uint4(cf_centred_halves(v.x, 0x4240), cf_centred_halves(v.y, 0x4240),
                              cf_centred_halves(v.z, 0x4240), cf_centred_halves(v.w, 0x4240));
    *(uint4 *)(to + plane) =
        make_uint4(cf_centred_halves(v.x, 0x4341), cf_centred_halves(v.y, 0x4341),
                   cf_centred_halves(v.z, 0x4341), cf_centred_halves(v.w, 0x4341));
  } else {
    *(uint4 *)to = make_uint4(cf_centred_halves(v.x, 0x4140), cf_centred_halves(v.x, 0x4342),
                              cf_centred_halves(v.y, 0x4140), cf_centred_halves(v.y, 0x4342));
    *(uint4 *)(to + 16) =
        make_uint4(cf_centred_halves(v.z, 0x4140), cf_centred_halves(v.z, 0x4342),
                   cf_centred_halves(v.w, 0x4140), cf_centred_halves(v.w, 0x4342));
  }
}

/* The pieces of one step that this thread copies, and later converts: so copies need no barrier. */
template <int C, int Tiles> struct Loader {
  typedef Layout<C, Tiles> L;
  const CfFirWork &work;
  const int left; /* pixel of the first piece */
  const bool inside;
  uint8_t *const stage;
  uint4 ahead[L::kAsync ? 1 : L::kLoads];

  __device__ Loader(const CfFirWork &work, int left, uint8_t *stage)
      : work(work), left(left), inside(left >= 0 && left + L::kInputPixels <= work.width),
        stage(stage)
  {
  }

  __device__ static bool exists(int index)
  {
    return L::kLoads * kThreads == L::kPieces * kStep || index < L::kPieces * kStep;
  }

  __device__ void fetch(int step, int y0)
  {
    const int last = (work.width - 1) / L::kPiecePixels * L::kPiecePixels;

#pragma unroll
    for (int i = 0; i < L::kLoads; i++) {
      const int index = threadIdx.x + i * kThreads, row = index / L::kPieces;
      if (exists(index)) {
        const int y = cf_source_row(work, y0 + row);
        const int x = min(max(left + (index - row * L::kPieces) * L::kPiecePixels, 0), last);
        const uint8_t *from = work.source + (ptrdiff_t)y * work.source_stride + (size_t)x * C;
        if constexpr (L::kAsync)
          cf_copy_async(cf_shared_address(stage + (step & 1) * L::kStage) + index * 16, from,
                        min(16, (work.width - x) * C));
        else
          ahead[i] = load_pixels(from, work.width - x);
      }
    }
  }

  /* Converts what fetch() brought; the bytewise AND of all words tells whether alpha is opaque. */
  __device__ void convert(int step, uint8_t *input, uint32_t &common)
  {
#pragma unroll
    for (int i = 0; i < L::kLoads; i++) {
      const int index = threadIdx.x + i * kThreads, row = index / L::kPieces;
      if (exists(index)) {
        const int piece = index - row * L::kPieces;
        uint4 v;
        if constexpr (L::kAsync)
          v = *(const uint4 *)(stage + (step & 1) * L::kStage + index * 16);
        else
          v = ahead[i];
        if (!inside)
          v = replicate<C>(v, left + piece * L::kPiecePixels, work.width);
        if (C == 4)
          common &= v.x & v.y & v.z & v.w;
        store_halves<C>(v, input + (row * L::kInputStride + piece * L::kPiecePixels) * 2,
                        kStep * L::kInputStride * 2);
      }
    }
  }
};

/* ---- Toeplitz matrices ---- */

/* Fragments of matrix `tile` for the right side of the row products, output pixels in the ring's
 * order. */
template <int Tiles> __device__ inline uint4 row_fragments(const uint32_t *taps, int tile, int lane)
{
  typedef Taps<Tiles> T;
  const int g = lane >> 2, q = lane & 3;
  const int in = 16 * tile + 2 * q, out = 4 * (g >> 1) + (g & 1);

  return make_uint4(T::pair(taps, 0, in - out), T::pair(taps, 0, in + 8 - out),
                    T::pair(taps, 0, in - out - 2), T::pair(taps, 0, in + 8 - out - 2));
}

/* The same for the left side of the column products. */
template <int Tiles>
__device__ inline uint4 column_fragments(const uint32_t *taps, int tile, int lane)
{
  typedef Taps<Tiles> T;
  const int g = lane >> 2, q = lane & 3;
  const int in = 16 * tile + 2 * q;

  return make_uint4(T::pair(taps, 1, in - g), T::pair(taps, 1, in - g - 8),
                    T::pair(taps, 1, in + 8 - g), T::pair(taps, 1, in - g));
}

/* ---- products ---- */

typedef float Sums[4][2][4]; /* four tiles of 16x16, each two fragments of 16x8 */

/* 16 rows by 64 pixels of one channel, into the ring. */
template <int C, int Tiles>
__device__ inline void filter_rows(const uint4 (&matrix)[Tiles], uint32_t input, uint8_t *ring,
                                   int slot)
{
  typedef Layout<C, Tiles> L;
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, g = lane >> 2, q = lane & 3;
  const int channel = warp * C / 4, pixel = warp * 64 - channel * L::kPixels;
  const int row = lane & 15, column = (lane >> 4) * 8;
  const uint32_t from =
      input +
      ((channel * kStep + row) * L::kInputStride + L::kHalo - L::kRadius + pixel + column) * 2;
  Sums sums = {};

#pragma unroll
  for (int k = 0; k < Tiles + 3; k++) {
    uint32_t data[4];
    cf_load_matrix(data, from + k * 32);
#pragma unroll
    for (int u = 0; u < 4; u++) {
      const int tile = k - u;
      if (tile >= 0 && tile < Tiles) {
        cf_mma(sums[u][0], data, matrix[tile].x, matrix[tile].y);
        cf_mma(sums[u][1], data, matrix[tile].z, matrix[tile].w);
      }
    }
  }

  uint8_t *to =
      ring + (((channel * Tiles + slot) * kStep + g) * L::kRingStride + pixel + 2 * q) * 2;
#pragma unroll
  for (int u = 0; u < 4; u++) {
#pragma unroll
    for (int h = 0; h < 2; h++) {
      const int at = (u * 16 + h * 8) * 2;
      *(uint32_t *)(to + at) = cf_pack_halves(sums[u][h][0], sums[u][h][1]);
      *(uint32_t *)(to + 8 * L::kRingStride * 2 + at) =
          cf_pack_halves(sums[u][h][2], sums[u][h][3]);
    }
  }
}

/* 16 rows by 64 samples, 64 / C pixels of all channels; tile u is channel u % C of block u / C. */
template <int C, int Tiles>
__device__ inline void filter_columns(const uint4 (&matrix)[Tiles], uint32_t ring, int slot,
                                      Sums &sums)
{
  typedef Layout<C, Tiles> L;
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const int row = lane & 15, column = (lane >> 4) * 8;
  const uint32_t from = ring + (row * L::kRingStride + warp * (64 / C) + column) * 2;

#pragma unroll
  for (int tile = 0; tile < Tiles; tile++) {
    const uint32_t left[4] = {matrix[tile].x, matrix[tile].y, matrix[tile].z, matrix[tile].w};
#pragma unroll
    for (int u = 0; u < 4; u++) {
      uint32_t data[4];
      cf_load_matrix_transposed(
          data, from + (((u % C) * Tiles + slot) * kStep * L::kRingStride + (u / C) * 16) * 2);
      cf_mma(sums[u][0], left, data[0], data[1]);
      cf_mma(sums[u][1], left, data[2], data[3]);
    }
    slot = slot + 1 == Tiles ? 0 : slot + 1;
  }
}

/* ---- output ---- */

/* The code value in the low byte: 12582912 is 1.5 * 2^23, whose unit in the last place is 1. */
__device__ inline uint32_t to_code(const Strip &strip, int channel, float sum)
{
  float value = fmaf(sum, strip.factor[channel], strip.addend[channel]);

  if (strip.absolute)
    value = fabsf(value) + strip.offset[channel];
  return __float_as_uint(fmaf(__saturatef(value), 255.0f, 12582912.0f));
}

__device__ inline uint32_t pack_bytes(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
  return __byte_perm(__byte_perm(a, b, 0x0040), __byte_perm(c, d, 0x0040), 0x5410);
}

/* Stores `Words` words at pixel x, or those of their bytes that are in the row. */
template <int C, int Words>
__device__ inline void store_words(uint8_t *row, const uint32_t (&words)[Words], int x, int width)
{
  uint8_t *to = row + (size_t)x * C;

  if (x + Words * 4 / C <= width) {
    if constexpr (Words == 4)
      *(uint4 *)to = make_uint4(words[0], words[1], words[2], words[3]);
    else
      *(uint2 *)to = make_uint2(words[0], words[1]);
  } else {
#pragma unroll
    for (int i = 0; i < Words * 4; i++) {
      if (i < (width - x) * C)
        to[i] = (uint8_t)(words[i / 4] >> 8 * (i % 4));
    }
  }
}

/* Lane q of each four ends with the words that the four lanes had in place q. */
__device__ inline void transpose(uint32_t (&w)[4], int q)
{
  uint32_t a = q & 1 ? w[0] : w[1], b = q & 1 ? w[2] : w[3];

  a = __shfl_xor_sync(~0u, a, 1);
  b = __shfl_xor_sync(~0u, b, 1);
  w[0] = q & 1 ? a : w[0];
  w[1] = q & 1 ? w[1] : a;
  w[2] = q & 1 ? b : w[2];
  w[3] = q & 1 ? w[3] : b;
  a = q & 2 ? w[0] : w[2];
  b = q & 2 ? w[1] : w[3];
  a = __shfl_xor_sync(~0u, a, 2);
  b = __shfl_xor_sync(~0u, b, 2);
  w[0] = q & 2 ? a : w[0];
  w[2] = q & 2 ? w[2] : a;
  w[1] = q & 2 ? b : w[1];
  w[3] = q & 2 ? w[3] : b;
}

template <int C>
__device__ inline void store_sums(const CfFirWork &work, const Strip &strip, const Sums &sums,
                                  int x0, int y0, int y1)
{
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, g = lane >> 2, q = lane & 3;

#pragma unroll
  for (int r = 0; r < 2; r++) {
    const int y = y0 + g + r * 8, e = 2 * r;
    uint8_t *row = work.destination + (ptrdiff_t)y * work.destination_stride;

    if constexpr (C == 4) {
      uint32_t words[4];
#pragma unroll
      for (int i = 0; i < 4; i++) {
        const int h = i >> 1, k = e + (i & 1);
        words[i] = pack_bytes(to_code(strip, 0, sums[0][h][k]), to_code(strip, 1, sums[1][h][k]),
                              to_code(strip, 2, sums[2][h][k]), to_code(strip, 3, sums[3][h][k]));
      }
      const int x = x0 + warp * 16 + q * 4;
      if (y >= work.first && y < y1 && x < work.width)
        store_words<4>(row, words, x, work.width);
    } else if constexpr (C == 2) {
#pragma unroll
      for (int b = 0; b < 2; b++) {
        uint32_t words[2];
#pragma unroll
        for (int h = 0; h < 2; h++)
          words[h] = pack_bytes(to_code(strip, 0, sums[2 * b][h][e]),
                                to_code(strip, 1, sums[2 * b + 1][h][e]),
                                to_code(strip, 0, sums[2 * b][h][e + 1]),
                                to_code(strip, 1, sums[2 * b + 1][h][e + 1]));
        const int x = x0 + warp * 32 + b * 16 + q * 4;
        if (y >= work.first && y < y1 && x < work.width)
          store_words<2>(row, words, x, work.width);
      }
    } else {
      uint32_t words[4];
#pragma unroll
      for (int u = 0; u < 4; u++)
        words[u] =
            pack_bytes(to_code(strip, 0, sums[u][0][e]), to_code(strip, 0, sums[u][0][e + 1]),
                       to_code(strip, 0, sums[u][1][e]), to_code(strip, 0, sums[u][1][e + 1]));
      transpose(words, q);
      const int x = x0 + warp * 64 + q * 16;
      if (y >= work.first && y < y1 && x < work.width)
        store_words<1>(row, words, x, work.width);
    }
  }
}

/* ---- the kernel ---- */

template <int C, int Tiles>
__device__ inline void filter_strip(const Job &job, const CfFirWork &work, const Strip &strip,
                                    int index, uint8_t *shared)
{
  typedef Layout<C, Tiles> L;
  const int x0 = index % strip.across * L::kPixels;
  const int top = first_step(work) + index / strip.across * strip.rows;
  const int bottom = min(top + strip.rows, work.end);
  const int steps = (bottom - top + kStep - 1) / kStep + Tiles - 1, y0 = top - L::kRadius;
  uint8_t *input = shared, *ring = input + L::kInput, *stage = ring + L::kRing;
  uint32_t *taps = (uint32_t *)(stage + 2 * L::kStage);
  const int lane = threadIdx.x & 31;
  Loader<C, Tiles> loader(work, x0 - L::kHalo, stage);
  uint32_t common = ~0u;

  loader.fetch(0, y0);
  if constexpr (L::kAsync) {
    cf_copy_commit();
    if (steps > 1)
      loader.fetch(1, y0 + kStep);
    cf_copy_commit();
  }

  uint4 rows[Tiles], columns[Tiles];
  Taps<Tiles>::share(job.taps[work.set], taps);
  __syncthreads();
#pragma unroll
  for (int tile = 0; tile < Tiles; tile++) {
    rows[tile] = row_fragments<Tiles>(taps, tile, lane);
    columns[tile] = column_fragments<Tiles>(taps, tile, lane);
  }

  int slot = 0; /* of the ring */
  for (int step = 0; step < steps; step++) {
    if constexpr (L::kAsync)
      cf_copy_wait<1>();
    loader.convert(step, input, common);
    /* Asked not at every step, since this barrier takes longer than the other. */
    if (C == 4 && job.not_opaque && (step % 4 == 0 || step + 1 == steps)) {
      const bool opaque = (common >> 8 * job.opaque & 0xff) == 0xff;
      if (__syncthreads_or(!opaque)) {
        if (threadIdx.x == 0)
          *job.not_opaque = job.frame;
        cf_copy_wait<0>();
        return;
      }
    } else {
      __syncthreads();
    }

    if constexpr (L::kAsync) {
      if (step + 2 < steps)
        loader.fetch(step + 2, y0 + (step + 2) * kStep);
      cf_copy_commit();
    } else if (step + 1 < steps) {
      loader.fetch(step + 1, y0 + (step + 1) * kStep);
    }
    filter_rows<C, Tiles>(rows, cf_shared_address(input), ring, slot);
    __syncthreads();

    slot = slot + 1 == Tiles ? 0 : slot + 1;
    if (step >= Tiles - 1) {
      Sums sums = {};
      filter_columns<C, Tiles>(columns, cf_shared_address(ring), slot, sums);
      store_sums<C>(work, strip, sums, x0, top + (step - Tiles + 1) * kStep, bottom);
    }
  }
}

/* Planar serves planes of one and of two channels, as 4:2:0 formats mix them. */
template <int Tiles, bool Planar>
__global__ void __launch_bounds__(kThreads) filter_tensor(const __grid_constant__ Job job)
{
#ifdef CF_TENSOR_OPS
  extern __shared__ __align__(16) uint8_t shared[];
  int p = 0;

  if (job.not_opaque)
    cf_let_next_kernel_start();

  while (p + 1 < job.planes && (int)blockIdx.x >= job.strip[p + 1].first_block)
    p++;
  const CfFirWork &work = job.plane[p];
  const Strip &strip = job.strip[p];
  const int index = (int)blockIdx.x - strip.first_block;

  if constexpr (!Planar) {
    filter_strip<4, Tiles>(job, work, strip, index, shared);
  } else {
    if (work.channels == 2)
      filter_strip<2, Tiles>(job, work, strip, index, shared);
    else
      filter_strip<1, Tiles>(job, work, strip, index, shared);
  }
#endif
}

/* ---- the host's side ---- */

typedef void (*Kernel)(Job);

struct Variant {
  int tiles;
  Kernel kernel[2]; /* four channels, planar */
  int bytes[2];
};

constexpr int largest(int a, int b)
{
  return a > b ? a : b;
}

template <int Tiles> constexpr Variant variant()
{
  return {Tiles,
          {filter_tensor<Tiles, false>, filter_tensor<Tiles, true>},
          {Layout<4, Tiles>::kBytes, largest(Layout<1, Tiles>::kBytes, Layout<2, Tiles>::kBytes)}};
}

/* Each serves kernels that reach 8 (tiles - 1) samples to either side. */
const Variant variants[] = {
    variant<2>(), variant<3>(), variant<4>(), variant<5>(), variant<7>(), variant<kMaxTiles>(),
};

int reach(const CfTaps *taps)
{
  const int after = taps->count - 1 - taps->anchor;

  return taps->anchor > after ? taps->anchor : after;
}

/* NULL if the kernels are too long. */
const Variant *choose_variant(const CfFirPicture *picture)
{
  int radius = 0;

  for (int p = 0; p < picture->planes; p++) {
    radius = largest(radius, reach(&picture->plan[p]->row));
    radius = largest(radius, reach(&picture->plan[p]->column));
  }
  for (size_t i = 0; i < sizeof variants / sizeof variants[0]; i++) {
    if (radius <= 8 * (variants[i].tiles - 1))
      return &variants[i];
  }
  return nullptr;
}

struct Rounded {
  CfFirRounding rounding;
  double error;     /* sum of |tap - correction * half| */
  double magnitude; /* sum of |correction * half| */
};

/* The correction restores the taps' sum, where that is not about to vanish: flat areas stay. */
Rounded round_taps(const CfTaps *taps, double scale)
{
  Rounded rounded = {{scale, 1.0 / scale}, 0.0, 0.0};
  double sum = 0.0;

  for (int i = 0; i < taps->count; i++)
    sum += cf_half_value(cf_half_bits(scale * taps->tap[i]));
  if (fabs(taps->sum) > 0.5 * taps->magnitude && sum != 0.0)
    rounded.rounding.correction = taps->sum / sum;
  for (int i = 0; i < taps->count; i++) {
    const double half =
        rounded.rounding.correction * cf_half_value(cf_half_bits(scale * taps->tap[i]));
    rounded.error += fabs(taps->tap[i] - half);
    rounded.magnitude += fabs(half);
  }
  return rounded;
}

/* Which way taps round depends on their scale, so the best of a few over one octave is taken: the
 * error of Gaussians becomes a quarter smaller, and more even over sigma. */
Rounded round_best(const CfTaps *taps)
{
  constexpr int kTrials = 16;
  Rounded best = round_taps(taps, 1.0);

  for (int i = 1; i < kTrials; i++) {
    const Rounded rounded = round_taps(taps, exp2((double)i / kTrials - 0.5));
    if (rounded.error < best.error)
      best = rounded;
  }
  return best;
}

/* Bounds for any picture: samples minus 128 are within 128, and a half is within 2^-12 of its
 * number, relatively. */
bool halves_suffice(const CfFirPlane *plan, int channels, int opaque, const Rounded &row,
                    const Rounded &column)
{
  double scale = 0.0;

  for (int c = 0; c < channels; c++) {
    if (plan->channel[c].filtered && c != opaque)
      scale = fmax(scale, fabs(plan->channel[c].scale));
  }
  const double coefficients =
      128.0 * scale * (row.error * plan->column.magnitude + row.magnitude * column.error);
  const double ring = 128.0 * scale * row.magnitude * column.magnitude * 0x1p-12;
  const double largest_half = 128.0 * row.magnitude / fabs(row.rounding.correction);

  return coefficients <= kCoefficientError && coefficients + ring <= kTotalError &&
         largest_half < 60000.0;
}

/* Taps around the middle slot; those that the variant does not reach stay 0. */
void place_taps(uint32_t (&to)[kTapPairs], const CfTaps *taps, double scale, int tiles)
{
  const int middle = kMargin + 8 * (tiles - 1);

  memset(to, 0, sizeof to);
  for (int i = 0; i < taps->count; i++) {
    const int slot = middle - taps->anchor + i;
    to[slot / 2] |= (uint32_t)cf_half_bits(scale * taps->tap[i]) << 16 * (slot % 2);
  }
}

/* A result is scale * sum(c - centre) + centre + bias, and the sums run over c - 128. What had to
 * be opaque stays so. */
void place_tones(Strip *strip, const CfFirPlane *plan, double correction, int channels, int opaque)
{
  const double gain = plan->row.sum * plan->column.sum;
  const double tie = 1.0 / 2048; /* sends exact halves up, as elsewhere */

  for (int c = 0; c < channels; c++) {
    const CfFirChannel *channel = &plan->channel[c];
    const double offset = channel->centre + channel->bias + tie;
    const double shifted = channel->scale * gain * (128.0 - channel->centre);

    strip->absolute = strip->absolute || channel->absolute;
    strip->factor[c] = (float)(channel->scale * correction / 255.0);
    strip->addend[c] = (float)((shifted + (channel->absolute ? 0.0 : offset)) / 255.0);
    strip->offset[c] = (float)(channel->absolute ? offset / 255.0 : 0.0);
  }
  if (opaque >= 0) {
    strip->factor[opaque] = 0.0f;
    strip->addend[opaque] = 1.0f;
    strip->offset[opaque] = 0.0f;
  }
}

/* One wave of resident blocks, shared between the planes in proportion to their samples. Returns
 * the blocks of the grid. */
int share_blocks(Job *job, const CfFirPicture *picture, int slots)
{
  double samples = 0.0;
  int blocks = 0;

  for (int p = 0; p < picture->planes; p++)
    samples += (double)picture->plane[p].width *
               (picture->plane[p].end - first_step(picture->plane[p])) * picture->plane[p].channels;
  for (int p = 0; p < picture->planes; p++) {
    const CfFirWork *work = &picture->plane[p];
    const int height = work->end - first_step(*work);
    Strip *strip = &job->strip[p];
    const double share = (double)work->width * height * work->channels / samples;
    const int pixels = kSamples / work->channels;

    strip->across = (work->width + pixels - 1) / pixels;
    const int down = largest(1, (int)(slots * share) / strip->across);
    const int rows = (height + down - 1) / down;
    strip->rows = (rows + kStep - 1) / kStep * kStep;
    strip->first_block = blocks;
    blocks += strip->across * ((height + strip->rows - 1) / strip->rows);
  }
  return blocks;
}

} // namespace

bool cf_fir_tensor_prepare(const CfDevice *device, CfStatus *status)
{
  if (device->code < 80)
    return true;
  for (size_t i = 0; i < sizeof variants / sizeof variants[0]; i++) {
    for (int planar = 0; planar < 2; planar++) {
      if (variants[i].bytes[planar] <= device->info.shared_per_block &&
          !cf_fir_prepare_kernel((const void *)variants[i].kernel[planar],
                                 variants[i].bytes[planar], status))
        return false;
    }
  }
  return true;
}

bool cf_fir_tensor_serves(CfFirPicture *picture, const CfDevice *device)
{
  const Variant *variant = picture->planes ? choose_variant(picture) : nullptr;

  if (device->code < 80 || picture->sample_bytes != 1 || !variant ||
      picture->plane[0].channels == 3 ||
      variant->bytes[picture->plane[0].channels != 4] > device->info.shared_per_block)
    return false;
  for (int p = 0; p < picture->planes; p++) {
    const CfFirWork *work = &picture->plane[p];

    const Rounded row = round_best(&picture->plan[p]->row);
    const Rounded column = round_best(&picture->plan[p]->column);

    picture->row[p] = row.rounding;
    picture->column[p] = column.rounding;
    if (work->border != CF_BORDER_REPLICATE ||
        !halves_suffice(picture->plan[p], work->channels, picture->opaque, row, column))
      return false;
    for (int c = 0; c < work->channels; c++) {
      if (work->tone[c].use == CF_FIR_COPY && c != picture->opaque)
        return false;
    }
  }
  return true;
}

bool cf_fir_tensor_run(const CfFirPicture *picture, const CfDevice *device, unsigned *not_opaque,
                       unsigned frame, void *stream, CfStatus *status)
{
  const Variant *variant = choose_variant(picture);
  const int planar = picture->plane[0].channels != 4;
  const Kernel kernel = variant->kernel[planar];
  const int bytes = variant->bytes[planar];
  int resident = 0;
  Job job;

  if (!cf_cuda_ok(
          cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, kThreads, (size_t)bytes),
          "preparing the tensor filter", status))
    return false;

  memset(&job, 0, sizeof job);
  job.planes = picture->planes;
  job.opaque = picture->opaque;
  job.not_opaque = not_opaque;
  job.frame = frame;
  for (int p = 0; p < picture->planes; p++) {
    const CfFirPlane *plan = picture->plan[p];
    const int set = picture->plane[p].set;

    job.plane[p] = picture->plane[p];
    place_tones(&job.strip[p], plan, picture->row[p].correction * picture->column[p].correction,
                picture->plane[p].channels, picture->opaque);
    place_taps(job.taps[set][0], &plan->row, picture->row[p].scale, variant->tiles);
    place_taps(job.taps[set][1], &plan->column, picture->column[p].scale, variant->tiles);
  }

  const int blocks =
      share_blocks(&job, picture, device->info.multiprocessors * largest(resident, 1));
  kernel<<<blocks, kThreads, (size_t)bytes, (cudaStream_t)stream>>>(job);
  return cf_cuda_launched("filtering on tensor cores", status);
}
