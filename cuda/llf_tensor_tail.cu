/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The coarse levels on tensor cores, down and up again, in one block: they hold a thousandth of the
 * pixels but most of the steps, whose latency is all they cost. So all of them lie in shared
 * memory, and a step is a product or two a warp.
 */
#include "llf_tensor_down.cuh"
#include "llf_tensor_up.cuh"

namespace llf
{
namespace
{

/* Of levels in shared memory; `first` counts pixels. */
struct TailLevel {
  int width, height, first;
};

struct Tail {
  int levels, pixels;
  float top_gain; /* of the last level's Gaussian, in its collapsed image */
  const uint4 *groups;
  const float *gauss;
  float *collapsed;
  TailLevel level[CF_LLF_MAX_IMAGES];
};

/* Four groups need more registers. */
template <int GROUPS> constexpr int TAIL_THREADS = GROUPS == 4 ? 512 : 1024;

/* More pixels are faster in kernels of their own. */
constexpr int MAX_FIRST_PIXELS = 2100;

/* What is in shared memory: components, Gaussians, and terms that become collapsed images. */
template <int GROUPS> struct TailMemory {
  uint8_t *components;
  float *gauss, *terms;

  __device__ TailMemory(uint8_t *memory, int pixels)
      : components(memory),
        gauss(reinterpret_cast<float *>(memory + pixels * GROUPS * GROUP_BYTES)),
        terms(gauss + pixels)
  {
  }

  __device__ static int bytes_of(const TailLevel &level, int x, int y, int group)
  {
    return ((level.first + y * level.width + x) * GROUPS + group) * GROUP_BYTES;
  }

  __device__ uint32_t address(const TailLevel &level, int x, int y, int group) const
  {
    return cf_shared_address(components) + bytes_of(level, x, y, group);
  }

  __device__ uint32_t *words(const TailLevel &level, int x, int y, int group) const
  {
    return reinterpret_cast<uint32_t *>(components + bytes_of(level, x, y, group));
  }
};

int bytes_of(const Tail &tail, int groups)
{
  return tail.pixels * (groups * GROUP_BYTES + 2 * (int)sizeof(float));
}

Tail tail_from(const Pyramid &pyramid, int first)
{
  Tail tail = {};

  tail.levels = pyramid.images - first;
  tail.groups = pyramid.level[first].groups;
  tail.gauss = pyramid.level[first].gauss;
  tail.collapsed = pyramid.level[first].collapsed;
  for (int i = 0; i < tail.levels; i++) {
    const Level &level = pyramid.level[first + i];

    tail.level[i] = TailLevel{level.width, level.height, tail.pixels};
    tail.pixels += level.width * level.height;
  }
  return tail;
}

/* --- steps --- */

template <int GROUPS>
__device__ __forceinline__ void load_first(const Tail &tail, const TailMemory<GROUPS> &memory)
{
  constexpr int WARPS = TAIL_THREADS<GROUPS> / 32;
  const TailLevel &level = tail.level[0];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;

  for (int row = warp; row < level.height; row += WARPS) {
    const int start = row * level.width;

    for (int i = lane; i < level.width * GROUPS; i += 32)
      start_copy(memory.address(level, i / GROUPS, row, i % GROUPS),
                 tail.groups + start * GROUPS + i);
    for (int x = lane; x < level.width; x += 32)
      cf_copy_async_word(cf_shared_address(memory.gauss + start + x), tail.gauss + start + x, 4);
  }
  wait_copies();
}

/* A warp makes 32 pixels of a row; Gaussians are left to the threads with the highest numbers,
 * which have the least to do. */
template <int GROUPS>
__device__ __forceinline__ void reduce_level(const TailMemory<GROUPS> &memory,
                                             const TailLevel &fine, const TailLevel &coarse,
                                             const Band &band)
{
  constexpr int THREADS = TAIL_THREADS<GROUPS>, TOGETHER = GROUPS == 1 ? 1 : 2;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int across = (coarse.width + 31) / 32, rows = coarse.height * (GROUPS / TOGETHER);

  for (int strip = warp; strip < across * rows; strip += THREADS / 32) {
    const int row = strip / across, x = (strip - row * across) * 32;
    const int y = row % coarse.height, group = row / coarse.height * TOGETHER;

    reduce_strip<TOGETHER, 1>(
        [&](int tap, Row<TOGETHER> *filtered) {
          const int fine_y = mirrored(2 * y - 2 + tap, fine.height);
          uint32_t pixels[5][2 * TOGETHER];

#pragma unroll
          for (int j = 0; j < 5; j++) {
            const int fine_x = mirrored(2 * x - 2 + 16 * j + lane % 16, fine.width);

            if constexpr (TOGETHER == 2)
              cf_load_matrix_transposed(pixels[j],
                                        memory.address(fine, fine_x, fine_y, group + lane / 16));
            else
              load_2_transposed(pixels[j], memory.address(fine, fine_x, fine_y, 0));
          }
          band.filter<TOGETHER>(pixels, filtered);
        },
        [&](const Row<TOGETHER> &made) {
#pragma unroll
          for (int i = 0; i < 4; i++) {
            const int to_x = x + 8 * i + lane / 4;

            if (to_x >= coarse.width)
              continue;
#pragma unroll
            for (int c = 0; c < TOGETHER; c++)
              memory.words(coarse, to_x, y, group + c)[lane % 4] = made.word[i / 2][2 * c + i % 2];
          }
        });
  }

  const float reciprocal = 1.0f / (float)coarse.width;

  for (int i = THREADS - 1 - (int)threadIdx.x; i < coarse.width * coarse.height; i += THREADS) {
    const int y = (int)(((float)i + 0.5f) * reciprocal), x = i - y * coarse.width;
    float rows_made[5];

#pragma unroll
    for (int k = 0; k < 5; k++) {
      const float *const row =
          memory.gauss + fine.first + mirrored(2 * y - 2 + k, fine.height) * fine.width;
      rows_made[k] = reduced(
          row[mirrored(2 * x - 2, fine.width)], row[mirrored(2 * x - 1, fine.width)], row[2 * x],
          row[mirrored(2 * x + 1, fine.width)], row[mirrored(2 * x + 2, fine.width)]);
    }
    memory.gauss[coarse.first + i] =
        reduced(rows_made[0], rows_made[1], rows_made[2], rows_made[3], rows_made[4]);
  }
}

/* The terms of all levels but the last, none of which depends on another's. */
template <int GROUPS>
__device__ __forceinline__ void make_terms(const Tail &tail, const TailMemory<GROUPS> &memory,
                                           const Turn<GROUPS> &turn, const Expansion &expansion)
{
  const int lane = threadIdx.x % 32;
  int strip = threadIdx.x / 32, index = 0;

  while (index < tail.levels - 1) {
    const TailLevel &fine = tail.level[index], &coarse = tail.level[index + 1];
    const int across = (fine.width + 31) / 32, strips = across * ((fine.height + 3) / 4);

    if (strip >= strips) {
      strip -= strips;
      index++;
      continue;
    }
    const int strip_y = strip / across, x = (strip - strip_y * across) * 32, y = 4 * strip_y;
    const int own_x = x + lane / 4 % 4;
    const int row_0 = min(y + lane / 16, fine.height - 1);
    const int row_1 = min(y + lane / 16 + 2, fine.height - 1);
    const int coarse_y = min(max(y / 2 - 1 + (lane % 8 >> 1), 0), coarse.height - 1);
    const int matrix = lane / 8, pair = matrix & 1;
    /* Of a lane's row of the coarser level, and of its words of two rows of the level's own. */
    const uint32_t coarse_row = memory.address(coarse, 0, coarse_y, GROUPS == 1 ? 0 : matrix >> 1);
    const uint32_t *const own_0 = memory.words(fine, 0, row_0, 0) + lane % 4;
    const uint32_t *const own_1 = memory.words(fine, 0, row_1, 0) + lane % 4;
    const float *const gauss_0 = memory.gauss + fine.first + row_0 * fine.width;
    const float *const gauss_1 = memory.gauss + fine.first + row_1 * fine.width;
    auto address = [&](int j) {
      const int coarse_x = x / 2 - 1 + 2 * (j + pair) + (lane & 1);
      return coarse_row + min(max(coarse_x, 0), coarse.width - 1) * (GROUPS * GROUP_BYTES);
    };
    float sum[4];

    expand_strip<GROUPS>(
        sum, expansion, lane,
        [&](int j, uint32_t *words) {
          if constexpr (GROUPS == 1) {
            uint32_t two[2];
            load_2_transposed(two, address(j));
            words[0] = two[0];
            words[1] = two[1];
          } else {
#pragma unroll
            for (int c = 0; c < GROUPS; c += 2) {
              uint32_t four[4];
              cf_load_matrix_transposed(four, address(j) + c * GROUP_BYTES);
#pragma unroll
              for (int k = 0; k < 4; k++)
                words[2 * c + k] = four[k];
            }
          }
        },
        [&](int j, int c, uint32_t *self) {
          const int at = (min(own_x + 4 * j, fine.width - 1) * GROUPS + c) * 4;
          self[0] = own_0[at];
          self[1] = own_1[at];
        },
        [&](int j, uint32_t *rotation) {
          const int at = min(own_x + 4 * j, fine.width - 1);
          rotate<GROUPS>(rotation, turn, gauss_0[at], gauss_1[at]);
        });
#pragma unroll
    for (int q = 0; q < 4; q++) {
      const int to_x = x + strip_pixel_x(lane, q), to_y = y + strip_pixel_y(lane, q);
      if (to_x < fine.width && to_y < fine.height)
        memory.terms[fine.first + to_y * fine.width + to_x] = sum[q];
    }
    strip += TAIL_THREADS<GROUPS> / 32;
  }
}

/* Adds the coarser level, expanded, to the terms. */
template <int THREADS>
__device__ __forceinline__ void collapse(const TailLevel &fine, const TailLevel &coarse,
                                         const float *terms, float *to)
{
  const float *const from = terms + coarse.first;
  const float reciprocal = 1.0f / (float)fine.width;

  for (int i = threadIdx.x; i < fine.width * fine.height; i += THREADS) {
    const int y = (int)(((float)i + 0.5f) * reciprocal), x = i - y * fine.width;
    const Neighbours at = neighbours(x >> 1, y >> 1, coarse.width, coarse.height);
    float rows[3];

#pragma unroll
    for (int k = 0; k < 3; k++) {
      const float *const row = from + (int)at.row[k];
      const float before = row[at.column[0]], here = row[at.column[1]], after = row[at.column[2]];
      rows[k] = x & 1 ? expanded_odd(here, after) : expanded_even(before, here, after);
    }
    to[i] = terms[fine.first + i] +
            (y & 1 ? expanded_odd(rows[1], rows[2]) : expanded_even(rows[0], rows[1], rows[2]));
  }
}

template <int GROUPS>
__global__ void __launch_bounds__(TAIL_THREADS<GROUPS>, 1)
    tensor_tail_kernel(const __grid_constant__ Tail tail, const __grid_constant__ Series series)
{
  constexpr int THREADS = TAIL_THREADS<GROUPS>;

  extern __shared__ __align__(128) uint8_t shared[];
  const TailMemory<GROUPS> memory(shared, tail.pixels);
  const int lane = threadIdx.x % 32, top = tail.levels - 1;

  {
    const Band band(lane);

    await_previous();
    load_first<GROUPS>(tail, memory);
    __syncthreads();
    for (int level = 1; level <= top; level++) {
      reduce_level<GROUPS>(memory, tail.level[level - 1], tail.level[level], band);
      __syncthreads();
    }
  }
  make_terms<GROUPS>(tail, memory, Turn<GROUPS>(series, lane), Expansion(lane));
  const TailLevel &coarsest = tail.level[top];
  for (int i = threadIdx.x; i < coarsest.width * coarsest.height; i += THREADS)
    memory.terms[coarsest.first + i] = tail.top_gain * memory.gauss[coarsest.first + i];
  __syncthreads();
  for (int level = top - 1; level > 0; level--) {
    collapse<THREADS>(tail.level[level], tail.level[level + 1], memory.terms,
                      memory.terms + tail.level[level].first);
    __syncthreads();
  }
  collapse<THREADS>(tail.level[0], tail.level[1], memory.terms, tail.collapsed);
}

template <int GROUPS> bool launch_tail(Queue *queue, const Tail &tail, const Series &series)
{
  return launch(queue, "llf coarse levels", tensor_tail_kernel<GROUPS>, dim3(1),
                dim3(TAIL_THREADS<GROUPS>), bytes_of(tail, GROUPS), tail, series);
}

} // namespace

int tensor_tail_first_level(const Gpu &gpu, const Pyramid &pyramid, int from)
{
  for (int first = from; first < pyramid.images - 1; first++) {
    if (pyramid.level[first].width * pyramid.level[first].height <= MAX_FIRST_PIXELS &&
        bytes_of(tail_from(pyramid, first), pyramid.groups) <= gpu.shared_per_block)
      return first;
  }
  return pyramid.images - 1;
}

bool tensor_prepare_tail(const Gpu &gpu, CfStatus *status)
{
  const int bytes = gpu.shared_per_block;

  return allow_shared(gpu, tensor_tail_kernel<1>, bytes, status) &&
         allow_shared(gpu, tensor_tail_kernel<2>, bytes, status) &&
         allow_shared(gpu, tensor_tail_kernel<4>, bytes, status);
}

bool tensor_tail(Queue *queue, const Pyramid &pyramid, int first, const Series &series)
{
  Tail tail = tail_from(pyramid, first);

  tail.top_gain = -series.linear;
  return pyramid.groups == 1   ? launch_tail<1>(queue, tail, series)
         : pyramid.groups == 2 ? launch_tail<2>(queue, tail, series)
                               : launch_tail<4>(queue, tail, series);
}

} // namespace llf
