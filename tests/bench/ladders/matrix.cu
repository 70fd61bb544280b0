/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Ladder "matrix": the picture, as a matrix of its bytes, times a matrix of weights. A filter along
 * rows is such a product: column x of the weights has the taps of output x, here those of a
 * binomial filter, and zeros. All rungs multiply the zeros too; the production kernel, which also
 * multiplies matrices, only those in small tiles along the diagonal.
 */
#include <cuda_fp16.h>
#include <mma.h>

#include "ladder.cuh"

#define TAPS 9

/* Outputs of a block along one side, up to the rung in registers; the depth of a step as well. */
#define TILE 32

/* The same of the last two rungs, and the outputs of a thread of the rung in registers. */
#define LARGE_TILE 64
#define DEPTH      16
#define EACH       4

typedef struct {
  int size;       /* of the weights: the picture's width */
  float *weights; /* row k: what sample k of a row gives to each output */
  __half *halves; /* the same; multiples of 1/256, which are exact */
} State;

/* ---- Device code ---- */

static __device__ float sample(const CfLadderFrame &frame, int x, int y)
{
  return x < frame.width && y < frame.height ? frame.source[y * frame.source_stride + x] : 0.0f;
}

static __device__ void store(const CfLadderFrame &frame, int x, int y, float sum)
{
  if (x < frame.width && y < frame.height)
    frame.destination[y * frame.destination_stride + x] = to_code(sum);
}

template <bool coalesced> static __global__ void multiply(CfLadderFrame frame, const float *weights)
{
  const int across = coalesced ? threadIdx.x : threadIdx.y;
  const int down = coalesced ? threadIdx.y : threadIdx.x;
  const int x = blockIdx.x * TILE + across, y = blockIdx.y * TILE + down;
  float sum = 0.0f;

  if (x >= frame.width || y >= frame.height)
    return;
  for (int k = 0; k < frame.width; k++)
    sum += frame.source[y * frame.source_stride + k] * weights[(size_t)k * frame.width + x];
  store(frame, x, y, sum);
}

/* The tile of weights lies transposed: a warp reads down a column, whose elements are `pitch` apart
 * and with a pitch of 32 all in one bank. */
template <int pitch>
static __global__ void multiply_tiles(CfLadderFrame frame, const float *weights)
{
  const int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
  __shared__ float samples[TILE][TILE], transposed[TILE][pitch];
  float sum = 0.0f;

  for (int first = 0; first < frame.width; first += TILE) {
    const int k = first + threadIdx.y;

    samples[threadIdx.y][threadIdx.x] = sample(frame, first + threadIdx.x, y);
    transposed[threadIdx.x][threadIdx.y] =
        k < frame.width && x < frame.width ? weights[(size_t)k * frame.width + x] : 0.0f;
    __syncthreads();
    for (int i = 0; i < TILE; i++)
      sum += samples[threadIdx.y][i] * transposed[threadIdx.x][i];
    __syncthreads();
  }
  store(frame, x, y, sum);
}

/* 16x16 threads with 4x4 outputs each. The bounds keep the sums in registers. */
static __global__ void __launch_bounds__(256, 2)
    multiply_registers(CfLadderFrame frame, const float *weights)
{
  const int left = blockIdx.x * LARGE_TILE, top = blockIdx.y * LARGE_TILE;
  const int thread = threadIdx.y * 16 + threadIdx.x;
  __shared__ float samples[DEPTH][LARGE_TILE + 1], factors[DEPTH][LARGE_TILE];
  float sums[EACH][EACH] = {};

  for (int first = 0; first < frame.width; first += DEPTH) {
    for (int i = thread; i < DEPTH * LARGE_TILE; i += 256) {
      const int k = first + i / LARGE_TILE, x = left + i % LARGE_TILE;

      samples[i % DEPTH][i / DEPTH] = sample(frame, first + i % DEPTH, top + i / DEPTH);
      factors[i / LARGE_TILE][i % LARGE_TILE] =
          k < frame.width && x < frame.width ? weights[(size_t)k * frame.width + x] : 0.0f;
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < DEPTH; k++)
#pragma unroll
      for (int j = 0; j < EACH; j++)
#pragma unroll
        for (int i = 0; i < EACH; i++)
          sums[j][i] += samples[k][threadIdx.y + 16 * j] * factors[k][threadIdx.x + 16 * i];
    __syncthreads();
  }
  for (int j = 0; j < EACH; j++)
    for (int i = 0; i < EACH; i++)
      store(frame, left + threadIdx.x + 16 * i, top + threadIdx.y + 16 * j, sums[j][i]);
}

