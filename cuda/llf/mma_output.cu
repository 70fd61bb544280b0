/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The last kernel of the fast engine on tensor cores: applies the weights, collapses the levels
 * below `last`, and writes the picture with the colours that follow. Each CTA collapses the regions
 * of the coarser levels that its tile needs by itself: computing halos more than once costs less
 * than a kernel per level, each of which would wait for the one before.
 */
#include "cuda/llf/mma_output_pixels.cuh"

#include <algorithm>

namespace cf::llf
{
namespace
{

/* A thread computes two rows of eight pixels. Tiles are small, so that small pictures have enough
 * CTAs. */
constexpr int kPatchesX = 8, kPairsY = 16, kThreads = kPatchesX * kPairsY;
constexpr int kCtasPerSm = 8;
constexpr int kTileX = kPatchesX * kPatchX, kTileY = 2 * kPairsY;

/* The regions of the coarser levels that a tile needs: those of its own pixels, with a halo of
 * whole quads. In shared memory the tile's first column of level 1 is column kFirstColumn1, so that
 * a thread's pixels are aligned to 16 bytes. */
constexpr int kHalo = 2;
constexpr int kFirstColumn1 = 4;
constexpr int kPitch1 = kTileX / 2 + 2 * kFirstColumn1;

template <int Level> struct RegionSize {
  static constexpr int kWidth = (kTileX >> Level) + 2 * kHalo;
  static constexpr int kHeight = (kTileY >> Level) + 2 * kHalo;
  static constexpr int kPitch = Level == 1 ? kPitch1 : kWidth;
};

/* Two fp16 ones: the weights of levels that have none. */
constexpr uint32_t kHalfOnes = 0x3c003c00;

static_assert(kOutputLevel == 4, "the kernel names the levels");

/* The kernel's argument, besides the picture. */
struct OutputFrame {
  const __half *tiled[2]; /* coefficients of levels 0 and 1: tiled_fp16.cuh */
  int patches_across[2];
  int width[kOutputLevel + 1], height[kOutputLevel + 1];
  const float *plane[kOutputLevel + 1]; /* coefficients from level 2 on; of `last`: collapsed */
  int last;
  int weighted; /* levels 0..weighted - 1 have weights */
  CellWeights weights[CF_LLF_WEIGHTED_LEVELS];
  unsigned inner_x, inner_y; /* tiles 1..inner_x of a row, and of a column, are inner ones */
  Output output;
};

/* The row of a patch that has pixel (x, y), 16 bytes. */
__device__ __forceinline__ const uint4 *patch_row(const OutputFrame &frame, int level, int x, int y)
{
  const uint32_t patch =
      (uint32_t)y / kPatchY * (uint32_t)frame.patches_across[level] + (uint32_t)x / kPatchX;

  return reinterpret_cast<const uint4 *>(frame.tiled[level]) +
         (patch * (kPatchHalves / 8) + (uint32_t)y % kPatchY);
}

/* ---- Regions of the coarser levels ---- */

/* The structs below load in the constructor or load(), and use the data in a later call: all loads
 * of the kernel are issued before the first is waited for. Inside: the region is within its level.
 */

/* Level 1's coefficients: those of the tile's pixels and of their direct neighbours. Each thread
 * loads one row of a patch. */
template <bool Inside> struct PatchRow {
  static constexpr int kAcross = kTileX / 2 / kPatchX + 2, kDown = kTileY / 2 + 2;
  static_assert(kAcross * kDown <= kThreads, "each thread loads one row");

  uint4 words;
  int row, patch; /* in the tile; -1: the neighbours above, or to the left */
  bool active;    /* this thread has a row */

  __device__ __forceinline__ explicit PatchRow(const OutputFrame &frame)
      : row((int)threadIdx.x / kAcross - 1), patch((int)threadIdx.x % kAcross - 1)
  {
    const int x = (int)blockIdx.x * (kTileX / 2) + kPatchX * patch;
    const int y = (int)blockIdx.y * (kTileY / 2) + row;

    active = (int)threadIdx.x < kAcross * kDown &&
             (Inside ||
              ((unsigned)x < (unsigned)frame.width[1] && (unsigned)y < (unsigned)frame.height[1]));
    if (active)
      words = *patch_row(frame, 1, x, y);
  }

  __device__ __forceinline__ void store(float *memory) const
  {
    const float2 first = unpack(words.x), second = unpack(words.y), third = unpack(words.z),
                 fourth = unpack(words.w);
    float *const to = memory + (row + kHalo) * kPitch1 + kPatchX * patch + kFirstColumn1;

    if (!active)
      return;
    if (patch < 0) {
      to[kPatchX - 1] = fourth.y;
    } else if (patch == kAcross - 2) {
      to[0] = first.x;
    } else {
      reinterpret_cast<float4 *>(to)[0] = make_float4(first.x, second.x, third.x, fourth.x);
      reinterpret_cast<float4 *>(to)[1] = make_float4(first.y, second.y, third.y, fourth.y);
    }
  }
};

/* The region of a level, which from level 2 on is contiguous in shared memory. Of its pixels
 * outside the level at() reads none. */
template <int Level, bool Inside> struct Region {
  static constexpr int kWidth = RegionSize<Level>::kWidth, kHeight = RegionSize<Level>::kHeight;
  static constexpr int kPixels = kWidth * kHeight, kLoads = (kPixels + kThreads - 1) / kThreads;

  int x, y, width, height; /* the region's first pixel, and the level's size */
  float pixel[kLoads];

  __device__ __forceinline__ explicit Region(const OutputFrame &frame)
      : x(((int)blockIdx.x * kTileX >> Level) - kHalo),
        y(((int)blockIdx.y * kTileY >> Level) - kHalo), width(frame.width[Level]),
        height(frame.height[Level])
  {
  }

  __device__ __forceinline__ void load(const float *from)
  {
#pragma unroll
    for (int k = 0; k < kLoads; k++) {
      const unsigned i = threadIdx.x + k * kThreads;
      int column = x + (int)(i % kWidth), row = y + (int)(i / kWidth);

      if (!Inside) {
        column = min(max(column, 0), width - 1);
        row = min(max(row, 0), height - 1);
      }
      if (i < kPixels)
        pixel[k] = from[(uint32_t)(row * width + column)];
    }
  }

  __device__ __forceinline__ void store(float *memory) const
  {
#pragma unroll
    for (int k = 0; k < kLoads; k++) {
      if ((int)threadIdx.x < kPixels - k * kThreads)
        memory[threadIdx.x + k * kThreads] = pixel[k];
    }
  }

  /* A pixel of the region in shared memory; outside the level that of its border. */
  __device__ __forceinline__ float at(const float *memory, int row, int column) const
  {
    if (!Inside) {
      row = min(max(row, -y), height - 1 - y);
      column = min(max(column, -x), width - 1 - x);
    }
    return memory[row * RegionSize<Level>::kPitch + column];
  }
};

/* Expands a row of coarse pixels, with their neighbours, to quads: consume (j, i, factor, value)
 * gets the expansion at pixel i of row j as factor * value. The weights' common factors are left to
 * the caller, for a multiply-add. */
template <int Quads, typename Consume>
__device__ __forceinline__ void expand_quads(const float (&around)[3][Quads + 2], Consume consume)
{
  constexpr float kCentre = TAP_CENTRE / TAP_EDGE, kFactor[2] = {2 * TAP_EDGE, 2 * TAP_SIDE};
  float rows[2][Quads + 2];

#pragma unroll
  for (int i = 0; i < Quads + 2; i++) {
    rows[0][i] = fmaf(kCentre, around[1][i], around[0][i] + around[2][i]);
    rows[1][i] = around[1][i] + around[2][i];
  }
#pragma unroll
  for (int j = 0; j < 2; j++) {
#pragma unroll
    for (int i = 0; i < Quads; i++) {
      const float before = rows[j][i], here = rows[j][i + 1], after = rows[j][i + 2];

      consume(j, 2 * i, kFactor[j] * kFactor[0], fmaf(kCentre, here, before + after));
      consume(j, 2 * i + 1, kFactor[j] * kFactor[1], here + after);
    }
  }
}

/* The adjacent quads of a level to which a thread adds the coarser level, and their weights as fp16
 * bits: a conversion would wait for the loads. Those of quads beyond the border do not
 * matter. */
template <int Level, bool Inside> struct Quads {
  using Fine = RegionSize<Level>;
  static constexpr int kQuads = Level == 3 ? 1 : 2;
  static constexpr int kAcross = Fine::kWidth / 2 / kQuads, kDown = Fine::kHeight / 2;
  static constexpr int kPitch = Fine::kPitch;
  static_assert(kAcross * kDown <= kThreads && Fine::kWidth % (2 * kQuads) == 0 && kPitch % 2 == 0,
                "each thread has its quads");

  int thread, column, row;
  uint32_t weights[kQuads];

  /* Levels 2 and 3 are for the last threads: a CTA has one warp per scheduler, and the first warps
   * have the most to do for level 1. */
  __device__ __forceinline__ explicit Quads(const OutputFrame &frame)
      : thread(Level == 1 ? (int)threadIdx.x : kThreads - 1 - (int)threadIdx.x),
        column(thread % kAcross), row(thread / kAcross)
  {
    const int x = (int)blockIdx.x * (kTileX >> Level) / 2 - kHalo / 2 + kQuads * column;
    const int y = (int)blockIdx.y * (kTileY >> Level) / 2 - kHalo / 2 + row;

    for (int k = 0; k < kQuads; k++) {
      weights[k] = kHalfOnes;
      if constexpr (Level < CF_LLF_WEIGHTED_LEVELS) {
        const CellWeights &cells = frame.weights[Level];

        if (Level < frame.weighted && active())
          weights[k] = __half_as_ushort(Inside ? cells.plane[cells.index(x, y) + k]
                                               : weight_at(cells, x + k, y));
        weights[k] = keep_in_register(weights[k]);
      }
    }
  }

  __device__ __forceinline__ bool active() const
  {
    return thread < kAcross * kDown;
  }

  /* Multiplies the quads by their weights and adds the expansion of the coarser region. `fine` and
   * `coarse` point to the regions' first pixels. */
  __device__ __forceinline__ void add(float *fine, const Region<Level + 1, Inside> &coarser,
                                      const float *coarse) const
  {
    if (!active())
      return;
    float2 *const to = reinterpret_cast<float2 *>(fine + 2 * row * kPitch) + kQuads * column;
    float around[3][kQuads + 2];
    float2 pairs[2][kQuads];

#pragma unroll
    for (int j = 0; j < 3; j++) {
#pragma unroll
      for (int i = 0; i < kQuads + 2; i++)
        around[j][i] = coarser.at(coarse, row + j, kQuads * column + i);
    }
#pragma unroll
    for (int i = 0; i < 2 * kQuads; i++)
      pairs[i / kQuads][i % kQuads] = to[i / kQuads * (kPitch / 2) + i % kQuads];
    expand_quads<kQuads>(around, [&](int j, int i, float factor, float value) {
      float &pixel = i % 2 ? pairs[j][i / 2].y : pairs[j][i / 2].x;
      pixel = fmaf(pixel, unpack(weights[i / 2]).x, factor * value);
    });
#pragma unroll
    for (int i = 0; i < 2 * kQuads; i++)
      to[i / kQuads * (kPitch / 2) + i % kQuads] = pairs[i / kQuads][i % kQuads];
  }
};

/* ---- Level 0 ---- */

/* The weights of the two rows from (x, y) on, with y even: four, one for each two columns. */
__device__ __forceinline__ uint2 weights_of_rows(const OutputFrame &frame, int x, int y)
{
  const CellWeights &weights = frame.weights[0];

  return frame.weighted > 0
             ? *reinterpret_cast<const uint2 *>(weights.plane + weights.index(x >> 1, y >> 1))
             : make_uint2(kHalfOnes, kHalfOnes);
}

/* The coefficients of two rows of a patch times their weights. A word has pixels x and x + 4. */
__device__ __forceinline__ void weigh(const uint2 &weights, uint4 rows[2],
                                      float (&delta)[2][kPatchX])
{
  const uint32_t even = __byte_perm(weights.x, weights.y, 0x5410);
  const uint32_t odd = __byte_perm(weights.x, weights.y, 0x7632);

#pragma unroll
  for (int j = 0; j < 2; j++)
    rows[j] = make_uint4(cf::hmul2_bits(rows[j].x, even), cf::hmul2_bits(rows[j].y, even),
                         cf::hmul2_bits(rows[j].z, odd), cf::hmul2_bits(rows[j].w, odd));
#pragma unroll
  for (int j = 0; j < 2; j++) {
#pragma unroll
    for (int i = 0; i < kPatchX; i++) {
      const int at = place_in_patch(i, j);
      const float2 pair = unpack(word(rows[at / 8], at % 8 / 2));
      delta[j][i] = at & 1 ? pair.y : pair.x;
    }
  }
}

/* Loads the pixels of level 1 around those of a thread. */
template <bool Inside>
__device__ __forceinline__ void load_around(float (&around)[3][kPatchX / 2 + 2],
                                            const Region<1, Inside> &region, const float *memory,
                                            int row, int column)
{
  const int first_row = row + kHalo - 1, first_column = kPatchX / 2 * column + kHalo - 1;

#pragma unroll
  for (int j = 0; j < 3; j++) {
    if constexpr (Inside) {
      const float *const from = memory + (first_row + j) * kPitch1 + first_column;
      const float4 four = *reinterpret_cast<const float4 *>(from + 1);

      around[j][0] = from[0];
      around[j][1] = four.x;
      around[j][2] = four.y;
      around[j][3] = four.z;
      around[j][4] = four.w;
      around[j][5] = from[5];
    } else {
#pragma unroll
      for (int i = 0; i < kPatchX / 2 + 2; i++)
        around[j][i] = region.at(memory, first_row + j, first_column + i);
    }
  }
}

/* Adds level 1, expanded, to a thread's two rows. */
template <bool Inside>
__device__ __forceinline__ void add_level_1(const Region<1, Inside> &region, const float *memory,
                                            int row, int column, float (&delta)[2][kPatchX])
{
  float around[3][kPatchX / 2 + 2];

  load_around(around, region, memory, row, column);
  expand_quads<kPatchX / 2>(around, [&](int j, int i, float factor, float value) {
    delta[j][i] = fmaf(factor, value, delta[j][i]);
  });
}

/* ---- The kernel ---- */

struct TileMemory {
  float level_1[kPitch1 * RegionSize<1>::kHeight];
  float level_2[RegionSize<2>::kPitch * RegionSize<2>::kHeight];
  float level_3[RegionSize<3>::kPitch * RegionSize<3>::kHeight];
  float level_4[RegionSize<4>::kPitch * RegionSize<4>::kHeight];
};

/* Writes a tile. Plain: all its regions are within their levels, and all pixels are read and
 * written as vectors. */
template <typename Sample, Colour Kind, bool Plain>
__device__ __forceinline__ void output_tile(const Pixels &pixels, const OutputFrame &frame,
                                            TileMemory &memory)
{
  float *const memory_1 = memory.level_1 + kFirstColumn1 - kHalo;
  const int column = threadIdx.x % kPatchesX, row = threadIdx.x / kPatchesX;
  const int x = blockIdx.x * kTileX + kPatchX * column, y = blockIdx.y * kTileY + 2 * row;
  const bool inside = Plain || (x < pixels.width && y < pixels.height);
  const bool direct = Plain || (inside && is_direct<Kind>(pixels, frame.output, x));
  Source<Sample, Kind> source;
  uint4 coefficients[2];
  uint2 row_weights;
  float delta[2][kPatchX];

  /* The picture is read before the wait: no kernel of the frame writes it. */
  if (direct)
    load_source<Sample, Kind, Plain>(pixels, frame.output, x, y, &source);
  pdl_trigger_then_wait();
  if (inside) {
    const uint4 *const from = patch_row(frame, 0, x, y);

    coefficients[0] = from[0];
    coefficients[1] = from[1];
    row_weights = weights_of_rows(frame, x, y);
  }
  const Quads<1, Plain> quads_1(frame);
  const Quads<2, Plain> quads_2(frame);
  const Quads<3, Plain> quads_3(frame);
  const PatchRow<Plain> row_1(frame);
  Region<1, Plain> level_1(frame);
  Region<2, Plain> level_2(frame);
  Region<3, Plain> level_3(frame);
  Region<4, Plain> level_4(frame);

  level_2.load(frame.plane[2]);
  if (frame.last >= 3)
    level_3.load(frame.plane[3]);
  if (frame.last >= 4)
    level_4.load(frame.plane[4]);
  row_1.store(memory.level_1);
  level_2.store(memory.level_2);
  level_3.store(memory.level_3);
  level_4.store(memory.level_4);
  __syncthreads();
  if (frame.last >= 4) {
    quads_3.add(memory.level_3, level_4, memory.level_4);
    __syncthreads();
  }
  if (frame.last >= 3) {
    quads_2.add(memory.level_2, level_3, memory.level_3);
    __syncthreads();
  }
  quads_1.add(memory_1, level_2, memory.level_2);
  __syncthreads();
  if (!inside)
    return;

  weigh(row_weights, coefficients, delta);
  add_level_1(level_1, memory_1, row, column, delta);
  if (direct)
    store_direct<Sample, Kind, Plain>(pixels, frame.output, x, y, source, delta);
  else
    store_quads<Sample, Kind>(pixels, frame.output, x, y, delta);
}

template <typename Sample, Colour Kind>
__global__ void __launch_bounds__(kThreads, kCtasPerSm)
    output_kernel(const __grid_constant__ Pixels pixels, const __grid_constant__ OutputFrame frame)
{
  __shared__ __align__(16) TileMemory memory;
  const bool inner = blockIdx.x - 1 < frame.inner_x && blockIdx.y - 1 < frame.inner_y;

  if (inner && is_direct<Kind>(pixels, frame.output, 0))
    output_tile<Sample, Kind, true>(pixels, frame, memory);
  else
    output_tile<Sample, Kind, false>(pixels, frame, memory);
}

/* ---- Launching ---- */

/* The rows as vectors of `bytes` bytes, the first of which begins `offset` bytes before the
 * channel's first sample; none if they are not aligned. */
VectorRows vector_rows_of(const Channel &channel, int offset, int bytes)
{
  const VectorRows rows = {channel.from - offset, channel.to - offset,
                           (unsigned)channel.from_stride, (unsigned)channel.to_stride};
  const uintptr_t bits = (uintptr_t)rows.from | (uintptr_t)rows.to |
                         (uintptr_t)channel.from_stride | (uintptr_t)channel.to_stride;

  return bits % bytes == 0 && channel.from_stride == (ptrdiff_t)rows.from_stride &&
                 channel.to_stride == (ptrdiff_t)rows.to_stride
             ? rows
             : VectorRows{};
}

/* The rows of chroma that is subsampled both ways and whose two channels are interleaved. */
VectorRows chroma_rows_of(const Pixels &pixels)
{
  const ptrdiff_t sample = pixels.wide ? 2 : 1;
  const Channel &blue = pixels.channel[1], &red = pixels.channel[2];
  const ptrdiff_t distance = red.from - blue.from;

  return pixels.colour == Colour::CHROMA && pixels.subsampling_x && pixels.subsampling_y &&
                 pixels.step[1] == 2 && pixels.step[2] == 2 &&
                 (distance == sample || distance == -sample) && red.to - blue.to == distance
             ? vector_rows_of(distance > 0 ? blue : red, 0, 8 * (int)sample)
             : VectorRows{};
}

/* The rows of RGB pixels of four bytes, if the destination has its bytes in the same order. */
VectorRows rgb_rows_of(const Pixels &pixels, const Packing &packing)
{
  const Channel &red = pixels.channel[0];
  bool together = packing.packed;

  for (const Channel *other : {&pixels.channel[1], &pixels.channel[2], &pixels.extra})
    together &= !other->from || other->to - red.to == other->from - red.from;
  return together ? vector_rows_of(red, packing.byte[0], 16) : VectorRows{};
}

/* How the picture can be read and written. */
Output output_of(const Pixels &pixels, float linear)
{
  Output output = {};

  output.linear = linear;
  if (pixels.colour == Colour::RGB) {
    output.packing = packing_of(pixels);
    const int *const byte = output.packing.byte;

    output.factors = rgb_factors_of(pixels, linear);
    output.read_two = 0x4040 + byte[0] + (byte[1] << 8);
    output.read_third = 0x4040 + byte[2];
    output.write = 0x3210;
    for (int c = 0; c < 3; c++)
      output.write += (4 + c - byte[c]) << 4 * byte[c];
    output.rows = rgb_rows_of(pixels, output.packing);
  } else {
    if (pixels.step[0] == 1 && !pixels.extra.from)
      output.rows = vector_rows_of(pixels.channel[0], 0, pixels.wide ? 16 : 8);
    output.chroma = chroma_rows_of(pixels);
    output.red_first = pixels.channel[2].from < pixels.channel[1].from;
  }
  return output;
}

/* Counts the tiles whose regions are within their levels. */
void find_inner_tiles(OutputFrame *frame)
{
  int across = 0x7fffffff, down = across;

  for (int i = 1; i <= frame->last; i++) {
    across = std::min(across, (frame->width[i] - kHalo) / (kTileX >> i));
    down = std::min(down, (frame->height[i] - kHalo) / (kTileY >> i));
  }
  frame->inner_x = (unsigned)std::max(across - 1, 0);
  frame->inner_y = (unsigned)std::max(down - 1, 0);
}

} // namespace

bool mma_output(Queue *queue, const Pixels &pixels, const Series &series, const Pyramid &pyramid,
                int last)
{
  OutputFrame frame = {};

  for (int i = 0; i < 2; i++) {
    frame.tiled[i] = pyramid.tiled[i];
    frame.patches_across[i] = patches_across(pyramid.level[i].width);
  }
  frame.last = last;
  frame.weighted = pyramid.weighted;
  for (int i = 1; i <= last; i++) {
    frame.width[i] = pyramid.level[i].width;
    frame.height[i] = pyramid.level[i].height;
    frame.plane[i] = pyramid.level[i].collapsed;
  }
  for (int i = 0; i < pyramid.weighted; i++)
    frame.weights[i] = pyramid.weights[i];
  frame.output = output_of(pixels, pyramid.weighted > 0 ? 0.0f : series.linear);
  find_inner_tiles(&frame);

  auto launch_kernel = [&](auto kernel) {
    const char *const name = "llf finish";
    const size_t shared_per_sm = kCtasPerSm * (sizeof(TileMemory) + kSharedOverhead);

    return prefer_carveout(queue, name, kernel, carveout_of(queue->gpu, shared_per_sm)) &&
           launch(queue, name, kernel,
                  dim3(blocks(pixels.width, kTileX), blocks(pixels.height, kTileY)), dim3(kThreads),
                  0, pixels, frame);
  };

  switch (pixels.colour) {
  case Colour::RGB:
    return launch_kernel(output_kernel<uint8_t, Colour::RGB>);
  case Colour::CHROMA:
    return pixels.wide ? launch_kernel(output_kernel<uint16_t, Colour::CHROMA>)
                       : launch_kernel(output_kernel<uint8_t, Colour::CHROMA>);
  default:
    return pixels.wide ? launch_kernel(output_kernel<uint16_t, Colour::SINGLE>)
                       : launch_kernel(output_kernel<uint8_t, Colour::SINGLE>);
  }
}

} // namespace cf::llf
