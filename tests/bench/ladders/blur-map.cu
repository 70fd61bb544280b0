/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Ladder "blur-map": a map of the picture's size says with which of 255 Gaussian filters of 7x7
 * taps each pixel is blurred; 0 copies it. Here it is a soft circle, 255 in the middle, 0 from a
 * third of the width on. Filter n has a sigma of 0.75 n / 255, of which 7 taps hold all.
 */
#include "ladder.cuh"

#define RADIUS        3
#define SIDE          (2 * RADIUS + 1)
#define FILTERS       256
#define LARGEST_SIGMA 0.75f

/* Consecutive pixels that a thread takes, or that it takes of a block's interval. */
#define PIXELS_A_THREAD 16

typedef struct {
  uint8_t *map; /* on the device, rows without gaps */
} State;

static __device__ float filters_global[FILTERS][SIDE * SIDE];
static __constant__ float filters_constant[FILTERS][SIDE * SIDE];

/* ---- Device code ---- */

static __device__ float weighted_sum(const float *filter, CfLadderFrame frame, int x, int y)
{
  float sum = 0.0f;

  for (int j = -RADIUS; j <= RADIUS; j++) {
    const uint8_t *row = frame.source + inside(y + j, frame.height) * frame.source_stride;

    for (int i = -RADIUS; i <= RADIUS; i++)
      sum += *filter++ * row[inside(x + i, frame.width)];
  }
  return sum;
}

/* A row a thread; every weight is computed where it is needed, in double precision. */
static __global__ void blur_rows(CfLadderFrame frame, const uint8_t *map)
{
  const int y = blockIdx.x * blockDim.x + threadIdx.x;

  if (y >= frame.height)
    return;
  for (int x = 0; x < frame.width; x++) {
    const double sigma = (double)LARGEST_SIGMA * map[(size_t)y * frame.width + x] / 255.0;
    double sum = 0.0, weights = 0.0;

    for (int j = -RADIUS; j <= RADIUS; j++) {
      for (int i = -RADIUS; i <= RADIUS; i++) {
        const double weight = i == 0 && j == 0 ? 1.0
                              : sigma == 0.0   ? 0.0
                                               : exp(-0.5 * (i * i + j * j) / (sigma * sigma));

        sum += weight * frame.source[inside(y + j, frame.height) * frame.source_stride +
                                     inside(x + i, frame.width)];
        weights += weight;
      }
    }
    frame.destination[y * frame.destination_stride + x] = to_code((float)(sum / weights));
  }
}

/* One pixel, its weights computed in single precision. */
static __device__ void blur_computed(CfLadderFrame frame, int n, int x, int y)
{
  const float sigma = LARGEST_SIGMA * n / 255.0f;
  const float slope = n ? -0.5f / (sigma * sigma) : 0.0f;
  float sum = 0.0f, weights = 0.0f;

  for (int j = -RADIUS; j <= RADIUS; j++) {
    for (int i = -RADIUS; i <= RADIUS; i++) {
      const float weight = i == 0 && j == 0 ? 1.0f : n ? __expf(slope * (i * i + j * j)) : 0.0f;

      sum += weight * frame.source[inside(y + j, frame.height) * frame.source_stride +
                                   inside(x + i, frame.width)];
      weights += weight;
    }
  }
  frame.destination[y * frame.destination_stride + x] = to_code(sum / weights);
}

static __device__ void blur_looked_up(const float (*filters)[SIDE * SIDE], CfLadderFrame frame,
                                      int n, int x, int y)
{
  frame.destination[y * frame.destination_stride + x] =
      n ? to_code(weighted_sum(filters[n], frame, x, y))
        : frame.source[y * frame.source_stride + x];
}

enum Weights { COMPUTED, GLOBAL, CONSTANT };

/* Pixels `first`, `first` + `step`, ... of the picture, row by row. */
template <Weights weights>
static __device__ void blur_pixels(CfLadderFrame frame, const uint8_t *map, int first, int step)
{
  for (int i = 0; i < PIXELS_A_THREAD; i++) {
    const int pixel = first + i * step;

    if (pixel >= frame.width * frame.height)
      return;
    const int x = pixel % frame.width, y = pixel / frame.width, n = map[pixel];
    if (weights == COMPUTED)
      blur_computed(frame, n, x, y);
    else
      blur_looked_up(weights == GLOBAL ? filters_global : filters_constant, frame, n, x, y);
  }
}

template <Weights weights>
static __global__ void blur_consecutive(CfLadderFrame frame, const uint8_t *map)
{
  const int thread = blockIdx.x * blockDim.x + threadIdx.x;

  blur_pixels<weights>(frame, map, thread * PIXELS_A_THREAD, 1);
}

