/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Ladder "bands": pictures in host memory through a GPU and back, whole or in bands of rows, which
 * take little of the device's memory and let copies and kernels overlap. The filter is a Gaussian
 * of 33x33 taps in two simple passes; it is the way there that the rungs are about.
 */
#include "ladder.cuh"
#include "lock.h"

#define TAPS         33
#define RADIUS       (TAPS / 2)
#define BAND_ROWS    256
#define MOST_STREAMS 4

typedef struct {
  cudaStream_t stream;
  uint8_t *source, *destination; /* rows without gaps */
  float *middle;
} Slot;

typedef struct {
  Slot whole;              /* room for a picture, on the first stream */
  Slot slot[MOST_STREAMS]; /* room for a band and the rows around it */
  CfLocked locked;
} State;

static __constant__ float taps_constant[TAPS];

/* ---- The filter ---- */

static __global__ void filter_rows(const uint8_t *source, float *middle, int width, int rows)
{
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  float sum = 0.0f;

  if (x >= width || y >= rows)
    return;
  for (int i = 0; i < TAPS; i++)
    sum += taps_constant[i] * source[(size_t)y * width + inside(x + i - RADIUS, width)];
  middle[(size_t)y * width + x] = sum;
}

/* Of `rows` rows in `middle`, those from `first` to `first` + `count` - 1. */
static __global__ void filter_columns(const float *middle, uint8_t *destination, int width,
                                      int rows, int first, int count)
{
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  float sum = 0.0f;

  if (x >= width || y >= count)
    return;
  for (int i = 0; i < TAPS; i++)
    sum += taps_constant[i] * middle[(size_t)inside(first + y + i - RADIUS, rows) * width + x];
  destination[(size_t)y * width + x] = to_code(sum);
}

/* Enqueues `count` rows from `top` on: up, through the filter, and down again. */
static int send(const Slot *slot, const CfLadderFrame *frame, int top, int count)
{
  const int first = top < RADIUS ? 0 : top - RADIUS;
  const int last = top + count + RADIUS > frame->height ? frame->height : top + count + RADIUS;
  const int width = frame->width, rows = last - first;
  const dim3 block(32, 8), blocks(pieces(width, 32), pieces(rows, 8));

  TRY(cudaMemcpy2DAsync(slot->source, width, frame->source + first * frame->source_stride,
                        frame->source_stride, width, rows, cudaMemcpyHostToDevice, slot->stream));
  filter_rows<<<blocks, block, 0, slot->stream>>>(slot->source, slot->middle, width, rows);
  filter_columns<<<blocks, block, 0, slot->stream>>>(slot->middle, slot->destination, width, rows,
                                                     top - first, count);
  TRY(cudaGetLastError());
  return cudaMemcpy2DAsync(frame->destination + top * frame->destination_stride,
                           frame->destination_stride, slot->destination, width, width, count,
                           cudaMemcpyDeviceToHost, slot->stream);
}

/* ---- Rungs ---- */

static int run_whole(void *opaque, const CfLadderFrame *frame)
{
  const State *state = (State *)opaque;

  TRY((cudaError_t)send(&state->whole, frame, 0, frame->height));
  return cudaStreamSynchronize(state->whole.stream);
}

static int run_locked(void *state, const CfLadderFrame *frame)
{
  TRY((cudaError_t)cf_lock_frame(&((State *)state)->locked, frame));
  return run_whole(state, frame);
}

template <int streams> static int run_bands(void *opaque, const CfLadderFrame *frame)
{
  State *state = (State *)opaque;

  TRY((cudaError_t)cf_lock_frame(&state->locked, frame));
  for (int top = 0, i = 0; top < frame->height; top += BAND_ROWS, i = (i + 1) % streams) {
    const int left = frame->height - top;

    TRY((cudaError_t)send(&state->slot[i], frame, top, left < BAND_ROWS ? left : BAND_ROWS));
  }
  for (int i = 0; i < streams; i++)
    TRY(cudaStreamSynchronize(state->slot[i].stream));
  return cudaSuccess;
}

static const CfRung rungs[] = {
    {"pageable", "The driver copies pageable memory to a buffer of its own first.", 0, run_whole},
    {"page-locked", "The device fetches page-locked memory by itself, at the speed of the bus.", 0,
     run_locked},
    {"bands", "Bands of 256 rows need little device memory; one after another they take longer.", 0,
     run_bands<1>},
    {"two streams", "While one band is filtered, another is on the bus.", 0, run_bands<2>},
    {"four streams", "Both directions of the bus and the kernels are busy all the time.", 0,
     run_bands<4>},
};

static int open_slot(Slot *slot, int width, int rows)
{
  TRY(cudaMalloc(&slot->source, (size_t)width * rows));
  TRY(cudaMalloc(&slot->destination, (size_t)width * rows));
  TRY(cudaMalloc(&slot->middle, (size_t)width * rows * sizeof *slot->middle));
  return cudaStreamCreate(&slot->stream);
}

static int open_state(State *state, int width, int height)
{
  double taps[TAPS];
  float single[TAPS];

  gaussian_taps(TAPS, taps);
  for (int i = 0; i < TAPS; i++)
    single[i] = (float)taps[i];
  TRY(cudaMemcpyToSymbol(taps_constant, single, sizeof single));
  TRY((cudaError_t)open_slot(&state->whole, width, height));
  for (int i = 0; i < MOST_STREAMS; i++)
    TRY((cudaError_t)open_slot(&state->slot[i], width, BAND_ROWS + 2 * RADIUS));
  return cudaSuccess;
}

static int open_ladder(int width, int height, void **state)
{
  *state = calloc(1, sizeof(State));
  return *state ? open_state((State *)*state, width, height) : (int)cudaErrorMemoryAllocation;
}

static void close_slot(const Slot *slot)
{
  cudaFree(slot->source);
  cudaFree(slot->destination);
  cudaFree(slot->middle);
  if (slot->stream)
    cudaStreamDestroy(slot->stream);
}

static void close_ladder(void *opaque)
{
  State *state = (State *)opaque;

  if (!state)
    return;
  close_slot(&state->whole);
  for (int i = 0; i < MOST_STREAMS; i++)
    close_slot(&state->slot[i]);
  cf_locked_clear(&state->locked);
  free(state);
}

const CfLadder cf_ladder_bands = {
    "bands",
    "Host memory, streams and bands",
    7680,
    4320,
    true,
    "sepconv",
    "preset=gaussian preset-size=33",
    1.0,
    rungs,
    N(rungs),
    open_ladder,
    close_ladder,
};
