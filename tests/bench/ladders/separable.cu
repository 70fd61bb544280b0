/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Ladder "separable": a Gaussian of 65x65 taps (a radius of 32), which is a filter of 65 taps along
 * rows and one along columns.
 */
#include "ladder.cuh"

#define TAPS   65
#define RADIUS (TAPS / 2)

/* Outputs of a block, and along the filter of a thread of the last rung. */
#define TILE_LONG  128
#define TILE_SHORT 8
#define TILE_ROWS  64
#define TILE_WIDTH 32
#define RUN        8

typedef struct {
  void *middle;    /* between the passes; rows without gaps */
  uint8_t *padded; /* the picture with RADIUS pixels more on all sides */
} State;

static __device__ double taps_double[TAPS];
static __device__ float taps_global[TAPS];
static __constant__ float taps_constant[TAPS];

static __global__ void filter_2d(CfLadderFrame frame)
{
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  float sum = 0.0f;

  if (x >= frame.width || y >= frame.height)
    return;
  for (int j = 0; j < TAPS; j++) {
    const uint8_t *row = frame.source + inside(y + j - RADIUS, frame.height) * frame.source_stride;

    for (int i = 0; i < TAPS; i++)
      sum += taps_global[j] * taps_global[i] * row[inside(x + i - RADIUS, frame.width)];
  }
  frame.destination[y * frame.destination_stride + x] = to_code(sum);
}

template <typename Real> static __device__ Real tap(int i)
{
  return sizeof(Real) == sizeof(double) ? (Real)taps_double[i] : (Real)taps_global[i];
}

template <typename Real> static __global__ void filter_rows(CfLadderFrame frame, Real *middle)
{
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  const uint8_t *row = frame.source + y * frame.source_stride;
  Real sum = 0;

  if (x >= frame.width || y >= frame.height)
    return;
  for (int i = 0; i < TAPS; i++)
    sum += tap<Real>(i) * row[inside(x + i - RADIUS, frame.width)];
  middle[(size_t)y * frame.width + x] = sum;
}

template <typename Real>
static __global__ void filter_columns(CfLadderFrame frame, const Real *middle)
{
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  Real sum = 0;

  if (x >= frame.width || y >= frame.height)
    return;
  for (int i = 0; i < TAPS; i++)
    sum += tap<Real>(i) * middle[(size_t)inside(y + i - RADIUS, frame.height) * frame.width + x];
  frame.destination[y * frame.destination_stride + x] = to_code((float)sum);
}

/* ---- A picture with a margin ---- */

static __global__ void pad(CfLadderFrame frame, uint8_t *padded)
{
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  const int width = frame.width + 2 * RADIUS;

  if (x < width && y < frame.height + 2 * RADIUS)
    padded[(size_t)y * width + x] =
        frame.source[inside(y - RADIUS, frame.height) * frame.source_stride +
                     inside(x - RADIUS, frame.width)];
}

template <bool constant>
static __global__ void filter_padded_rows(CfLadderFrame frame, const uint8_t *padded, float *middle)
{
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  const uint8_t *row = padded + (size_t)y * (frame.width + 2 * RADIUS);
  float sum = 0.0f;

  if (x >= frame.width || y >= frame.height + 2 * RADIUS)
    return;
  for (int i = 0; i < TAPS; i++)
    sum += (constant ? taps_constant : taps_global)[i] * row[x + i];
  middle[(size_t)y * frame.width + x] = sum;
}

template <bool constant>
static __global__ void filter_padded_columns(CfLadderFrame frame, const float *middle)
{
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  float sum = 0.0f;

  if (x >= frame.width || y >= frame.height)
    return;
  for (int i = 0; i < TAPS; i++)
    sum += (constant ? taps_constant : taps_global)[i] * middle[(size_t)(y + i) * frame.width + x];
  frame.destination[y * frame.destination_stride + x] = to_code(sum);
}

/* ---- Tiles in shared memory ---- */

