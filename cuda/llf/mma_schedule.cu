/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The order of a frame's kernels on tensor cores.
 */
#include "cuda/llf/mma_common.cuh"

#include <algorithm>

namespace cf::llf
{
namespace
{

/* The first level that the coarse levels' kernel has, the last image if there is no such kernel;
 * how many blocks it gets; and whether levels 3 and 4 are made at once. */
struct Way {
  int last, tail_blocks;
  bool twice;
};

/* Pixels of level 3 up to which they are: in larger pictures, and earlier where the terms take
 * longer, those are what a frame waits for, and want their multiprocessors soon. */
constexpr int MOST_TWICE = 70000, MOST_TWICE_OF_OTHERS = 40000, LAST_TWICE = 4;

/* Levels 3 to `last`. */
bool reduce_levels(Queue *queue, const Series &series, const Pyramid &pyramid, int last)
{
  for (int fine = 2; fine < last; fine++) {
    if (!tensor_reduce(queue, pyramid, fine, -series.linear))
      return false;
  }
  return true;
}

/* Levels 3 and up, down and up again, by a kernel or more for the finer ones. */
bool run_coarse(Queue *queue, const Gpu &gpu, const Series &series, const Pyramid &pyramid,
                const Way &way)
{
  return (way.twice ? tensor_reduce_twice(queue, pyramid, 2, -series.linear)
                    : reduce_levels(queue, series, pyramid, way.last)) &&
         (way.last == pyramid.images - 1 ||
          tensor_tail(queue, gpu, way.tail_blocks, pyramid, way.last, series));
}

/* From collapsed level `last` down to the one that the last kernel begins with. */
bool expand_levels(Queue *queue, const Series &series, const Pyramid &pyramid, int last)
{
  for (int fine = last - 1; fine >= OUTPUT_LEVEL; fine--) {
    if (!expand(queue, pyramid, fine, series))
      return false;
  }
  return true;
}

/* Then the terms of the finer levels: launched behind the coarse levels, so that these have room,
 * but they do not wait for them where grids may overlap. */
bool run_coarse_and_terms(Queue *queue, const Gpu &gpu, const Pixels &pixels, const Series &series,
                          const Pyramid &pyramid, const Way &way)
{
  const int first = tensor_terms_are_joined(gpu, pixels) ? 2 : 1;

  if (!run_coarse(queue, gpu, series, pyramid, way))
    return false;
  queue->beside = queue->overlaps && way.last < pyramid.images - 1;
  queue->left = way.twice ? way.tail_blocks : MAX_TAIL_BLOCKS;
  const bool ran =
      tensor_pixel_terms(queue, gpu, pixels, series, pyramid) &&
      tensor_level_terms(queue, pyramid, first, std::min(way.last, OUTPUT_LEVEL), series);
  queue->beside = false;
  return ran && expand_levels(queue, series, pyramid, way.last);
}

Way way_of(int tail_blocks, const Gpu &gpu, const Pixels &pixels, const Pyramid &pyramid)
{
  const int last = tensor_tail_first_level(gpu, tail_blocks, pyramid, 2);
  Way way = {last, tail_blocks, false};

  if (last < 3 || pyramid.images <= LAST_TWICE + 1)
    return way;
  const int level = pyramid.level[3].width * pyramid.level[3].height;
  const bool bytes = !pixels.wide && pixels.colour != Colour::RGB;
  const int most = bytes ? MOST_TWICE : MOST_TWICE_OF_OTHERS;
  const int twice_blocks = std::min(tail_blocks, TWICE_TAIL_BLOCKS);
  if (level > most || tensor_tail_first_level(gpu, twice_blocks, pyramid, LAST_TWICE) != LAST_TWICE)
    return way;
  return Way{LAST_TWICE, twice_blocks, true};
}

} // namespace

bool tensor_serves(const Gpu &gpu, const Pixels &pixels, int harmonics)
{
  return harmonics <= 4 * TENSOR_GROUPS && key_of(pixels) != Key::NONE &&
         gpu.shared_per_block >= LEAST_SHARED;
}

bool tensor_open(const Gpu &gpu, int *tail_blocks, CfStatus *status)
{
  return tensor_prepare_analyse(gpu, status) && tensor_prepare_reduce(gpu, status) &&
         tensor_prepare_twice(gpu, status) && tensor_prepare_terms(gpu, status) &&
         tensor_prepare_levels(gpu, status) && tensor_prepare_tail(gpu, tail_blocks, status);
}

bool tensor_run(Queue *queue, int tail_blocks, const Gpu &gpu, const Pixels &pixels,
                const Series &series, const Pyramid &pyramid)
{
  const Way way = way_of(tail_blocks, gpu, pixels, pyramid);

  return tensor_analyse(queue, gpu, pixels, series, pyramid, -series.linear) &&
         run_coarse_and_terms(queue, gpu, pixels, series, pyramid, way) &&
         tensor_finish(queue, pixels, series, pyramid, std::min(way.last, OUTPUT_LEVEL));
}

} // namespace cf::llf
