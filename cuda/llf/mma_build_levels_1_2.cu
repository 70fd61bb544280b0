/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Level 1 from the picture, on tensor cores, and level 2 along with it where few intensities occur:
 * their components are a table's rows, which are looked up. Others are computed.
 */
#include "cuda/llf/mma_build_strip.cuh"

#include "cuda/common/grid_flags.cuh"

#include <algorithm>

namespace cf::llf
{
namespace
{

/* --- level 0 by table --- */

/* Sets back how many blocks have ended: nothing of the frame before asks any more, and nothing of
 * this one counts or asks before this kernel has ended. */
__device__ __forceinline__ void forget_ended(unsigned *ended)
{
  if (blockIdx.x == 0 && blockIdx.y == 0 && blockIdx.z == 0 && threadIdx.x == 0)
    *ended = 0;
}

/* What strips tell a warp sets back for its own, before it lets the next kernel start, which asks.
 */
__device__ __forceinline__ void begin_to_tell(unsigned *done, int first, int count, int step)
{
  pdl_wait();
  for (int i = first + (int)threadIdx.x % 32 * step; i < count; i += 32 * step)
    done[i] = 0;
  __threadfence();
  __syncthreads();
  pdl_trigger();
}

/* Blocks stay for many strips, since the table is dear. Of large pictures they have neighbours, and
 * tell which are there: a tile of the next level waits for few blocks then. blockIdx.y counts
 * blocks' groups. */
template <int GROUPS, int ALL, Key key, int BLOCKS>
__global__ void __launch_bounds__(32 * WARPS, 1)
    analyse_table_kernel(const __grid_constant__ Pixels pixels,
                         const __grid_constant__ Series series,
                         const __grid_constant__ Analysis analysis)
{
  constexpr int COARSE = StripShape<BLOCKS>::COARSE;
  extern __shared__ __align__(128) uint8_t memory[];
  const int warp = threadIdx.x / 32, rows = HALVES<GROUPS> * analysis.strip_rows;
  const int coarse_width = (analysis.first.coarse.width + 1) / 2;
  const int strips_x = (coarse_width + COARSE - 1) / COARSE;
  const int strips_y = ((analysis.first.coarse.height + 1) / 2 + rows - 1) / rows;
  Strip<GROUPS, ALL, key, BLOCKS> strip(pixels, series, analysis, memory, threadIdx.x % 32, warp);

  constexpr bool TELLS = BLOCKS == LARGE_BLOCKS;
  const int strips = strips_x * strips_y, at_once = TELLS ? analysis.per_block : WARPS;
  const int step = gridDim.x * at_once;
  int i = !TELLS           ? blockIdx.x + gridDim.x * warp
          : warp < at_once ? blockIdx.x * at_once + warp
                           : strips;
  unsigned *const done = analysis.done + blockIdx.y * strips;
  auto aim = [&] {
    if (i < strips)
      strip.aim(i % strips_x * COARSE, i / strips_x * rows);
  };

  aim();
  fill_table<GROUPS, key>(memory, pixels, series, 4 * (int)blockIdx.y * GROUPS);
  if constexpr (TELLS) {
    begin_to_tell(done, i, strips, step);
  } else {
    pdl_trigger_then_wait();
    __syncthreads();
  }
  forget_ended(analysis.ended);

#pragma unroll 1
  while (i < strips) {
    strip.walk();
    if constexpr (TELLS) {
      __syncwarp();
      if (threadIdx.x % 32 == 0)
        flag_store_release(done + i, 1);
    }
    i += step;
    aim();
  }
}

/* --- level 0 computed --- */

template <typename S, typename Sample, Colour colour>
__device__ void compute_tile(uint8_t *memory, float *gauss, const Pixels &pixels,
                             const Series &series, const Packing &packing, const LumaRow &luma_row,
                             int first_group, int coarse_x, int coarse_y)
{
  using M = TileMemory<S>;

  for (int i = threadIdx.x; i < S::FINE_Y * S::FINE_X; i += S::THREADS) {
    const int row = i / S::FINE_X, x = i % S::FINE_X;
    const float intensity = rounded_intensity<Sample, colour>(
        pixels, packing, luma_row, mirrored(2 * coarse_x - 2 + x, pixels.width),
        mirrored(2 * coarse_y - 2 + row, pixels.height));
    Rotation rotation((float)(4 * first_group + 1) * series.turn * intensity,
                      series.turn * intensity);

    gauss[row * M::GAUSS_PITCH + x] = intensity;
#pragma unroll
    for (int c = 0; c < S::GROUPS; c++) {
      uint32_t words[4];
#pragma unroll
      for (int k = 0; k < 4; k++) {
        const float b = series.b[4 * (first_group + c) + k];
        words[k] = cf::pack_half2(b * rotation.sine, b * rotation.cosine);
        rotation.advance();
      }
      *reinterpret_cast<uint4 *>(memory + row * M::PITCH + M::at(x, c)) =
          make_uint4(words[0], words[1], words[2], words[3]);
    }
  }
}

template <typename S, typename Sample, Colour colour>
__global__ void __launch_bounds__(S::THREADS)
    analyse_computed_kernel(const __grid_constant__ Pixels pixels,
                            const __grid_constant__ Series series, Target target, Packing packing,
                            LumaRow luma_row, unsigned *ended)
{
  extern __shared__ __align__(128) uint8_t memory[];
  const int x = blockIdx.x * S::COARSE_X, y = blockIdx.y * S::COARSE_Y;

  target.first_group = blockIdx.z * S::GROUPS;
  pdl_trigger_then_wait();
  forget_ended(ended);
  compute_tile<S, Sample, colour>(memory, reinterpret_cast<float *>(memory + TileMemory<S>::GAUSS),
                                  pixels, series, packing, luma_row, target.first_group, x, y);
  __syncthreads();
  reduce_tile<S>(memory, target, x, y);
}

/* --- launching --- */

/* Rows of level 2 in a strip, so that all warps are busy to the end. */
int rows_of_strips(const Gpu &gpu, int halves, int across, int height)
{
  constexpr int MOST = 16, LEAST = LEAST_STRIP_ROWS;
  const int warps = gpu.multiprocessors * WARPS;

  for (int waves = 1;; waves++) {
    const int down = warps * waves / across;
    const int rows = down ? blocks(height, down * halves) : MOST + 1;

    if (rows <= MOST)
      return rows < LEAST ? LEAST : rows;
  }
}

template <int GROUPS, int ALL, Key key, int BLOCKS>
bool launch_strips(Queue *queue, const Gpu &gpu, const Pixels &pixels, const Series &series,
                   const Target &first, const Target &second, const Pyramid &pyramid, bool reduces,
                   Strips *strips)
{
  constexpr int COARSE = StripShape<BLOCKS>::COARSE;
  static_assert(COARSE >= LEAST_STRIP_WIDTH, "there is a word for each");
  const Channel &channel = pixels.channel[0];
  const int width = (first.coarse.width + 1) / 2, height = (first.coarse.height + 1) / 2;
  const int across = blocks(width, COARSE), halves = HALVES<GROUPS>;
  const int rows = rows_of_strips(gpu, halves, across, height);
  const int count = across * blocks(height, halves * rows);
  const int grid = std::min(count, gpu.multiprocessors);
  const Packing packing = packing_of(pixels);
  const uintptr_t address =
      ((uintptr_t)channel.from - packing.byte[0]) | (uintptr_t)channel.from_stride;
  Analysis analysis = {first, second, {}, rows, reduces};
  analysis.done = pyramid.strips_done;
  analysis.per_block = std::min(blocks(count, grid), WARPS);
  analysis.ended = pyramid.ended;
  if (reduces && BLOCKS == LARGE_BLOCKS)
    *strips = Strips{analysis.done, across, count, COARSE, halves * rows};
  Picture &picture = analysis.picture;

  picture.from = channel.from - (key == Key::LUMA ? packing.byte[0] : 0);
  picture.stride = (int)channel.from_stride;
  picture.aligned = picture.stride == channel.from_stride &&
                    (key == Key::LUMA ? packing.packed && address % 16 == 0
                                      : pixels.step[0] == 1 && address % sizeof(Four<key>) == 0);
  picture.first_code = (uint32_t)pixels.offset * 65537u;
  picture.last_code = (uint32_t)(pixels.offset + pixels.scale) * 65537u;
  picture.clamps = pixels.offset > 0 || pixels.offset + pixels.scale < pixels.max_code ||
                   (key == Key::WORD && pixels.shift == 0);
  picture.packing = packing;
  picture.luma_row = luma_row_of(pixels, packing);
  return launch(queue, "llf analyse", analyse_table_kernel<GROUPS, ALL, key, BLOCKS>,
                dim3(grid, first.groups / GROUPS), dim3(32 * WARPS),
                TableMemory<GROUPS, key>::BYTES, pixels, series, analysis);
}

template <int GROUPS, int ALL, Key key>
bool launch_table(Queue *queue, const Gpu &gpu, const Pixels &pixels, const Series &series,
                  const Target &first, const Target &second, const Pyramid &pyramid, bool reduces,
                  Strips *strips)
{
  return is_large(pixels)
             ? launch_strips<GROUPS, ALL, key, LARGE_BLOCKS>(queue, gpu, pixels, series, first,
                                                             second, pyramid, reduces, strips)
             : launch_strips<GROUPS, ALL, key, SMALL_BLOCKS>(queue, gpu, pixels, series, first,
                                                             second, pyramid, reduces, strips);
}

template <int GROUPS, Key key> bool fits(const Gpu &gpu)
{
  return TableMemory<GROUPS, key>::BYTES <= gpu.shared_per_block;
}

template <int GROUPS> bool has_table(const Gpu &gpu, const Pixels &pixels)
{
  const Key key = key_of(pixels);

  return (key == Key::BYTE && fits<GROUPS, Key::BYTE>(gpu)) ||
         (key == Key::WORD && fits<GROUPS, Key::WORD>(gpu)) ||
         (key == Key::LUMA && fits<GROUPS, Key::LUMA>(gpu));
}

template <int GROUPS, int ALL>
bool launch_analyse(Queue *queue, const Gpu &gpu, const Pixels &pixels, const Series &series,
                    const Pyramid &pyramid, float top_gain, Strips *strips)
{
  using S = TileShape<GROUPS>;
  const Packing packing = packing_of(pixels);
  const Target target = target_of(pyramid, 1, top_gain);
  const bool reduces = tensor_analysis_reduces(gpu, pixels, pyramid);
  const Target second = reduces ? target_of(pyramid, 2, top_gain) : Target{};

  if (has_table<GROUPS>(gpu, pixels)) {
    switch (key_of(pixels)) {
    case Key::BYTE:
      return launch_table<GROUPS, ALL, Key::BYTE>(queue, gpu, pixels, series, target, second,
                                                  pyramid, reduces, strips);
    case Key::WORD:
      return launch_table<GROUPS, ALL, Key::WORD>(queue, gpu, pixels, series, target, second,
                                                  pyramid, reduces, strips);
    default:
      return launch_table<GROUPS, ALL, Key::LUMA>(queue, gpu, pixels, series, target, second,
                                                  pyramid, reduces, strips);
    }
  }
  return with_pixel_types(pixels, [&](auto sample, auto colour) {
    return launch(
        queue, "llf analyse",
        analyse_computed_kernel<S, typename decltype(sample)::type, decltype(colour)::colour>,
        dim3(blocks(target.coarse.width, S::COARSE_X), blocks(target.coarse.height, S::COARSE_Y),
             target.groups / GROUPS),
        dim3(S::THREADS), TileMemory<S>::BYTES, pixels, series, target, packing,
        luma_row_of(pixels, packing), pyramid.ended);
  });
}

template <int GROUPS, int ALL, Key key> bool prepare_table(const Gpu &gpu, CfStatus *status)
{
  constexpr int BYTES = TableMemory<GROUPS, key>::BYTES;

  return allow_shared(gpu, analyse_table_kernel<GROUPS, ALL, key, LARGE_BLOCKS>, BYTES, status) &&
         allow_shared(gpu, analyse_table_kernel<GROUPS, ALL, key, SMALL_BLOCKS>, BYTES, status);
}

template <int GROUPS, int ALL> bool prepare_tables(const Gpu &gpu, CfStatus *status)
{
  return prepare_table<GROUPS, ALL, Key::BYTE>(gpu, status) &&
         prepare_table<GROUPS, ALL, Key::WORD>(gpu, status) &&
         prepare_table<GROUPS, ALL, Key::LUMA>(gpu, status);
}

template <int GROUPS> bool prepare(const Gpu &gpu, CfStatus *status)
{
  using S = TileShape<GROUPS>;
  const int bytes = TileMemory<S>::BYTES;

  return allow_shared(gpu, analyse_computed_kernel<S, uint8_t, Colour::SINGLE>, bytes, status) &&
         allow_shared(gpu, analyse_computed_kernel<S, uint8_t, Colour::CHROMA>, bytes, status) &&
         allow_shared(gpu, analyse_computed_kernel<S, uint8_t, Colour::RGB>, bytes, status) &&
         allow_shared(gpu, analyse_computed_kernel<S, uint16_t, Colour::SINGLE>, bytes, status) &&
         allow_shared(gpu, analyse_computed_kernel<S, uint16_t, Colour::CHROMA>, bytes, status) &&
         allow_shared(gpu, analyse_computed_kernel<S, uint16_t, Colour::RGB>, bytes, status);
}

} // namespace

bool tensor_prepare_analyse(const Gpu &gpu, CfStatus *status)
{
  return prepare_tables<1, 1>(gpu, status) && prepare_tables<2, 2>(gpu, status) &&
         prepare_tables<2, 4>(gpu, status) && prepare<1>(gpu, status) && prepare<2>(gpu, status);
}

bool tensor_analysis_reduces(const Gpu &gpu, const Pixels &pixels, const Pyramid &pyramid)
{
  const Level &level = pyramid.level[1];

  return pyramid.images > 2 && level.width >= 4 && level.height >= 4 &&
         (pyramid.groups == 1 ? has_table<1>(gpu, pixels) : has_table<2>(gpu, pixels));
}

bool tensor_analyse(Queue *queue, const Gpu &gpu, const Pixels &pixels, const Series &series,
                    const Pyramid &pyramid, float top_gain, Strips *strips)
{
  *strips = Strips{};
  return pyramid.groups == 1
             ? launch_analyse<1, 1>(queue, gpu, pixels, series, pyramid, top_gain, strips)
         : pyramid.groups == 2
             ? launch_analyse<2, 2>(queue, gpu, pixels, series, pyramid, top_gain, strips)
             : launch_analyse<2, 4>(queue, gpu, pixels, series, pyramid, top_gain, strips);
}

} // namespace cf::llf
