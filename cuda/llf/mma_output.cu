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

/* A level whose region is in shared memory: the region's first pixel, and the level's size. */
struct Part {
  float *memory;
  int x, y, width, height;
};

/* Two ones in fp16. */
constexpr uint32_t kHalfOnes = 0x3c003c00;

static_assert(kOutputLevel == 4, "the kernel says which levels there are");

struct Finish {
  const __half *pixel_terms, *level_terms; /* of levels 0 and 1 */
  int width[kOutputLevel + 1], height[kOutputLevel + 1];
  const float *coarse[kOutputLevel + 1];       /* terms, and the last one collapsed */
  CellWeights weights[CF_LLF_WEIGHTED_LEVELS]; /* of the terms, with planes or without */
  unsigned inner_x, inner_y; /* how many tiles from the second on are inner ones, each way */
  Output output;
};

/* The number of a cell's row among all rows, which are 16 bytes each. */
__device__ __forceinline__ uint32_t row_in_cells(int width, int x, int y)
{
  return ((uint32_t)y / kCellY * (uint32_t)cells_across(width) + (uint32_t)x / kCellX) *
             (kCellHalves / 8) +
         (uint32_t)y % kCellY;
}

/* The terms of level 1, out of their cells, a row of a cell a thread: those of the tile's pixels
 * and of the ones next to them. */
struct CellRow {
  static constexpr int kAcross = kTileX / 2 / kCellX + 2, kDown = kTileY / 2 + 2;
  static_assert(kAcross * kDown <= kThreads, "a row of a cell a thread");

  uint4 words;
  int row, cell;
  bool used;

