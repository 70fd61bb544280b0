/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Tiles of blur maps on tensor cores: a block loads the cells around its tile, each warp makes from
 * them the levels that its own samples need, and blends.
 */
#include "cuda/blurmap/mma_load.cuh"
#include "cuda/blurmap/mma_levels.cuh"

namespace
{

/* Of four channels the one that is alpha or padding comes last. */
template <int C> constexpr int kColours = C == 4 ? 3 : C;

__device__ inline unsigned position_of(const Halves &positions, int block, int i)
{
  const uint32_t pair = positions[block][i / 2];

  return i % 2 ? pair >> 16 : pair & 0xffff;
}

/* ---- stores ---- */

/* The four pixels of a product, whose colours begin at byte `first`. */
template <int C>
__device__ inline void pixels_of(const Codes (&codes)[C], int first, int block,
                                 uint32_t (&pixel)[4])
{
  const uint32_t zero = codes[0][block];

  if constexpr (C == 1) {
#pragma unroll
    for (int i = 0; i < 4; i++)
      pixel[i] = zero >> 8 * i & 255;
  } else {
    const uint32_t one = codes[1][block];
    const uint32_t low[2] = {__byte_perm(zero, one, 0x5140), __byte_perm(zero, one, 0x7362)};

    if constexpr (C == 2) {
#pragma unroll
      for (int i = 0; i < 4; i++)
        pixel[i] = i % 2 ? low[i / 2] >> 16 : low[i / 2] & 0xffff;
    } else {
      const uint32_t two = codes[2][block], last = codes[C - 1][block];
      const uint32_t high[2] = {__byte_perm(two, last, 0x5140), __byte_perm(two, last, 0x7362)};
      const unsigned even = C == 4 && first ? 0x4105 : 0x5410, odd = even + 0x2222;

#pragma unroll
      for (int i = 0; i < 4; i++)
        pixel[i] = __byte_perm(low[i / 2], high[i / 2], i % 2 ? odd : even);
    }
  }
}

/* Samples side by side, which begin at a multiple of 8 bytes. */
template <int C, int N> __device__ inline void store_words(uint8_t *to, const uint32_t (&sample)[N])
{
  uint32_t words[N * C / 4] = {};

  if constexpr (C == 4) {
#pragma unroll
    for (int i = 0; i < N; i++)
      words[i] = sample[i];
  } else {
#pragma unroll
    for (int i = 0; i < N * C; i++)
      words[i / 4] |= (sample[i / C] >> 8 * (i % C) & 255) << 8 * (i % 4);
  }
#pragma unroll
  for (int i = 0; i < N * C / 8; i++)
    ((uint2 *)to)[i] = make_uint2(words[2 * i], words[2 * i + 1]);
}

/* Where a warp works. */
struct Strip {
  int x0, y0;
  bool copies; /* some samples */

  __device__ bool has(const CfMapPlane &plane, int x, int y) const
  {
    return x < plane.width && y >= plane.first && y < plane.end;
  }

