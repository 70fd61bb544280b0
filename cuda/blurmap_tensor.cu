/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Tiles of blur maps on tensor cores: a block loads the cells around its tile, each warp makes from
 * them the levels that its own samples need, and blends.
 */
#include "blurmap_input.cuh"
#include "blurmap_strips.cuh"

namespace
{

constexpr int kBlocks = 4; /* products beside each other: 8 columns of a tile each */

/* What a thread holds of a strip's four products, as the tensor cores leave it. */
typedef float Fragment[kBlocks][4];

/* ---- levels ---- */

__device__ inline void clear(float (&sum)[4])
{
#pragma unroll
  for (int i = 0; i < 4; i++)
    sum[i] = 0.0f;
}

__device__ inline void unpack(const uint4 &from, uint32_t (&to)[4])
{
  to[0] = from.x;
  to[1] = from.y;
  to[2] = from.z;
  to[3] = from.w;
}

/* A level in a strip, for a lane. */
struct Level {
  int number, group, blocks_across;
  bool three_down; /* blocks, not two */
  const uint4 *down, *across;
  uint32_t from, row_bytes; /* where the lane loads its first cells */

  /* Of channel `channel` in shared memory, whose windows hold `channels`, or are not kept. */
  __device__ Level(const CfCellEntry &entry, const uint4 *matrices, const __half *shared,
                   unsigned channels, unsigned channel)
  {
    const unsigned lane = threadIdx.x % 32;
    const uint4 all = *(const uint4 *)&entry;
    const uint32_t cells =
        channels * (all.w >> 13) + channel * (all.w & 8191) + (all.z & 8191) + lane / 16 * 8;

    row_bytes = 2 * (uint32_t)pitch_of(all.z >> 31 ? 0 : 1);
    number = (int)(all.z >> 13 & 127);
    group = (int)(all.x >> 24 & 31);
    blocks_across = (int)(all.y >> 24);
    three_down = all.x >> 31;
    down = matrices + (all.x & 0xffffff) + lane;
    across = matrices + (all.y & 0xffffff) + lane;
    from = cf_shared_address(shared) + 2 * cells + lane % 16 * row_bytes;
  }