/* Where value `i` of a row lies: a gap after each run, so that threads whose runs follow each other
 * read from different banks. */
template <int run> static __host__ __device__ int with_gaps(int i)
{
  return run > 1 ? i + i / run : i;
}

/* `run` neighbours along the filter, each value read once for all of them. Columns have a `step`,
 * rows have gaps in place of it. */
template <int run, int step> static __device__ void filter_run(const float *values, float *sums)
{
#pragma unroll
  for (int i = 0; i < TAPS + run - 1; i++) {
    const float value = values[step ? i * step : with_gaps<run>(i)];

#pragma unroll
    for (int k = 0; k < run; k++)
      if (i >= k && i < TAPS + k)
        sums[k] += taps_constant[i - k] * value;
  }
}

template <int run> static __global__ void filter_tile_rows(CfLadderFrame frame, float *middle)
{
  const int left = blockIdx.x * TILE_LONG, y = blockIdx.y * TILE_SHORT + threadIdx.y;
  extern __shared__ float tile[]; /* TILE_SHORT rows of TILE_LONG + TAPS - 1, with gaps */
  float *row = tile + threadIdx.y * with_gaps<run>(TILE_LONG + TAPS - 1);

  for (int i = threadIdx.x; i < TILE_LONG + TAPS - 1; i += blockDim.x)
    row[with_gaps<run>(i)] = frame.source[inside(y, frame.height) * frame.source_stride +
                                          inside(left + i - RADIUS, frame.width)];
  __syncthreads();

  float sums[run] = {};
  filter_run<run, 0>(row + with_gaps<run>(threadIdx.x * run), sums);
  for (int k = 0; k < run; k++) {
    const int x = left + threadIdx.x * run + k;

    if (x < frame.width && y < frame.height)
      middle[(size_t)y * frame.width + x] = sums[k];
  }
}

template <int run>
static __global__ void filter_tile_columns(CfLadderFrame frame, const float *middle)
{
  const int x = blockIdx.x * TILE_WIDTH + threadIdx.x, top = blockIdx.y * TILE_ROWS;
  extern __shared__ float tile[]; /* TILE_ROWS + TAPS - 1 rows of TILE_WIDTH */

  for (int i = threadIdx.y; i < TILE_ROWS + TAPS - 1; i += blockDim.y)
    tile[i * TILE_WIDTH + threadIdx.x] =
        middle[(size_t)inside(top + i - RADIUS, frame.height) * frame.width +
               inside(x, frame.width)];
  __syncthreads();

  for (int first = threadIdx.y * run; first < TILE_ROWS; first += blockDim.y * run) {
    float sums[run] = {};

    filter_run<run, TILE_WIDTH>(tile + first * TILE_WIDTH + threadIdx.x, sums);
    for (int k = 0; k < run; k++) {
      const int y = top + first + k;

      if (x < frame.width && y < frame.height)
        frame.destination[y * frame.destination_stride + x] = to_code(sums[k]);
    }
  }
}

/* ---- Rungs ---- */

static const dim3 block(32, 8);

static dim3 grid(int width, int height)
{
  return dim3(pieces(width, 32), pieces(height, 8));
}

static int run_2d(void *state, const CfLadderFrame *frame)
{
  filter_2d<<<grid(frame->width, frame->height), block, 0, (cudaStream_t)frame->stream>>>(*frame);
  return cudaGetLastError();
}

template <typename Real> static int run_passes(void *opaque, const CfLadderFrame *frame)
{
  const State *state = (State *)opaque;
  Real *middle = (Real *)state->middle;
  const dim3 blocks = grid(frame->width, frame->height);
  const cudaStream_t stream = (cudaStream_t)frame->stream;

  filter_rows<Real><<<blocks, block, 0, stream>>>(*frame, middle);
  filter_columns<Real><<<blocks, block, 0, stream>>>(*frame, middle);
  return cudaGetLastError();
}

