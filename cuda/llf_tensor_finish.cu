/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The last kernel of the fast engine on tensor cores: the terms of all levels add up to the
 * picture, and colours follow. Each block expands what its pixels need of the coarser levels by
 * itself: the margins cost less than kernels that wait for each other would.
 */
#include "llf_tensor_parts.cuh"
#include "llf_tensor_picture.cuh"

namespace llf
{
namespace
{

/* A thread makes two rows of a cell. Blocks are small for small pictures: 256 threads took 42 us a
 * frame at 640x360 instead of 39, and as long at others. */
constexpr int CELLS_X = 8, PAIRS_Y = 16, THREADS = CELLS_X * PAIRS_Y;
constexpr int TILE_X = CELLS_X * CELL_X, TILE_Y = 2 * PAIRS_Y;

/* Of level 1 with its margin, which is wider than needed so that quads are whole and cells lie at
 * multiples of 16 bytes. */
constexpr int MARGIN_1 = 2, FIRST_1 = 4; /* column of the tile's first pixel */
constexpr int WIDTH_1 = TILE_X / 2 + 2 * MARGIN_1, HEIGHT_1 = TILE_Y / 2 + 2 * MARGIN_1;
constexpr int PITCH_1 = TILE_X / 2 + 2 * FIRST_1;

/* Of coarser levels, what coarser() makes of that. */
constexpr int WIDTH_2 = TILE_X / 4 + 4, HEIGHT_2 = TILE_Y / 4 + 4;
constexpr int WIDTH_3 = TILE_X / 8 + 4, HEIGHT_3 = TILE_Y / 8 + 4;
constexpr int WIDTH_4 = TILE_X / 16 + 4, HEIGHT_4 = TILE_Y / 16 + 4;

struct Finish {
  const __half *pixel_terms, *level_terms; /* of levels 0 and 1 */
  int width[FIRST_LEVEL + 1], height[FIRST_LEVEL + 1];
  const float *coarse[FIRST_LEVEL + 1]; /* terms, and the last one collapsed */
  Output output;
};

/* The terms of level 1, out of their cells, a row of a cell at a time: those of the tile's pixels
 * and of the ones next to them. */
__device__ __forceinline__ void load_cells(const Part &part, const __half *terms)
{
  constexpr int ACROSS = TILE_X / 2 / CELL_X + 2, DOWN = TILE_Y / 2 + 2;
  const int tile_x = part.region.x + MARGIN_1, tile_y = part.region.y + MARGIN_1;

  static_assert(ACROSS * DOWN <= THREADS, "a row of a cell a thread");
  if ((int)threadIdx.x >= ACROSS * DOWN)
    return;
  const int row = (int)threadIdx.x / ACROSS - 1, cell = (int)threadIdx.x % ACROSS - 1;
  const int x = tile_x + CELL_X * cell, y = tile_y + row;

  if (x < 0 || x >= part.width || y < 0 || y >= part.height)
    return;
  const uint4 words = *reinterpret_cast<const uint4 *>(
      terms + (ptrdiff_t)(y / CELL_Y * cells_across(part.width) + x / CELL_X) * CELL_HALVES +
      place_in_cell(0, y % CELL_Y));
  const float2 first = unpack(words.x), second = unpack(words.y), third = unpack(words.z),
               fourth = unpack(words.w);
  float *const to = part.memory + (row + MARGIN_1) * PITCH_1 + CELL_X * cell + MARGIN_1;

  if (cell < 0) {
    to[CELL_X - 1] = fourth.y;
  } else if (cell == ACROSS - 2) {
    to[0] = first.x;
  } else {
    reinterpret_cast<float4 *>(to)[0] = make_float4(first.x, second.x, third.x, fourth.x);
    reinterpret_cast<float4 *>(to)[1] = make_float4(first.y, second.y, third.y, fourth.y);
  }
}

/* Adds the coarser level, expanded, to a region: two quads a thread. */
template <int WIDTH, int HEIGHT, int PITCH, int COARSE_PITCH>
__device__ __forceinline__ void add_expanded_region(float *fine, const float *coarse)
{
  constexpr int ACROSS = WIDTH / 4, DOWN = HEIGHT / 2;

  static_assert(ACROSS * DOWN <= THREADS && WIDTH % 4 == 0 && PITCH % 2 == 0, "two quads a thread");
  if ((int)threadIdx.x >= ACROSS * DOWN)
    return;
  const int row = (int)threadIdx.x / ACROSS, column = (int)threadIdx.x % ACROSS * 2;
  const float *const from = coarse + row * COARSE_PITCH + column;
  float2 *const to = reinterpret_cast<float2 *>(fine + 2 * row * PITCH + 2 * column);
  float around[3][4];

#pragma unroll
  for (int j = 0; j < 3; j++) {
#pragma unroll
    for (int i = 0; i < 4; i++)
      around[j][i] = from[j * COARSE_PITCH + i];
  }
#pragma unroll
  for (int k = 0; k < 2; k++) {
    const float part[3][3] = {{around[0][k], around[0][k + 1], around[0][k + 2]},
                              {around[1][k], around[1][k + 1], around[1][k + 2]},
                              {around[2][k], around[2][k + 1], around[2][k + 2]}};
    float quad[4];

    expand_quad(part, quad);
#pragma unroll
    for (int j = 0; j < 2; j++) {
      float2 *const pair = to + j * (PITCH / 2) + k;
      *pair = make_float2(pair->x + quad[2 * j], pair->y + quad[2 * j + 1]);
    }
  }
}

/* What is beyond the level repeats its border. */
template <int WIDTH, int HEIGHT, int PITCH>
__device__ __forceinline__ void repeat_border(const Part &part)
{
  const Region &region = part.region;

#pragma unroll 1
  for (int i = (int)threadIdx.x; i < WIDTH * HEIGHT; i += THREADS) {
    const int column = i % WIDTH, row = i / WIDTH;
    const int x = min(max(column, -region.x), part.width - 1 - region.x);
    const int y = min(max(row, -region.y), part.height - 1 - region.y);

    if (x != column || y != row)
      part.memory[row * PITCH + column] = part.memory[y * PITCH + x];
  }
}

/* Until the border is repeated, tiles have garbage beyond it. */
template <int WIDTH, int HEIGHT, int PITCH, int COARSE_PITCH>
__device__ __forceinline__ void add_coarser(const Part &fine, const Part &coarse)
{
  const Region &region = fine.region;

  add_expanded_region<WIDTH, HEIGHT, PITCH, COARSE_PITCH>(fine.memory, coarse.memory);
  __syncthreads();
  if (region.x < 0 || region.y < 0 || region.x + WIDTH > fine.width ||
      region.y + HEIGHT > fine.height) {
    repeat_border<WIDTH, HEIGHT, PITCH>(fine);
    __syncthreads();
  }
}

/* Starts to load a region, beyond whose level its border is repeated. */
template <int WIDTH, int HEIGHT>
__device__ __forceinline__ void load_region(const Part &part, const float *from)
{
  const Region &region = part.region;
  const bool inside = region.x >= 0 && region.y >= 0 && region.x + WIDTH <= part.width &&
                      region.y + HEIGHT <= part.height;
  const uint32_t to = cf_shared_address(part.memory);

  if (inside) {
    const float *const origin = from + ((ptrdiff_t)region.y * part.width + region.x);
#pragma unroll
    for (int k = 0; k < (WIDTH * HEIGHT + THREADS - 1) / THREADS; k++) {
      const int i = (int)threadIdx.x + k * THREADS;

      if (i < WIDTH * HEIGHT)
        cf_copy_async_word(to + i * (int)sizeof(float),
                           origin + (i / WIDTH * part.width + i % WIDTH), 4);
    }
    return;
  }
#pragma unroll 1
  for (int i = (int)threadIdx.x; i < WIDTH * HEIGHT; i += THREADS) {
    const int x = min(max(region.x + i % WIDTH, 0), part.width - 1);
    const int y = min(max(region.y + i / WIDTH, 0), part.height - 1);

    cf_copy_async_word(to + i * (int)sizeof(float), from + ((ptrdiff_t)y * part.width + x), 4);
  }
}

/* Adds level 1, expanded, to the terms of two rows of a cell, the first even. `from` is the pixel
 * above the cell's first, in the row before. What the rows have in common is left to the last
 * factors. */
__device__ __forceinline__ void expand_rows(const float *from, const uint4 (&terms)[2],
                                            float (&rows)[2][CELL_X])
{
  constexpr float EDGE = 2 * TAP_EDGE, SIDE = 2 * TAP_SIDE, CENTRE = 2 * TAP_CENTRE;
  constexpr float FACTOR[2] = {EDGE, SIDE};
  float filtered[2][CELL_X / 2 + 2], column[3][CELL_X / 2 + 2];

#pragma unroll
  for (int j = 0; j < 3; j++) {
    const float4 four = *reinterpret_cast<const float4 *>(from + j * PITCH_1);
    column[j][0] = from[j * PITCH_1 - 1];
    column[j][1] = four.x;
    column[j][2] = four.y;
    column[j][3] = four.z;
    column[j][4] = four.w;
    column[j][5] = from[j * PITCH_1 + 4];
  }
#pragma unroll
  for (int i = 0; i < CELL_X / 2 + 2; i++) {
    filtered[0][i] = fmaf(CENTRE / EDGE, column[1][i], column[0][i] + column[2][i]);
    filtered[1][i] = column[1][i] + column[2][i];
  }
#pragma unroll
  for (int j = 0; j < 2; j++) {
#pragma unroll
    for (int i = 0; i < CELL_X; i++) {
      const int at = place_in_cell(i, j), k = i / 2;
      const float2 two = unpack(word(terms[at / 8], at % 8 / 2));
      const float *const line = filtered[j];
      const float term = at & 1 ? two.y : two.x;

      rows[j][i] = i % 2 ? fmaf(SIDE * FACTOR[j], line[k + 1] + line[k + 2], term)
                         : fmaf(EDGE * FACTOR[j], line[k] + line[k + 2],
                                fmaf(CENTRE * FACTOR[j], line[k + 1], term));
    }
  }
}

/* --- the kernel --- */

template <typename Sample, Colour colour>
__global__ void __launch_bounds__(THREADS, 8)
    finish_kernel(const __grid_constant__ Pixels pixels, const __grid_constant__ Finish finish)
{
  __shared__ __align__(16) float memory_1[PITCH_1 * HEIGHT_1];
  __shared__ __align__(16) float memory_2[WIDTH_2 * HEIGHT_2], memory_3[WIDTH_3 * HEIGHT_3];
  __shared__ __align__(16) float memory_4[WIDTH_4 * HEIGHT_4];
  const int column = threadIdx.x % CELLS_X, row = threadIdx.x / CELLS_X;
  const int x = blockIdx.x * TILE_X + CELL_X * column, y = blockIdx.y * TILE_Y + 2 * row;
  const bool inside = x < pixels.width && y < pixels.height;
  const bool direct = inside && is_direct<colour>(pixels, finish.output, x);
  const Region region_1 = {(int)blockIdx.x * TILE_X / 2 - MARGIN_1,
                           (int)blockIdx.y * TILE_Y / 2 - MARGIN_1, WIDTH_1, HEIGHT_1};
  const Part part_1 = {memory_1 + FIRST_1 - MARGIN_1, PITCH_1, finish.width[1], finish.height[1],
                       region_1};
  const Part part_2 = {memory_2, WIDTH_2, finish.width[2], finish.height[2], coarser(region_1, 1)};
  const Part part_3 = {memory_3, WIDTH_3, finish.width[3], finish.height[3], coarser(region_1, 2)};
  const Part part_4 = {memory_4, WIDTH_4, finish.width[4], finish.height[4], coarser(region_1, 3)};
  Source<Sample, colour> source;
  uint4 terms[2];
  float delta[2][CELL_X];

  /* No kernel that this one waits for makes the picture. */
  if (direct)
    load_source<Sample, colour>(pixels, finish.output, x, y, &source);
  await_previous();
  load_region<WIDTH_2, HEIGHT_2>(part_2, finish.coarse[2]);
  if (finish.coarse[3])
    load_region<WIDTH_3, HEIGHT_3>(part_3, finish.coarse[3]);
  if (finish.coarse[4])
    load_region<WIDTH_4, HEIGHT_4>(part_4, finish.coarse[4]);
  cf_copy_commit();
  if (inside) {
    const uint4 *const from = reinterpret_cast<const uint4 *>(
        finish.pixel_terms +
        (ptrdiff_t)(y / CELL_Y * cells_across(pixels.width) + x / CELL_X) * CELL_HALVES +
        place_in_cell(0, y % CELL_Y));

    terms[0] = from[0];
    terms[1] = from[1];
  }
  load_cells(part_1, finish.level_terms);
  cf_copy_wait<0>();
  __syncthreads();
  if (finish.coarse[4])
    add_coarser<WIDTH_3, HEIGHT_3, WIDTH_3, WIDTH_4>(part_3, part_4);
  if (finish.coarse[3])
    add_coarser<WIDTH_2, HEIGHT_2, WIDTH_2, WIDTH_3>(part_2, part_3);
  add_coarser<WIDTH_1, HEIGHT_1, PITCH_1, WIDTH_2>(part_1, part_2);
  if (!inside)
    return;

  expand_rows(memory_1 + (row + MARGIN_1 - 1) * PITCH_1 + FIRST_1 + 4 * column, terms, delta);
  if (direct)
    store_direct<Sample, colour>(pixels, finish.output, x, y, source, delta);
  else
    store_quads<Sample, colour>(pixels, finish.output, x, y, delta);
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

} // namespace

bool tensor_finish(Queue *queue, const Pixels &pixels, const Series &series, const Pyramid &pyramid,
                   int last)
{
  Finish finish = {};

  finish.pixel_terms = pyramid.cells[0];
  finish.level_terms = pyramid.cells[1];
  const int first = last > FIRST_LEVEL ? COLLAPSED_LEVEL : last;
  for (int i = 1; i <= first; i++) {
    finish.width[i] = pyramid.level[i].width;
    finish.height[i] = pyramid.level[i].height;
    finish.coarse[i] = pyramid.level[i].collapsed;
  }
  if (last > FIRST_LEVEL)
    finish.coarse[COLLAPSED_LEVEL] = pyramid.level[COLLAPSED_LEVEL].gauss;
  finish.output = output_of(pixels, series.linear);
  return with_pixel_types(pixels, [&](auto sample, auto colour) {
    return launch(queue, "llf finish",
                  finish_kernel<typename decltype(sample)::type, decltype(colour)::colour>,
                  dim3(blocks(pixels.width, TILE_X), blocks(pixels.height, TILE_Y)), dim3(THREADS),
                  0, pixels, finish);
  });
}

} // namespace llf