  /* One channel of a strip. */
  __device__ void apply(Fragment &sum) const
  {
    const uint4 *taps = across;
    uint32_t address = from;
    uint32_t rows[3][4];

    unpack(__ldg(down), rows[0]);
    unpack(__ldg(down + 32), rows[1]);
    if (three_down)
      unpack(__ldg(down + 64), rows[2]);
#pragma unroll
    for (int block = 0; block < kBlocks; block++)
      clear(sum[block]);
#pragma unroll 1
    for (int k = 0; k < blocks_across; k++, taps += 64, address += 32) {
      const uint4 first = __ldg(taps), last = __ldg(taps + 32);
      uint32_t cells[4], left[4];
      float low[4], high[4];

      clear(low);
      clear(high);
      cf_load_matrix_transposed(cells, address);
      cf_mma(low, rows[0], cells[0], cells[1]);
      cf_mma(high, rows[0], cells[2], cells[3]);
      cf_load_matrix_transposed(cells, address + 16 * row_bytes);
      cf_mma(low, rows[1], cells[0], cells[1]);
      cf_mma(high, rows[1], cells[2], cells[3]);
      if (three_down) {
        cf_load_matrix_transposed(cells, address + 32 * row_bytes);
        cf_mma(low, rows[2], cells[0], cells[1]);
        cf_mma(high, rows[2], cells[2], cells[3]);
      }
      left[0] = cf_pack_halves(low[0], low[1]);
      left[1] = cf_pack_halves(low[2], low[3]);
      left[2] = cf_pack_halves(high[0], high[1]);
      left[3] = cf_pack_halves(high[2], high[3]);
      cf_mma(sum[0], left, first.x, first.y);
      cf_mma(sum[1], left, first.z, first.w);
      cf_mma(sum[2], left, last.x, last.y);
      cf_mma(sum[3], left, last.z, last.w);
    }
  }
};

/* ---- a warp's samples ---- */

/* Of four channels the one that is alpha or padding comes last. */
template <int C> constexpr int kColours = C == 4 ? 3 : C;

/* Positions of samples among the levels, two each. */
typedef uint32_t Positions[kBlocks][2];

__device__ inline unsigned position_of(const Positions &positions, int block, int i)
{
  const uint32_t pair = positions[block][i / 2];

  return i % 2 ? pair >> 16 : pair & 0xffff;
}

/* Adds a level by its share. */
__device__ inline void add_share(const Positions &positions, int level, const Fragment &sum,
                                 Fragment &result)
{
  const float zero = 8388608.0f + (float)level * (1 / kCellPosition);

#pragma unroll
  for (int block = 0; block < kBlocks; block++) {
#pragma unroll
    for (int i = 0; i < 4; i++) {
      uint32_t pair = positions[block][i / 2];

      /* Else the compiler keeps all samples' floats in registers, or worse, in memory. */
      asm volatile("" : "+r"(pair));
      const float among = __uint_as_float(__byte_perm(pair, 0x4b000000u, i % 2 ? 0x7632 : 0x7610));
      const float share = __saturatef(fmaf(-kCellPosition, fabsf(among - zero), 1.0f));
      result[block][i] = fmaf(share, sum[block][i], result[block][i]);
    }
  }
}

/* ---- results ---- */

/* What is added before rounding to the nearest. Regular patterns have many exact halves, which
 * matrices of halves may miss; they are to be rounded up all the same. */
constexpr float kUp = 1.0f / 512;

/* A share of 255 as a code in the lowest byte. */
__device__ inline uint32_t to_code(float share)
{
  return __float_as_uint(fmaf(share, 255.0f, 8388608.0f));
}

/* Codes of a strip, four of each product. */
typedef uint32_t Codes[kBlocks];

__device__ inline void pack(const uint32_t (&code)[4], uint32_t *codes)
{
  *codes = __byte_perm(__byte_perm(code[0], code[1], 0x0040), __byte_perm(code[2], code[3], 0x0040),
                       0x5410);
}

__device__ inline void finish(const Fragment &sum, float centre, Codes &codes)
{
#pragma unroll
  for (int block = 0; block < kBlocks; block++) {
    uint32_t code[4];

#pragma unroll
    for (int i = 0; i < 4; i++)
      code[i] =
          to_code(__saturatef(fmaf(sum[block][i], 1.0f / 255, (centre + kUp) * (1.0f / 255))));
    pack(code, &codes[block]);
  }
}

/* What colours are divided by, in shares of 255; 0 where nothing can be seen. In shared memory, a
 * product after another: in registers it would displace what all frames need. */
__device__ inline void invert(const Fragment &alpha, float4 *opaque)
{
#pragma unroll
  for (int block = 0; block < kBlocks; block++) {
    float value[4];

#pragma unroll
    for (int i = 0; i < 4; i++)
      value[i] =
          alpha[block][i] < 0.5f - 255.0f ? 0.0f : __fdividef(1.0f, alpha[block][i] + 255.0f);
    opaque[block * kCellThreads] = make_float4(value[0], value[1], value[2], value[3]);
  }
}

__device__ inline void finish_weighted(const Fragment &sum, const float4 *opaque, float centre,
                                       float blank, Codes &codes)
{
#pragma unroll
  for (int block = 0; block < kBlocks; block++) {
    const float4 four = opaque[block * kCellThreads];
    const float weight[4] = {four.x, four.y, four.z, four.w};
    uint32_t code[4];

#pragma unroll
    for (int i = 0; i < 4; i++) {
      const float at = weight[i] > 0.0f ? centre : blank;
      code[i] = to_code(__saturatef(fmaf(sum[block][i], weight[i], (at + kUp) * (1.0f / 255))));
    }
    pack(code, &codes[block]);
  }
}

/* The bytes of pixel `i` of a product. */
template <int C>
__device__ inline uint32_t pixel_of(const Codes (&codes)[C], int first, int block, int i)
{
  const unsigned two = (unsigned)(i | (4 + i) << 4);
  const uint32_t low = C > 1 ? __byte_perm(codes[0][block], codes[C > 1 ? 1 : 0][block], two)
                             : codes[0][block] >> 8 * i;

  if (C <= 2)
    return C == 1 ? low & 255 : low & 0xffff;
  const uint32_t high = __byte_perm(codes[C > 2 ? 2 : 0][block], codes[C > 3 ? 3 : 0][block], two);
  const uint32_t all = __byte_perm(low, high, 0x5410);
  return C == 4 && first ? __funnelshift_l(all, all, 8) : all;
}

/* Samples side by side. */
template <int C, int N>
__device__ inline void store(const CfMapPlane &plane, int x, int y, const uint32_t (&sample)[N],
                             const bool (&valid)[N])
{
  uint8_t *to = plane.destination + (ptrdiff_t)y * plane.destination_stride + (ptrdiff_t)x * C;
  bool all = plane.vector;

#pragma unroll
  for (int i = 0; i < N; i++)
    all = all && valid[i];
  if (all) {
    uint32_t words[N * C / 4] = {};

    if (C == 4) {
#pragma unroll
      for (int i = 0; i < N; i++)
        words[C == 4 ? i : 0] = sample[i];
    } else {
#pragma unroll
      for (int i = 0; i < N * C; i++)
        words[i / 4] |= (sample[i / C] >> 8 * (i % C) & 255) << 8 * (i % 4);
    }
#pragma unroll
    for (int i = 0; i < N * C / 8; i++)
      ((uint2 *)to)[i] = make_uint2(words[2 * i], words[2 * i + 1]);
    return;
  }
#pragma unroll
  for (int i = 0; i < N; i++) {
#pragma unroll
    for (int c = 0; c < C; c++) {
      if (valid[i])
        to[i * C + c] = (uint8_t)(sample[i] >> 8 * c);
    }
  }
}

/* Where a warp works. */
struct Strip {
  int x0, y0;
  bool copies; /* some samples */

