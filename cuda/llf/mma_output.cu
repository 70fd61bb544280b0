/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The last kernel of the fast engine on tensor cores: the terms of all levels add up to the
 * picture, and colours follow. Each block expands what its pixels need of the coarser levels by
 * itself: the margins cost less than kernels that wait for each other would.
 */
#include "cuda/llf/halo_region.cuh"
#include "cuda/llf/mma_output_pixels.cuh"
#include "cuda/common/grid_flags.cuh"

#include <algorithm>
#include <type_traits>

namespace cf::llf
{
namespace
{

/* A thread makes two rows of a cell. Blocks are small for small pictures: 256 threads took 42 us a
 * frame at 640x360 instead of 39, and as long at others. */
constexpr int CELLS_X = 8, PAIRS_Y = 16, THREADS = CELLS_X * PAIRS_Y;
constexpr int RESIDENT = 8; /* blocks of a multiprocessor */
constexpr int TILE_X = CELLS_X * CELL_X, TILE_Y = 2 * PAIRS_Y;

/* What a tile needs of the coarser levels: regions with a margin, which is wider than needed so
 * that quads are whole. In memory level 1 has its cells at multiples of 16 bytes; coarser levels
 * have two columns more on either side, so that rows are whole pieces of 16 bytes, one behind the
 * other: a load of such a piece by each thread of a tile inside, instead of words with addresses of
 * their own, is 70 instructions of 1000. */
constexpr int MARGIN = 2, SPARE = 2, PIECE = 4, PIECE_BYTES = PIECE * (int)sizeof(float);
constexpr int FIRST_1 = 4; /* column of the tile's first pixel */
constexpr int PITCH_1 = TILE_X / 2 + 2 * FIRST_1;

template <int LEVEL> struct Coarse {
  static constexpr int WIDTH = (TILE_X >> LEVEL) + 2 * MARGIN;
  static constexpr int HEIGHT = (TILE_Y >> LEVEL) + 2 * MARGIN;
  static constexpr int PITCH = LEVEL == 1 ? PITCH_1 : WIDTH + 2 * SPARE;
  static constexpr int PIECES = PITCH / PIECE;
};

template <int LEVEL> using LevelOf = std::integral_constant<int, LEVEL>;

/* Where a level begins in what all from level 2 on have in common: pieces. */
__host__ __device__ constexpr int first_piece(int level)
{
  return level == 2   ? 0
         : level == 3 ? Coarse<2>::HEIGHT * Coarse<2>::PIECES
         : level == 4 ? first_piece(3) + Coarse<3>::HEIGHT * Coarse<3>::PIECES
                      : first_piece(4) + Coarse<4>::HEIGHT * Coarse<4>::PIECES;
}

constexpr int ALL_PIECES = first_piece(FIRST_LEVEL + 1);

static_assert(FIRST_LEVEL == 4 && ALL_PIECES <= THREADS, "a piece a thread");

struct Finish {
  const __half *pixel_terms, *level_terms; /* of levels 0 and 1 */
  int width[FIRST_LEVEL + 1], height[FIRST_LEVEL + 1];
  const float *coarse[FIRST_LEVEL + 1]; /* terms, and the last one collapsed */
  unsigned inner_x, inner_y; /* how many tiles from the second on are inner ones, each way */
  /* The first so many tiles begin when so many blocks have ended of those whose results they need,
   * while the last of the kernel before, which are others' terms, are still in the making. */
  unsigned early, awaited;
  const unsigned *ended;
  Output output;
};

/* The number of a cell's row among all rows, which are 16 bytes each. */
__device__ __forceinline__ uint32_t row_in_cells(int width, int x, int y)
{
  return ((uint32_t)y / CELL_Y * (uint32_t)cells_across(width) + (uint32_t)x / CELL_X) *
             (CELL_HALVES / 8) +
         (uint32_t)y % CELL_Y;
}

/* The terms of level 1, out of their cells, a row of a cell a thread: those of the tile's pixels
 * and of the ones next to them. */
struct CellRow {
  static constexpr int ACROSS = TILE_X / 2 / CELL_X + 2, DOWN = TILE_Y / 2 + 2;
  static_assert(ACROSS * DOWN <= THREADS, "a row of a cell a thread");