  __device__ bool whole(const CfMapPlane &plane) const
  {
    return plane.vector && x0 + kCellColumns <= plane.width && y0 >= plane.first &&
           y0 + kCellStrip <= plane.end;
  }
};

/* Samples of some products from `first` on, in the upper or lower row. */
template <int C, int Products>
__device__ inline void samples_of(const Codes (&codes)[C], int first_c, int first, int half,
                                  uint32_t (&sample)[2 * Products])
{
#pragma unroll
  for (int n = 0; n < Products; n++) {
    uint32_t pixel[4];

    pixels_of<C>(codes, first_c, first + n, pixel);
    sample[2 * n] = pixel[2 * half];
    sample[2 * n + 1] = pixel[2 * half + 1];
  }
}

/* Exchanges with the lanes whose samples are in the same rows: of the lane `q` of four, its four
 * codes of product `p` become those of lane `p`, product `q`. */
__device__ inline void exchange(Codes &codes)
{
#pragma unroll
  for (int step = 1; step < 4; step *= 2) {
    const bool odd = threadIdx.x & step;

#pragma unroll
    for (int i = 0; i < kBlocks; i++) {
      if (i & step)
        continue;
      const uint32_t got =
          __shfl_xor_sync(0xffffffffu, odd ? codes[i] : codes[i + step], (unsigned)step);
      codes[i] = odd ? got : codes[i];
      codes[i + step] = odd ? codes[i + step] : got;
    }
  }
}

/* Where all samples are made, and stores may be wide: of few channels, after lanes have exchanged
 * theirs for 8 samples side by side. */
template <int C>
__device__ inline void store_whole(const CfMapPlane &plane, const Strip &strip, Codes (&codes)[C],
                                   int first_c)
{
  constexpr int kTogether = C < 4 ? kBlocks : 1;
  const int x = strip.x0 + (C < 4 ? 8 * ((int)threadIdx.x % 4) : cf_cell_sample_x(0, 0));
  const int y = strip.y0 + cf_cell_sample_y(0);
  uint8_t *to = plane.destination + (ptrdiff_t)y * plane.destination_stride + (unsigned)(x * C);

  if constexpr (C < 4) {
#pragma unroll
    for (int c = 0; c < C; c++)
      exchange(codes[c]);
  }
#pragma unroll
  for (int half = 0; half < 2; half++, to += 8 * plane.destination_stride) {
#pragma unroll
    for (int first = 0; first < kBlocks; first += kTogether) {
      uint32_t sample[2 * kTogether];

      samples_of<C, kTogether>(codes, first_c, first, half, sample);
      store_words<C>(to + 8 * C * first, sample);
    }
  }
}

template <int C>
__device__ inline void store_strip(const CfMapPlane &plane, const Strip &strip,
                                   const Halves &positions, Codes (&codes)[C], int first_c)
{
  if (!strip.copies && strip.whole(plane)) {
    store_whole<C>(plane, strip, codes, first_c);
    return;
  }
#pragma unroll
  for (int block = 0; block < kBlocks; block++) {
#pragma unroll
    for (int half = 0; half < 2; half++) {
      const int x = strip.x0 + cf_cell_sample_x(block, 0);
      const int y = strip.y0 + cf_cell_sample_y(2 * half);
      uint8_t *to = plane.destination + (ptrdiff_t)y * plane.destination_stride + x * C;
      uint32_t sample[2];

      samples_of<C, 1>(codes, first_c, block, half, sample);
#pragma unroll
      for (int n = 0; n < 2; n++) {
        if (!strip.has(plane, x + n, y))
          continue;
        if (position_of(positions, block, 2 * half + n) & 0x8000)
          sample[n] = cf_cell_inner_pixel<C>(plane, x + n, y);
#pragma unroll
        for (int c = 0; c < C; c++)
          to[n * C + c] = (uint8_t)(sample[n] >> 8 * c);
      }
    }
  }
}

template <int C> __device__ inline void copy_strip(const CfMapPlane &plane, const Strip &strip)
{
  constexpr int kWords = 2 * C; /* of 16 bytes, of a row */
  const int lane = (int)threadIdx.x % 32;

  if (strip.whole(plane)) {
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
  const bool opaque = plane.alpha < 0 || (!job.always_transparent && *job.transparent != job.frame);
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

/* Of what a warp blends. */
struct Place {
  const CfCellJob &job;
  const CfCellPlan &plan;
  int x0, y0; /* of the tile */
  int count;  /* of levels */
  CfCellEntry *entries;
  uint32_t shared;

  /* Adds the levels made from the groups `batch`, for channel `channel` and those after it, from
   * windows of `channels`. `listed` is false if the first are no longer. */
  template <int N>
  __device__ void add_levels(const Halves &positions, unsigned batch, unsigned channels,
                             unsigned channel, bool listed, Halves (&result)[N]) const
  {
#pragma unroll 1
    for (int n = 0; n < count; n++) {
      if (count > kCellEntries && n % kListed == 0 && (n > 0 || listed || count > kListed))
        list_more(job, plan, x0, y0, n, entries);
      const Level level(entries[n % kListed], job.matrices, shared, channels, channel);

      if (!(batch >> level.group & 1))
        continue;
      if (count == 1) {
        level.apply(result);
      } else {
        Halves sum[N];

        level.apply(sum);
        add_share(positions, level.number, sum, result);
      }
    }
  }
};

/* Brings nearer what a tile that is made soon reads first: it has not been used for a frame. */
__device__ inline void expect_tile(const CfCellJob &job, int which)
{
  constexpr int kLine = 128, kPositions = 2 * 32 * (int)sizeof(uint4) / kLine;
  const int lane = (int)threadIdx.x % 32,
            warp = which * (kCellThreads / 32) + (int)threadIdx.x / 32;
  const char *positions = (const char *)&job.positions[(size_t)warp * 2 * 32];

  if (which >= job.tile_count || lane > kPositions + 1)
    return;
  cf::prefetch_l2(lane < kPositions    ? positions + lane * kLine
                  : lane == kPositions ? (const char *)&job.strips[warp]
                                       : (const char *)&job.tiles[which]);
}

__device__ inline const uint4 *strip_of_warp(const CfCellJob &job)
{
  return (const uint4 *)&job.strips[blockIdx.x * (kCellThreads / 32) + threadIdx.x / 32];
}

template <int C>
__device__ inline void make_tile(const CfCellJob &job, const uint4 &of_tile, const uint4 &of_strip,
                                 const CfMapPlane &plane, const CfCellPlan &plan, __half *shared)
{
  const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
  CfCellEntry *entries = (CfCellEntry *)(shared + kBudget + 8) + warp * (kListed + 1);

  /* What the map says of the tile and the strip. */
  if (lane <= kCellFewEntries)
    ((uint4 *)entries)[lane] = of_strip;
  __syncwarp();
  const uint2 head = *(const uint2 *)entries;
  if ((int)head.x > kCellFewEntries) {
    if (lane > kCellFewEntries && lane <= (int)head.x)
      ((uint4 *)entries)[lane] = __ldg(strip_of_warp(job) + lane);
    __syncwarp();
  }
  entries++;
  const int count = (int)head.x, cells = (int)of_tile.y;
  const unsigned needed = of_tile.x, listed = of_tile.w & (kCellFromFrame - 1);
  const int x0 = (int)(of_tile.z & 0xffff) * kCellColumns;
  const int y0 = (int)(of_tile.z >> 16) * kCellStrip;
  const Strip strip = {x0, y0 + warp * kCellStrip, head.y != 0};

  expect_tile(job, (int)blockIdx.x + job.tiles_at_a_time);
  /* Of four channels, halving the frame finds whether all is opaque. */
  if (C == 4 || !(of_tile.w & kCellFromFrame))
    cf::pdl_wait();
  const Order order = order_of(job, plane, kColours<C>);
  float4 *opaque = (float4 *)(shared + kBudget) - kBlocks * kCellThreads + threadIdx.x;
  const int budget =
      kBudget - (C == 4 && order.alpha >= 0
                     ? kBlocks * kCellThreads * (int)(sizeof(float4) / sizeof(__half)) + 8
                     : 0);
  const bool whole = order.count * cells <= budget, by_channel = cells <= budget;
  if (whole && needed)
    load_groups<C>(job, plane, plan, listed, needed, needed, order, 0, order.count, x0, y0, shared);

  Halves positions = {};
  if (count > 1 || strip.copies) {
#pragma unroll
    for (int half = 0; half < 2; half++) {
      const uint4 eight = cf::load_no_l1(&job.positions[cf_cell_positions_of_thread() + 32 * half]);

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

  const Place place = {job, plan, x0, y0, count, entries, cf::smem_address(shared)};
  Codes codes[C];
#pragma unroll
  for (int block = 0; block < kBlocks; block++)
    codes[C - 1][block] = 0xffffffffu;
  if ((kColours<C>) > 1 && whole && order.alpha < 0) {
    Halves result[kColours<C>] = {};

    place.template add_levels<kColours<C>>(positions, needed, kColours<C>, 0, true, result);
#pragma unroll
    for (int c = 0; c < kColours<C>; c++)
      finish(result[c], plane.centre[order.first + c], codes[c]);
    store_strip<C>(plane, strip, positions, codes, order.first);
    return;
  }
#pragma unroll 1
  for (int i = 0; i < order.count; i++) {
    Halves result[1] = {};
    unsigned left = needed;

    do {
      const unsigned batch = whole || by_channel ? left : left & (0 - left);

      if (!whole)
        load_next<C>(job, plane, plan, listed, needed, batch, order, i, x0, y0, shared);
      place.template add_levels<1>(positions, batch,
                                   whole        ? (unsigned)order.count
                                   : by_channel ? 1
                                                : 0,
                                   whole ? (unsigned)i : 0, i == 0, result);
      left &= ~batch;
    } while (left);
    if (C == 4 && i == 0 && order.alpha >= 0) {
      finish(result[0], 255.0f, codes[C - 1]);
      invert(result[0], opaque);
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
      finish_weighted(result[0], opaque, plane.centre[channel], plane.blank[channel],
                      codes[kColours<C> - 1]);
    else
      finish(result[0], plane.centre[channel], codes[kColours<C> - 1]);
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
#ifdef CF_HAVE_MMA
  extern __shared__ __align__(16) __half shared[];
  const uint4 of_tile = __ldg((const uint4 *)&job.tiles[blockIdx.x]);
  const uint4 of_strip = __ldg(strip_of_warp(job) + min((int)threadIdx.x % 32, kCellFewEntries));
  const unsigned p = of_tile.w >> 8 & 255;
  const CfMapPlane &plane = job.map.plane[p];

  if (A == B || plane.channels == A)
    make_tile<A>(job, of_tile, of_strip, plane, job.plan[p], shared);
  else
    make_tile<B>(job, of_tile, of_strip, plane, job.plan[p], shared);
  /* What comes after this kernel also comes after the one before. */
  cf::pdl_wait();
#endif
}

constexpr int kSharedBytes =
    2 * (kBudget + 8) + kCellThreads / 32 * (kListed + 1) * (int)sizeof(CfCellEntry);

template <int A, int B> bool launch(const CfCellJob *job, int tiles, void *stream, CfStatus *status)
{
  return cf_cell_launch(tiles_kernel<A, B>, job, tiles, kSharedBytes, stream, "blurring by a map",
                        status);
}

} // namespace

int cf_cell_tiles_of_sm(void)
{
  return kBlocksOfSM;
}

int cf_cell_shared_of_sm(void)
{
  constexpr int kReserved = 1024; /* of each block */

  return kBlocksOfSM * (kSharedBytes + kReserved);
}

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