template <Weights weights>
static __global__ void blur_interleaved(CfLadderFrame frame, const uint8_t *map)
{
  blur_pixels<weights>(frame, map, blockIdx.x * blockDim.x * PIXELS_A_THREAD + threadIdx.x,
                       blockDim.x);
}

/* ---- Rungs ---- */

typedef void (*Kernel)(CfLadderFrame frame, const uint8_t *map);

static int launch(Kernel kernel, const State *state, const CfLadderFrame *frame, int items,
                  int threads)
{
  kernel<<<pieces(items, threads), threads, 0, (cudaStream_t)frame->stream>>>(*frame, state->map);
  return cudaGetLastError();
}

static int run_v1(void *state, const CfLadderFrame *frame)
{
  return launch(blur_rows, (State *)state, frame, frame->height, 32);
}

template <Weights weights> static int run_consecutive(void *state, const CfLadderFrame *frame)
{
  const int items = pieces(frame->width * frame->height, PIXELS_A_THREAD);

  return launch(blur_consecutive<weights>, (State *)state, frame, items, 32);
}

template <Weights weights> static int run_interleaved(void *state, const CfLadderFrame *frame)
{
  const int items = pieces(frame->width * frame->height, PIXELS_A_THREAD);

  return launch(blur_interleaved<weights>, (State *)state, frame, items, 256);
}

static const CfRung rungs[] = {
    {"V1 rows", "A GPU needs more threads than a picture has rows, and no weight twice.", 0,
     run_v1},
    {"V2 pixels", "Many threads, single precision and the fast exponential.", 0,
     run_consecutive<COMPUTED>},
    {"V3 table", "All 255 filters are computed once and looked up in global memory.", 0,
     run_consecutive<GLOBAL>},
    {"V4 constant",
     "Constant memory serves one address at a time: a warp with 32 filters waits 32 times.", 0,
     run_consecutive<CONSTANT>},
    {"V5 interleaved",
     "Neighbouring threads on neighbouring pixels: loads coalesce, and filters differ less.", 0,
     run_interleaved<CONSTANT>},
    {"V6 interleaved table", "The same with the table of V3, which the L1 cache holds.", 0,
     run_interleaved<GLOBAL>},
};

/* ---- Filters and map ---- */

static void make_filters(float filters[FILTERS][SIDE * SIDE])
{
  for (int n = 1; n < FILTERS; n++) {
    const double sigma = (double)LARGEST_SIGMA * n / 255.0;
    double sum = 0.0;

    for (int i = -RADIUS; i <= RADIUS; i++)
      sum += exp(-0.5 * i * i / (sigma * sigma));
    for (int k = 0; k < SIDE * SIDE; k++) {
      const int i = k % SIDE - RADIUS, j = k / SIDE - RADIUS;

      filters[n][k] = (float)(exp(-0.5 * (i * i + j * j) / (sigma * sigma)) / (sum * sum));
    }
  }
}

static void make_map(uint8_t *map, int width, int height)
{
  for (int y = 0; y < height; y++) {
    for (int x = 0; x < width; x++) {
      const double distance = hypot(x + 0.5 - 0.5 * width, y + 0.5 - 0.5 * height);

      map[(size_t)y * width + x] =
          (uint8_t)(255.0 * fmax(1.0 - distance / (width / 3.0), 0.0) + 0.5);
    }
  }
}

static int upload(State *state, const uint8_t *map, size_t bytes)
{
  static float filters[FILTERS][SIDE * SIDE];

  make_filters(filters);
  TRY(cudaMalloc(&state->map, bytes));
  TRY(cudaMemcpy(state->map, map, bytes, cudaMemcpyHostToDevice));
  TRY(cudaMemcpyToSymbol(filters_global, filters, sizeof filters));
  return cudaMemcpyToSymbol(filters_constant, filters, sizeof filters);
}

static int open_ladder(int width, int height, void **opaque)
{
  const size_t bytes = (size_t)width * height;
  uint8_t *map = (uint8_t *)malloc(bytes);
  State *state = (State *)calloc(1, sizeof *state);
  int error = cudaErrorMemoryAllocation;

  *opaque = state;
  if (map && state) {
    make_map(map, width, height);
    error = upload(state, map, bytes);
  }
  free(map);
  return error;
}

static void close_ladder(void *opaque)
{
  State *state = (State *)opaque;

  if (state)
    cudaFree(state->map);
  free(state);
}

const CfLadder cf_ladder_blur_map = {
    "blur-map",
    "Blur by map, 7x7",
    1440,
    2160,
    false,
    "gaussblur",
    "map-mode=radial sigma=0.75 map-inner=0 map-outer=0.33333333 map-invert=true",
    1.0,
    rungs,
    N(rungs),
    open_ladder,
    close_ladder,
};