/* Four warps, each with 32x32 of the 64x64 outputs of a block as 2x2 products of 16x16. */
static __global__ void __launch_bounds__(128)
    multiply_tensor(CfLadderFrame frame, const __half *weights)
{
  using namespace nvcuda::wmma;
  const int left = blockIdx.x * LARGE_TILE, top = blockIdx.y * LARGE_TILE;
  const int warp_x = threadIdx.x / 32 % 2 * 32, warp_y = threadIdx.x / 64 * 32;
  __shared__ __align__(32) __half samples[LARGE_TILE][DEPTH + 8];
  __shared__ __align__(32) __half factors[DEPTH][LARGE_TILE + 8];
  __shared__ __align__(32) float results[LARGE_TILE][LARGE_TILE + 4];
  fragment<accumulator, 16, 16, 16, float> sums[2][2];
  fragment<matrix_a, 16, 16, 16, __half, row_major> a;
  fragment<matrix_b, 16, 16, 16, __half, row_major> b;

  for (int i = 0; i < 4; i++)
    fill_fragment(sums[i / 2][i % 2], 0.0f);
  for (int first = 0; first < frame.width; first += DEPTH) {
    for (int i = threadIdx.x; i < DEPTH * LARGE_TILE; i += 128) {
      const int k = first + i / LARGE_TILE, x = left + i % LARGE_TILE;

      samples[i / DEPTH][i % DEPTH] =
          __float2half(sample(frame, first + i % DEPTH, top + i / DEPTH));
      factors[i / LARGE_TILE][i % LARGE_TILE] = k < frame.width && x < frame.width
                                                    ? weights[(size_t)k * frame.width + x]
                                                    : __float2half(0.0f);
    }
    __syncthreads();
    for (int i = 0; i < 4; i++) {
      load_matrix_sync(a, &samples[warp_y + i / 2 * 16][0], DEPTH + 8);
      load_matrix_sync(b, &factors[0][warp_x + i % 2 * 16], LARGE_TILE + 8);
      mma_sync(sums[i / 2][i % 2], a, b, sums[i / 2][i % 2]);
    }
    __syncthreads();
  }
  for (int i = 0; i < 4; i++)
    store_matrix_sync(&results[warp_y + i / 2 * 16][warp_x + i % 2 * 16], sums[i / 2][i % 2],
                      LARGE_TILE + 4, mem_row_major);
  __syncthreads();
  for (int i = threadIdx.x; i < LARGE_TILE * LARGE_TILE; i += 128)
    store(frame, left + i % LARGE_TILE, top + i / LARGE_TILE,
          results[i / LARGE_TILE][i % LARGE_TILE]);
}

/* ---- Rungs ---- */

static dim3 grid_of(const CfLadderFrame *frame, int tile)
{
  return dim3(pieces(frame->width, tile), pieces(frame->height, tile));
}

template <bool coalesced> static int run_plain(void *state, const CfLadderFrame *frame)
{
  multiply<coalesced><<<grid_of(frame, TILE), dim3(TILE, TILE), 0, (cudaStream_t)frame->stream>>>(
      *frame, ((State *)state)->weights);
  return cudaGetLastError();
}

