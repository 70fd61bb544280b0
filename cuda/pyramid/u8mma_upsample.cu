/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Last launch of the u8mma pyramid: the coarse filter along columns, then the cubic B-spline along
 * rows and along columns, each as products of fp16 matrices.
 *
 * A CTA makes 128 or 256 result columns of a stack of tiles of 16 rows. It first filters the coarse
 * samples that these read: taps (16 coarse rows x 16 fine rows) by fine samples (16 x 8 columns).
 * No other CTA reads the results, so they stay in shared memory. A warp then upsamples 32 columns
 * at a time: weights (16 columns x 8 coarse columns) by coarse samples (8 x 8 coarse rows). These
 * results, as the threads hold them, are the right matrices of the last product: weights (16 rows x
 * 8 coarse rows) by results (8 x 8 columns). Coarse samples and weights are fp16 numbers with
 * residuals and sums are fp32, so that only the results along rows are rounded to fp16. With alpha
 * they have residuals too, since colours are then divided by alpha.
 */
#include "cuda/common/alpha.cuh"
#include "cuda/pyramid/u8mma_upsample_rows.cuh"

namespace cf::pyramid
{

namespace
{

/* Added before rounding: above the rounding errors of the sums, so that exact ties, of which
 * regular patterns have many, are always rounded up. */
constexpr float kTieBias = 1.0f / 2048;

/* fp16 numbers from 1024 to 2048 are integers; their low bits are the code in 1024 + code. */
constexpr float kIntegerBase = 1024.0f;

constexpr int kMostTilesOfRowPair = kU8MaxDecimation * kU8MaxDecimation2 / 8;

/* ---- columns ---- */

/* The number of tiles whose coarse rows begin with the same pair. */
__device__ inline int tiles_of_row_pair(const U8Axis &axis)
{
  return max(axis.factor >> 3, 1);
}

/* [tile modulo tiles_of_row_pair()][lane]: the weights along columns of a tile whose coarse rows
 * begin with the stack's first; fp16 numbers of rows g and g + 8, then their residuals. */
struct SharedWeights {
  uint4 tile[kMostTilesOfRowPair][32];
};

/* Initial values of sums: the channel's centre (code_centre()) plus kIntegerBase and kTieBias, so
 * that converting to fp16 rounds to a code. */
struct Starts {
  float4 colour, last; /* of channels 0 .. 2, and of the last; four equal numbers each */
};

template <int C> struct Shared {
  SharedTaps taps;
  SharedCoarse<C> coarse;
  SharedWeights weights;

  /* Two equal copies, for even and odd lanes. Of a single one the compiler would know that it is
   * uniform, and copy it from uniform registers before each product. */
  Starts starts[2];
};

__device__ inline void stage_starts(const U8Plane &plane, Starts (&shared)[2])
{
  const float colour = kIntegerBase + kTieBias + (plane.sample_bytes == 2 ? 512.0f : 128.0f);
  const float last = plane.alpha < 0 ? colour : kIntegerBase + kTieBias + 255.0f;

  if (threadIdx.x < 2)
    shared[threadIdx.x] = {{colour, colour, colour, colour}, {last, last, last, last}};
}

__device__ inline void stage_weights(const U8Plane &plane, SharedWeights &shared)
{
  const int lane = (int)threadIdx.x % 32, count = tiles_of_row_pair(plane.y);

#pragma unroll 1
  for (int i = (int)threadIdx.x / 32; i < count; i += kWarps) {
    const uint2 above = spline_pair(plane.y, 16 * i + lane / 4, lane % 4 * 2 - 2);
    const uint2 below = spline_pair(plane.y, 16 * i + lane / 4 + 8, lane % 4 * 2 - 2);

    shared.tile[i][lane] = make_uint4(above.x, below.x, above.y, below.y);
  }
}

/* The weights along columns of a tile. Its 8 coarse rows start an even number of rows below the
 * stack's first. A thread's right matrices hold the stack's coarse rows 2 (lane % 4) and the next
 * (first), and those 8 rows below; the tile's rows are one of the two for each thread, and its
 * weights are permuted accordingly. */
struct ColumnWeights {
  uint32_t weights[4];
  bool first; /* the thread's coarse rows of this tile are the first of its two pairs */

