/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The coarse levels of the local Laplacian filter, down and up again, in the shared memory of one
 * block: they hold a thousandth of the pixels but most of the levels, and cost nothing but the
 * latency of their launches.
 */
#include "llf_device.cuh"

namespace llf
{
namespace
{

constexpr int THREADS = 1024;

/* More pixels are faster in kernels of their own. */
constexpr int MAX_FIRST_PIXELS = 2100;

struct TailLevel {
  int width, height;
  int first; /* index of its first pixel in shared memory */
};

struct Tail {
  int levels, pairs, pixels;
  TailLevel level[CF_LLF_MAX_IMAGES];
  const uint32_t *pair; /* of the first level */
  const float *gauss;
  float *collapsed;
};

size_t shared_bytes(const Tail &tail)
{
  return (size_t)tail.pixels * ((size_t)tail.pairs * sizeof(uint32_t) + 2 * sizeof(float));
}

Tail tail_from(const Pyramid &pyramid, int first)
{
  const Level &finest = pyramid.level[first];
  Tail tail = {};

  tail.levels = pyramid.images - first;
  tail.pairs = 4 * pyramid.groups;
  tail.pair = (const uint32_t *)finest.groups;
  tail.gauss = finest.gauss;
  tail.collapsed = finest.collapsed;
  for (int i = 0; i < tail.levels; i++) {
    const Level &level = pyramid.level[first + i];

    tail.level[i] = TailLevel{level.width, level.height, tail.pixels};
    tail.pixels += level.width * level.height;
  }
  return tail;
}

/* Row of pixel `index`; exact for the few thousand pixels here. */
__device__ __forceinline__ int row_of(int index, float reciprocal_width)
{
  return (int)(((float)index + 0.5f) * reciprocal_width);
}

/* LANES threads share a pixel, one pair each; those beyond the pairs add nothing. */
template <int LANES>
__global__ void __launch_bounds__(THREADS) tail_kernel(Tail tail, Series series)
{
  extern __shared__ uint32_t memory[];
  const int pairs = tail.pairs, pixels = tail.pixels;
  uint32_t *const pair = memory;
  float *const gauss = (float *)(memory + (size_t)pixels * pairs), *const collapsed =
                                                                       gauss + pixels;
  const int lane = threadIdx.x % LANES, thread = threadIdx.x / LANES, step = THREADS / LANES;
  const bool active = lane < pairs;

  await_previous();
  const int first_pixels = tail.level[0].width * tail.level[0].height;
  for (int i = threadIdx.x; i < first_pixels * pairs; i += THREADS)
    pair[i] = tail.pair[i];
  for (int i = threadIdx.x; i < first_pixels; i += THREADS)
    gauss[i] = tail.gauss[i];
  __syncthreads();

  for (int level = 0; level + 1 < tail.levels; level++) {
    const TailLevel fine = tail.level[level], coarse = tail.level[level + 1];
    const float reciprocal = 1.0f / (float)coarse.width;

    for (int i = thread; i < coarse.width * coarse.height; i += step) {
      const int y = row_of(i, reciprocal), x = i - y * coarse.width;
      int column[5];
      float2 rows[5];
      float gauss_rows[5];

#pragma unroll
      for (int k = 0; k < 5; k++)
        column[k] = mirrored(2 * x - 2 + k, fine.width);
#pragma unroll
      for (int k = 0; k < 5; k++) {
        const int from = fine.first + mirrored(2 * y - 2 + k, fine.height) * fine.width;

        if (active) {
          float2 taps[5];
#pragma unroll
          for (int j = 0; j < 5; j++)
            taps[j] = unpack(pair[(from + column[j]) * pairs + lane]);
          rows[k] = reduced(taps[0], taps[1], taps[2], taps[3], taps[4]);
        }
        if (lane == 0)
          gauss_rows[k] =
              reduced(gauss[from + column[0]], gauss[from + column[1]], gauss[from + column[2]],
                      gauss[from + column[3]], gauss[from + column[4]]);
      }
      if (active)
        pair[(coarse.first + i) * pairs + lane] =
            pack(reduced(rows[0], rows[1], rows[2], rows[3], rows[4]));
      if (lane == 0)
        gauss[coarse.first + i] =
            reduced(gauss_rows[0], gauss_rows[1], gauss_rows[2], gauss_rows[3], gauss_rows[4]);
    }
    __syncthreads();
  }

  const TailLevel top = tail.level[tail.levels - 1];
  for (int i = top.first + threadIdx.x; i < pixels; i += THREADS)
    collapsed[i] = -series.linear * gauss[i];
  __syncthreads();

  for (int level = tail.levels - 2; level >= 0; level--) {
    const TailLevel fine = tail.level[level], coarse = tail.level[level + 1];
    const float reciprocal = 1.0f / (float)fine.width;
    const int count = fine.width * fine.height;
    float *const to = level == 0 ? tail.collapsed : collapsed + fine.first;

    /* All threads of a warp go round equally often, for the sums over its lanes. */
    for (int base = 0; base < count; base += step) {
      const int i = min(base + thread, count - 1);
      const int y = row_of(i, reciprocal), x = i - y * fine.width;
      const Neighbours at = neighbours(x >> 1, y >> 1, coarse.width, coarse.height);
      const int phase = (x & 1) + 2 * (y & 1);
      float total = 0.0f;

      if (active) {
        float2 around[3][3], quad[4];
        const float2 own = unpack(pair[(fine.first + i) * pairs + lane]);
        float sine, cosine;

#pragma unroll
        for (int row = 0; row < 3; row++) {
#pragma unroll
          for (int column = 0; column < 3; column++)
            around[row][column] =
                unpack(pair[(coarse.first + (int)at.row[row] + at.column[column]) * pairs + lane]);
        }
        expand_quad(around, quad);
        const float2 expanded = phase == 0   ? quad[0]
                                : phase == 1 ? quad[1]
                                : phase == 2 ? quad[2]
                                             : quad[3];
        sincos_turns((float)(lane + 1) * series.turn * gauss[fine.first + i], &sine, &cosine);
        total = cosine * (own.x - expanded.x) - sine * (own.y - expanded.y);
      }
      if (lane == 0) {
        float quad[4];
        expand_plane(collapsed + coarse.first, at, quad);
        total += phase == 0 ? quad[0] : phase == 1 ? quad[1] : phase == 2 ? quad[2] : quad[3];
      }
#pragma unroll
      for (int distance = 1; distance < LANES; distance *= 2)
        total += __shfl_xor_sync(0xffffffffu, total, distance);
      if (lane == 0 && base + thread < count)
        to[i] = total;
    }
    __syncthreads();
  }
}

typedef void (*TailKernel)(Tail, Series);

TailKernel kernel_for(int pairs)
{
  return pairs <= 4 ? tail_kernel<4> : pairs <= 8 ? tail_kernel<8> : tail_kernel<16>;
}

} // namespace

/* The first level that fits, or the number of images if there is nothing to gain. */
int tail_first_level(const Pyramid &pyramid, int shared_per_block)
{
  for (int first = 1; first < pyramid.images - 1; first++) {
    if (pyramid.level[first].width * pyramid.level[first].height <= MAX_FIRST_PIXELS &&
        shared_bytes(tail_from(pyramid, first)) <= (size_t)shared_per_block)
      return first;
  }
  return pyramid.images;
}

/* The limit belongs to the kernel, not to a state, so it is always the GPU's. */
bool tail_prepare(int shared_per_block, CfStatus *status)
{
  for (const TailKernel kernel : {kernel_for(4), kernel_for(8), kernel_for(16)}) {
    if (!cf_cuda_ok(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                         shared_per_block),
                    "preparing the coarse levels", status))
      return false;
  }
  return true;
}

bool tail(Queue *queue, const Pyramid &pyramid, int first, const Series &series)
{
  const Tail tail = tail_from(pyramid, first);

  return launch(queue, "llf coarse levels", kernel_for(tail.pairs), dim3(1), dim3(THREADS),
                shared_bytes(tail), tail, series);
}

} // namespace llf
