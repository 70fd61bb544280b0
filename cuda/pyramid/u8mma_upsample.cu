/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Last launch of the u8mma pyramid: the coarse filter along columns, then the cubic B-spline along
 * rows and along columns, each as products of fp16 matrices.
 *
 * A CTA makes the coarse samples that 128 or 256 columns and some tiles of 16 rows below each
 * other read, taps (16 coarse rows x 16 fine ones) by the samples of 8 columns; nothing but these
 * CTAs reads them, so they stay in shared memory. A warp then enlarges 32 columns at a time:
 * weights (16 columns x 8 coarse columns) by coarse samples (8 x 8 coarse rows), of which the
 * threads hold the results in the order that the last product wants, weights (16 rows x 8 coarse
 * rows) by these. Coarse samples and weights are a half and what it leaves, so with sums in single
 * precision only the results along rows are rounded to fp16; with alpha they are split too, since
 * then colours are quotients.
 */
#include "cuda/common/alpha.cuh"
#include "cuda/pyramid/u8mma_upsample_rows.cuh"

namespace cf::pyramid
{

namespace
{

/* What is added before rounding. The little more than nothing turns exact halves up in spite of
 * rounding errors: regular patterns have many. */
constexpr float kLittle = 1.0f / 2048;

/* In 1024 to 2048 fp16 numbers are whole numbers, with codes of 10 bits and less as low bits. */
constexpr float kWhole = 1024.0f;

constexpr int kMostBases = kU8MaxDecimation * kU8MaxDecimation2 / 8;

/* ---- columns ---- */

/* The tiles that begin with the same two coarse rows. */
__device__ inline int tiles_of_base(const U8Axis &axis)
{
  return max(axis.factor >> 3, 1);
}

/* Weights of the tiles that begin with the two coarse rows with which a thread's four begin, by
 * number of the tile within them; fp16 numbers of rows g and g + 8, and their residuals. */
struct SharedWeights {
  uint4 tile[kMostBases][32];
};

/* Where sums begin, so that they round to codes: they are of what differs from the middle of all
 * codes, since fp16 is the more accurate the smaller the numbers; of alpha that weights, from
 * opaque, whose weight is then exact. */
struct Starts {
  float4 colour, last; /* four times the same */
};

template <int C> struct Shared {
  SharedTaps taps;
  SharedCoarse<C> coarse;
  SharedWeights weights;

  /* Twice the same, for even and odd lanes: else the compiler knows that all lanes have the same
   * numbers, and moves these into the registers of each product anew. */
  Starts starts[2];
};

__device__ inline void share_starts(const U8Plane &plane, Starts (&shared)[2])
{
  const float middle = kWhole + kLittle + (plane.sample_bytes == 2 ? 512.0f : 128.0f);
  const float last = plane.alpha < 0 ? middle : kWhole + kLittle + 255.0f;

  if (threadIdx.x < 2)
    shared[threadIdx.x] = {{middle, middle, middle, middle}, {last, last, last, last}};
}

__device__ inline void share_weights(const U8Plane &plane, SharedWeights &shared)
{
  const int lane = (int)threadIdx.x % 32, bases = tiles_of_base(plane.y);

#pragma unroll 1
  for (int i = (int)threadIdx.x / 32; i < bases; i += kWarps) {
    const uint2 above = weigh(plane.y, 16 * i + lane / 4, lane % 4 * 2 - 2);
    const uint2 below = weigh(plane.y, 16 * i + lane / 4 + 8, lane % 4 * 2 - 2);

    shared.tile[i][lane] = make_uint4(above.x, below.x, above.y, below.y);
  }
}

/* A tile's weights: its eight coarse rows begin an even number below the stack's, so that they are
 * in the threads of these, in another order. */
struct AcrossColumns {
  uint32_t weights[4];
  bool first; /* of the two coarse rows that a thread has in two places */