  __device__ bool has(const CfMapPlane &plane, int x, int y) const
  {
    return x < plane.width && y >= plane.first && y < plane.end;
  }
};

template <int C>
__device__ inline void store_strip(const CfMapPlane &plane, const Strip &strip,
                                   const Positions &positions, const Codes (&codes)[C], int first_c)
{
  constexpr int kTogether = C < 4 ? kBlocks : 1; /* products whose columns lie side by side */
  const unsigned copied = (unsigned)plane.copy * (unsigned)(1 / kCellPosition);

#pragma unroll
  for (int half = 0; half < 2; half++) {
#pragma unroll
    for (int first = 0; first < kBlocks; first += kTogether) {
      const int x = strip.x0 + cf_cell_sample_x<C>(first, 0);
      const int y = strip.y0 + cf_cell_sample_y(2 * half);
      uint32_t sample[2 * kTogether];
      bool valid[2 * kTogether];

#pragma unroll
      for (int n = 0; n < 2 * kTogether; n++) {
        const int block = first + n / 2, i = 2 * half + n % 2;

        valid[n] = strip.has(plane, x + n, y);
        sample[n] = pixel_of<C>(codes, first_c, block, i);
      }
      if (strip.copies) {
#pragma unroll
        for (int n = 0; n < 2 * kTogether; n++) {
          if (valid[n] && position_of(positions, first + n / 2, 2 * half + n % 2) == copied)
            sample[n] = cf_cell_inner_pixel<C>(plane, x + n, y);
        }
      }
      store<C, 2 * kTogether>(plane, x, y, sample, valid);
    }
  }
}

template <int C> __device__ inline void copy_strip(const CfMapPlane &plane, const Strip &strip)
{
  constexpr int kWords = 2 * C; /* of 16 bytes, of a row */
  const int lane = (int)threadIdx.x % 32;

  if (plane.vector && strip.x0 + kCellColumns <= plane.width && strip.y0 >= plane.first &&
      strip.y0 + kCellStrip <= plane.end) {
#pragma unroll
    for (int i = 0; i < C; i++) {
      const int word = lane + 32 * i, row = strip.y0 + word / kWords;
      const ptrdiff_t at = (ptrdiff_t)strip.x0 * C + word % kWords * 16;

      *(uint4 *)(plane.destination + (ptrdiff_t)row * plane.destination_stride + at) =
          __ldg((const uint4 *)(plane.source + (ptrdiff_t)row * plane.source_stride + at));
    }
    return;
  }
  const int x = strip.x0 + lane;
#pragma unroll 4
  for (int y = strip.y0; y < strip.y0 + kCellStrip; y++) {
    if (!strip.has(plane, x, y))
      continue;
    const uint32_t pixel = cf_cell_inner_pixel<C>(plane, x, y);
    uint8_t *to = plane.destination + (ptrdiff_t)y * plane.destination_stride + (ptrdiff_t)x * C;
#pragma unroll
    for (int c = 0; c < C; c++)
      to[c] = (uint8_t)(pixel >> 8 * c);
  }
}

/* ---- tiles ---- */

__device__ inline Order order_of(const CfCellJob &job, const CfMapPlane &plane, int colours)
{
  const bool opaque = !job.always_transparent && *job.transparent != job.frame;
  const int alpha = opaque ? -1 : plane.alpha;

  return Order{plane.channels == 4 && (plane.alpha == 0 || (plane.padding & 1)) ? 1 : 0, alpha,
               colours + (alpha >= 0 ? 1 : 0)};
}

/* Halves in shared memory for the cells of a tile: three channels where cells are samples. Where
 * this is too little, they are loaded one channel at a time, or of each channel one image at a
 * time. */
constexpr int kBudget = 16 * 1024;

/* The levels of a strip that are listed at a time. */
constexpr int kListed = 32;

/* More levels than a strip's record holds. */
__device__ __noinline__ void list_more(const CfCellJob &job, const CfCellPlan &plan, int x0, int y0,
                                       int skip, CfCellEntry *entries)
{
  const uint4 *bits = job.levels + (size_t)blockIdx.x * (kCellThreads / 32);
  const int warp = (int)threadIdx.x / 32;
  const CellLevels tile_levels(bits);
  const CellGroups groups(plan, tile_levels, y0);

  __syncwarp();
  groups.list(plan, CellLevels(__ldg(bits + warp)), x0, y0, y0 + warp * kCellStrip, skip, kListed,
              entries);
  __syncwarp();
}

template <int C>
__device__ inline void make_tile(const CfCellJob &job, const CfMapPlane &plane,
                                 const CfCellPlan &plan, __half *shared)
{
  const int tile = (int)blockIdx.x - plane.first_tile, warp = (int)threadIdx.x / 32;
  const int lane = (int)threadIdx.x % 32;
  const int x0 = cf_cell_tile_x(plane, tile), y0 = cf_cell_tile_y(plane, tile);
  CfCellEntry *entries = (CfCellEntry *)(shared + kBudget + 8) + warp * (kListed + 1);

  /* What the map says of the strip. */
  if (lane < (int)(sizeof(CfCellStrip) / sizeof(uint4)))
    ((uint4 *)entries)[lane] =
        __ldg((const uint4 *)&job.strips[blockIdx.x * (kCellThreads / 32) + warp] + lane);
  __syncwarp();
  const uint4 head = *(const uint4 *)entries++;
  const int count = (int)head.x, cells = (int)head.w;
  const unsigned needed = head.z;
  const Strip strip = {x0, y0 + warp * kCellStrip, head.y != 0};

  cf_wait_for_previous_kernel();
  const Order order = order_of(job, plane, kColours<C>);
  float4 *opaque = (float4 *)(shared + kBudget) - kBlocks * kCellThreads + threadIdx.x;
  const int budget = kBudget - (C == 4 && order.alpha >= 0
                                    ? kCellThreads * (int)(sizeof(Fragment) / sizeof(__half)) + 8
                                    : 0);
  const bool whole = order.count * cells <= budget, by_channel = cells <= budget;
  if (whole && needed)
    load_groups<C>(job, plane, plan, needed, order, 0, order.count, x0, y0, shared);

  Positions positions = {};
  if (count > 1 || strip.copies) {
#pragma unroll
    for (int half = 0; half < 2; half++) {
      const uint4 eight = __ldg(&job.positions[cf_cell_positions_of_thread() + 32 * half]);

      positions[2 * half][0] = eight.x;
      positions[2 * half][1] = eight.y;
      positions[2 * half + 1][0] = eight.z;
      positions[2 * half + 1][1] = eight.w;
    }
  }
  if (whole && needed)
    await_cells();
  if (whole && count == 0) {
    copy_strip<C>(plane, strip);
    return;
  }

  Codes codes[C];
#pragma unroll
  for (int block = 0; block < kBlocks; block++)
    codes[C - 1][block] = 0xffffffffu;
#pragma unroll 1
  for (int i = 0; i < order.count; i++) {
    Fragment result = {};
    unsigned left = needed;

    do {
      const unsigned batch = whole || by_channel ? left : left & (0 - left);

      if (!whole)
        load_next<C>(job, plane, plan, batch, order, i, x0, y0, shared);
#pragma unroll 1
      for (int n = 0; n < count; n++) {
        if (count > kCellEntries && n % kListed == 0 && (n > 0 || i == 0 || count > kListed))
          list_more(job, plan, x0, y0, n, entries);
        const Level level(entries[n % kListed], job.matrices, shared,
                          whole        ? (unsigned)order.count
                          : by_channel ? 1
                                       : 0,
                          whole ? (unsigned)i : 0);

        if (!(batch >> level.group & 1))
          continue;
        if (count == 1) {
          level.apply(result);
        } else {
          Fragment sum;
          level.apply(sum);
          add_share(positions, level.number, sum, result);
        }
      }
      left &= ~batch;
    } while (left);
    if (C == 4 && i == 0 && order.alpha >= 0) {
      finish(result, 255.0f, codes[C - 1]);
      invert(result, opaque);
      continue;
    }
    /* In the end each colour has moved to its place. */
    const int channel = order.channel(i);
#pragma unroll
    for (int c = 0; c + 1 < kColours<C>; c++) {
#pragma unroll
      for (int block = 0; block < kBlocks; block++)
        codes[c][block] = codes[c + 1][block];
    }
    if (C == 4 && order.alpha >= 0)
      finish_weighted(result, opaque, plane.centre[channel], plane.blank[channel],
                      codes[kColours<C> - 1]);
    else
      finish(result, plane.centre[channel], codes[kColours<C> - 1]);
  }
  if (count == 0)
    copy_strip<C>(plane, strip);
  else
    store_strip<C>(plane, strip, positions, codes, order.first);
}

/* The more, the fewer registers for each thread, and the less memory is left to the first-level
 * cache, which holds matrices. */
constexpr int kBlocksOfSM = 4;

/* Planes have `A` or `B` channels. */
template <int A, int B>
__global__ void __launch_bounds__(kCellThreads, kBlocksOfSM)
    tiles_kernel(const __grid_constant__ CfCellJob job)
{
#ifdef CF_TENSOR_OPS
  extern __shared__ __align__(16) __half shared[];
  const int p = cf_cell_plane(job.map);
  const CfMapPlane &plane = job.map.plane[p];

  if (A == B || plane.channels == A)
    make_tile<A>(job, plane, job.plan[p], shared);
  else
    make_tile<B>(job, plane, job.plan[p], shared);
#endif
}

template <int A, int B> bool launch(const CfCellJob *job, int tiles, void *stream, CfStatus *status)
{
  const int bytes =
      2 * (kBudget + 8) + kCellThreads / 32 * (kListed + 1) * (int)sizeof(CfCellEntry);

  return cf_cell_launch(tiles_kernel<A, B>, job, tiles, bytes, stream, "blurring by a map", status);
}

} // namespace

bool cf_cell_tiles(const CfCellJob *job, int tiles, void *stream, CfStatus *status)
{
  const int first = job->map.plane[0].channels;

  if (first == 4)
    return launch<4, 4>(job, tiles, stream, status);
  if (first == 3)
    return launch<3, 3>(job, tiles, stream, status);
  if (job->map.planes > 1 && job->map.plane[1].channels == 2)
    return launch<1, 2>(job, tiles, stream, status);
  return launch<1, 1>(job, tiles, stream, status);
}
