/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The last kernel of the fast engine on tensor cores: the terms of all levels add up to the
 * picture, and colours follow. Each block expands what its pixels need of the coarser levels by
 * itself: the margins cost less than kernels that wait for each other would.
 */
#include "cuda/llf/mma_output_pixels.cuh"

#include <algorithm>

namespace cf::llf
{
namespace
{

/* A thread makes two rows of a cell. CTAs are small for small pictures. */
constexpr int kCellsX = 8, kPairsY = 16, kThreads = kCellsX * kPairsY;
constexpr int kResident = 8; /* blocks of a multiprocessor */
constexpr int kTileX = kCellsX * kCellX, kTileY = 2 * kPairsY;

/* What a tile needs of the coarser levels: regions with a margin, which is wider than needed so
 * that quads are whole. In memory level 1 has its cells at multiples of 16 bytes. */
constexpr int kMargin = 2;
constexpr int kFirst1 = 4; /* column of the tile's first pixel */
constexpr int kPitch1 = kTileX / 2 + 2 * kFirst1;

template <int Level> struct Coarse {
  static constexpr int kWidth = (kTileX >> Level) + 2 * kMargin;
  static constexpr int kHeight = (kTileY >> Level) + 2 * kMargin;
  static constexpr int kPitch = Level == 1 ? kPitch1 : kWidth;
};

/* Two ones in fp16. */
constexpr uint32_t kHalfOnes = 0x3c003c00;

static_assert(kOutputLevel == 4, "the kernel says which levels there are");

struct Finish {
  const __half *terms[2]; /* of levels 0 and 1, in so many cells across */
  int cells_across[2];
  int width[kOutputLevel + 1], height[kOutputLevel + 1];
  const float *coarse[kOutputLevel + 1]; /* terms, and of level `last` the collapsed image */
  int last;
  int weighted; /* so many levels have weights */
  CellWeights weights[CF_LLF_WEIGHTED_LEVELS];
  unsigned inner_x, inner_y; /* how many tiles from the second on are inner ones, each way */
  Output output;
};

/* A row of a cell, 16 bytes. */
__device__ __forceinline__ const uint4 *row_of_cell(const Finish &finish, int level, int x, int y)
{
  const uint32_t cell =
      (uint32_t)y / kCellY * (uint32_t)finish.cells_across[level] + (uint32_t)x / kCellX;

  return reinterpret_cast<const uint4 *>(finish.terms[level]) +
         (cell * (kCellHalves / 8) + (uint32_t)y % kCellY);
}

/* What follows is loaded in one step and used in a later one, so that all is on its way before any
 * of it is waited for. INSIDE regions are in their levels. */

/* The terms of level 1, out of their cells, a row of a cell a thread: those of the tile's pixels
 * and of the ones next to them. */
template <bool Inside> struct CellRow {
  static constexpr int kAcross = kTileX / 2 / kCellX + 2, kDown = kTileY / 2 + 2;
  static_assert(kAcross * kDown <= kThreads, "a row of a cell a thread");

  uint4 words;
  int row, cell;
  bool used;

  __device__ __forceinline__ explicit CellRow(const Finish &finish)
      : row((int)threadIdx.x / kAcross - 1), cell((int)threadIdx.x % kAcross - 1)
  {
    const int x = (int)blockIdx.x * (kTileX / 2) + kCellX * cell;
    const int y = (int)blockIdx.y * (kTileY / 2) + row;

    used = (int)threadIdx.x < kAcross * kDown &&
           (Inside ||
            ((unsigned)x < (unsigned)finish.width[1] && (unsigned)y < (unsigned)finish.height[1]));
    if (used)
      words = *row_of_cell(finish, 1, x, y);
  }

  __device__ __forceinline__ void store(float *memory) const
  {
    const float2 first = unpack(words.x), second = unpack(words.y), third = unpack(words.z),
                 fourth = unpack(words.w);
    float *const to = memory + (row + kMargin) * kPitch1 + kCellX * cell + kFirst1;

    if (!used)
      return;
    if (cell < 0) {
      to[kCellX - 1] = fourth.y;
    } else if (cell == kAcross - 2) {
      to[0] = first.x;
    } else {
      reinterpret_cast<float4 *>(to)[0] = make_float4(first.x, second.x, third.x, fourth.x);
      reinterpret_cast<float4 *>(to)[1] = make_float4(first.y, second.y, third.y, fourth.y);
    }
  }
};

/* A level's region, whose rows lie side by side in shared memory; beyond the level its border is
 * repeated. */
template <int Level, bool Inside> struct Region {
  static constexpr int kWidth = Coarse<Level>::kWidth, kHeight = Coarse<Level>::kHeight;
  static constexpr int kPixels = kWidth * kHeight, kTurns = (kPixels + kThreads - 1) / kThreads;

  int x, y, width, height; /* the region's first pixel, and the level's size */
  float pixel[kTurns];

  __device__ __forceinline__ explicit Region(const Finish &finish)
      : x(((int)blockIdx.x * kTileX >> Level) - kMargin),
        y(((int)blockIdx.y * kTileY >> Level) - kMargin), width(finish.width[Level]),
        height(finish.height[Level])
  {
  }

  __device__ __forceinline__ void load(const float *from)
  {
#pragma unroll
    for (int k = 0; k < kTurns; k++) {
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
    for (int k = 0; k < kTurns; k++) {
      if ((int)threadIdx.x < kPixels - k * kThreads)
        memory[threadIdx.x + k * kThreads] = pixel[k];
    }
  }

  /* What is beyond the level repeats its border. */
  __device__ __forceinline__ void repeat_border(float *memory) const
  {
    constexpr int kPitch = Coarse<Level>::kPitch;

#pragma unroll 1
    for (int i = (int)threadIdx.x; i < kPixels; i += kThreads) {
      const int column = i % kWidth, row = i / kWidth;
      const int from_x = min(max(column, -x), width - 1 - x);
      const int from_y = min(max(row, -y), height - 1 - y);

      if (from_x != column || from_y != row)
        memory[row * kPitch + column] = memory[from_y * kPitch + from_x];
    }
  }
};

/* Expands pixels, with those around them, to their quads: `take (j, i, factor, value)` of pixel i
 * of row j gets its expansion as a product. Factors are what pixels have in common, left to the
 * last. */
template <int Quads, typename Take>
__device__ __forceinline__ void expand_quads(const float (&around)[3][Quads + 2], Take take)
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

      take(j, 2 * i, kFactor[j] * kFactor[0], fmaf(kCentre, here, before + after));
      take(j, 2 * i + 1, kFactor[j] * kFactor[1], here + after);
    }
  }
}