  __device__ __forceinline__ CellRow(const __half *terms, int width, int height)
      : row((int)threadIdx.x / kAcross - 1), cell((int)threadIdx.x % kAcross - 1)
  {
    const int x = (int)blockIdx.x * (kTileX / 2) + kCellX * cell;
    const int y = (int)blockIdx.y * (kTileY / 2) + row;

    used = (int)threadIdx.x < kAcross * kDown && (unsigned)x < (unsigned)width &&
           (unsigned)y < (unsigned)height;
    if (used)
      words = reinterpret_cast<const uint4 *>(terms)[row_in_cells(width, x, y)];
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

/* The weights of the quads to which a thread adds the coarser level, side by side, as they are
 * stored: to make numbers of them would wait for them. Those beyond the border do not count. */
template <int Level> __device__ __forceinline__ uint2 weights_of_quads(const CellWeights &weights)
{
  constexpr int kAcross = Coarse<Level>::kWidth / 4, kDown = Coarse<Level>::kHeight / 2;
  const int column = (int)(threadIdx.x % kAcross), row = (int)(threadIdx.x / kAcross);
  const int x = (int)blockIdx.x * (kTileX >> Level) / 2 - kMargin / 2 + 2 * column;
  const int y = (int)blockIdx.y * (kTileY >> Level) / 2 - kMargin / 2 + row;
  uint2 bits = make_uint2(kHalfOnes, kHalfOnes);

  if (weights.plane && row < kDown)
    bits = make_uint2(__half_as_ushort(weight_at(weights, x, y)),
                      __half_as_ushort(weight_at(weights, x + 1, y)));
  return make_uint2(keep_in_register(bits.x), keep_in_register(bits.y));
}

/* Adds the coarser level, expanded, to a region, which is weighted before: two quads a thread. */
template <int Level>
__device__ __forceinline__ void add_expanded_region(float *fine, const float *coarse,
                                                    const uint2 &weights)
{
  using Fine = Coarse<Level>;
  constexpr int kAcross = Fine::kWidth / 4, kDown = Fine::kHeight / 2, kPitch = Fine::kPitch;
  constexpr int kCoarsePitch = Coarse<Level + 1>::kPitch;

  static_assert(kAcross * kDown <= kThreads && Fine::kWidth % 4 == 0 && kPitch % 2 == 0,
                "two quads a thread");
  if ((int)threadIdx.x >= kAcross * kDown)
    return;
  const int row = (int)threadIdx.x / kAcross, column = (int)threadIdx.x % kAcross;
  float2 *const to = reinterpret_cast<float2 *>(fine + 2 * row * kPitch + 4 * column);
  const float *const from = coarse + row * kCoarsePitch + 2 * column;
  const float weight[2] = {unpack(weights.x).x, unpack(weights.y).x};
  float around[3][4];

#pragma unroll
  for (int i = 0; i < 12; i++)
    around[i / 4][i % 4] = from[i / 4 * kCoarsePitch + i % 4];
#pragma unroll
  for (int k = 0; k < 2; k++) {
    float part[3][3], quad[4];

#pragma unroll
    for (int i = 0; i < 9; i++)
      part[i / 3][i % 3] = around[i / 3][i % 3 + k];
    expand_quad(part, quad);
#pragma unroll
    for (int j = 0; j < 2; j++) {
      float2 *const pair = to + j * (kPitch / 2) + k;
      *pair = make_float2(fmaf(pair->x, weight[k], quad[2 * j]),
                          fmaf(pair->y, weight[k], quad[2 * j + 1]));
    }
  }
}

/* The weights of two rows of a cell of level 0, the first even, at (x, y). */
__device__ __forceinline__ uint2 weights_of_rows(const CellWeights &weights, int x, int y)
{
  return weights.plane
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

/* What is beyond the level repeats its border. */
template <int Level> __device__ __forceinline__ void repeat_border(const Part &part)
{
  constexpr int kWidth = Coarse<Level>::kWidth, kHeight = Coarse<Level>::kHeight;
  constexpr int kPitch = Coarse<Level>::kPitch;

#pragma unroll 1
  for (int i = (int)threadIdx.x; i < kWidth * kHeight; i += kThreads) {
    const int column = i % kWidth, row = i / kWidth;
    const int x = min(max(column, -part.x), part.width - 1 - part.x);
    const int y = min(max(row, -part.y), part.height - 1 - part.y);

    if (x != column || y != row)
      part.memory[row * kPitch + column] = part.memory[y * kPitch + x];
  }
}

/* Until the border is repeated, tiles have garbage beyond it. */
template <int Level>
__device__ __forceinline__ void add_coarser(const Part &fine, const Part &coarse,
                                            const uint2 &weights, bool inner)
{
  add_expanded_region<Level>(fine.memory, coarse.memory, weights);
  __syncthreads();
  if (!inner) {
    repeat_border<Level>(fine);
    __syncthreads();
  }
}

/* Starts to load a region, whose rows lie side by side; beyond its level the border is repeated. */
template <int Level, bool Plain>
__device__ __forceinline__ void load_region(const Part &part, const float *from)
{
  constexpr unsigned kWidth = Coarse<Level>::kWidth, kPixels = kWidth * Coarse<Level>::kHeight;
  const uint32_t to = cf::smem_address(part.memory);

  if (!from)
    return;
#pragma unroll
  for (unsigned k = 0; k < (kPixels + kThreads - 1) / kThreads; k++) {
    const unsigned i = threadIdx.x + k * kThreads;
    int x = part.x + (int)(i % kWidth), y = part.y + (int)(i / kWidth);

    if (!Plain) {
      x = min(max(x, 0), part.width - 1);
      y = min(max(y, 0), part.height - 1);
    }
    if (i < kPixels)
      cf::cp_async_zero_fill<4>(to + i * (int)sizeof(float), from + (uint32_t)(y * part.width + x),
                                4);
  }
}

/* Two rows of a cell, the first even, of a level expanded: `take (j, i, expanded)`. `from` is the
 * pixel above the cell's first, in the row before. What the rows have in common is left to the last
 * factors. */
template <typename Take> __device__ __forceinline__ void expand_rows(const float *from, Take take)
{
  constexpr float kEdge = 2 * TAP_EDGE, kSide = 2 * TAP_SIDE, kCentre = 2 * TAP_CENTRE;
  constexpr float kFactor[2] = {kEdge, kSide};
  float filtered[2][kCellX / 2 + 2], column[3][kCellX / 2 + 2];

#pragma unroll
  for (int j = 0; j < 3; j++) {
    const float4 four = *reinterpret_cast<const float4 *>(from + j * kPitch1);
    column[j][0] = from[j * kPitch1 - 1];
    column[j][1] = four.x;
    column[j][2] = four.y;
    column[j][3] = four.z;
    column[j][4] = four.w;
    column[j][5] = from[j * kPitch1 + 4];
  }
#pragma unroll
  for (int i = 0; i < kCellX / 2 + 2; i++) {
    filtered[0][i] = fmaf(kCentre / kEdge, column[1][i], column[0][i] + column[2][i]);
    filtered[1][i] = column[1][i] + column[2][i];
  }
#pragma unroll
  for (int j = 0; j < 2; j++) {
#pragma unroll
    for (int i = 0; i < kCellX; i++) {
      const int k = i / 2;
      const float *const line = filtered[j];

      if (i % 2)
        take(j, i, kSide * kFactor[j], line[k + 1] + line[k + 2], 0.0f, 0.0f);
      else
        take(j, i, kEdge * kFactor[j], line[k] + line[k + 2], kCentre * kFactor[j], line[k + 1]);
    }
  }
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
  auto part_of = [&](int level, float *memory) {
    return Part{memory, ((int)blockIdx.x * kTileX >> level) - kMargin,
                ((int)blockIdx.y * kTileY >> level) - kMargin, finish.width[level],
                finish.height[level]};
  };
  const Part part_2 = part_of(2, memory.level_2), part_3 = part_of(3, memory.level_3),
             part_4 = part_of(4, memory.level_4);
  Source<Sample, Kind> source;
  uint4 terms[2];
  uint2 row_weights;
  float delta[2][kCellX];

  /* No kernel that this one waits for makes the picture. */
  if (direct)
    load_source<Sample, Kind>(pixels, finish.output, x, y, &source);
  pdl_trigger_then_wait();
  if (inside) {
    const uint4 *const from =
        reinterpret_cast<const uint4 *>(finish.pixel_terms) + row_in_cells(pixels.width, x, y);

    terms[0] = from[0];
    terms[1] = from[1];
    row_weights = weights_of_rows(finish.weights[0], x, y);
  }
  /* All that is loaded is on its way before any of it is used. */
  const uint2 weights_1 = weights_of_quads<1>(finish.weights[1]);
  const uint2 weights_2 = weights_of_quads<2>(finish.weights[2]);
  const CellRow cell_row(finish.level_terms, finish.width[1], finish.height[1]);
  load_region<2, Plain>(part_2, finish.coarse[2]);
  load_region<3, Plain>(part_3, finish.coarse[3]);
  load_region<4, Plain>(part_4, finish.coarse[4]);
  cf::cp_async_commit();
  cell_row.store(memory.level_1);
  cf::cp_async_wait<0>();
  __syncthreads();
  if (finish.coarse[4])
    add_coarser<3>(part_3, part_4, make_uint2(kHalfOnes, kHalfOnes), inner);
  if (finish.coarse[3])
    add_coarser<2>(part_2, part_3, weights_2, inner);
  add_coarser<1>(part_of(1, memory.level_1 + kFirst1 - kMargin), part_2, weights_1, inner);
  if (!inside)
    return;

  weigh_terms(row_weights, terms);
  const int first = (row + kMargin - 1) * kPitch1 + kFirst1 + 4 * column;
#pragma unroll
  for (int j = 0; j < 2; j++) {
#pragma unroll
    for (int i = 0; i < kCellX; i++) {
      const int at = place_in_cell(i, j);
      const float2 two = unpack(word(terms[at / 8], at % 8 / 2));
      delta[j][i] = at & 1 ? two.y : two.x;
    }
  }
  expand_rows(memory.level_1 + first, [&](int j, int i, float outer, float sides,
                                          float inner_factor, float middle) {
    delta[j][i] = fmaf(outer, sides, i % 2 ? delta[j][i] : fmaf(inner_factor, middle, delta[j][i]));
  });
  if (direct)
    store_direct<Sample, Kind>(pixels, finish.output, x, y, source, delta);
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

bool are_aligned(const Channel &channel, int offset, int bytes)
{
  const uintptr_t bits = ((uintptr_t)channel.from - offset) | ((uintptr_t)channel.to - offset) |
                         (uintptr_t)channel.from_stride | (uintptr_t)channel.to_stride;
  return bits % bytes == 0;
}

/* Chroma of half the size both ways whose two channels lie side by side. */
bool has_pairs(const Pixels &pixels)
{
  const ptrdiff_t sample = pixels.wide ? 2 : 1;
  const Channel &blue = pixels.channel[1], &red = pixels.channel[2];
  const ptrdiff_t distance = red.from - blue.from;

  return pixels.colour == Colour::CHROMA && pixels.subsampling_x && pixels.subsampling_y &&
         pixels.step[1] == 2 && pixels.step[2] == 2 &&
         (distance == sample || distance == -sample) && red.to - blue.to == distance &&
         are_aligned(distance > 0 ? blue : red, 0, 8 * (int)sample);
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
    output.rows =
        output.packing.packed && are_aligned(pixels.channel[0], output.packing.byte[0], 16);
    for (int c = 1; c < 3; c++)
      output.rows &= pixels.channel[c].to - pixels.channel[0].to ==
                     pixels.channel[c].from - pixels.channel[0].from;
    /* The fourth byte goes along. */
    output.rows &= !pixels.extra.from || pixels.extra.to - pixels.channel[0].to ==
                                             pixels.extra.from - pixels.channel[0].from;
  } else {
    output.rows = pixels.step[0] == 1 && !pixels.extra.from &&
                  are_aligned(pixels.channel[0], 0, pixels.wide ? 16 : 8);
    output.pairs = has_pairs(pixels);
  }
  return output;
}

/* Inner tiles are those whose regions are in their levels. */
void find_inner_tiles(Finish *finish)
{
  int across = 0x7fffffff, down = across;

  for (int i = 1; i <= kOutputLevel; i++) {
    if (i > 1 && !finish->coarse[i])
      break;
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

  finish.pixel_terms = pyramid.cells[0];
  finish.level_terms = pyramid.cells[1];
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