  __device__ ColumnWeights(const U8Plane &plane, const SharedWeights &shared, int tile)
  {
    const int lane = (int)threadIdx.x % 32, log2 = plane.y.factor_log2;
    const int shift = 2 * tile >> (log2 - 2), index = tile & (tiles_of_row_pair(plane.y) - 1);
    const uint4 four = shared.tile[index][lane / 4 * 4 + ((lane - shift) & 3)];

    weights[0] = four.x;
    weights[1] = four.y;
    weights[2] = four.z;
    weights[3] = four.w;
    first = lane % 4 >= shift;
  }
};

/* The last product: 16 rows x 8 columns, half `i` of a part's columns; plus `start`. */
template <bool WithResiduals>
__device__ inline void expand_columns(const ColumnWeights &across, const ExpandedRows &expanded,
                                      int i, const float4 &start, float (&sum)[4])
{
  const uint32_t half = across.first ? expanded.half[i][0] : expanded.half[i][1];

  mma_f32(sum, across.weights, half, half, start);
  if (WithResiduals)
    mma_f32_k8(sum, across.weights,
               across.first ? expanded.residual[i][0] : expanded.residual[i][1]);
}

/* The codes of four sums that include kIntegerBase, as bytes. `order` is a byte permutation of the
 * fp16 pairs (a, b) and (c, d). */
__device__ inline uint32_t to_bytes(float a, float b, float c, float d, uint32_t order)
{
  return __byte_perm(pack_half2(a, b), pack_half2(c, d), order);
}

/* Two such sums as 10-bit samples. Below 1024 fp16 has fractions, so they are clamped. */
__device__ inline uint32_t to_wide_samples(float a, float b, int shift)
{
  const __half2 least = __half2half2(__ushort_as_half(0x6400));
  const __half2 most = __half2half2(__ushort_as_half(0x67ff));
  const __half2 clamped = __hmin2(__hmax2(as_half2(pack_half2(a, b)), least), most);

  return (as_bits(clamped) & 0x03ff03ff) << shift;
}

/* The codes of a pixel from centred sums of premultiplied colours and, last, alpha. Rounded in
 * fp32, not fp16: equal colours and alphas must give equal codes wherever they occur. Ties go up.
 */
__device__ inline uint32_t unpremultiply_pixel(const float (&sum)[4], uint32_t order)
{
  constexpr float kTie = 1.0f / 16384, kInteger = 1.5f * (1 << 23);
  const float alpha = sum[3] + 255.0f, factor = reciprocal_approx(alpha);
  uint32_t code[3];

#pragma unroll
  for (int c = 0; c < 3; c++)
    code[c] = __float_as_uint(
        fmaf(fma_saturate(sum[c], factor, (128.0f + kTie) / 255), 255.0f, kInteger));
  return __byte_perm(__byte_perm(code[0], code[1], 0x5410),
                     __byte_perm(code[2], __float_as_uint(alpha + kTie + kInteger), 0x5410), order);
}

/* ---- storing ---- */

template <int N> __device__ inline void store_words(uint8_t *to, const uint32_t (&word)[N])
{
  if constexpr (N == 1)
    *(uint32_t *)to = word[0];
  else if constexpr (N == 2)
    *(uint2 *)to = make_uint2(word[0], word[1]);
  else {
#pragma unroll
    for (int i = 0; i < N; i += 4)
      *(uint4 *)(to + 4 * i) = make_uint4(word[i], word[i + 1], word[i + 2], word[i + 3]);
  }
}

/* Stores a thread's pixels of C bytes, tile by tile down a stack. They start at column `own` of the
 * warp's. */
template <int C> struct TileStore {
  const U8Plane &plane;
  const int x;
  const bool whole; /* all of the warp's columns lie in the plane, and vectors are aligned */
  uint8_t *to;      /* the thread's first byte in row g of the next tile */

  __device__ TileStore(const U8Plane &plane, int left, int tile, int own)
      : plane(plane), x(left + own),
        whole(plane.destination_vector && left + kUpsampleColumns <= plane.width),
        to(plane.destination + row_of(tile) * plane.destination_stride + (ptrdiff_t)x * C)
  {
  }

  __device__ static ptrdiff_t row_of(int tile)
  {
    return 16 * tile + (int)threadIdx.x % 32 / 4;
  }

  /* Stores rows g and g + 8 of a tile, and moves on to the next. */
  template <int N> __device__ void store(int tile, const uint32_t (&word)[2][N])
  {
    uint8_t *const below = to + 8 * plane.destination_stride;

    if (whole && 16 * tile >= plane.first && 16 * tile + 16 <= plane.end) {
      store_words(to, word[0]);
      store_words(below, word[1]);
    } else {
#pragma unroll
      for (int r = 0; r < 2; r++) {
        const int y = (int)row_of(tile) + 8 * r;
        const bool inside = y >= plane.first && y < plane.end;
        const int count = inside ? min(4 * N, (plane.width - x) * C) : 0;

#pragma unroll
        for (int i = 0; i < 4 * N; i++) {
          if (i < count)
            (r ? below : to)[i] = (uint8_t)(word[r][i / 4] >> 8 * (i % 4));
        }
      }
    }
    to = below + 8 * plane.destination_stride;
  }
};

/* A part's 16 columns of a tile, not premultiplied: samples of `Bytes` bytes. `order`: to_bytes().
 */
template <int C, int Bytes>
__device__ inline void make_words(const Starts &starts, const ColumnWeights &columns,
                                  const ExpandedRows (&expanded)[C], int shift, uint32_t order,
                                  uint32_t (&word)[2][C * Bytes])
{
  constexpr int kSamples = 4 / Bytes; /* of a word */
  float sum[C][2][4];

#pragma unroll
  for (int c = 0; c < C; c++) {
#pragma unroll
    for (int i = 0; i < 2; i++)
      expand_columns<false>(columns, expanded[c], i, c == 3 ? starts.last : starts.colour,
                            sum[c][i]);
  }
  /* Of the thread's four columns, column k is in half k / 2 of the part. */
#pragma unroll
  for (int r = 0; r < 2; r++) {
#pragma unroll
    for (int w = 0; w < C * Bytes; w++) {
      float value[kSamples];
#pragma unroll
      for (int b = 0; b < kSamples; b++) {
        const int k = (kSamples * w + b) / C, c = (kSamples * w + b) % C;
        value[b] = sum[c][k / 2][2 * r + k % 2];
      }
      if constexpr (Bytes == 1)
        word[r][w] = to_bytes(value[0], value[1], value[2], value[3], order);
      else
        word[r][w] = to_wide_samples(value[0], value[1], shift);
    }
  }
}

/* The same of premultiplied pixels. Those whose filtered alpha rounds to 0 become `transparent`. */
__device__ inline void make_weighted_words(const U8Plane &plane, const ColumnWeights &columns,
                                           const ExpandedRows (&expanded)[4], uint32_t order,
                                           uint32_t (&word)[2][4])
{
  const uint32_t mask = alpha_byte(plane.alpha == 0);
  uint32_t least = mask; /* the least alpha */

#pragma unroll
  for (int i = 0; i < 2; i++) {
    float sum[4][4];

#pragma unroll
    for (int c = 0; c < 4; c++)
      expand_columns<true>(columns, expanded[c], i, make_float4(0.0f, 0.0f, 0.0f, 0.0f), sum[c]);
#pragma unroll
    for (int j = 0; j < 4; j++) {
      const float pixel[4] = {sum[0][j], sum[1][j], sum[2][j], sum[3][j]};
      const uint32_t bytes = unpremultiply_pixel(pixel, order);

      least = min(least, bytes & mask);
      word[j / 2][2 * i + j % 2] = bytes;
    }
  }
  if (least > 0)
    return;
#pragma unroll
  for (int k = 0; k < 8; k++) {
    if ((word[k / 4][k % 4] & mask) == 0)
      word[k / 4][k % 4] = plane.transparent;
  }
}

/* The coarse rows, of the warp's 16, that are not opaque, four bits each: sums of opaque alpha less
 * 255 are exactly 0. */
__device__ inline uint64_t rows_with_alpha(const Coarse &alpha)
{
  uint32_t rows[2];

#pragma unroll
  for (int r = 0; r < 2; r++)
    rows[r] = __ballot_sync(0xffffffffu, ((alpha.row[r].x | alpha.row[r].y) & 0x7fff7fff) != 0);
  return (uint64_t)rows[1] << 32 | rows[0];
}

/* Whether one of these has a weight other than 0 in a tile. Rows of weight 0 must not decide: in a
 * band of a picture they may differ. */
__device__ inline bool has_alpha(const U8Plane &plane, uint64_t rows, int tile)
{
  const int log2 = plane.y.factor_log2, used = max(16 >> log2, 1) + 4;

  return ((uint32_t)(rows >> 4 * (16 * tile >> log2)) & 0xffffffffu >> (32 - 4 * used)) != 0;
}

/* 32 columns of a stack, from `left` on, of planes of one or two channels. */
template <int C, int Bytes>
__device__ inline void make_stack(const U8Plane &plane, const UpsampleStack<C> &stack, int left,
                                  const RowWeights (&rows)[2], const Shared<C> &shared)
{
  constexpr int kWords = C * Bytes; /* words of four pixels */
  const bool wide = plane.x.factor > 4;
  const int own = (int)threadIdx.x % 4 * (wide ? 8 : 4);
  const Starts starts = shared.starts[threadIdx.x % 2];
  TileStore<kWords> stores[2] = {TileStore<kWords>(plane, left, stack.first, own),
                                 TileStore<kWords>(plane, left, stack.first, own + 16)};
  ExpandedRows expanded[2][C];

#pragma unroll
  for (int part = 0; part < 2; part++) {
#pragma unroll
    for (int c = 0; c < C; c++)
      expand_rows<false>(rows[part], rows[part].load(shared.coarse, c), expanded[part][c]);
  }
#pragma unroll 1
  for (int tile = stack.first; tile < stack.end; tile++) {
    const ColumnWeights columns(plane, shared.weights, tile - stack.top);
    uint32_t word[2][2][kWords];

#pragma unroll
    for (int part = 0; part < 2; part++)
      make_words<C, Bytes>(starts, columns, expanded[part], plane.shift, 0x6420, word[part]);
    if (wide) {
      uint32_t both[2][2 * kWords];

#pragma unroll
      for (int i = 0; i < 4 * kWords; i++)
        both[i / (2 * kWords)][i % (2 * kWords)] =
            word[i / kWords % 2][i / (2 * kWords)][i % kWords];
      stores[0].store(tile, both);
    } else {
      stores[0].store(tile, word[0]);
      stores[1].store(tile, word[1]);
    }
  }
}

/* All of a warp's groups of 32 columns. Where there are several, D divides 32, so that all groups
 * have the same weights. */
template <int C, int Bytes>
__device__ inline void make_stacks(const U8Plane &plane, const UpsampleStack<C> &stack,
                                   RowWeights (&rows)[2], const Shared<C> &shared)
{
  const int end = min(stack.warp_x + warp_columns<C>(plane), plane.width);

#pragma unroll 1
  for (int left = stack.warp_x; left < end; left += kUpsampleColumns) {
    make_stack<C, Bytes>(plane, stack, left, rows, shared);
    rows[0].pair += kUpsampleColumns / 2 >> plane.x.factor_log2;
    rows[1].pair += kUpsampleColumns / 2 >> plane.x.factor_log2;
  }
}

/* 16 columns of a stack of pixels of four channels. `Translucent`: `alpha` has the coarse rows that
 * are not opaque, of rows_with_alpha(). */
template <bool Translucent>
__device__ inline void make_part(const U8Plane &plane, const UpsampleStack<4> &stack, int part,
                                 const Shared<4> &shared, const RowWeights &across,
                                 const Coarse (&coarse)[4], uint64_t alpha)
{
  const Starts starts = shared.starts[threadIdx.x % 2];
  const uint32_t order = plane.alpha == 0 ? 0x4206 : 0x6420;
  TileStore<4> store(plane, stack.warp_x, stack.first, 16 * part + (int)threadIdx.x % 4 * 4);
  ExpandedRows expanded[4];

#pragma unroll
  for (int c = 0; c < 4; c++)
    expand_rows<Translucent>(across, coarse[c], expanded[c]);
#pragma unroll 1
  for (int tile = stack.first; tile < stack.end; tile++) {
    const ColumnWeights columns(plane, shared.weights, tile - stack.top);
    uint32_t word[2][4];

    if (Translucent && has_alpha(plane, alpha, tile - stack.top))
      make_weighted_words(plane, columns, expanded, order, word);
    else
      make_words<4, 1>(starts, columns, expanded, 0, order, word);
    store.store(tile, word);
  }
}

__device__ inline void make_pixels(const U8Plane &plane, const UpsampleStack<4> &stack,
                                   const RowWeights (&rows)[2], const Shared<4> &shared)
{
#pragma unroll 1
  for (int part = 0; part < 2; part++) {
    RowWeights across = rows[0];
    Coarse coarse[4];
    uint64_t alpha = 0;

    if (part == 1)
      across = rows[1];
#pragma unroll
    for (int c = 0; c < 4; c++)
      coarse[c] = across.load(shared.coarse, channel_with_alpha_last(plane.alpha == 0, c));
    if (plane.alpha >= 0)
      alpha = rows_with_alpha(coarse[3]);
    if (alpha)
      make_part<true>(plane, stack, part, shared, across, coarse, alpha);
    else
      make_part<false>(plane, stack, part, shared, across, coarse, 0);
  }
}

/* Packed 4:2:2: the channels of a macropixel are Y, U, Y, V here; `coarse` has Y, U and V, and the
 * two lumas have weights of their own, lumas[luma][part]. */
__device__ inline void make_macropixels(const U8Plane &plane, const UpsampleStack<4> &stack,
                                        const RowWeights (&rows)[2],
                                        const RowWeights (&lumas)[2][2], const Shared<4> &shared)
{
  const Starts starts = shared.starts[threadIdx.x % 2];
  const uint32_t order = plane.luma_bytes == 0x5 ? 0x6420 : 0x4602;

#pragma unroll 1
  for (int part = 0; part < 2; part++) {
    TileStore<4> store(plane, stack.warp_x, stack.first, 16 * part + (int)threadIdx.x % 4 * 4);
    const RowWeights chroma = part ? rows[1] : rows[0];
    const RowWeights luma[2] = {part ? lumas[0][1] : lumas[0][0], part ? lumas[1][1] : lumas[1][0]};
    ExpandedRows expanded[4];

#pragma unroll
    for (int c = 0; c < 4; c++)
      expand_rows<false>(c % 2 ? chroma : luma[c / 2],
                         chroma.load(shared.coarse, c % 2 ? 1 + c / 2 : 0), expanded[c]);
#pragma unroll 1
    for (int tile = stack.first; tile < stack.end; tile++) {
      const ColumnWeights columns(plane, shared.weights, tile - stack.top);
      uint32_t word[2][4];

      make_words<4, 1>(starts, columns, expanded, 0, order, word);
      store.store(tile, word);
    }
  }
}

template <int C, int Bytes>
__device__ inline void upsample(const U8Plane &plane, const U8Taps &taps_y, int cta,
                                Shared<C> &shared)
{
  const UpsampleStack<C> stack(plane, cta, 0);

  /* What does not depend on the launch before comes first. */
  RowWeights rows[2] = {RowWeights(plane, stack, 0), RowWeights(plane, stack, 1)};
  stage_weights(plane, shared.weights);
  stage_starts(plane, shared.starts);
  stage_taps(plane.y, taps_y, shared.taps.half, shared.taps.residual);
  __syncthreads();
  pdl_wait();
  make_coarse<C, C>(plane, stack, shared.taps, shared.coarse);
  __syncthreads();
  if (stack.warp_x >= plane.width)
    return;
  if constexpr (C == 4)
    make_pixels(plane, stack, rows, shared);
  else
    make_stacks<C, Bytes>(plane, stack, rows, shared);
}

__global__ void __launch_bounds__(kThreads, kU8UpsampleCtasPerSm)
    upsample_pixels_kernel(const __grid_constant__ U8Job job)
{
  __shared__ Shared<4> shared;

  upsample<4, 1>(job.plane[0], job.taps[0][1], (int)blockIdx.x, shared);
}

__global__ void __launch_bounds__(kThreads, kU8UpsampleCtasPerSm)
    upsample_packed_kernel(const __grid_constant__ U8Job job)
{
  __shared__ Shared<4> shared;
  const U8Plane &plane = job.plane[2];
  const U8Axis &luma = job.plane[0].x;
  const UpsampleStack<4> stack(plane, (int)blockIdx.x, job.stack_split_log2);
  const RowWeights rows[2] = {RowWeights(plane, stack, 0), RowWeights(plane, stack, 1)};
  const RowWeights lumas[2][2] = {
      {RowWeights(plane, stack, 0, luma, 2, 0), RowWeights(plane, stack, 1, luma, 2, 0)},
      {RowWeights(plane, stack, 0, luma, 2, 1), RowWeights(plane, stack, 1, luma, 2, 1)}};

  stage_weights(plane, shared.weights);
  stage_starts(plane, shared.starts);
  stage_taps(plane.y, job.taps[0][1], shared.taps.half, shared.taps.residual);
  __syncthreads();
  pdl_wait();
  make_coarse<4, 3>(plane, stack, shared.taps, shared.coarse);
  __syncthreads();
  if (stack.warp_x < plane.width)
    make_macropixels(plane, stack, rows, lumas, shared);
}

/* For planes of one and of two channels, of samples of `Bytes` bytes. */
template <int Bytes>
__global__ void __launch_bounds__(kThreads, kU8UpsampleCtasPerSm)
    upsample_planes_kernel(const __grid_constant__ U8Job job)
{
  __shared__ union {
    Shared<1> one;
    Shared<2> two;
  } shared;
  int cta;
  const U8Plane &plane = plane_of_cta(job, &U8Plane::upsample_first_cta, &cta);
  const U8Taps &taps_y = job.taps[&plane - job.plane][1];

  if (plane.channels == 1)
    upsample<1, Bytes>(plane, taps_y, cta, shared.one);
  else
    upsample<2, Bytes>(plane, taps_y, cta, shared.two);
}

} // namespace

bool u8_upsample(const U8Job *job, const U8LaunchPlan &plan, void *stream, CfStatus *status)
{
  const auto kernel = job->packed   ? upsample_packed_kernel
                      : plan.pixels ? upsample_pixels_kernel
                      : plan.wide   ? upsample_planes_kernel<2>
                                    : upsample_planes_kernel<1>;

  return prefer_carveout(kernel, plan, status) &&
         launch_job(kernel, job, plan.upsample_ctas, kThreads, 0, stream, "enlarging a blur",
                    status);
}

} // namespace cf::pyramid
