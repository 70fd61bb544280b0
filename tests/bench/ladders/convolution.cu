/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Ladder "convolution": a mask of 9x9 weights, taken as if it could not be separated.
 */
#include "ladder.cuh"

#define MASK   9
#define RADIUS (MASK / 2)

/* Outputs of a block along one side; the input is TILE + MASK - 1. */
#define TILE 24

/* Of the last two rungs: outputs of a block, and outputs below each other of a thread. */
#define TILE_WIDTH 32
#define TILE_ROWS  64
#define RUN        8

static __device__ float mask_global[MASK * MASK];
static __constant__ float mask_constant[MASK * MASK];

/* ---- Device code ---- */

static __device__ float sample(const CfLadderFrame &frame, int x, int y)
{
  return frame.source[inside(y, frame.height) * frame.source_stride + inside(x, frame.width)];
}

static __device__ void store(const CfLadderFrame &frame, int x, int y, float sum)
{
  if (x < frame.width && y < frame.height)
    frame.destination[y * frame.destination_stride + x] = to_code(sum);
}

template <bool constant> static __global__ void convolve(CfLadderFrame frame)
{
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  const float *mask = constant ? mask_constant : mask_global;
  float sum = 0.0f;

  for (int j = 0; j < MASK; j++)
    for (int i = 0; i < MASK; i++)
      sum += mask[j * MASK + i] * sample(frame, x + i - RADIUS, y + j - RADIUS);
  store(frame, x, y, sum);
}

/* A thread a sample of the input: those of the halo only load. */
static __global__ void convolve_idle_halo(CfLadderFrame frame)
{
  const int x = blockIdx.x * TILE + threadIdx.x - RADIUS;
  const int y = blockIdx.y * TILE + threadIdx.y - RADIUS;
  __shared__ float tile[TILE + MASK - 1][TILE + MASK - 1];
  float sum = 0.0f;

  tile[threadIdx.y][threadIdx.x] = sample(frame, x, y);
  __syncthreads();
  if (threadIdx.x < RADIUS || threadIdx.x >= TILE + RADIUS || threadIdx.y < RADIUS ||
      threadIdx.y >= TILE + RADIUS)
    return;
  for (int j = 0; j < MASK; j++)
    for (int i = 0; i < MASK; i++)
      sum += mask_constant[j * MASK + i] * tile[threadIdx.y + j - RADIUS][threadIdx.x + i - RADIUS];
  store(frame, x, y, sum);
}

/* `run` outputs below each other, each value of the tile read once for all of them. */
template <int run>
static __device__ void convolve_run(const float (*tile)[TILE_WIDTH + MASK - 1], float *sums)
{
#pragma unroll
  for (int j = 0; j < MASK + run - 1; j++) {
#pragma unroll
    for (int i = 0; i < MASK; i++) {
      const float value = tile[j][threadIdx.x + i];

#pragma unroll
      for (int k = 0; k < run; k++)
        if (j >= k && j < MASK + k)
          sums[k] += mask_constant[(j - k) * MASK + i] * value;
    }
  }
}

template <int run> static __global__ void convolve_tile(CfLadderFrame frame)
{
  const int left = blockIdx.x * TILE_WIDTH, top = blockIdx.y * TILE_ROWS;
  __shared__ float tile[TILE_ROWS + MASK - 1][TILE_WIDTH + MASK - 1];

  for (int j = threadIdx.y; j < TILE_ROWS + MASK - 1; j += blockDim.y)
    for (int i = threadIdx.x; i < TILE_WIDTH + MASK - 1; i += blockDim.x)
      tile[j][i] = sample(frame, left + i - RADIUS, top + j - RADIUS);
  __syncthreads();

  for (int first = threadIdx.y * run; first < TILE_ROWS; first += blockDim.y * run) {
    float sums[run] = {};

    convolve_run<run>(tile + first, sums);
    for (int k = 0; k < run; k++)
      store(frame, left + threadIdx.x, top + first + k, sums[k]);
  }
}

/* ---- Rungs ---- */

template <bool constant> static int run_plain(void *state, const CfLadderFrame *frame)
{
  const dim3 grid(pieces(frame->width, 32), pieces(frame->height, 8));

  convolve<constant><<<grid, dim3(32, 8), 0, (cudaStream_t)frame->stream>>>(*frame);
  return cudaGetLastError();
}

static int run_idle_halo(void *state, const CfLadderFrame *frame)
{
  const dim3 grid(pieces(frame->width, TILE), pieces(frame->height, TILE));
  const dim3 block(TILE + MASK - 1, TILE + MASK - 1);

  convolve_idle_halo<<<grid, block, 0, (cudaStream_t)frame->stream>>>(*frame);
  return cudaGetLastError();
}

template <int run> static int run_tile(void *state, const CfLadderFrame *frame)
{
  const dim3 grid(pieces(frame->width, TILE_WIDTH), pieces(frame->height, TILE_ROWS));

  convolve_tile<run><<<grid, dim3(TILE_WIDTH, 8), 0, (cudaStream_t)frame->stream>>>(*frame);
  return cudaGetLastError();
}

static const CfRung rungs[] = {
    {"naive", "81 reads of bytes a pixel, all but a few of them from the L1 cache.", 0,
     run_plain<false>},
    {"constant", "The mask in constant memory costs no loads.", 0, run_plain<true>},
    {"tile, idle halo",
     "A tile of TILE + MASK - 1 in shared memory, a thread a sample: 44 % of them then idle.", 0,
     run_idle_halo},
    {"tile", "As many threads as outputs, which load the halo in turns.", 0, run_tile<1>},
    {"registers", "Eight outputs a thread: each value is read from shared memory once for eight.",
     0, run_tile<RUN>},
};

static int open_ladder(int width, int height, void **state)
{
  double taps[MASK];
  float mask[MASK * MASK];

  *state = NULL;
  gaussian_taps(MASK, taps);
  for (int i = 0; i < MASK * MASK; i++)
    mask[i] = (float)(taps[i / MASK] * taps[i % MASK]);
  TRY(cudaMemcpyToSymbol(mask_global, mask, sizeof mask));
  return cudaMemcpyToSymbol(mask_constant, mask, sizeof mask);
}

static void close_ladder(void *state)
{
}

const CfLadder cf_ladder_convolution = {
    "convolution",
    "Tiled convolution, a mask of 9x9",
    3840,
    2160,
    false,
    "sepconv",
    "preset=gaussian preset-size=9",
    1.0,
    rungs,
    N(rungs),
    open_ladder,
    close_ladder,
};