template <bool constant> static int run_padded(void *opaque, const CfLadderFrame *frame)
{
  const State *state = (State *)opaque;
  const int width = frame->width, height = frame->height;
  const cudaStream_t stream = (cudaStream_t)frame->stream;

  pad<<<grid(width + 2 * RADIUS, height + 2 * RADIUS), block, 0, stream>>>(*frame, state->padded);
  filter_padded_rows<constant><<<grid(width, height + 2 * RADIUS), block, 0, stream>>>(
      *frame, state->padded, (float *)state->middle);
  filter_padded_columns<constant>
      <<<grid(width, height), block, 0, stream>>>(*frame, (float *)state->middle);
  return cudaGetLastError();
}

template <int run> static int run_tiled(void *opaque, const CfLadderFrame *frame)
{
  const State *state = (State *)opaque;
  const cudaStream_t stream = (cudaStream_t)frame->stream;
  const dim3 row_blocks(pieces(frame->width, TILE_LONG), pieces(frame->height, TILE_SHORT));
  const dim3 column_blocks(pieces(frame->width, TILE_WIDTH), pieces(frame->height, TILE_ROWS));
  const size_t row_bytes = TILE_SHORT * with_gaps<run>(TILE_LONG + TAPS - 1) * sizeof(float);
  const size_t column_bytes = (TILE_ROWS + TAPS - 1) * TILE_WIDTH * sizeof(float);

  filter_tile_rows<run><<<row_blocks, dim3(TILE_LONG / run, TILE_SHORT), row_bytes, stream>>>(
      *frame, (float *)state->middle);
  filter_tile_columns<run><<<column_blocks, dim3(TILE_WIDTH, 8), column_bytes, stream>>>(
      *frame, (float *)state->middle);
  return cudaGetLastError();
}

static const CfRung rungs[] = {
    {"one pass", "All 4225 products of each pixel: the price of not separating.", 0, run_2d},
    {"double", "Two passes of 65 products, in double precision.", 0, run_passes<double>},
    {"single", "Half the bytes between the passes; many times the arithmetic on desktop GPUs.", 0,
     run_passes<float>},
    {"padded", "A margin around the picture takes the borders out of the loops.", 0,
     run_padded<false>},
    {"constant", "All threads read the same tap at once: constant memory serves a warp in one go.",
     0, run_padded<true>},
    {"tiled", "A tile and its margin in shared memory: every sample is fetched once a block.", 0,
     run_tiled<1>},
    {"registers", "Eight neighbours a thread: each value is read once for eight sums.", 0,
     run_tiled<RUN>},
};

static int open_ladder(int width, int height, void **opaque)
{
  State *state = (State *)calloc(1, sizeof(State));
  double taps[TAPS];
  float single[TAPS];

  *opaque = state;
  if (!state)
    return cudaErrorMemoryAllocation;
  gaussian_taps(TAPS, taps);
  for (int i = 0; i < TAPS; i++)
    single[i] = (float)taps[i];
  TRY(cudaMalloc(&state->middle, (size_t)width * (height + 2 * RADIUS) * sizeof(double)));
  TRY(cudaMalloc(&state->padded, (size_t)(width + 2 * RADIUS) * (height + 2 * RADIUS)));
  TRY(cudaMemcpyToSymbol(taps_double, taps, sizeof taps));
  TRY(cudaMemcpyToSymbol(taps_global, single, sizeof single));
  return cudaMemcpyToSymbol(taps_constant, single, sizeof single);
}

static void close_ladder(void *opaque)
{
  State *state = (State *)opaque;

  if (state) {
    cudaFree(state->middle);
    cudaFree(state->padded);
  }
  free(state);
}

const CfLadder cf_ladder_separable = {
    "separable",
    "Separable convolution, 65 taps",
    3840,
    2160,
    false,
    "sepconv",
    "preset=gaussian preset-size=65",
    1.0,
    rungs,
    N(rungs),
    open_ladder,
    close_ladder,
};
