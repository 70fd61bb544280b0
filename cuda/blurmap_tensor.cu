/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Tiles of blur maps on tensor cores: a block loads the cells around its tile, each warp makes from
 * them the levels that its own samples need, and blends.
 */
#include "blurmap_input.cuh"

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

/* A level in a strip, in shared memory. */
struct alignas(16) Entry {
  uint32_t down;   /* index of its matrices; group << 24; three blocks, not two, << 31 */
  uint32_t across; /* index; blocks << 24 */
  uint32_t from;   /* where lane 0 loads its first cells; number << 24; finest columns << 31 */
  uint32_t channel_bytes;
};

/* The same for a lane. */
struct Level {
  int number, group, blocks_across;
  bool three_down;
  const uint4 *down, *across;
  uint32_t from, row_bytes;

  __device__ Level(const Entry &entry, const uint4 *matrices, int channel)
  {
    const unsigned lane = threadIdx.x % 32;
    const uint4 all = *(const uint4 *)&entry;

    row_bytes = 2 * (uint32_t)pitch_of(all.z >> 31 ? 0 : 1);
    number = (int)(all.z >> 24 & 127);
    group = (int)(all.x >> 24 & 31);
    blocks_across = (int)(all.y >> 24);
    three_down = all.x >> 31;
    down = matrices + (all.x & 0xffffff) + lane;
    across = matrices + (all.y & 0xffffff) + lane;
    from = (all.z & 0xffffff) + lane % 16 * row_bytes + lane / 16 * 16 + (unsigned)channel * all.w;
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

/* Bits of levels; kCellCopied is none. */
struct Levels {
  unsigned bits[4];

  __device__ Levels(const uint4 &from) : bits{from.x, from.y, from.z, from.w & 0x7fffffff}
  {
  }
};

__device__ inline Order order_of(const CfCellJob &job, const CfMapPlane &plane, int colours)
{
  const bool opaque = !job.always_transparent && *job.transparent != job.frame;
  const int alpha = opaque ? -1 : plane.alpha;

  return Order{plane.channels == 4 && (plane.alpha == 0 || (plane.padding & 1)) ? 1 : 0, alpha,
               colours + (alpha >= 0 ? 1 : 0)};
}

/* Halves in shared memory for the cells of a tile. Where this is too little, they are loaded one
 * channel at a time, or of each channel one image at a time. */
constexpr int kBudget = 12 * 1024;
constexpr int kEntries = kCellThreads / 32 * CF_BLUR_LEVELS;

__device__ inline unsigned or_of_warp(unsigned bits)
{
#ifdef CF_TENSOR_OPS
  return __reduce_or_sync(0xffffffffu, bits);
#else
  return bits;
#endif
}

/* Where the cells of a group lie in shared memory; each lane knows one group. */
struct Groups {
  int log_x, log_y;
  int cells, at; /* of a channel, and up to its end; none if the tile does not need them */

  __device__ Groups(const CfCellPlan &plan, const Levels &tile_levels, int y0)
  {
    const int lane = (int)threadIdx.x % 32;
    unsigned groups = 0;

#pragma unroll
    for (int word = 0; word < 4; word++) {
      if (tile_levels.bits[word] >> lane & 1)
        groups |= 1u << __ldg(&plan.level[32 * word + lane].group);
    }
    groups = or_of_warp(groups);
    log_x = log_y = cells = 0;
    if (groups >> lane & 1) {
      log_x = __ldg(&plan.group[lane].image.log_x);
      log_y = __ldg(&plan.group[lane].image.log_y);
      cells = Window(log_x, log_y, y0).cells();
    }
    at = cells;
#pragma unroll
    for (int step = 1; step < kCellGroups; step *= 2) {
      const int before = (int)__shfl_up_sync(0xffffffffu, (unsigned)at, step);
      at += lane >= step ? before : 0;
    }
  }

  __device__ unsigned needed() const
  {
    return __ballot_sync(0xffffffffu, cells > 0);
  }

  __device__ int all_cells() const
  {
    return __shfl_sync(0xffffffffu, at, kCellGroups - 1);
  }

  /* Lists the levels of a strip whose windows hold so many channels, or one if only some groups
   * are loaded at a time; how many. */
  __device__ int list(const CfCellPlan &plan, const Levels &levels, int x0, int y0, int strip_y,
                      int channels, const __half *shared, Entry *entries) const
  {
    const int lane = (int)threadIdx.x % 32;
    int count = 0;

#pragma unroll 1
    for (int word = 0; word < 4; word++) {
      const unsigned bits = word < 2    ? word == 0 ? levels.bits[0] : levels.bits[1]
                               : word == 2 ? levels.bits[2]
                                        : levels.bits[3];

      if (bits == 0)
        continue;
      const int number = 32 * word + lane;
      const bool used = bits >> lane & 1;
      const CfCellLevel level = plan.level[used ? number : 0];
      const int lx = __shfl_sync(0xffffffffu, log_x, level.group);
      const int ly = __shfl_sync(0xffffffffu, log_y, level.group);
      const int size = __shfl_sync(0xffffffffu, cells, level.group);
      const int before = __shfl_sync(0xffffffffu, at, level.group) - size;

      if (used) {
        const int row = (strip_y >> ly) - (y0 >> ly) + level.first_row;
        const unsigned variant_down = (unsigned)strip_y / kCellStrip & level.variants_down;
        const unsigned variant_across = (unsigned)x0 / kCellColumns & level.variants_across;
        Entry entry;

        entry.down = (level.down + variant_down * (unsigned)level.blocks_down * 32) |
                     (unsigned)level.group << 24 | (level.blocks_down == 3 ? 1u << 31 : 0);
        entry.across = (level.across + variant_across * (unsigned)level.blocks_across * 64) |
                       (unsigned)level.blocks_across << 24;
        entry.from = cf_shared_address(shared + channels * before + row * pitch_of(lx) +
                                       level.first_column) |
                     (unsigned)number << 24 | (lx == 0 ? 1u << 31 : 0);
        entry.channel_bytes = 2 * (uint32_t)size;
        *(uint4 *)&entries[count + __popc(bits & ((1u << lane) - 1))] = *(const uint4 *)&entry;
      }
      count += __popc(bits);
    }
    __syncwarp();
    return count;
  }
};

template <int C>
__device__ inline void make_tile(const CfCellJob &job, const CfMapPlane &plane,
                                 const CfCellPlan &plan, __half *shared)
{
  const int tile = (int)blockIdx.x - plane.first_tile, warp = (int)threadIdx.x / 32;
  const int lane = (int)threadIdx.x % 32;
  const int x0 = cf_cell_tile_x(plane, tile), y0 = cf_cell_tile_y(plane, tile);
  const uint4 *records = job.levels + (size_t)blockIdx.x * (kCellThreads / 32);
  uint4 all = __ldg(records);
  const uint4 record = __ldg(records + warp);

#pragma unroll
  for (int i = 1; i < kCellThreads / 32; i++) {
    const uint4 one = __ldg(records + i);
    all = make_uint4(all.x | one.x, all.y | one.y, all.z | one.z, all.w | one.w);
  }
  const Groups groups(plan, Levels(all), y0);
  const unsigned needed = groups.needed();
  const int cells = groups.all_cells();

  cf_wait_for_previous_kernel();
  const Order order = order_of(job, plane, kColours<C>);
  const bool whole = order.count * cells <= kBudget, by_channel = cells <= kBudget;
  if (whole && needed)
    load_groups<C>(job, plane, plan, needed, order, 0, order.count, x0, y0, shared);

  const Levels levels(record);
  const Strip strip = {x0, y0 + warp * kCellStrip, record.w >> 31 != 0};
  Entry *all_entries = (Entry *)(shared + kBudget + 8),
        *entries = all_entries + warp * CF_BLUR_LEVELS;
  float4 *opaque = (float4 *)(all_entries + kEntries) + threadIdx.x;
  const int count = groups.list(plan, levels, x0, y0, strip.y0,
                                whole        ? order.count
                                : by_channel ? 1
                                             : 0,
                                shared, entries);

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
        const Level level(entries[n], job.matrices, whole ? i : 0);

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
  const int bytes = 2 * (kBudget + 8) + kEntries * (int)sizeof(Entry) +
                    (A == 4 ? kCellThreads * (int)sizeof(Fragment) : 0);

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