/* The quads of a level to which a thread adds the coarser level, side by side, and their weights as
 * they are stored: to make numbers of them would wait for them. Those beyond the border do not
 * count. */
template <int Level, bool Inside> struct Quads {
  using Fine = Coarse<Level>;
  static constexpr int kQuads = Level == 3 ? 1 : 2;
  static constexpr int kAcross = Fine::kWidth / 2 / kQuads, kDown = Fine::kHeight / 2;
  static constexpr int kPitch = Fine::kPitch, kCoarsePitch = Coarse<Level + 1>::kPitch;
  static_assert(kAcross * kDown <= kThreads && Fine::kWidth % (2 * kQuads) == 0 && kPitch % 2 == 0,
                "each thread has its quads");

  int thread, column, row;
  uint32_t weights[kQuads];

  /* The last threads have the small levels: each scheduler has one warp of a CTA, and the first
   * ones are busy with level 1. */
  __device__ __forceinline__ explicit Quads(const Finish &finish)
      : thread(Level == 1 ? (int)threadIdx.x : kThreads - 1 - (int)threadIdx.x),
        column(thread % kAcross), row(thread / kAcross)
  {
    const int x = (int)blockIdx.x * (kTileX >> Level) / 2 - kMargin / 2 + kQuads * column;
    const int y = (int)blockIdx.y * (kTileY >> Level) / 2 - kMargin / 2 + row;

    for (int k = 0; k < kQuads; k++) {
      weights[k] = kHalfOnes;
      if constexpr (Level < CF_LLF_WEIGHTED_LEVELS) {
        const CellWeights &cells = finish.weights[Level];

        if (Level < finish.weighted && used())
          weights[k] = __half_as_ushort(Inside ? cells.plane[cells.index(x, y) + k]
                                               : weight_at(cells, x + k, y));
        weights[k] = keep_in_register(weights[k]);
      }
    }
  }

  __device__ __forceinline__ bool used() const
  {
    return thread < kAcross * kDown;
  }

  /* `fine` is the region's first pixel, and is weighted before. */
  __device__ __forceinline__ void add(float *fine, const float *coarse) const
  {
    if (!used())
      return;
    float2 *const to = reinterpret_cast<float2 *>(fine + 2 * row * kPitch) + kQuads * column;
    const float *const from = coarse + row * kCoarsePitch + kQuads * column;
    float around[3][kQuads + 2];
    float2 pairs[2][kQuads];

#pragma unroll
    for (int j = 0; j < 3; j++) {
#pragma unroll
      for (int i = 0; i < kQuads + 2; i++)
        around[j][i] = from[j * kCoarsePitch + i];
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

/* Until the border is repeated, tiles have garbage beyond it. */
template <int Level, bool Inside>
__device__ __forceinline__ void add_coarser(const Quads<Level, Inside> &quads,
                                            const Region<Level, Inside> &region, float *fine,
                                            const float *coarse, bool inner)
{
  quads.add(fine, coarse);
  __syncthreads();
  if (!inner) {
    region.repeat_border(fine);
    __syncthreads();
  }
}

/* The weights of two rows of a cell of level 0, the first even, at (x, y). */
__device__ __forceinline__ uint2 weights_of_rows(const Finish &finish, int x, int y)
{
  const CellWeights &weights = finish.weights[0];

  return finish.weighted > 0
             ? *reinterpret_cast<const uint2 *>(weights.plane + weights.index(x >> 1, y >> 1))
             : make_uint2(kHalfOnes, kHalfOnes);
}

/* Pixels x and x + 4 are together. */
__device__ __forceinline__ void weigh_terms(const uint2 &weights, uint4 terms[2])
{
  const uint32_t even = __byte_perm(weights.x, weights.y, 0x5410);
  const uint32_t odd = __byte_perm(weights.x, weights.y, 0x7632);

#pragma unroll
  for (int j = 0; j < 2; j++)
    terms[j] = make_uint4(cf::hmul2_bits(terms[j].x, even), cf::hmul2_bits(terms[j].y, even),
                          cf::hmul2_bits(terms[j].z, odd), cf::hmul2_bits(terms[j].w, odd));
}

/* --- the kernel --- */

struct TileMemory {
  float level_1[kPitch1 * Coarse<1>::kHeight];
  float level_2[Coarse<2>::kPitch * Coarse<2>::kHeight];
  float level_3[Coarse<3>::kPitch * Coarse<3>::kHeight];
  float level_4[Coarse<4>::kPitch * Coarse<4>::kHeight];
};

/* PLAIN tiles are inner ones whose pixels are all read and written in one go. */
template <typename Sample, Colour Kind, bool Plain>
__device__ __forceinline__ void make_tile(const Pixels &pixels, const Finish &finish, bool inner,
                                          TileMemory &memory)
{
  const int column = threadIdx.x % kCellsX, row = threadIdx.x / kCellsX;
  const int x = blockIdx.x * kTileX + kCellX * column, y = blockIdx.y * kTileY + 2 * row;
  const bool inside = Plain || (x < pixels.width && y < pixels.height);
  const bool direct = Plain || (inside && is_direct<Kind>(pixels, finish.output, x));
  Source<Sample, Kind> source;
  uint4 terms[2];
  uint2 row_weights;
  float delta[2][kCellX], around[3][kCellX / 2 + 2];

  /* No kernel that this one waits for makes the picture. */
  if (direct)
    load_source<Sample, Kind, Plain>(pixels, finish.output, x, y, &source);
  pdl_trigger_then_wait();
  if (inside) {
    const uint4 *const from = row_of_cell(finish, 0, x, y);

    terms[0] = from[0];
    terms[1] = from[1];
    row_weights = weights_of_rows(finish, x, y);
  }
  const Quads<1, Plain> quads_1(finish);
  const Quads<2, Plain> quads_2(finish);
  const Quads<3, Plain> quads_3(finish);
  const CellRow<Plain> cell_row(finish);
  Region<1, Plain> level_1(finish);
  Region<2, Plain> level_2(finish);
  Region<3, Plain> level_3(finish);
  Region<4, Plain> level_4(finish);

  level_2.load(finish.coarse[2]);
  if (finish.last >= 3)
    level_3.load(finish.coarse[3]);
  if (finish.last >= 4)
    level_4.load(finish.coarse[4]);
  cell_row.store(memory.level_1);
  level_2.store(memory.level_2);
  level_3.store(memory.level_3);
  level_4.store(memory.level_4);
  __syncthreads();
  if (finish.last >= 4)
    add_coarser<3>(quads_3, level_3, memory.level_3, memory.level_4, inner);
  if (finish.last >= 3)
    add_coarser<2>(quads_2, level_2, memory.level_2, memory.level_3, inner);
  add_coarser<1>(quads_1, level_1, memory.level_1 + kFirst1 - kMargin, memory.level_2, inner);
  if (!inside)
    return;

  weigh_terms(row_weights, terms);
#pragma unroll
  for (int j = 0; j < 2; j++) {
#pragma unroll
    for (int i = 0; i < kCellX; i++) {
      const int at = place_in_cell(i, j);
      const float2 two = unpack(word(terms[at / 8], at % 8 / 2));
      delta[j][i] = at & 1 ? two.y : two.x;
    }
  }
#pragma unroll
  for (int j = 0; j < 3; j++) {
    const float *const from =
        memory.level_1 + (row + kMargin - 1 + j) * kPitch1 + kFirst1 + kCellX / 2 * column;
    const float4 four = *reinterpret_cast<const float4 *>(from);

    around[j][0] = from[-1];
    around[j][1] = four.x;
    around[j][2] = four.y;
    around[j][3] = four.z;
    around[j][4] = four.w;
    around[j][5] = from[4];
  }
  expand_quads<kCellX / 2>(around, [&](int j, int i, float factor, float value) {
    delta[j][i] = fmaf(factor, value, delta[j][i]);
  });
  if (direct)
    store_direct<Sample, Kind, Plain>(pixels, finish.output, x, y, source, delta);
  else
    store_quads<Sample, Kind>(pixels, finish.output, x, y, delta);
}

template <typename Sample, Colour Kind>
__global__ void __launch_bounds__(kThreads, kResident)
    output_kernel(const __grid_constant__ Pixels pixels, const __grid_constant__ Finish finish)
{
  __shared__ __align__(16) TileMemory memory;
  const bool inner = blockIdx.x - 1 < finish.inner_x && blockIdx.y - 1 < finish.inner_y;

  if (inner && is_direct<Kind>(pixels, finish.output, 0))
    make_tile<Sample, Kind, true>(pixels, finish, true, memory);
  else
    make_tile<Sample, Kind, false>(pixels, finish, inner, memory);
}

/* --- launching --- */

/* Rows of a channel whose first sample is so many bytes behind what is read and written, `bytes` at
 * a time. */
Rows rows_of(const Channel &channel, int offset, int bytes)
{
  const Rows rows = {channel.from - offset, channel.to - offset, (unsigned)channel.from_stride,
                     (unsigned)channel.to_stride};
  const uintptr_t bits = (uintptr_t)rows.from | (uintptr_t)rows.to |
                         (uintptr_t)channel.from_stride | (uintptr_t)channel.to_stride;

  return bits % bytes == 0 && channel.from_stride == (ptrdiff_t)rows.from_stride &&
                 channel.to_stride == (ptrdiff_t)rows.to_stride
             ? rows
             : Rows{};
}

/* Of chroma of half the size both ways whose two channels lie side by side. */
Rows rows_of_pairs(const Pixels &pixels)
{
  const ptrdiff_t sample = pixels.wide ? 2 : 1;
  const Channel &blue = pixels.channel[1], &red = pixels.channel[2];
  const ptrdiff_t distance = red.from - blue.from;

  return pixels.colour == Colour::CHROMA && pixels.subsampling_x && pixels.subsampling_y &&
                 pixels.step[1] == 2 && pixels.step[2] == 2 &&
                 (distance == sample || distance == -sample) && red.to - blue.to == distance
             ? rows_of(distance > 0 ? blue : red, 0, 8 * (int)sample)
             : Rows{};
}

/* Of words of RGB: where a channel or a fourth byte is another word's, there are none. */
Rows rows_of_words(const Pixels &pixels, const Packing &packing)
{
  const Channel &red = pixels.channel[0];
  bool together = packing.packed;

  for (const Channel *other : {&pixels.channel[1], &pixels.channel[2], &pixels.extra})
    together &= !other->from || other->to - red.to == other->from - red.from;
  return together ? rows_of(red, packing.byte[0], 16) : Rows{};
}

/* How the picture can be read and written. */
Output output_of(const Pixels &pixels, float linear)
{
  Output output = {};

  output.linear = linear;
  if (pixels.colour == Colour::RGB) {
    output.packing = packing_of(pixels);
    const int *const byte = output.packing.byte;

    output.colours = colours_of(pixels, linear);
    output.take_two = 0x4040 + byte[0] + (byte[1] << 8);
    output.take_third = 0x4040 + byte[2];
    output.put = 0x3210;
    for (int c = 0; c < 3; c++)
      output.put += (4 + c - byte[c]) << 4 * byte[c];
    output.rows = rows_of_words(pixels, output.packing);
  } else {
    if (pixels.step[0] == 1 && !pixels.extra.from)
      output.rows = rows_of(pixels.channel[0], 0, pixels.wide ? 16 : 8);
    output.pairs = rows_of_pairs(pixels);
  }
  return output;
}

/* Inner tiles are those whose regions are in their levels. */
void find_inner_tiles(Finish *finish)
{
  int across = 0x7fffffff, down = across;

  for (int i = 1; i <= finish->last; i++) {
    across = std::min(across, (finish->width[i] - kMargin) / (kTileX >> i));
    down = std::min(down, (finish->height[i] - kMargin) / (kTileY >> i));
  }
  finish->inner_x = (unsigned)std::max(across - 1, 0);
  finish->inner_y = (unsigned)std::max(down - 1, 0);
}

} // namespace

bool mma_output(Queue *queue, const Pixels &pixels, const Series &series, const Pyramid &pyramid,
                int last)
{
  Finish finish = {};

  for (int i = 0; i < 2; i++) {
    finish.terms[i] = pyramid.cells[i];
    finish.cells_across[i] = cells_across(pyramid.level[i].width);
  }
  finish.last = last;
  finish.weighted = pyramid.weighted;
  for (int i = 1; i <= last; i++) {
    finish.width[i] = pyramid.level[i].width;
    finish.height[i] = pyramid.level[i].height;
    finish.coarse[i] = pyramid.level[i].collapsed;
  }
  for (int i = 0; i < pyramid.weighted; i++)
    finish.weights[i] = pyramid.weights[i];
  finish.output = output_of(pixels, pyramid.weighted > 0 ? 0.0f : series.linear);
  find_inner_tiles(&finish);

  auto launch_kernel = [&](auto kernel) {
    return launch(queue, "llf finish", kernel,
                  dim3(blocks(pixels.width, kTileX), blocks(pixels.height, kTileY)), dim3(kThreads),
                  0, pixels, finish);
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
