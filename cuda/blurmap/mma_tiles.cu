/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Tiles of blur maps on tensor cores. A CTA loads the windows of its tile; each warp makes the
 * levels that the samples of its strip need, blends them, and stores codes.
 */
#include "cuda/blurmap/mma_load.cuh"
#include "cuda/blurmap/mma_levels.cuh"

namespace cf::blurmap
{

namespace
{

/* Channels without alpha or padding. */
template <int C> constexpr int kColours = C == 4 ? 3 : C;

__device__ inline unsigned lod_of(const Halves &lods, int block, int i)
{
  const uint32_t pair = lods[block][i / 2];

  return i % 2 ? pair >> 16 : pair & 0xffff;
}

/* ---- stores ---- */

/* A thread's four pixels of product `block`, from codes per channel. `first`: the first colour's
 * byte in a pixel. */
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

/* Stores N neighbouring pixels to an address that is a multiple of 8 bytes. */
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

/* A warp's strip. */
struct Strip {
  int x0, y0;
  bool copies; /* some samples are copied from the source */

  /* Whether a sample is to be made; whether all of the strip's are. */
  __device__ bool has(const MapPlane &plane, int x, int y) const
  {
    return x < plane.width && y >= plane.first && y < plane.end;
  }

  __device__ bool whole(const MapPlane &plane) const
  {
    return plane.vector && x0 + kTileColumns <= plane.width && y0 >= plane.first &&
           y0 + kStripRows <= plane.end;
  }
};

/* A thread's pixels of products first .. first + Products - 1, in its upper or lower row. */
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

/* Transposes codes among the four lanes of the same rows: lane q gets from lane p the codes of
 * product q, as its product p, and so has 8 neighbouring samples of each row. */
__device__ inline void transpose_codes(Codes &codes)
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

/* Stores a strip of which all samples are made, by vectors. */
template <int C>
__device__ inline void store_whole(const MapPlane &plane, const Strip &strip, Codes (&codes)[C],
                                   int first_c)
{
  constexpr int kTogether = C < 4 ? kBlocks : 1;
  const int x = strip.x0 + (C < 4 ? 8 * ((int)threadIdx.x % 4) : sample_x(0, 0));
  const int y = strip.y0 + sample_y(0);
  uint8_t *to = plane.destination + (ptrdiff_t)y * plane.destination_stride + (unsigned)(x * C);

  if constexpr (C < 4) {
#pragma unroll
    for (int c = 0; c < C; c++)
      transpose_codes(codes[c]);
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
__device__ inline void store_strip(const MapPlane &plane, const Strip &strip, const Halves &lods,
                                   Codes (&codes)[C], int first_c)
{
  if (!strip.copies && strip.whole(plane)) {
    store_whole<C>(plane, strip, codes, first_c);
    return;
  }
#pragma unroll
  for (int block = 0; block < kBlocks; block++) {
#pragma unroll
    for (int half = 0; half < 2; half++) {
      const int x = strip.x0 + sample_x(block, 0);
      const int y = strip.y0 + sample_y(2 * half);
      uint8_t *to = plane.destination + (ptrdiff_t)y * plane.destination_stride + x * C;
      uint32_t sample[2];

      samples_of<C, 1>(codes, first_c, block, half, sample);
#pragma unroll
      for (int n = 0; n < 2; n++) {
        if (!strip.has(plane, x + n, y))
          continue;
        if (lod_of(lods, block, 2 * half + n) & 0x8000)
          sample[n] = pixel_inside<C>(plane, x + n, y);
#pragma unroll
        for (int c = 0; c < C; c++)
          to[n * C + c] = (uint8_t)(sample[n] >> 8 * c);
      }
    }
  }
}

/* Copies a strip from the source. */
template <int C> __device__ inline void copy_strip(const MapPlane &plane, const Strip &strip)
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
  for (int y = strip.y0; y < strip.y0 + kStripRows; y++) {
    if (!strip.has(plane, x, y))
      continue;
    const uint32_t pixel = pixel_inside<C>(plane, x, y);
    uint8_t *to = plane.destination + (ptrdiff_t)y * plane.destination_stride + (ptrdiff_t)x * C;
#pragma unroll
    for (int c = 0; c < C; c++)
      to[c] = (uint8_t)(pixel >> 8 * c);
  }
}

/* ---- tiles ---- */

template <int C> __device__ inline ChannelOrder order_of(const FrameJob &job, const MapPlane &plane)
{
  const bool opaque =
      C < 4 || plane.alpha < 0 || (!job.always_transparent && *job.transparent != job.frame);
  const int first = C == 4 && (plane.alpha == 0 || (plane.padding & 1)) ? 1 : 0;

  return {first, opaque ? -1 : plane.alpha, kColours<C> + (opaque ? 0 : 1)};
}

/* For strips with more levels than a record holds: lists kLevelsInShared levels after the first
 * `skip`. */
__device__ __noinline__ void list_more_levels(const FrameJob &job, const PlanePlan &plan, int x0,
                                              int y0, int skip, StripLevel *levels)
{
  const uint4 *bits = job.levels + (size_t)blockIdx.x * (kThreads / 32);
  const int warp = (int)threadIdx.x / 32;
  const LevelBits tile_levels(bits);
  const TileGroups groups(plan, tile_levels, y0);

  __syncwarp();
  groups.list(plan, LevelBits(__ldg(bits + warp)), x0, y0, y0 + warp * kStripRows, skip,
              kLevelsInShared, levels);
  __syncwarp();
}

/* The levels that a warp blends. */
struct StripWork {
  const FrameJob &job;
  const PlanePlan &plan;
  int x0, y0; /* of the tile */
  int count;  /* levels of the strip */
  StripLevel *levels;
  uint32_t shared; /* address of the windows */

  /* Blends the levels of the groups in `batch`, for N channels from `channel` on, of windows that
   * hold `channels` channels. `fresh`: first call for this strip, so `levels` must be listed. */
  template <int N>
  __device__ void add_levels(const Halves &lods, unsigned batch, unsigned channels,
                             unsigned channel, bool fresh, Halves (&result)[N]) const
  {
#pragma unroll 1
    for (int n = 0; n < count; n++) {
      if (count > kRecordLevels && n % kLevelsInShared == 0 &&
          (n > 0 || fresh || count > kLevelsInShared))
        list_more_levels(job, plan, x0, y0, n, levels);
      const Level level(levels[n % kLevelsInShared], job.weights, shared, channels, channel);

      if (!(batch >> level.group & 1))
        continue;
      if (count == 1) {
        level.apply(result);
      } else {
        Halves sum[N];

        level.apply(sum);
        blend_level(lods, level.number, sum, result);
      }
    }
  }
};

__device__ inline const uint4 *strip_of_warp(const FrameJob &job)
{
  return (const uint4 *)&job.strips[blockIdx.x * (kThreads / 32) + threadIdx.x / 32];
}

/* Stores the warp's strip record to shared memory. `early` is the uint4 that the lane has loaded of
 * its first kEarlyLevels + 1. Returns StripRecord.count and .copies. */
__device__ inline uint2 stage_record(const FrameJob &job, const uint4 &early, StripLevel *record)
{
  const int lane = (int)threadIdx.x % 32;

  if (lane <= kEarlyLevels)
    ((uint4 *)record)[lane] = early;
  __syncwarp();
  const uint2 head = *(const uint2 *)record;
  if ((int)head.x > kEarlyLevels) {
    if (lane > kEarlyLevels && lane <= (int)head.x)
      ((uint4 *)record)[lane] = __ldg(strip_of_warp(job) + lane);
    __syncwarp();
  }
  return head;
}

/* Loads the thread's samples of FrameJob.lods or FrameJob.inverse. */
__device__ inline void load_samples(const uint4 *from, Halves &samples)
{
#pragma unroll
  for (int half = 0; half < 2; half++) {
    const uint4 eight = load_no_l1(&from[lods_of_thread() + 32 * half]);

    samples[2 * half][0] = eight.x;
    samples[2 * half][1] = eight.y;
    samples[2 * half + 1][0] = eight.z;
    samples[2 * half + 1][1] = eight.w;
  }
}

/* Stores FrameJob.inverse. `sum` is the blurred map times 127: white less the centre. */
__device__ inline void store_inverse(const FrameJob &job, const Halves &sum)
{
  Halves inverse;

  invert(sum, 0.0f, kLeastWeight, 127.0f / 255, inverse);
#pragma unroll
  for (int half = 0; half < 2; half++)
    job.inverse[lods_of_thread() + 32 * half] =
        make_uint4(inverse[2 * half][0], inverse[2 * half][1], inverse[2 * half + 1][0],
                   inverse[2 * half + 1][1]);
}

/* Blends all channels at once, without alpha. With map_isolate every sample that is not copied is
 * visible, since its own map value counts. */
template <int C, bool Isolates>
__device__ inline void blend_together(const StripWork &work, const MapPlane &plane,
                                      const Halves &lods, const ChannelOrder &order,
                                      const Halves &inverse, Codes (&codes)[C])
{
  Halves result[kColours<C>] = {};

  work.template add_levels<kColours<C>>(lods, ~0u, kColours<C>, 0, true, result);
#pragma unroll
  for (int c = 0; c < kColours<C>; c++) {
    if (Isolates)
      round_weighted_to_codes(result[c], inverse, plane.centre[order.first + c], codes[c]);
    else
      round_to_codes(result[c], plane.centre[order.first + c], codes[c]);
  }
}

/* Blended alpha: makes its codes, and the factors of premultiplied colours. */
template <bool Isolates>
__device__ inline void finish_alpha(const Halves &alpha, Halves &inverse, Codes &codes)
{
  if (Isolates) {
    round_weighted_to_codes(alpha, inverse, 0.0f, codes);
    invert(alpha, 0.0f, kLeastWeight, 1.0f, inverse);
  } else {
    round_to_codes(alpha, 255.0f, codes);
    invert(alpha, 255.0f, 0.5f, 1.0f, inverse);
  }
}

/* How much of a tile is in shared memory at a time. */
struct Residency {
  bool whole;      /* all windows, all channels */
  bool by_channel; /* all windows of one channel; else one window of one channel */
};

/* Blends one channel after the other, alpha first, and stores the strip. Each new colour is the
 * last of `codes`, and those before move on by one: indices are constants. With `MapOnly` stores
 * FrameJob.inverse instead. */
template <int C, bool Isolates, bool MapOnly>
__device__ inline void
blend_channels(const StripWork &work, const MapPlane &plane, const Strip &strip, const Halves &lods,
               unsigned recorded, unsigned needed, const Residency &residency,
               const ChannelOrder &order, Halves &inverse, __half *shared, Codes (&codes)[C])
{
#pragma unroll 1
  for (int i = 0; i < order.count; i++) {
    Halves result[1] = {};
    unsigned left = needed;

    do {
      const unsigned batch = residency.whole || residency.by_channel ? left : left & (0 - left);

      if (!residency.whole)
        load_next<C, Isolates>(work.job, plane, work.plan, recorded, needed, batch, order, i,
                               work.x0, work.y0, shared);
      work.template add_levels<1>(lods, batch,
                                  residency.whole        ? (unsigned)order.count
                                  : residency.by_channel ? 1
                                                         : 0,
                                  residency.whole ? (unsigned)i : 0, i == 0, result);
      left &= ~batch;
    } while (left);
    if (MapOnly) {
      store_inverse(work.job, result[0]);
      return;
    }
    if (C == 4 && i == 0 && order.alpha >= 0) {
      finish_alpha<Isolates>(result[0], inverse, codes[C - 1]);
      continue;
    }
#pragma unroll
    for (int c = 0; c + 1 < kColours<C>; c++) {
#pragma unroll
      for (int block = 0; block < kBlocks; block++)
        codes[c][block] = codes[c + 1][block];
    }
    const int channel = order.channel(i);
    Codes &last = codes[kColours<C> - 1];
    if (Isolates || (C == 4 && order.alpha >= 0)) {
      round_weighted_to_codes(result[0], inverse, plane.centre[channel], last);
      set_transparent(inverse, plane.transparent_code[channel], last);
    } else {
      round_to_codes(result[0], plane.centre[channel], last);
    }
  }
  if (work.count == 0)
    copy_strip<C>(plane, strip);
  else
    store_strip<C>(plane, strip, lods, codes, order.first);
}

/* Makes the CTA's tile. `tile_head` is the first uint4 of its TileRecord, `strip_part` the one that
 * the lane has loaded of the StripRecord. */
template <int C, bool Isolates, bool MapOnly>
__device__ inline void make_tile(const FrameJob &job, const uint4 &tile_head,
                                 const uint4 &strip_part, const MapPlane &plane,
                                 const PlanePlan &plan, __half *shared)
{
  const int warp = (int)threadIdx.x / 32;
  StripLevel *record = (StripLevel *)(shared + kSharedTexels + 8) + warp * (kLevelsInShared + 1);
  const uint2 head = stage_record(job, strip_part, record);
  const int count = (int)head.x, texels = (int)tile_head.y;
  const unsigned needed = tile_head.x, recorded = tile_head.w & (kFrameOnly - 1);
  const int x0 = (int)(tile_head.z & 0xffff) * kTileColumns;
  const int y0 = (int)(tile_head.z >> 16) * kStripRows;
  const Strip strip = {x0, y0 + warp * kStripRows, head.y != 0};

  /* With four channels, downsample_frame() sets `*transparent`. */
  if (C == 4 || !(tile_head.w & kFrameOnly))
    pdl_wait();
  const ChannelOrder order = order_of<C>(job, plane);
  const Residency residency = {order.count * texels <= kSharedTexels, texels <= kSharedTexels};
  if (residency.whole && needed)
    load_groups<C, Isolates>(job, plane, plan, recorded, needed, needed, order, 0, order.count, x0,
                             y0, shared);

  Halves lods = {}, inverse = {};
  if (count > 1 || strip.copies)
    load_samples(job.lods, lods);
  if (Isolates && !MapOnly && count > 0)
    load_samples(job.inverse, inverse);
  if (residency.whole && needed)
    await_texels();
  if (residency.whole && count == 0) {
    if (!MapOnly)
      copy_strip<C>(plane, strip);
    return;
  }

  const StripWork work = {job, plan, x0, y0, count, record + 1, smem_address(shared)};
  Codes codes[C];
#pragma unroll
  for (int block = 0; block < kBlocks; block++)
    codes[C - 1][block] = 0xffffffffu;
  if ((kColours<C>) > 1 && residency.whole && order.alpha < 0) {
    blend_together<C, Isolates>(work, plane, lods, order, inverse, codes);
    store_strip<C>(plane, strip, lods, codes, order.first);
  } else {
    blend_channels<C, Isolates, MapOnly>(work, plane, strip, lods, recorded, needed, residency,
                                         order, inverse, shared, codes);
  }
}

/* For planes of `A` and of `B` channels. `MapOnly`: blend_map(). */
template <int A, int B, bool Isolates, bool MapOnly = false>
__global__ void __launch_bounds__(kThreads, kTileCtasOfSm)
    blend_tiles_kernel(const __grid_constant__ FrameJob job)
{
#ifdef CF_HAVE_MMA
  extern __shared__ __align__(16) __half shared[];
  const uint4 tile_head = __ldg((const uint4 *)&job.tiles[blockIdx.x]);
  const uint4 strip_part = __ldg(strip_of_warp(job) + min((int)threadIdx.x % 32, kEarlyLevels));
  const unsigned p = tile_head.w >> 8 & 255;
  const MapPlane &plane = job.map.plane[p];

  if (A == B || plane.channels == A)
    make_tile<A, Isolates, MapOnly>(job, tile_head, strip_part, plane, job.plane[p], shared);
  else
    make_tile<B, Isolates, MapOnly>(job, tile_head, strip_part, plane, job.plane[p], shared);
  /* So that work after this grid also comes after the grids before it. */
  pdl_wait();
#endif
}

constexpr int kSharedBytes =
    2 * (kSharedTexels + 8) + kThreads / 32 * (kLevelsInShared + 1) * (int)sizeof(StripLevel);

template <bool Isolates> void (*tiles_kernel(int channels))(FrameJob)
{
  return channels == 4   ? blend_tiles_kernel<4, 4, Isolates>
         : channels == 3 ? blend_tiles_kernel<3, 3, Isolates>
                         : blend_tiles_kernel<1, 2, Isolates>;
}

} // namespace

int tile_shared_bytes_of_sm()
{
  constexpr int kReserved = 1024; /* bytes for the system, per CTA */

  return kTileCtasOfSm * (kSharedBytes + kReserved);
}

bool blend_tiles(const FrameJob *job, void *stream, CfStatus *status)
{
  const int channels = job->map.plane[0].channels;

  return launch_mma(job->map.isolates ? tiles_kernel<true>(channels)
                                      : tiles_kernel<false>(channels),
                    job, job->tile_count, kSharedBytes, stream, "blurring by a map", status);
}

bool blend_map(const FrameJob *job, void *stream, CfStatus *status)
{
  return launch_mma(blend_tiles_kernel<1, 1, true, true>, job, job->tile_count, kSharedBytes,
                    stream, "blurring a blur map", status);
}

} // namespace cf::blurmap
