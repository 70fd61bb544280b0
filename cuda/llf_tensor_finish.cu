/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The last two kernels of the fast engine on tensor cores: the terms of all levels add up to level
 * 2 and then to the picture, and colours follow. Each block expands what its pixels need of the
 * coarser levels by itself: the margins cost less than kernels that wait for each other would.
 */
#include "llf_tensor_cells.cuh"

namespace llf
{
namespace
{

/* A thread makes two rows of a cell. */
constexpr int CELLS_X = 32, PAIRS_Y = 16, THREADS = CELLS_X * PAIRS_Y;
constexpr int TILE_X = CELLS_X * CELL_X, TILE_Y = 2 * PAIRS_Y;

/* --- levels in shared memory --- */

/* The pixels of a level that a tile needs: they begin at (x, y). */
struct Region {
  int x, y, width, height;
};

/* A level whose region is in shared memory, and the level's size. */
struct Part {
  float *memory;
  int pitch, width, height;
  Region region;
};

/* What the next coarser level needs, for the expansion of a region. */
__device__ __forceinline__ Region coarser(Region fine)
{
  const int x = (fine.x >> 1) - 1, y = (fine.y >> 1) - 1;

  return Region{x, y, ((fine.x + fine.width - 1) >> 1) + 2 - x,
                ((fine.y + fine.height - 1) >> 1) + 2 - y};
}

/* The most that coarser() makes of a width or height. */
__host__ __device__ constexpr int most_coarser(int size)
{
  return size / 2 + 3;
}

/* What is beyond the level repeats its border. */
template <int THREADS>
__device__ __forceinline__ void load_part(const Part &part, const float *from)
{
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;

  for (int row = warp; row < part.region.height; row += THREADS / 32) {
    const size_t y = (size_t)min(max(part.region.y + row, 0), part.height - 1) * part.width;

    for (int column = lane; column < part.region.width; column += 32)
      part.memory[row * part.pitch + column] =
          from[y + min(max(part.region.x + column, 0), part.width - 1)];
  }
}

/* Adds the expanded coarser level, by quads. The pixels next to the level's border repeat those at
 * it. */
template <int THREADS>
__device__ __forceinline__ void add_expanded(const Part &fine, const Part &coarse)
{
  const Region &region = fine.region;
  const int end_x = region.x + region.width, end_y = region.y + region.height;
  const int first_x = region.x >> 1, first_y = region.y >> 1;
  const int across = ((end_x - 1) >> 1) - first_x + 1, down = ((end_y - 1) >> 1) - first_y + 1;
  const float reciprocal = 1.0f / (float)across;
  const bool border = region.x < 0 || region.y < 0 || end_x > fine.width || end_y > fine.height;
  float *const to = fine.memory - region.y * fine.pitch - region.x;

  for (int index = threadIdx.x; index < across * down; index += THREADS) {
    const int row = (int)(((float)index + 0.5f) * reciprocal);
    const int x = first_x + index - row * across, y = first_y + row;
    const float *const from =
        coarse.memory + (y - 1 - coarse.region.y) * coarse.pitch + x - 1 - coarse.region.x;
    float around[3][3], quad[4];

#pragma unroll
    for (int j = 0; j < 3; j++) {
#pragma unroll
      for (int i = 0; i < 3; i++)
        around[j][i] = from[j * coarse.pitch + i];
    }
    expand_quad(around, quad);
#pragma unroll
    for (int i = 0; i < 4; i++) {
      const int to_x = 2 * x + (i & 1), to_y = 2 * y + (i >> 1);

      if (to_x < region.x || to_x >= end_x || to_y < region.y || to_y >= end_y)
        continue;
      if (!border) {
        to[to_y * fine.pitch + to_x] += quad[i];
        continue;
      }
      if (to_x < 0 || to_x >= fine.width || to_y < 0 || to_y >= fine.height)
        continue;
      const float value = to[to_y * fine.pitch + to_x] + quad[i];
      const int left = max(to_x == 0 ? -1 : to_x, region.x);
      const int right = min(to_x == fine.width - 1 ? to_x + 1 : to_x, end_x - 1);
      const int above = max(to_y == 0 ? -1 : to_y, region.y);
      const int below = min(to_y == fine.height - 1 ? to_y + 1 : to_y, end_y - 1);
#pragma unroll 1
      for (int copy_y = above; copy_y <= below; copy_y++) {
#pragma unroll 1
        for (int copy_x = left; copy_x <= right; copy_x++)
          to[copy_y * fine.pitch + copy_x] = value;
      }
    }
  }
}

/* --- level 2, from the terms of all above --- */

constexpr int COLLAPSE_X = 64, COLLAPSE_Y = 16, COLLAPSE_THREADS = 256, COLLAPSED_LEVEL = 2;

struct Collapse {
  int last; /* the terms of this level are its collapsed image */
  float *collapsed;
  int offset[CF_LLF_MAX_IMAGES], pitch[CF_LLF_MAX_IMAGES]; /* in shared memory, floats */
  Level level[CF_LLF_MAX_IMAGES];
};

__global__ void __launch_bounds__(COLLAPSE_THREADS)
    collapse_kernel(const __grid_constant__ Collapse collapse)
{
  extern __shared__ __align__(16) float memory[];
  const Region own = {(int)blockIdx.x * COLLAPSE_X, (int)blockIdx.y * COLLAPSE_Y, COLLAPSE_X,
                      COLLAPSE_Y};
  auto part_of = [&](int index, Region region) {
    return Part{memory + collapse.offset[index], collapse.pitch[index], collapse.level[index].width,
                collapse.level[index].height, region};
  };
  auto region_of = [&](int index) {
    Region region = own;
    for (int i = COLLAPSED_LEVEL; i < index; i++)
      region = coarser(region);
    return region;
  };

  await_previous();
  Region region = own;
  for (int i = COLLAPSED_LEVEL; i <= collapse.last; i++) {
    load_part<COLLAPSE_THREADS>(part_of(i, region), collapse.level[i].collapsed);
    region = coarser(region);
  }
  __syncthreads();
  for (int i = collapse.last - 1; i >= COLLAPSED_LEVEL; i--) {
    const Region fine = region_of(i);
    add_expanded<COLLAPSE_THREADS>(part_of(i, fine), part_of(i + 1, coarser(fine)));
    __syncthreads();
  }

  const Part made = part_of(COLLAPSED_LEVEL, own);
  for (int i = threadIdx.x; i < COLLAPSE_X * COLLAPSE_Y; i += COLLAPSE_THREADS) {
    const int column = i % COLLAPSE_X, row = i / COLLAPSE_X;
    const int x = own.x + column, y = own.y + row;

    if (x < made.width && y < made.height)
      collapse.collapsed[(size_t)y * made.width + x] = made.memory[row * made.pitch + column];
  }
}

/* --- levels 1 and 0 --- */

/* Of level 1, whose rows begin with pixels of the margin: a cell would need 8 of them. */
constexpr int WIDTH_1 = TILE_X / 2 + 2, HEIGHT_1 = TILE_Y / 2 + 2, PITCH_1 = WIDTH_1 + 2;
constexpr int WIDTH_2 = most_coarser(WIDTH_1), HEIGHT_2 = most_coarser(HEIGHT_1);

struct Finish {
  const __half *pixel_terms, *level_terms;
  const float *collapsed; /* of level 2 */
  int width_1, height_1, width_2, height_2;
  float gain; /* of the picture itself */
  bool rows;  /* luma can be read and written 8 samples at a time, */
  bool pairs; /* and so can two interleaved chroma channels of half the size */
  Packing packing;
};

/* The terms of level 1, out of their cells, four of a row at a time. */
__device__ __forceinline__ void load_cells(const Part &part, const __half *terms)
{
  constexpr int ENTRIES = CELL_HALVES / 4;
  constexpr int ACROSS = (TILE_X / 2 + 2 * CELL_X) / CELL_X;
  constexpr int DOWN = (TILE_Y / 2 + 2 * CELL_Y) / CELL_Y;
  const int first_x = part.region.x + 1 - CELL_X, first_y = part.region.y + 1 - CELL_Y;
  const int cells_x = cells_across(part.width), cells_y = cells_down(part.height);

  for (int i = threadIdx.x; i < ACROSS * DOWN * ENTRIES; i += THREADS) {
    const int entry = i % ENTRIES, cell = i / ENTRIES, column = cell % ACROSS, row = cell / ACROSS;
    const int cell_x = first_x / CELL_X + column, cell_y = first_y / CELL_Y + row;
    const int x = CELL_X * (column - 1) + 1 + entry % 2 * 2, y = CELL_Y * (row - 1) + 1 + entry / 2;

    if (cell_x < 0 || cell_x >= cells_x || cell_y < 0 || cell_y >= cells_y || y < 0 ||
        y >= HEIGHT_1)
      continue;
    const uint2 four = reinterpret_cast<const uint2 *>(
        terms)[((size_t)cell_y * cells_x + cell_x) * ENTRIES + entry];
    const float2 first = unpack(four.x), second = unpack(four.y);
    float *const to = part.memory + y * PITCH_1;
    auto store = [&](int at, float value) {
      if (at >= 0 && at < WIDTH_1)
        to[at] = value;
    };

    store(x, first.x);
    store(x + 1, second.x);
    store(x + 4, first.y);
    store(x + 5, second.y);
  }
}

/* Level 1 expanded to two rows of a cell, the first even. */
__device__ __forceinline__ void expand_rows(const float *from, float (&rows)[2][CELL_X])
{
  float even[CELL_X / 2 + 2], odd[CELL_X / 2 + 2], column[3][CELL_X / 2 + 2];

#pragma unroll
  for (int j = 0; j < 3; j++) {
    const float4 four = *reinterpret_cast<const float4 *>(from + j * PITCH_1);
    const float2 two = *reinterpret_cast<const float2 *>(from + j * PITCH_1 + 4);
    column[j][0] = four.x;
    column[j][1] = four.y;
    column[j][2] = four.z;
    column[j][3] = four.w;
    column[j][4] = two.x;
    column[j][5] = two.y;
  }
#pragma unroll
  for (int i = 0; i < CELL_X / 2 + 2; i++) {
    even[i] = expanded_even(column[0][i], column[1][i], column[2][i]);
    odd[i] = expanded_odd(column[1][i], column[2][i]);
  }
#pragma unroll
  for (int i = 0; i < CELL_X / 2; i++) {
    rows[0][2 * i] = expanded_even(even[i], even[i + 1], even[i + 2]);
    rows[0][2 * i + 1] = expanded_odd(even[i + 1], even[i + 2]);
    rows[1][2 * i] = expanded_even(odd[i], odd[i + 1], odd[i + 2]);
    rows[1][2 * i + 1] = expanded_odd(odd[i + 1], odd[i + 2]);
  }
}

/* --- pixels --- */

/* Eight samples in registers. */
template <typename Sample> struct Eight;

template <> struct Eight<uint8_t> {
  uint2 words;

  __device__ float code(int i, int) const
  {
    return (float)((i < 4 ? words.x : words.y) >> 8 * (i & 3) & 255);
  }

  __device__ void set(const uint32_t code[8], int)
  {
    words.x = code[0] | code[1] << 8 | code[2] << 16 | code[3] << 24;
    words.y = code[4] | code[5] << 8 | code[6] << 16 | code[7] << 24;
  }
};

template <> struct Eight<uint16_t> {
  uint4 words;

  __device__ float code(int i, int shift) const
  {
    return (float)((word(words, i / 2) >> 16 * (i & 1) & 65535) >> shift);
  }

  __device__ void set(const uint32_t code[8], int shift)
  {
    words = make_uint4((code[0] | code[1] << 16) << shift, (code[2] | code[3] << 16) << shift,
                       (code[4] | code[5] << 16) << shift, (code[6] | code[7] << 16) << shift);
  }
};

__device__ __forceinline__ uint32_t rounded_code(float code, float max_code)
{
  return (uint32_t)(fminf(fmaxf(code, 0.0f), max_code) + 0.5f);
}

/* What a thread reads of the picture: it is on its way while the coarser levels are made. */
template <typename Sample, Colour colour> struct Source {
  Eight<Sample> luma[2], pairs;
};

template <typename Sample> struct Source<Sample, Colour::RGB> {
  uint4 words[2][2];
};

/* Whether two rows of a cell are read and written in one go. */
template <Colour colour>
__device__ __forceinline__ bool is_direct(const Pixels &pixels, const Finish &finish, int x)
{
  return finish.rows && x + CELL_X <= pixels.width && (colour != Colour::CHROMA || finish.pairs);
}

__device__ __forceinline__ const Channel &pairs_of(const Pixels &pixels)
{
  return pixels.channel[pixels.channel[1].from < pixels.channel[2].from ? 1 : 2];
}

/* At odd heights the row below the last is that again. */
template <typename Sample, Colour colour>
__device__ __forceinline__ void load_source(const Pixels &pixels, const Finish &finish, int x,
                                            int y, Source<Sample, colour> *source)
{
  const Channel &channel = pixels.channel[0];

#pragma unroll
  for (int row = 0; row < 2; row++) {
    const uint8_t *const from =
        channel.from + (ptrdiff_t)min(y + row, pixels.height - 1) * channel.from_stride;

    if constexpr (colour == Colour::RGB) {
      const uint4 *const words =
          reinterpret_cast<const uint4 *>(from - finish.packing.byte[0] + 4 * x);
      source->words[row][0] = words[0];
      source->words[row][1] = words[1];
    } else {
      source->luma[row] = reinterpret_cast<const Eight<Sample> *>(from)[x / 8];
    }
  }
  if constexpr (colour == Colour::CHROMA) {
    const Channel &pairs = pairs_of(pixels);
    source->pairs = reinterpret_cast<const Eight<Sample> *>(
        pairs.from + (ptrdiff_t)(y / 2) * pairs.from_stride)[x / 8];
  }
}

/* Eight pixels of luma; `luma` and `filtered` are what chroma follows. */
template <typename Sample>
__device__ __forceinline__ Eight<Sample>
filtered_luma(const Pixels &pixels, float gain, Eight<Sample> eight, const float delta[CELL_X],
              float luma[CELL_X], float filtered[CELL_X])
{
  uint32_t code[CELL_X];

#pragma unroll
  for (int i = 0; i < CELL_X; i++) {
    const float raw = fmaf(pixels.weight[0], eight.code(i, pixels.shift), pixels.bias);

    luma[i] = __saturatef(raw);
    filtered[i] = fmaf(gain, luma[i], delta[i]);
    code[i] = rounded_code(fmaf(pixels.scale, filtered[i] + (raw - luma[i]), pixels.offset),
                           pixels.max_code);
  }
  eight.set(code, pixels.shift);
  return eight;
}

/* Four pairs of interleaved chroma, which follow alike. */
template <typename Sample>
__device__ __forceinline__ Eight<Sample> filtered_pairs(const Pixels &pixels, Eight<Sample> eight,
                                                        int rows, const float luma[2][CELL_X],
                                                        const float filtered[2][CELL_X])
{
  const float below = rows == 2 ? 0.25f : 0.0f, above = 0.5f - below;
  uint32_t code[CELL_X];

#pragma unroll
  for (int i = 0; i < CELL_X; i += 2) {
    const float gain =
        colour_gain(above * (luma[0][i] + luma[0][i + 1]) + below * (luma[1][i] + luma[1][i + 1]),
                    above * (filtered[0][i] + filtered[0][i + 1]) +
                        below * (filtered[1][i] + filtered[1][i + 1]));
#pragma unroll
    for (int k = i; k < i + 2; k++)
      code[k] = rounded_code(
          fmaf(gain, eight.code(k, pixels.shift) - pixels.chroma_centre, pixels.chroma_centre),
          pixels.max_code);
  }
  eight.set(code, pixels.shift);
  return eight;
}

/* Red, green and blue in a word of four bytes; the fourth stays. */
__device__ __forceinline__ uint32_t filtered_word(const Pixels &pixels, const Finish &finish,
                                                  uint32_t pixel, float delta)
{
  const int *const byte = finish.packing.byte;
  uint32_t result = pixel;
  float code[3], raw = pixels.bias;

#pragma unroll
  for (int c = 0; c < 3; c++) {
    code[c] = (float)(pixel >> 8 * byte[c] & 255);
    raw = fmaf(pixels.weight[c], code[c], raw);
  }
  const float luma = __saturatef(raw), filtered = fmaf(finish.gain, luma, delta);
  const float gain = colour_gain(luma, filtered);
  const float grey = pixels.scale * fmaf(-gain, luma, filtered);
#pragma unroll
  for (int c = 0; c < 3; c++) {
    const uint32_t made = rounded_code(fmaf(gain, code[c], grey), pixels.max_code);
    result = (result & ~(255u << 8 * byte[c])) | made << 8 * byte[c];
  }
  return result;
}

/* Two rows of a cell, the first even. */
template <typename Sample, Colour colour>
__device__ __forceinline__ void store_direct(const Pixels &pixels, const Finish &finish, int x,
                                             int y, const Source<Sample, colour> &source,
                                             const float delta[2][CELL_X])
{
  const Channel &channel = pixels.channel[0];
  const int rows = min(2, pixels.height - y);
  uint8_t *const to = channel.to + (ptrdiff_t)y * channel.to_stride;

  if constexpr (colour == Colour::RGB) {
#pragma unroll
    for (int row = 0; row < 2; row++) {
      if (row >= rows)
        continue;
      uint4 *const words =
          reinterpret_cast<uint4 *>(to + row * channel.to_stride - finish.packing.byte[0] + 4 * x);
#pragma unroll
      for (int half = 0; half < 2; half++) {
        const uint4 four = source.words[row][half];
        const float *const added = delta[row] + 4 * half;

        words[half] = make_uint4(filtered_word(pixels, finish, four.x, added[0]),
                                 filtered_word(pixels, finish, four.y, added[1]),
                                 filtered_word(pixels, finish, four.z, added[2]),
                                 filtered_word(pixels, finish, four.w, added[3]));
      }
    }
  } else {
    float luma[2][CELL_X], filtered[2][CELL_X];

#pragma unroll
    for (int row = 0; row < 2; row++) {
      const Eight<Sample> made = filtered_luma<Sample>(pixels, finish.gain, source.luma[row],
                                                       delta[row], luma[row], filtered[row]);
      if (row < rows)
        reinterpret_cast<Eight<Sample> *>(to + row * channel.to_stride)[x / 8] = made;
    }
    if constexpr (colour == Colour::CHROMA) {
      const Channel &pairs = pairs_of(pixels);
      reinterpret_cast<Eight<Sample> *>(pairs.to + (ptrdiff_t)(y / 2) * pairs.to_stride)[x / 8] =
          filtered_pairs<Sample>(pixels, source.pairs, rows, luma, filtered);
    }
  }
}

template <typename Sample, Colour colour>
__device__ __forceinline__ void store_quads(const Pixels &pixels, const Finish &finish, int x,
                                            int y, const float delta[2][CELL_X])
{
#pragma unroll
  for (int i = 0; i < CELL_X; i += 2) {
    float raw[4], filtered[4];

    if (x + i >= pixels.width)
      continue;
    load_quad<Sample, colour>(pixels, x + i, y, raw);
#pragma unroll
    for (int k = 0; k < 4; k++)
      filtered[k] = fmaf(finish.gain, __saturatef(raw[k]), delta[k >> 1][i + (k & 1)]);
    store_quad<Sample, colour>(pixels, x + i, y, raw, filtered);
  }
}

/* --- the kernel --- */

template <typename Sample, Colour colour>
__global__ void __launch_bounds__(THREADS, 2)
    finish_kernel(const __grid_constant__ Pixels pixels, const __grid_constant__ Finish finish)
{
  __shared__ __align__(16) float memory_1[PITCH_1 * HEIGHT_1];
  __shared__ float memory_2[WIDTH_2 * HEIGHT_2];
  const int column = threadIdx.x % CELLS_X, row = threadIdx.x / CELLS_X;
  const int x = blockIdx.x * TILE_X + CELL_X * column, y = blockIdx.y * TILE_Y + 2 * row;
  const bool inside = x < pixels.width && y < pixels.height;
  const bool direct = inside && is_direct<colour>(pixels, finish, x);
  const Region region_1 = {(int)blockIdx.x * TILE_X / 2 - 1, (int)blockIdx.y * TILE_Y / 2 - 1,
                           WIDTH_1, HEIGHT_1};
  const Part part_1 = {memory_1, PITCH_1, finish.width_1, finish.height_1, region_1};
  const Part part_2 = {memory_2, WIDTH_2, finish.width_2, finish.height_2, coarser(region_1)};
  Source<Sample, colour> source;
  uint4 terms[2];
  float delta[2][CELL_X];

  await_previous();
  if (inside) {
    const uint4 *const from = reinterpret_cast<const uint4 *>(
        finish.pixel_terms +
        ((size_t)(y / CELL_Y) * cells_across(pixels.width) + x / CELL_X) * CELL_HALVES +
        place_in_cell(0, y % CELL_Y));

    terms[0] = from[0];
    terms[1] = from[1];
  }
  if (direct)
    load_source<Sample, colour>(pixels, finish, x, y, &source);
  load_cells(part_1, finish.level_terms);
  load_part<THREADS>(part_2, finish.collapsed);
  __syncthreads();
  add_expanded<THREADS>(part_1, part_2);
  __syncthreads();
  if (!inside)
    return;

  expand_rows(memory_1 + row * PITCH_1 + 4 * column, delta);
#pragma unroll
  for (int j = 0; j < 2; j++) {
#pragma unroll
    for (int i = 0; i < CELL_X; i++) {
      const int at = place_in_cell(i, j);
      const float2 two = unpack(word(terms[at / 8], at % 8 / 2));
      delta[j][i] += at & 1 ? two.y : two.x;
    }
  }
  if (direct)
    store_direct<Sample, colour>(pixels, finish, x, y, source, delta);
  else
    store_quads<Sample, colour>(pixels, finish, x, y, delta);
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

} // namespace

bool tensor_collapse(Queue *queue, const Pyramid &pyramid, int last)
{
  int width = COLLAPSE_X, height = COLLAPSE_Y, floats = 0;
  Collapse collapse = {};

  if (last <= COLLAPSED_LEVEL)
    return true;
  collapse.last = last;
  collapse.collapsed = pyramid.level[COLLAPSED_LEVEL].gauss;
  for (int i = COLLAPSED_LEVEL; i <= last; i++) {
    collapse.level[i] = pyramid.level[i];
    collapse.offset[i] = floats;
    collapse.pitch[i] = width;
    floats += width * height;
    width = most_coarser(width);
    height = most_coarser(height);
  }
  const Level &level = pyramid.level[COLLAPSED_LEVEL];
  return launch(queue, "llf collapse", collapse_kernel,
                dim3(blocks(level.width, COLLAPSE_X), blocks(level.height, COLLAPSE_Y)),
                dim3(COLLAPSE_THREADS), floats * sizeof(float), collapse);
}

bool tensor_finish(Queue *queue, const Pixels &pixels, const Series &series, const Pyramid &pyramid,
                   int last)
{
  const Level &level_1 = pyramid.level[1], &level_2 = pyramid.level[2];
  Finish finish = {};

  finish.pixel_terms = pyramid.cells[0];
  finish.level_terms = pyramid.cells[1];
  finish.collapsed = last > COLLAPSED_LEVEL ? level_2.gauss : level_2.collapsed;
  finish.width_1 = level_1.width;
  finish.height_1 = level_1.height;
  finish.width_2 = level_2.width;
  finish.height_2 = level_2.height;
  finish.gain = 1.0f + series.linear;
  if (pixels.colour == Colour::RGB) {
    finish.packing = packing_of(pixels);
    finish.rows =
        finish.packing.packed && are_aligned(pixels.channel[0], finish.packing.byte[0], 16);
    for (int c = 1; c < 3; c++)
      finish.rows &= pixels.channel[c].to - pixels.channel[0].to ==
                     pixels.channel[c].from - pixels.channel[0].from;
    /* The fourth byte goes along. */
    finish.rows &= !pixels.extra.from || pixels.extra.to - pixels.channel[0].to ==
                                             pixels.extra.from - pixels.channel[0].from;
  } else {
    finish.rows = pixels.step[0] == 1 && !pixels.extra.from &&
                  are_aligned(pixels.channel[0], 0, pixels.wide ? 16 : 8);
    finish.pairs = has_pairs(pixels);
  }
  return with_pixel_types(pixels, [&](auto sample, auto colour) {
    return launch(queue, "llf finish",
                  finish_kernel<typename decltype(sample)::type, decltype(colour)::colour>,
                  dim3(blocks(pixels.width, TILE_X), blocks(pixels.height, TILE_Y)), dim3(THREADS),
                  0, pixels, finish);
  });
}

} // namespace llf
