/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * First launch of the u8mma pyramid: the prefilter along both axes at once.
 *
 * A warp makes a strip of fine rows of two DecimateTiles side by side, in steps of 16 source rows.
 * First along rows: taps (16 sums x 32 bytes) by source (32 bytes x 8 rows), u8 by u8 to int32. The
 * taps are ordered so that each thread's 16 source bytes are used as loaded. The sums are exact and
 * have 18 bits; their upper ten and lower eight, each exact in fp16, are the left matrices of the
 * products along columns: sums (16 x 16 rows) by taps (16 rows x 8 fine rows).
 */
#include "cuda/pyramid/u8mma_load.cuh"

namespace cf::pyramid
{

namespace
{

__device__ inline void multiply_bytes(int (&sum)[4], const uint4 &a, uint32_t b0, uint32_t b1)
{
#ifdef CF_HAVE_MMA
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

/* ---- taps, in the layout of the matrix products ---- */

struct SharedTaps {
  uint4 rows[2 * 4][32]; /* [product][lane]: two products for each chunk */
  uint2 columns[4][32];  /* [step modulo 4][lane] */
  uint8_t prefilter[2][kPrefilterTaps];
};

/* The byte of a pixel that sum `o` of a tile belongs to; its fine column is o % kColumns. The sums
 * of both bytes of a `Wide` sample are 8 apart, and so in the same thread. */
template <int C, bool Wide> __device__ inline int byte_of(int o)
{
  constexpr int kColumns = 16 / C;

  return Wide ? o % 8 / kColumns * 2 + o / 8 : o / kColumns;
}

/* Four taps of sum `o` for word `word` of this lane's 16 bytes of a chunk. They are 0 but for every
 * C-th byte: those of byte_of(o). */
template <int C, int D, bool Wide>
__device__ inline uint32_t row_taps(const uint8_t *prefilter, int chunk, int word, int o)
{
  typedef DecimateTile<C, D> Tile;
  const int byte = byte_of<C, Wide>(o), lane = (int)threadIdx.x % 4;
  uint32_t taps = 0;

#pragma unroll
  for (int i = 0; i < 4 / C; i++) {
    const int pixel = (64 * chunk + 16 * lane + 4 * word) / C + i;
    const int tap = pixel - Tile::kBefore - Tile::kFirst - D * (o % Tile::kColumns);

    if (tap >= 0 && tap < Tile::kTaps)
      taps |= (uint32_t)prefilter[tap] << 8 * (i * C + byte);
  }
  return taps;
}

/* Packed 4:2:2 has D1 = 8 for luma and 4 for chroma, so that their fine samples lie at the same
 * places. Chroma's taps are multiplied by 8, so that both add up to this. */
constexpr int kPrefilterSumPacked = 2 * 8 * 8 * 8;

/* The same for packed 4:2:2: the first luma's sum has the taps of both, the second has none. */
__device__ inline uint32_t packed_row_taps(const SharedTaps &taps, uint32_t luma_bytes, int chunk,
                                           int word, int o)
{
  typedef DecimateTile<4, 4> Tile;
  typedef DecimateTile<1, 8> LumaTile;
  const int byte = o / Tile::kColumns, lane = (int)threadIdx.x % 4;
  const int pixel = 16 * chunk + 4 * lane + word - Tile::kBefore - 4 * (o % Tile::kColumns);
  const int chroma_tap = pixel - Tile::kFirst;
  uint32_t result = 0;

  if ((luma_bytes >> byte & 1) == 0)
    return chroma_tap >= 0 && chroma_tap < Tile::kTaps
               ? 8u * taps.prefilter[0][chroma_tap] << 8 * byte
               : 0;
#pragma unroll
  for (int i = 0; i < 2 && byte < 2; i++) {
    const int tap = 2 * pixel + i - LumaTile::kFirst;

    if (tap >= 0 && tap < LumaTile::kTaps)
      result |= (uint32_t)taps.prefilter[1][tap] << 8 * (byte + 2 * i);
  }
  return result;
}

template <int C, int D, bool Wide>
__device__ inline void stage_row_taps(SharedTaps &taps, uint32_t luma_bytes)
{
  const int lane = (int)threadIdx.x % 32, g = lane / 4;

  for (int i = (int)threadIdx.x / 32; i < 2 * DecimateTile<C, D>::kChunks; i += kWarps) {
    const int chunk = i / 2, word = i % 2 * 2;
    uint32_t *const taps_of_lane = (uint32_t *)&taps.rows[i][lane];

#pragma unroll 1
    for (int j = 0; j < 4; j++)
      taps_of_lane[j] =
          luma_bytes
              ? packed_row_taps(taps, luma_bytes, chunk, word + j / 2, g + j % 2 * 8)
              : row_taps<C, D, Wide>(taps.prefilter[D == 8], chunk, word + j / 2, g + j % 2 * 8);
  }
}

/* Step j adds the 16 source rows from 16 j + prefilter_first on. It completes 16 / D1 fine rows,
 * first_done(j) being the first. The accumulators hold eight fine rows, fine row m in matrix column
 * (m + column_offset) modulo 8. */
__device__ inline int column_offset(int decimation)
{
  return decimation == 8 ? 1 : 2;
}

/* The log2 of 16 / D1. */
__device__ inline int done_log2(int decimation)
{
  return decimation == 8 ? 1 : 2;
}

__device__ inline int first_done(int decimation, int step)
{
  return decimation == 8 ? 2 * step - 3 : 4 * step - 2;
}

/* The fine row in column `n` of the accumulators during a step. */
__device__ inline int row_of_column(int decimation, int step, int n)
{
  const int done = first_done(decimation, step);

  return done + floor_modulo(n - done - column_offset(decimation), 8);
}

/* The tap of source row `k` of a step for column `n`, as fp16. */
__device__ inline uint32_t column_tap(const SharedTaps &taps, const U8Plane &plane, int step, int n,
                                      int k)
{
  const U8Axis &axis = plane.y;
  const int tap = 16 * step + k - axis.decimation * row_of_column(axis.decimation, step, n);
  const bool inside = tap >= 0 && tap < axis.prefilter_count;
  const int bytes = inside ? taps.prefilter[axis.decimation == 8][tap] : 0;

  return __half_as_ushort(__float2half_rn(plane.fine_scale * (float)bytes));
}

__device__ inline void stage_column_taps(const U8Plane &plane, SharedTaps &taps)
{
  const int lane = (int)threadIdx.x % 32, n = lane / 4, k = lane % 4 * 2;
  const int step = (int)threadIdx.x / 32;

  taps.columns[step][lane] = make_uint2(
      column_tap(taps, plane, step, n, k) | column_tap(taps, plane, step, n, k + 1) << 16,
      column_tap(taps, plane, step, n, k + 8) | column_tap(taps, plane, step, n, k + 9) << 16);
}

template <int C, int D, bool Wide>
__device__ inline void stage_taps(const U8Job &job, const U8Plane &plane, uint32_t luma_bytes,
                                  SharedTaps &shared)
{
  if (threadIdx.x < 2 * kPrefilterTaps)
    shared.prefilter[threadIdx.x / kPrefilterTaps][threadIdx.x % kPrefilterTaps] =
        job.prefilter[threadIdx.x / kPrefilterTaps][threadIdx.x % kPrefilterTaps];
  __syncthreads();
  stage_row_taps<C, D, Wide>(shared, luma_bytes);
  stage_column_taps(plane, shared);
  __syncthreads();
}

/* ---- alpha ---- */

/* The upper and lower bytes of a pixel's premultiplied channels as 16-bit numbers: (colour - 128) *
 * alpha + 32768. Alpha's own place has this with colour 0, 32768 - 128 * alpha. */
struct PremultipliedBytes {
  uint32_t high, low;

  __device__ PremultipliedBytes(uint32_t pixel, bool alpha_first)
  {
    const uint32_t alpha = __byte_perm(pixel, 0, alpha_first ? 0x4440 : 0x4443);
    const uint32_t offset = 0x80008000u - 0x00800080u * alpha;
    const uint32_t even = __byte_perm(pixel, 0, alpha_first ? 0x4244 : 0x4240) * alpha + offset;
    const uint32_t odd = __byte_perm(pixel, 0, alpha_first ? 0x4341 : 0x4441) * alpha + offset;

    high = __byte_perm(even, odd, 0x7351);
    low = __byte_perm(even, odd, 0x6240);
  }
};

/* ---- a step ---- */

/* The initial value of sums along rows. Two byte permutations then make fp16 numbers of a sum: 1024
 * plus its bits 8 to 17, and 1024 plus its lowest eight. */
constexpr int kHalfExponents = 0x64640000;

__device__ inline uint32_t subtract_half2(uint32_t a, uint32_t b)
{
  return as_bits(__hsub2(as_half2(a), as_half2(b)));
}

/* The sum along rows of samples that all equal the channel's centre, which is subtracted. */
struct Centre {
  uint32_t high, low;  /* bits 8 to 17 and 0 to 7, each as two equal fp16 numbers 1024 + v */
  int weighted_start;  /* initial value of sums of PremultipliedBytes */
  float weighted_unit; /* factor from these to 1 / 256 of sums of bytes */

  /* For byte `byte` of a pixel, with taps that add up to `prefilter_sum`. Of a wide sample the
   * upper byte alone has a centre. */
  __device__ Centre(const U8Plane &plane, int byte, int prefilter_sum)
  {
    const bool alpha = byte == plane.alpha;
    const int upper = 2 << plane.shift; /* 512, shifted */
    const int code = plane.sample_bytes == 2 ? byte % 2 * upper : alpha ? 255 : 128;
    const int sum = prefilter_sum * code;

    high = (0x6400u + (uint32_t)(sum >> 8)) * 0x10001u;
    low = (0x6400u + (uint32_t)(sum & 255)) * 0x10001u;
    weighted_start = -prefilter_sum * (alpha ? 32768 - 128 * 255 : 32768);
    weighted_unit = 1.0f / (256.0f * (alpha ? -128.0f : 255.0f));
  }
};

/* The centred sums of a tile along 16 rows, 16 x 16, as left matrices: sum = 256 high + low. */
struct RowSums {
  uint32_t high[4], low[4];
};

/* The loops are nested so that four consecutive products do not depend on each other. */
template <int C, int D, int N>
__device__ inline void filter_rows(const uint4 (&words)[2][N], const uint4 *taps,
                                   const Centre (&centre)[2], RowSums (&sums)[kTilesPerWarp])
{
  typedef DecimateTile<C, D> Tile;
  int sum[kTilesPerWarp][2][4];

#pragma unroll
  for (int t = 0; t < kTilesPerWarp; t++) {
#pragma unroll
    for (int i = 0; i < 8; i++)
      sum[t][i / 4][i % 4] = kHalfExponents;
  }
#pragma unroll
  for (int c = 0; c < 2 * Tile::kChunks; c++) {
    const uint4 tap = taps[32 * c];

#pragma unroll
    for (int t = 0; t < kTilesPerWarp; t++) {
#pragma unroll
      for (int h = 0; h < 2; h++) {
        const uint4 &word = words[h][c / 2 + t * Tile::kShift];

        multiply_bytes(sum[t][h], tap, c % 2 ? word.z : word.x, c % 2 ? word.w : word.y);
      }
    }
  }
#pragma unroll
  for (int t = 0; t < kTilesPerWarp; t++) {
#pragma unroll
    for (int i = 0; i < 4; i++) {
      const uint32_t first = (uint32_t)sum[t][i / 2][i % 2 * 2];
      const uint32_t second = (uint32_t)sum[t][i / 2][i % 2 * 2 + 1];

      sums[t].high[i] = subtract_half2(__byte_perm(first, second, 0x6521), centre[i % 2].high);
      sums[t].low[i] = subtract_half2(__byte_perm(first, second, 0x7430), centre[i % 2].low);
    }
  }
}

/* Whether all of the warp's alpha is 255: then its centred sums are 0, premultiplied or not. */
__device__ inline bool is_opaque(const U8Plane &plane, const RowSums (&sums)[kTilesPerWarp])
{
  const bool first = (int)threadIdx.x % 32 / 4 < 4, own = plane.alpha == 0 ? first : !first;
  uint32_t bits[2] = {};

#pragma unroll
  for (int t = 0; t < kTilesPerWarp; t++) {
#pragma unroll
    for (int i = 0; i < 4; i++)
      bits[i % 2] |= sums[t].high[i] | sums[t].low[i];
  }
  return __all_sync(0xffffffffu,
                    !own || ((plane.alpha == 0 ? bits[0] : bits[1]) & 0x7fff7fff) == 0);
}

/* Returns two numbers as fp16, and leaves 256 times the residuals in `low` and `high`. */
__device__ inline uint32_t split_scaled(float &low, float &high)
{
  const uint32_t pair = pack_half2(low, high);
  const __half2 halves = as_half2(pair);

  low = (low - __low2float(halves)) * 256.0f;
  high = (high - __high2float(halves)) * 256.0f;
  return pair;
}

/* As filter_rows(), of premultiplied pixels. Eight rows at a time, not unrolled, so that the code
 * fits the instruction cache. The sums of the first eight rows are stored to both halves of `sums`,
 * those of the last eight over the second: constant indices keep `sums` in registers. */
template <int D, int N>
__device__ inline void filter_weighted_rows(const U8Plane &plane, const uint4 (&words)[2][N],
                                            const uint4 *taps, const Centre (&centre)[2],
                                            RowSums (&sums)[kTilesPerWarp])
{
  typedef DecimateTile<4, D> Tile;
  const bool first = plane.alpha == 0;

#pragma unroll 1
  for (int h = 0; h < 2; h++) {
    const int s = centre[0].weighted_start, u = centre[1].weighted_start;
    int high[kTilesPerWarp][4] = {}, low[kTilesPerWarp][4] = {{s, s, u, u}, {s, s, u, u}};

#pragma unroll
    for (int c = 0; c < N; c++) {
      const uint4 four = h ? words[1][c] : words[0][c];
      const PremultipliedBytes a(four.x, first), b(four.y, first);
      const PremultipliedBytes d(four.z, first), e(four.w, first);

#pragma unroll
      for (int t = 0; t < kTilesPerWarp; t++) {
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
    for (int t = 0; t < kTilesPerWarp; t++) {
#pragma unroll
      for (int i = 0; i < 2; i++) {
        float value[2];

#pragma unroll
        for (int j = 0; j < 2; j++)
          value[j] =
              (float)(256 * high[t][2 * i + j] + low[t][2 * i + j]) * centre[i].weighted_unit;
        const uint32_t halves = split_scaled(value[0], value[1]);
        const uint32_t residuals = pack_half2(value[0], value[1]);

        sums[t].high[i] = h ? sums[t].high[i] : halves;
        sums[t].low[i] = h ? sums[t].low[i] : residuals;
        sums[t].high[2 + i] = halves;
        sums[t].low[2 + i] = residuals;
      }
    }
  }
}

/* By premultiplied pixels if some alpha is below 255, else by plain ones. Which of the two is right
 * is seen in the sums of either; the one that the step before used is tried first. */
template <int D, int N>
__device__ inline void filter_rows_as_needed(const U8Plane &plane, const uint4 (&words)[2][N],
                                             const uint4 *taps, const Centre (&centre)[2],
                                             bool &weighted, RowSums (&sums)[kTilesPerWarp])
{
  bool wrong;

#pragma unroll 1
  do {
    if (weighted)
      filter_weighted_rows<D>(plane, words, taps, centre, sums);
    else
      filter_rows<4, D>(words, taps, centre, sums);
    wrong = plane.alpha >= 0 && is_opaque(plane, sums) == weighted;
    weighted ^= wrong;
  } while (wrong);
}

/* ---- a strip ---- */

/* A warp's first fine column, and its fine rows first .. end - 1. */
struct Strip {
  int column, first, end;

  template <int C> __device__ static Strip of(const U8Plane &plane, int cta)
  {
    constexpr int kColumns = kTilesPerWarp * 16 / C; /* of a warp */
    const int columns = plane.x.stored_end - plane.left;
    const int across = (columns + kColumns * kWarps - 1) / (kColumns * kWarps);
    Strip strip;

    strip.column = plane.left + (cta % across * kWarps + (int)threadIdx.x / 32) * kColumns;
    strip.first = (plane.fine_first & ~3) + cta / across * plane.strip;
    strip.end = min(strip.first + plane.strip, plane.fine_end);
    return strip;
  }
};

/* Accumulators of a tile along columns, 16 sums x 8 fine rows: of RowSums.high and of .low. */
struct FineSums {
  float high[4], low[4];
};

/* Stores fine rows as they are completed. */
template <int C, bool Wide> struct FineStore {
  static constexpr int kColumns = 16 / C;

  const U8Plane &plane;
  const Strip &strip;
  const uint32_t luma_bytes; /* see U8Plane */
  bool whole;                /* all of the warp's columns are stored */

  __device__ FineStore(const U8Plane &plane, const Strip &strip, uint32_t luma_bytes)
      : plane(plane), strip(strip), luma_bytes(luma_bytes)
  {
    whole = strip.column + kTilesPerWarp * kColumns <= plane.left + plane.fine_pitch;
  }

  /* Fine row `i` (0 or 1) of the thread's sum o = lane / 4 + 8 half. */
  __device__ static float sum_of(const FineSums &fine, int half, int i)
  {
    return fmaf(fine.low[2 * half + i], 1.0f / 256, fine.high[2 * half + i]);
  }

  /* The fine sample; of a wide one, the halves are its lower and upper byte. */
  __device__ static float value(const FineSums &fine, int half, int i)
  {
    return Wide ? fmaf(sum_of(fine, 1, i), 256.0f, sum_of(fine, 0, i)) : sum_of(fine, half, i);
  }

  /* Stores the thread's rows `row` and row + 1, with `All` without checks. */
  template <bool All> __device__ void store(int row, const FineSums (&fine)[kTilesPerWarp]) const
  {
    const int lane = (int)threadIdx.x % 32, rows = plane.fine_end - plane.fine_first;

#pragma unroll
    for (int half = 0; half < (Wide ? 1 : 2); half++) {
      const int o = lane / 4 + 8 * half, x = strip.column + o % kColumns;
      const int channel = stored_channel(luma_bytes, o / kColumns);
      float *to = plane.fine +
                  (channel * rows + (row - plane.fine_first)) * (ptrdiff_t)plane.fine_pitch +
                  (x - plane.left);

#pragma unroll
      for (int i = 0; i < 2; i++) {
        const int y = row + i;
        const bool inside = y >= strip.first && y >= plane.fine_first && y < strip.end;

        if (channel < 0)
          continue;

#pragma unroll
        for (int t = 0; t < kTilesPerWarp; t++) {
          if (All || (inside && x + t * kColumns < plane.left + plane.fine_pitch))
            to[t * kColumns] = value(fine[t], half, i);
        }
        to += plane.fine_pitch;
      }
    }
  }

  /* Stores the rows that `step` completes, and clears the accumulators that held them. */
  __device__ void store_completed(int step, FineSums (&fine)[kTilesPerWarp]) const
  {
    const int decimation = plane.y.decimation, lane = (int)threadIdx.x % 32;
    const int done = first_done(decimation, step), rows = 1 << done_log2(decimation);
    const int row = row_of_column(decimation, step, lane % 4 * 2);

    if (row >= done + rows)
      return;
    if (whole && done >= max(strip.first, plane.fine_first) && done + rows <= strip.end)
      store<true>(row, fine);
    else
      store<false>(row, fine);
#pragma unroll
    for (int t = 0; t < kTilesPerWarp; t++)
      fine[t] = FineSums();
  }
};

/* Makes a warp's strip; C is the bytes of a pixel, D is D1 along rows. */
template <int C, int D, bool Wide, bool Folds, bool Packed = false>
__device__ inline void decimate(const U8Job &job, const U8Plane &plane, int cta, SharedTaps &shared)
{
  const uint32_t luma_bytes = Packed ? plane.luma_bytes : 0;
  const int prefilter_sum = Packed ? kPrefilterSumPacked : 2 * D * D * D;
  const Strip strip = Strip::of<C>(plane, cta);
  const int lane = (int)threadIdx.x % 32, decimation = plane.y.decimation;
  const bool own = strip.column < plane.x.stored_end;
  const SourceLoader<C, D, Folds> source(plane, strip.column);
  uint4 words[2][SourceLoader<C, D, Folds>::kChunks];

  const FineStore<C, Wide> store(plane, strip, luma_bytes);
  const Centre centre[2] = {Centre(plane, byte_of<C, Wide>(lane / 4), prefilter_sum),
                            Centre(plane, byte_of<C, Wide>(lane / 4 + 8), prefilter_sum)};
  FineSums fine[kTilesPerWarp] = {};
  bool weighted = false; /* whether the last step used premultiplied pixels */

  /* Strips start at multiples of four rows. The first iteration only loads, and stages the taps
   * meanwhile: the code that loads exists once. */
  const int first = strip.first >> done_log2(decimation);

#pragma unroll 1
  for (int step = first - 1; first_done(decimation, step) < strip.end; step++) {
    RowSums sums[kTilesPerWarp];

    if (step >= first) {
      source.complete(step, luma_bytes, words);
      if constexpr (C == 4 && !Wide && !Packed)
        filter_rows_as_needed<D>(plane, words, &shared.rows[0][lane], centre, weighted, sums);
      else
        filter_rows<C, D>(words, &shared.rows[0][lane], centre, sums);
    }
    if (own && first_done(decimation, step + 1) < strip.end)
      source.fetch(step + 1, words);
    if (step < first) {
      stage_taps<C, D, Wide>(job, plane, luma_bytes, shared);
      if (!own)
        return;
    } else {
      const uint2 taps = shared.columns[floor_modulo(step, 4)][lane];

#pragma unroll
      for (int t = 0; t < kTilesPerWarp; t++) {
        mma_f32(fine[t].high, sums[t].high, taps.x, taps.y);
        mma_f32(fine[t].low, sums[t].low, taps.x, taps.y);
      }
      store.store_completed(step, fine);
    }
  }
}

template <bool Folds>
__global__ void __launch_bounds__(kThreads, kU8DecimateCtasPerSm)
    decimate_pixels_kernel(const __grid_constant__ U8Job job)
{
  __shared__ SharedTaps shared;
  const U8Plane &plane = job.plane[0];

  pdl_trigger();
  if (plane.x.decimation == 8)
    decimate<4, 8, false, Folds>(job, plane, (int)blockIdx.x, shared);
  else
    decimate<4, 4, false, Folds>(job, plane, (int)blockIdx.x, shared);
}

__global__ void __launch_bounds__(kThreads, kU8DecimateCtasPerSm)
    decimate_packed_kernel(const __grid_constant__ U8Job job)
{
  __shared__ SharedTaps shared;

  pdl_trigger();
  decimate<4, 4, false, false, true>(job, job.plane[2], (int)blockIdx.x, shared);
}

/* Planes of one and of two channels. */
template <bool Wide, bool Folds>
__global__ void __launch_bounds__(kThreads, kU8DecimateCtasPerSm)
    decimate_planes_kernel(const __grid_constant__ U8Job job)
{
  constexpr int kBytes = Wide ? 2 : 1;
  __shared__ SharedTaps shared;
  int cta;
  const U8Plane &plane = plane_of_cta(job, &U8Plane::decimate_first_cta, &cta);

  pdl_trigger();
  if (plane.channels == 1 && plane.x.decimation == 8)
    decimate<kBytes, 8, Wide, Folds>(job, plane, cta, shared);
  else if (plane.channels == 1)
    decimate<kBytes, 4, Wide, Folds>(job, plane, cta, shared);
  else if (plane.x.decimation == 8)
    decimate<2 * kBytes, 8, Wide, Folds>(job, plane, cta, shared);
  else
    decimate<2 * kBytes, 4, Wide, Folds>(job, plane, cta, shared);
}

/* [planes, wide planes, pixels][folds] */
void (*const kernels[3][2])(U8Job) = {
    {decimate_planes_kernel<false, false>, decimate_planes_kernel<false, true>},
    {decimate_planes_kernel<true, false>, decimate_planes_kernel<true, true>},
    {decimate_pixels_kernel<false>, decimate_pixels_kernel<true>},
};

} // namespace

bool u8_decimate(const U8Job *job, const U8LaunchPlan &plan, void *stream, CfStatus *status)
{
  void (*const kernel)(U8Job) =
      job->packed ? decimate_packed_kernel : kernels[plan.pixels ? 2 : plan.wide][plan.folds];

  if (!prefer_carveout(kernel, plan, status))
    return false;
  return launch_first(kernel, job, plan.decimate_ctas, kThreads, stream, "decimating for a blur",
                      status);
}

} // namespace cf::pyramid