  uint4 words;
  int row, cell;
  bool used;

  __device__ __forceinline__ CellRow(const __half *terms, int width, int height)
      : row((int)threadIdx.x / ACROSS - 1), cell((int)threadIdx.x % ACROSS - 1)
  {
    const int x = (int)blockIdx.x * (TILE_X / 2) + CELL_X * cell;
    const int y = (int)blockIdx.y * (TILE_Y / 2) + row;

    used = (int)threadIdx.x < ACROSS * DOWN && (unsigned)x < (unsigned)width &&
           (unsigned)y < (unsigned)height;
    if (used)
      words = reinterpret_cast<const uint4 *>(terms)[row_in_cells(width, x, y)];
  }

  __device__ __forceinline__ void store(float *memory) const
  {
    const float2 first = unpack(words.x), second = unpack(words.y), third = unpack(words.z),
                 fourth = unpack(words.w);
    float *const to = memory + (row + MARGIN) * PITCH_1 + CELL_X * cell + FIRST_1;

    if (!used)
      return;
    if (cell < 0) {
      to[CELL_X - 1] = fourth.y;
    } else if (cell == ACROSS - 2) {
      to[0] = first.x;
    } else {
      reinterpret_cast<float4 *>(to)[0] = make_float4(first.x, second.x, third.x, fourth.x);
      reinterpret_cast<float4 *>(to)[1] = make_float4(first.y, second.y, third.y, fourth.y);
    }
  }
};

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
template <int LEVEL> __device__ __forceinline__ void repeat_border(const Part &part)
{
  constexpr int WIDTH = Coarse<LEVEL>::WIDTH, HEIGHT = Coarse<LEVEL>::HEIGHT;
  constexpr int PITCH = Coarse<LEVEL>::PITCH;
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
template <int LEVEL>
__device__ __forceinline__ void add_coarser(const Part &fine, const Part &coarse, bool inner)
{
  using Fine = Coarse<LEVEL>;

  add_expanded_region<Fine::WIDTH, Fine::HEIGHT, Fine::PITCH, Coarse<LEVEL + 1>::PITCH>(
      fine.memory, coarse.memory);
  __syncthreads();
  if (!inner) {
    repeat_border<LEVEL>(fine);
    __syncthreads();
  }
}

/* Starts to load a region, beyond whose level its border is repeated. */
template <int LEVEL>
__device__ __forceinline__ void load_region(const Part &part, const float *from)
{
  constexpr int WIDTH = Coarse<LEVEL>::WIDTH, HEIGHT = Coarse<LEVEL>::HEIGHT;
  const Region &region = part.region;
  const uint32_t to = cf::smem_address(part.memory);

  if (!from)
    return;
#pragma unroll 1
  for (int i = (int)threadIdx.x; i < WIDTH * HEIGHT; i += THREADS) {
    const int x = min(max(region.x + i % WIDTH, 0), part.width - 1);
    const int y = min(max(region.y + i / WIDTH, 0), part.height - 1);

    cf::cp_async_zero_fill<4>(to + (i / WIDTH * Coarse<LEVEL>::PITCH + i % WIDTH) *
                                       (int)sizeof(float),
                              from + ((ptrdiff_t)y * part.width + x), 4);
  }
}

/* A piece of an inner tile's region: where it begins in its level. */
struct Piece {
  const float *level;
  int x, y, width;
};

template <int LEVEL> __device__ __forceinline__ Piece piece_of(const Finish &finish, int piece)
{
  const int i = piece - first_piece(LEVEL);

  return Piece{finish.coarse[LEVEL],
               ((int)blockIdx.x * TILE_X >> LEVEL) - MARGIN - SPARE +
                   i % Coarse<LEVEL>::PIECES * PIECE,
               ((int)blockIdx.y * TILE_Y >> LEVEL) - MARGIN + i / Coarse<LEVEL>::PIECES,
               finish.width[LEVEL]};
}

/* Starts to load all coarser levels of an inner tile that the picture has, a piece a thread. */
__device__ __forceinline__ void load_pieces(const Finish &finish, const float *memory)
{
  const int number = (int)threadIdx.x;
  Piece piece;

  if (number >= ALL_PIECES)
    return;
  if (number < first_piece(3))
    piece = piece_of<2>(finish, number);
  else if (number < first_piece(4))
    piece = piece_of<3>(finish, number);
  else
    piece = piece_of<4>(finish, number);
  if (piece.level)
    cf::cp_async_zero_fill<16>(cf::smem_address(memory) + PIECE_BYTES * number,
                               piece.level + (uint32_t)(piece.y * piece.width + piece.x),
                               PIECE_BYTES);
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

__device__ __forceinline__ void await_terms(const Finish &finish, bool early)
{
  if (!early) {
    pdl_trigger_then_wait();
    return;
  }
  pdl_trigger();
  if (threadIdx.x == 0) {
    spin_relaxed(finish.ended, finish.awaited);
    acquire_fence();
  }
  __syncthreads();
}

/* --- the kernel --- */

template <typename Sample, Colour colour>
__global__ void __launch_bounds__(THREADS, RESIDENT)
    finish_kernel(const __grid_constant__ Pixels pixels, const __grid_constant__ Finish finish)
{
  __shared__ __align__(16) float memory_1[PITCH_1 * Coarse<1>::HEIGHT], memory[PIECE * ALL_PIECES];
  const int column = threadIdx.x % CELLS_X, row = threadIdx.x / CELLS_X;
  const int x = blockIdx.x * TILE_X + CELL_X * column, y = blockIdx.y * TILE_Y + 2 * row;
  const bool inside = x < pixels.width && y < pixels.height;
  const bool direct = inside && is_direct<colour>(pixels, finish.output, x);
  const bool early = blockIdx.y * gridDim.x + blockIdx.x < finish.early;
  const bool inner = blockIdx.x - 1 < finish.inner_x && blockIdx.y - 1 < finish.inner_y;
  auto part_of = [&](auto level) {
    constexpr int LEVEL = decltype(level)::value;

    return Part{LEVEL == 1 ? memory_1 + FIRST_1 - MARGIN
                           : memory + PIECE * first_piece(LEVEL) + SPARE,
                Coarse<LEVEL>::PITCH, finish.width[LEVEL], finish.height[LEVEL],
                Region{((int)blockIdx.x * TILE_X >> LEVEL) - MARGIN,
                       ((int)blockIdx.y * TILE_Y >> LEVEL) - MARGIN, Coarse<LEVEL>::WIDTH,
                       Coarse<LEVEL>::HEIGHT}};
  };
  const Part part_2 = part_of(LevelOf<2>()), part_3 = part_of(LevelOf<3>()),
             part_4 = part_of(LevelOf<4>());
  Source<Sample, colour> source;
  uint4 terms[2];
  float delta[2][CELL_X];

  /* No kernel that this one waits for makes the picture. */
  if (direct)
    load_source<Sample, colour>(pixels, finish.output, x, y, &source);
  await_terms(finish, early);
  if (inside) {
    const uint4 *const from =
        reinterpret_cast<const uint4 *>(finish.pixel_terms) + row_in_cells(pixels.width, x, y);

    terms[0] = from[0];
    terms[1] = from[1];
  }
  const CellRow cell_row(finish.level_terms, finish.width[1], finish.height[1]);
  if (inner) {
    load_pieces(finish, memory);
  } else {
    load_region<2>(part_2, finish.coarse[2]);
    load_region<3>(part_3, finish.coarse[3]);
    load_region<4>(part_4, finish.coarse[4]);
  }
  cf::cp_async_commit();
  cell_row.store(memory_1);
  cf::cp_async_wait<0>();
  __syncthreads();
  if (finish.coarse[4])
    add_coarser<3>(part_3, part_4, inner);
  if (finish.coarse[3])
    add_coarser<2>(part_2, part_3, inner);
  add_coarser<1>(part_of(LevelOf<1>()), part_2, inner);
  end(early);
  if (!inside)
    return;

  expand_rows(memory_1 + (row + MARGIN - 1) * PITCH_1 + FIRST_1 + 4 * column, terms, delta);
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

/* What filtered_colours() and filtered_word() want. */
void describe_colours(const Pixels &pixels, float linear, Output *output)
{
  const int *const byte = output->packing.byte;
  const float epsilon = (float)CF_LLF_GAIN_EPSILON * pixels.scale;
  const float offset = MOST_GAIN * (pixels.wide ? OFFSET<uint16_t> : OFFSET<uint8_t>);

  output->scale = pixels.scale;
  for (int c = 0; c < 3; c++)
    output->luma[c] = pixels.weight[c] * pixels.scale;
  output->whole = (1.0f + linear) / MOST_GAIN;
  output->new_offset = epsilon - (1.0f + linear) / MOST_GAIN * offset;
  output->old_offset = MOST_GAIN * epsilon - offset;
  output->minus_epsilon = -epsilon * DENORMAL;
  output->half_less = 0.5f - epsilon;
  output->take_two = 0x4040 + byte[0] + (byte[1] << 8);
  output->take_third = 0x4040 + byte[2];
  output->put = 0x3210;
  for (int c = 0; c < 3; c++)
    output->put += (4 + c - byte[c]) << 4 * byte[c];
}

/* How the picture can be read and written. */
Output output_of(const Pixels &pixels, float linear)
{
  Output output = {};

  output.linear = linear;
  if (pixels.colour == Colour::RGB) {
    output.packing = packing_of(pixels);
    describe_colours(pixels, linear, &output);
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

/* Inner tiles are those whose regions, in whole pieces, are in their levels. */
void find_inner_tiles(Finish *finish)
{
  int across = 0x7fffffff, down = across;

  for (int i = 1; i <= FIRST_LEVEL; i++) {
    if (i > 1 && !finish->coarse[i])
      break;
    if (i > 1 && finish->width[i] % PIECE != 0)
      return;
    across = std::min(across, (finish->width[i] - MARGIN - (i > 1 ? SPARE : 0)) / (TILE_X >> i));
    down = std::min(down, (finish->height[i] - MARGIN) / (TILE_Y >> i));
  }
  finish->inner_x = (unsigned)std::max(across - 1, 0);
  finish->inner_y = (unsigned)std::max(down - 1, 0);
}

/* As many as are there at once; of RGB fewer: what these need is made where the coarse levels were,
 * long before the terms of level 0 are there. */
int early_tiles(const Gpu &gpu, const Pixels &pixels)
{
  const int all = RESIDENT * gpu.multiprocessors;

  return pixels.colour == Colour::RGB ? all * 3 / 4 : all;
}

} // namespace

int tensor_finish_early_rows(const Gpu &gpu, const Pixels &pixels)
{
  return blocks(early_tiles(gpu, pixels), blocks(pixels.width, TILE_X)) * TILE_Y;
}

int tensor_finish_needed_rows(int picture_rows, int level)
{
  return (picture_rows >> level) + MARGIN;
}

bool tensor_finish(Queue *queue, const Gpu &gpu, const Pixels &pixels, const Series &series,
                   const Pyramid &pyramid, int last)
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
  find_inner_tiles(&finish);
  if (queue->ended) {
    finish.ended = queue->ended;
    finish.awaited = (unsigned)queue->awaited;
    finish.early = (unsigned)early_tiles(gpu, pixels);
  }
  return with_pixel_types(pixels, [&](auto sample, auto colour) {
    return launch(queue, "llf finish",
                  finish_kernel<typename decltype(sample)::type, decltype(colour)::colour>,
                  dim3(blocks(pixels.width, TILE_X), blocks(pixels.height, TILE_Y)), dim3(THREADS),
                  0, pixels, finish);
  });
}

} // namespace cf::llf
