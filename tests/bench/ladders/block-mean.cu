/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Ladder "block-mean": each block of 32x32 pixels takes its mean. A CUDA block of 1 to 32 warps
 * adds up the 1024 pixels of one block; five ways of doing it, which all write the mean alike.
 */
#include "ladder.cuh"

#define SIDE   32
#define PIXELS (SIDE * SIDE)
#define WARP   32

enum Loads { CONSECUTIVE, STRIDED };
enum Tree { MODULO, SEQUENTIAL, LAST_WARP };

/* ---- Device code ---- */

/* The part of the picture that one block covers. */
struct Tile {
  int x, y, width, height;
};

static __device__ Tile tile_of(const CfLadderFrame &frame)
{
  const int x = blockIdx.x * SIDE, y = blockIdx.y * SIDE;

  return {x, y, min(SIDE, frame.width - x), min(SIDE, frame.height - y)};
}

/* Pixel `i` of the block, row by row; 0 beyond the picture's edge. */
static __device__ unsigned load(const CfLadderFrame &frame, const Tile &tile, int i)
{
  const int x = i % SIDE, y = i / SIDE;

  return x < tile.width && y < tile.height
             ? frame.source[(tile.y + y) * frame.source_stride + tile.x + x]
             : 0;
}

/* What one thread adds up by itself. */
template <int threads, Loads loads>
static __device__ unsigned sum_of_thread(const CfLadderFrame &frame, const Tile &tile)
{
  const int share = PIXELS / threads, thread = threadIdx.x;
  unsigned sum = 0;

  for (int i = 0; i < share; i++)
    sum += load(frame, tile, loads == STRIDED ? thread + i * threads : thread * share + i);
  return sum;
}

/* Threads whose number is a multiple of 2, 4, 8... work: they are spread over all warps. */
template <int threads> static __device__ void reduce_modulo(unsigned *sums)
{
  for (int step = 1; step < threads; step *= 2) {
    if (threadIdx.x % (2 * step) == 0)
      sums[threadIdx.x] += sums[threadIdx.x + step];
    __syncthreads();
  }
}

/* The first threads work, so that whole warps have nothing to do. Ends with `last` sums. */
template <int threads, int last> static __device__ void reduce_sequential(unsigned *sums)
{
  for (int step = threads / 2; step >= last; step /= 2) {
    if (threadIdx.x < step)
      sums[threadIdx.x] += sums[threadIdx.x + step];
    __syncthreads();
  }
}

/* 32 sums in one warp, without memory and barriers; sums[0] gets the total. */
static __device__ void reduce_warp(unsigned *sums)
{
  if (threadIdx.x >= WARP)
    return;
  unsigned sum = sums[threadIdx.x];
  for (int step = WARP / 2; step > 0; step /= 2)
    sum += __shfl_down_sync(0xffffffffu, sum, step);
  if (threadIdx.x == 0)
    sums[0] = sum;
}

template <int warps, Loads loads, Tree tree>
static __global__ void __launch_bounds__(warps *WARP) block_mean(CfLadderFrame frame)
{
  const int threads = warps * WARP;
  const Tile tile = tile_of(frame);
  __shared__ unsigned sums[threads];

  sums[threadIdx.x] = sum_of_thread<threads, loads>(frame, tile);
  __syncthreads();
  if (tree == MODULO) {
    reduce_modulo<threads>(sums);
  } else if (tree == SEQUENTIAL) {
    reduce_sequential<threads, 1>(sums);
  } else {
    reduce_sequential<threads, WARP>(sums);
    reduce_warp(sums);
    __syncthreads();
  }

  const unsigned area = tile.width * tile.height;
  const uint8_t mean = (uint8_t)((sums[0] + area / 2) / area);
  for (int i = threadIdx.x; i < PIXELS; i += threads) {
    const int x = i % SIDE, y = i / SIDE;

    if (x < tile.width && y < tile.height)
      frame.destination[(tile.y + y) * frame.destination_stride + tile.x + x] = mean;
  }
}

/* ---- Rungs ---- */

template <int warps, Loads loads, Tree tree> static int run(void *state, const CfLadderFrame *frame)
{
  const dim3 grid(pieces(frame->width, SIDE), pieces(frame->height, SIDE));

  block_mean<warps, loads, tree><<<grid, warps * WARP, 0, (cudaStream_t)frame->stream>>>(*frame);
  return cudaGetLastError();
}

#define WITH_WARPS(name, teaches, loads, tree)                                                     \
  {name, teaches, 1, run<1, loads, tree>}, {name, teaches, 2, run<2, loads, tree>},                \
      {name, teaches, 4, run<4, loads, tree>}, {name, teaches, 8, run<8, loads, tree>},            \
      {name, teaches, 16, run<16, loads, tree>},                                                   \
  {                                                                                                \
    name, teaches, 32, run<32, loads, tree>                                                        \
  }

/* The first is the second with 32 warps, a pixel a thread. */
static const CfRung rungs[] = {
    {"1 modulo", "A tree of sums whose working threads are spread over all warps diverges.", 32,
     run<32, CONSECUTIVE, MODULO>},
    WITH_WARPS("2 consecutive",
               "Fewer warps, each thread adding up neighbours first: fewer steps and barriers.",
               CONSECUTIVE, MODULO),
    WITH_WARPS("3 strided", "Neighbouring threads load neighbouring pixels: loads coalesce.",
               STRIDED, MODULO),
    WITH_WARPS("4 sequential", "The first threads do the work: idle warps retire, banks differ.",
               STRIDED, SEQUENTIAL),
    WITH_WARPS("5 last warp", "The last 32 sums stay in registers: shuffles in place of barriers.",
               STRIDED, LAST_WARP),
};

static int open_ladder(int width, int height, void **state)
{
  *state = NULL;
  return cudaSuccess;
}

static void close_ladder(void *state)
{
}

const CfLadder cf_ladder_block_mean = {
    "block-mean",
    "Mean of blocks of 32x32",
    3840,
    2160,
    false,
    "blockavg",
    "block-width=32 block-height=32",
    0.0,
    rungs,
    N(rungs),
    open_ladder,
    close_ladder,
};