  __device__ AcrossColumns(const U8Plane &plane, const SharedWeights &shared, int tile)
  {
    const int lane = (int)threadIdx.x % 32, log2 = plane.y.factor_log2;
    const int shift = 2 * tile >> (log2 - 2), base = tile & (tiles_of_base(plane.y) - 1);
    const uint4 four = shared.tile[base][lane / 4 * 4 + ((lane - shift) & 3)];

    weights[0] = four.x;
    weights[1] = four.y;
    weights[2] = four.z;
    weights[3] = four.w;
    first = lane % 4 >= shift;
  }
};

/* 16 rows x 8 columns, and `start`. */
template <bool Exact>
__device__ inline void expand_columns(const AcrossColumns &across, const Middle &middle, int i,
                                      const float4 &start, float (&sum)[4])
{
  const uint32_t half = across.first ? middle.half[i][0] : middle.half[i][1];

  mma_f32(sum, across.weights, half, half, start);
  if (Exact)
    mma_f32_k8(sum, across.weights, across.first ? middle.residual[i][0] : middle.residual[i][1]);
}

/* Four sums, to which kWhole was added, as codes; `order`: where they are in the word. */
__device__ inline uint32_t to_bytes(float a, float b, float c, float d, uint32_t order)
{
  return __byte_perm(pack_half2(a, b), pack_half2(c, d), order);
}

/* Two such sums as samples of 10 bits. Clamped, for below 1024 there are halves. */
__device__ inline uint32_t to_wide_samples(float a, float b, int shift)
{
  const __half2 least = __half2half2(__ushort_as_half(0x6400));
  const __half2 most = __half2half2(__ushort_as_half(0x67ff));
  const __half2 whole = __hmin2(__hmax2(as_half2(pack_half2(a, b)), least), most);

  return (as_bits(whole) & 0x03ff03ff) << shift;
}

/* A pixel's sums, of which alpha, the last, weights the colours, as codes. Rounded in fp32, since
 * what becomes of a colour and its alpha must be what becomes of them elsewhere; ties go up. */
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

/* Where a thread's bytes of the tiles of a stack go, C a pixel: those of its first column, which is
 * number `own` of the warp's. */
template <int C> struct Place {
  const U8Plane &plane;
  const int x;
  const bool whole; /* all of the warp's columns, and words can be stored at once */
  uint8_t *to;      /* in row g of the next tile */

  __device__ Place(const U8Plane &plane, int left, int tile, int own)
      : plane(plane), x(left + own),
        whole(plane.destination_vector && left + kUpsampleColumns <= plane.width),
        to(plane.destination + row_of(tile) * plane.destination_stride + (ptrdiff_t)x * C)
  {
  }

  __device__ static ptrdiff_t row_of(int tile)
  {
    return 16 * tile + (int)threadIdx.x % 32 / 4;
  }

  /* Of rows g and g + 8 of the tile. */
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

/* Of pixels of four channels alpha is worked on as the last: which channel is number i. */
__device__ inline int channel_in_order(const U8Plane &plane, int i)
{
  return plane.alpha == 0 ? (i + 1) % 4 : i;
}

/* Without weighing: sums of a part's 16 columns in a tile, as samples of `Bytes` bytes. `order`: of
 * bytes of four sums. */
template <int C, int Bytes>
__device__ inline void make_words(const Starts &starts, const AcrossColumns &columns,
                                  const Middle (&middle)[C], int shift, uint32_t order,
                                  uint32_t (&word)[2][C * Bytes])
{
  constexpr int kSamples = 4 / Bytes; /* of a word */
  float sum[C][2][4];

#pragma unroll
  for (int c = 0; c < C; c++) {
#pragma unroll
    for (int i = 0; i < 2; i++)
      expand_columns<false>(columns, middle[c], i, c == 3 ? starts.last : starts.colour, sum[c][i]);
  }
  /* Column k of the four is in half k / 2 of the products. */
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

/* Where the filtered alpha rounds to 0 nothing shows. */
__device__ inline void make_weighted_words(const U8Plane &plane, const AcrossColumns &columns,
                                           const Middle (&middle)[4], uint32_t order,
                                           uint32_t (&word)[2][4])
{
  const uint32_t mask = alpha_byte(plane.alpha == 0);
  uint32_t least = mask; /* alpha */

#pragma unroll
  for (int i = 0; i < 2; i++) {
    float sum[4][4];

#pragma unroll
    for (int c = 0; c < 4; c++)
      expand_columns<true>(columns, middle[c], i, make_float4(0.0f, 0.0f, 0.0f, 0.0f), sum[c]);
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

/* Which of the 16 coarse rows that a warp has alpha of are not opaque, of which the sums are not 0:
 * four bits a row. */
__device__ inline uint64_t rows_with_alpha(const Coarse &alpha)
{
  uint32_t rows[2];

#pragma unroll
  for (int r = 0; r < 2; r++)
    rows[r] = __ballot_sync(0xffffffffu, ((alpha.row[r].x | alpha.row[r].y) & 0x7fff7fff) != 0);
  return (uint64_t)rows[1] << 32 | rows[0];
}

/* Whether a tile reads one of them. Only rows with a share count: a band of a picture does not have
 * the others. */
__device__ inline bool has_alpha(const U8Plane &plane, uint64_t rows, int tile)
{
  const int log2 = plane.y.factor_log2, used = max(16 >> log2, 1) + 4;

  return ((uint32_t)(rows >> 4 * (16 * tile >> log2)) & 0xffffffffu >> (32 - 4 * used)) != 0;
}

/* 32 columns of planes of one or two channels, from `left` on. */
template <int C, int Bytes>
__device__ inline void make_stack(const U8Plane &plane, const UpsampleStack<C> &stack, int left,
                                  const AcrossRows (&rows)[2], const Shared<C> &shared)
{
  constexpr int kWords = C * Bytes; /* of four pixels */
  const bool wide = plane.x.factor > 4;
  const int own = (int)threadIdx.x % 4 * (wide ? 8 : 4);
  const Starts starts = shared.starts[threadIdx.x % 2];
  Place<kWords> places[2] = {Place<kWords>(plane, left, stack.first, own),
                             Place<kWords>(plane, left, stack.first, own + 16)};
  Middle middle[2][C];

#pragma unroll
  for (int part = 0; part < 2; part++) {
#pragma unroll
    for (int c = 0; c < C; c++)
      expand_rows<false>(rows[part], rows[part].load(shared.coarse, c), middle[part][c]);
  }
#pragma unroll 1
  for (int tile = stack.first; tile < stack.end; tile++) {
    const AcrossColumns columns(plane, shared.weights, tile - stack.top);
    uint32_t word[2][2][kWords];

#pragma unroll
    for (int part = 0; part < 2; part++)
      make_words<C, Bytes>(starts, columns, middle[part], plane.shift, 0x6420, word[part]);
    if (wide) {
      uint32_t both[2][2 * kWords];

#pragma unroll
      for (int i = 0; i < 4 * kWords; i++)
        both[i / (2 * kWords)][i % (2 * kWords)] =
            word[i / kWords % 2][i / (2 * kWords)][i % kWords];
      places[0].store(tile, both);
    } else {
      places[0].store(tile, word[0]);
      places[1].store(tile, word[1]);
    }
  }
}

/* All that a warp makes. Groups are of so many coarse columns that all have the same weights. */
template <int C, int Bytes>
__device__ inline void make_stacks(const U8Plane &plane, const UpsampleStack<C> &stack,
                                   AcrossRows (&rows)[2], const Shared<C> &shared)
{
  const int end = min(stack.warp_x + warp_columns<C>(plane), plane.width);

#pragma unroll 1
  for (int left = stack.warp_x; left < end; left += kUpsampleColumns) {
    make_stack<C, Bytes>(plane, stack, left, rows, shared);
    rows[0].pair += kUpsampleColumns / 2 >> plane.x.factor_log2;
    rows[1].pair += kUpsampleColumns / 2 >> plane.x.factor_log2;
  }
}

/* 16 columns of a stack of pixels; with `Weighted` some may not be opaque, which `alpha` says. */
template <bool Weighted>
__device__ inline void make_part(const U8Plane &plane, const UpsampleStack<4> &stack, int part,
                                 const Shared<4> &shared, const AcrossRows &across,
                                 const Coarse (&coarse)[4], uint64_t alpha)
{
  const Starts starts = shared.starts[threadIdx.x % 2];
  const uint32_t order = plane.alpha == 0 ? 0x4206 : 0x6420;
  Place<4> place(plane, stack.warp_x, stack.first, 16 * part + (int)threadIdx.x % 4 * 4);
  Middle middle[4];

#pragma unroll
  for (int c = 0; c < 4; c++)
    expand_rows<Weighted>(across, coarse[c], middle[c]);
#pragma unroll 1
  for (int tile = stack.first; tile < stack.end; tile++) {
    const AcrossColumns columns(plane, shared.weights, tile - stack.top);
    uint32_t word[2][4];

    if (Weighted && has_alpha(plane, alpha, tile - stack.top))
      make_weighted_words(plane, columns, middle, order, word);
    else
      make_words<4, 1>(starts, columns, middle, 0, order, word);
    place.store(tile, word);
  }
}

__device__ inline void make_pixels(const U8Plane &plane, const UpsampleStack<4> &stack,
                                   const AcrossRows (&rows)[2], const Shared<4> &shared)
{
#pragma unroll 1
  for (int part = 0; part < 2; part++) {
    AcrossRows across = rows[0];
    Coarse coarse[4];
    uint64_t alpha = 0;

    if (part == 1)
      across = rows[1];
#pragma unroll
    for (int c = 0; c < 4; c++)
      coarse[c] = across.load(shared.coarse, channel_in_order(plane, c));
    if (plane.alpha >= 0)
      alpha = rows_with_alpha(coarse[3]);
    if (alpha)
      make_part<true>(plane, stack, part, shared, across, coarse, alpha);
    else
      make_part<false>(plane, stack, part, shared, across, coarse, 0);
  }
}

/* Packed 4:2:2: channels are Y, U, Y, V here, of which three are stored. `lumas`: [luma][part].
 */
__device__ inline void make_macropixels(const U8Plane &plane, const UpsampleStack<4> &stack,
                                        const AcrossRows (&rows)[2],
                                        const AcrossRows (&lumas)[2][2], const Shared<4> &shared)
{
  const Starts starts = shared.starts[threadIdx.x % 2];
  const uint32_t order = plane.lumas == 0x5 ? 0x6420 : 0x4602;

#pragma unroll 1
  for (int part = 0; part < 2; part++) {
    Place<4> place(plane, stack.warp_x, stack.first, 16 * part + (int)threadIdx.x % 4 * 4);
    const AcrossRows chroma = part ? rows[1] : rows[0];
    const AcrossRows luma[2] = {part ? lumas[0][1] : lumas[0][0], part ? lumas[1][1] : lumas[1][0]};
    Middle middle[4];

#pragma unroll
    for (int c = 0; c < 4; c++)
      expand_rows<false>(c % 2 ? chroma : luma[c / 2],
                         chroma.load(shared.coarse, c % 2 ? 1 + c / 2 : 0), middle[c]);
#pragma unroll 1
    for (int tile = stack.first; tile < stack.end; tile++) {
      const AcrossColumns columns(plane, shared.weights, tile - stack.top);
      uint32_t word[2][4];

      make_words<4, 1>(starts, columns, middle, 0, order, word);
      place.store(tile, word);
    }
  }
}

template <int C, int Bytes>
__device__ inline void upsample(const U8Plane &plane, const U8Taps &low, int cta, Shared<C> &shared)
{
  const UpsampleStack<C> stack(plane, cta, 0);

  /* All that does not wait for the coarse samples comes first. */
  AcrossRows rows[2] = {AcrossRows(plane, stack, 0), AcrossRows(plane, stack, 1)};
  share_weights(plane, shared.weights);
  share_starts(plane, shared.starts);
  share_taps(plane.y, low, shared.taps.half, shared.taps.residual);
  __syncthreads();
  pdl_wait();
  share_coarse<C, C>(plane, stack, shared.taps, shared.coarse);
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
  const UpsampleStack<4> stack(plane, (int)blockIdx.x, job.upsample_shares);
  const AcrossRows rows[2] = {AcrossRows(plane, stack, 0), AcrossRows(plane, stack, 1)};
  const AcrossRows lumas[2][2] = {
      {AcrossRows(plane, stack, 0, luma, 2, 0), AcrossRows(plane, stack, 1, luma, 2, 0)},
      {AcrossRows(plane, stack, 0, luma, 2, 1), AcrossRows(plane, stack, 1, luma, 2, 1)}};

  share_weights(plane, shared.weights);
  share_starts(plane, shared.starts);
  share_taps(plane.y, job.taps[0][1], shared.taps.half, shared.taps.residual);
  __syncthreads();
  pdl_wait();
  share_coarse<4, 3>(plane, stack, shared.taps, shared.coarse);
  __syncthreads();
  if (stack.warp_x < plane.width)
    make_macropixels(plane, stack, rows, lumas, shared);
}

/* Of samples of `Bytes` bytes. */
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
  const U8Taps &low = job.taps[&plane - job.plane][1];

  if (plane.channels == 1)
    upsample<1, Bytes>(plane, low, cta, shared.one);
  else
    upsample<2, Bytes>(plane, low, cta, shared.two);
}

} // namespace

bool u8_upsample(const U8Job *job, const U8LaunchPlan &plan, void *stream, CfStatus *status)
{
  const auto kernel = job->packed   ? upsample_packed_kernel
                      : plan.pixels ? upsample_pixels_kernel
                      : plan.wide   ? upsample_planes_kernel<2>
                                    : upsample_planes_kernel<1>;

  return set_shared_memory_share(kernel, status) &&
         launch_job(kernel, job, plan.upsample_ctas, kThreads, 0, stream, "enlarging a blur",
                    status);
}

} // namespace cf::pyramid