template <int pitch> static int run_tiles(void *state, const CfLadderFrame *frame)
{
  multiply_tiles<pitch><<<grid_of(frame, TILE), dim3(TILE, TILE), 0, (cudaStream_t)frame->stream>>>(
      *frame, ((State *)state)->weights);
  return cudaGetLastError();
}

static int run_registers(void *state, const CfLadderFrame *frame)
{
  multiply_registers<<<grid_of(frame, LARGE_TILE), dim3(16, 16), 0, (cudaStream_t)frame->stream>>>(
      *frame, ((State *)state)->weights);
  return cudaGetLastError();
}

static int run_tensor(void *state, const CfLadderFrame *frame)
{
  multiply_tensor<<<grid_of(frame, LARGE_TILE), 128, 0, (cudaStream_t)frame->stream>>>(
      *frame, ((State *)state)->halves);
  return cudaGetLastError();
}

static const CfRung rungs[] = {
    {"down the columns", "Neighbouring threads on different rows: no two of their loads coalesce.",
     0, run_plain<false>},
    {"coalesced", "Neighbouring threads on neighbouring columns.", 0, run_plain<true>},
    {"bank conflicts", "Tiles in shared memory, read down a column: 32 threads wait for one bank.",
     0, run_tiles<TILE>},
    {"padded tile", "One column more, and the same reads go to 32 banks.", 0, run_tiles<TILE + 1>},
    {"registers",
     "Sixteen outputs a thread: eight reads for sixteen products; launch bounds keep occupancy.", 0,
     run_registers},
    {"tensor cores", "Products of 16x16 halves with sums in single precision, a warp at a time.", 0,
     run_tensor},
};

/* ---- Weights ---- */

static void make_weights(float *weights, int size)
{
  static const float binomial[TAPS] = {1, 8, 28, 56, 70, 56, 28, 8, 1};

  for (int x = 0; x < size; x++) {
    for (int i = 0; i < TAPS; i++) {
      const int position = x + i - TAPS / 2;
      const int k = position < 0 ? 0 : position >= size ? size - 1 : position;

      weights[(size_t)k * size + x] += binomial[i] / 256.0f;
    }
  }
}

static int upload(State *state, const float *weights, __half *halves)
{
  const size_t count = (size_t)state->size * state->size;

  for (size_t i = 0; i < count; i++)
    halves[i] = __float2half(weights[i]);
  TRY(cudaMalloc(&state->weights, count * sizeof *weights));
  TRY(cudaMalloc(&state->halves, count * sizeof *halves));
  TRY(cudaMemcpy(state->weights, weights, count * sizeof *weights, cudaMemcpyHostToDevice));
  return cudaMemcpy(state->halves, halves, count * sizeof *halves, cudaMemcpyHostToDevice);
}

static int open_ladder(int width, int height, void **opaque)
{
  State *state = (State *)calloc(1, sizeof *state);
  float *weights = (float *)calloc((size_t)width * width, sizeof *weights);
  __half *halves = (__half *)calloc((size_t)width * width, sizeof *halves);
  int error = cudaErrorMemoryAllocation;

  *opaque = state;
  if (state && weights && halves) {
    state->size = width;
    make_weights(weights, width);
    error = upload(state, weights, halves);
  }
  free(weights);
  free(halves);
  return error;
}

static void close_ladder(void *opaque)
{
  State *state = (State *)opaque;

  if (state) {
    cudaFree(state->weights);
    cudaFree(state->halves);
  }
  free(state);
}

const CfLadder cf_ladder_matrix = {
    "matrix",
    "Matrix product, 2048x2048 times 2048x2048",
    2048,
    2048,
    false,
    "sepconv",
    "row-kernel=<1,8,28,56,70,56,28,8,1> column-kernel=<1> normalize=true",
    0.0,
    rungs,
    N(rungs),
    open_ladder,
    close_ladder,
};
