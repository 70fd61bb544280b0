/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The order of a frame's kernels on tensor cores.
 */
#include "cuda/llf/types.cuh"

#include <algorithm>

namespace cf::llf
{
namespace
{

/* The first level that the coarse levels' kernel has, the last image if there is no such kernel;
 * how many blocks it gets; whether levels 3 and 4 are made at once, and by that kernel; whether it
 * makes its first level itself; and whether the picture's first tiles are made beside terms that
 * they do not need. In small pictures they need all. */
struct Way {
  int last, tail_blocks;
  bool twice, together, makes_first, counts;
};

/* Pixels of level 3 up to which they are: in larger pictures, and earlier where the terms take
 * longer, those are what a frame waits for, and want their multiprocessors soon. */
constexpr int MOST_TWICE = 70000, MOST_TWICE_OF_OTHERS = 40000, LAST_TWICE = 4;

/* The same from which the coarse levels' kernel makes them, so that terms begin at once behind
 * them: with fewer, frames wait for the coarse levels. */
constexpr int LEAST_TOGETHER = 20000;

/* Puts a kernel that needs another stream's event behind it: nothing of it may start earlier. */
bool await_event(Queue *queue, void *event)
{
  queue->started = false;
  return cf_stream_wait_event(queue->stream, event, queue->status);
}

/* Levels 2 and up, of which level 2 may be there already, to `last`. */
bool reduce_levels(Queue *queue, const Series &series, const Pyramid &pyramid, bool reduced,
                   const Strips &strips, int last)
{
  for (int fine = reduced ? 2 : 1; fine < last; fine++) {
    if (!tensor_reduce(queue, pyramid, fine, -series.linear, fine == 2 ? strips : Strips{}))
      return false;
  }
  return true;
}

/* Level 2, what comes behind it, and back to `last`, below which levels have kernels of their own.
 */
bool run_chain(const TensorStreams &streams, Queue *chain, const Gpu &gpu, const Series &series,
               const Pyramid &pyramid, bool reduced, int last)
{
  return (reduced || tensor_reduce(chain, pyramid, 1, -series.linear, Strips{})) &&
         cf_event_record(streams.reduced_once, chain->stream, chain->status) &&
         reduce_levels(chain, series, pyramid, true, Strips{}, last) &&
         cf_event_record(streams.reduced, chain->stream, chain->status) &&
         (last == pyramid.images - 1 || tensor_tail(chain, gpu, 1, pyramid, last, false, series));
}

/* The terms of levels below `last`. */
bool run_terms(const TensorStreams &streams, Queue *queue, const Gpu &gpu, const Pixels &pixels,
               const Series &series, const Pyramid &pyramid, bool reduced, int last)
{
  const bool joined = tensor_terms_are_joined(gpu, pixels, pyramid);

  return (reduced || await_event(queue, streams.reduced_once)) &&
         (joined || tensor_level_terms(queue, pyramid, 1, 2, series, 0)) &&
         tensor_pixel_terms(queue, gpu, pixels, series, pyramid, 2, 2) &&
         await_event(queue, streams.reduced) &&
         tensor_level_terms(queue, pyramid, 2, last, series, 0);
}

/* The terms of the finest levels are most of the work, the chain of the coarser ones most of the
 * steps: they run side by side, in two streams. The terms leave no room for a cluster. */
bool run_side_by_side(Queue *queue, const TensorStreams &streams, const Gpu &gpu,
                      const Pixels &pixels, const Series &series, const Pyramid &pyramid,
                      bool reduced, const Strips &, const Way &way)
{
  CfStatus *const status = queue->status;
  Queue chain = {streams.chain, queue->overlaps, false, false, status};

  if (!cf_event_record(streams.analysed, queue->stream, status) ||
      !await_event(&chain, streams.analysed))
    return false;

  const bool ran = run_chain(streams, &chain, gpu, series, pyramid, reduced, way.last) &&
                   run_terms(streams, queue, gpu, pixels, series, pyramid, reduced, way.last);
  /* Whatever failed, the chain must not outlive the memory it works in. */
  queue->status = ran ? status : nullptr;
  const bool joined = cf_event_record(streams.collapsed, streams.chain, queue->status) &&
                      await_event(queue, streams.collapsed);
  queue->status = status;
  return ran && joined;
}

/* Levels 3 and up, down and up again, by a kernel or more for the finer ones. */
bool run_coarse(Queue *queue, const Gpu &gpu, const Series &series, const Pyramid &pyramid,
                bool reduced, const Strips &strips, const Way &way)
{
  return (way.twice ? tensor_reduce_twice(queue, pyramid, 2, -series.linear)
                    : reduce_levels(queue, series, pyramid, reduced, strips,
                                    way.makes_first ? way.last - 1 : way.last)) &&
         (way.last == pyramid.images - 1 ||
          tensor_tail(queue, gpu, way.tail_blocks, pyramid, way.last, way.makes_first, series));
}

/* The same in one stream, without events, which take microseconds each. The terms are launched
 * behind the chain, so that it has room, but do not wait for it. */
bool run_in_a_row(Queue *queue, const TensorStreams &streams, const Gpu &gpu, const Pixels &pixels,
                  const Series &series, const Pyramid &pyramid, bool reduced, const Strips &strips,
                  const Way &way)
{
  const int first = tensor_terms_are_joined(gpu, pixels, pyramid) ? 2 : 1;
  const int next = way.twice && tensor_terms_take_levels(gpu, pixels, pyramid) ? way.last : first;

  queue->ended = way.counts ? pyramid.ended : nullptr;
  queue->awaited = 0;
  if (!(way.together ? tensor_twice_and_tail(queue, streams, gpu, pyramid, way.last, series)
                     : run_coarse(queue, gpu, series, pyramid, reduced, strips, way)))
    return false;
  queue->beside = way.last < pyramid.images - 1;
  queue->left = way.twice ? way.tail_blocks : MAX_TAIL_BLOCKS;
  const bool ran = tensor_pixel_terms(queue, gpu, pixels, series, pyramid, first, next) &&
                   tensor_level_terms(queue, pyramid, next, way.last, series,
                                      tensor_finish_early_rows(gpu, pixels));
  queue->beside = false;
  return ran;
}

/* Where all kernels are in one stream the chain may be short. */
Way way_of(const TensorStreams &streams, const Gpu &gpu, const Pixels &pixels,
           const Pyramid &pyramid, bool in_a_row, bool reduced)
{
  const int tail_blocks = in_a_row ? streams.tail_blocks : 1;
  const int last = tensor_tail_first_level(gpu, tail_blocks, pyramid, 2);
  Way way = {
      last, tail_blocks, false, false, tensor_tail_makes_first(gpu, tail_blocks, pyramid, last),
      false};

  way.counts = in_a_row && reduced && is_large(pixels) && last == 4 && last < pyramid.images - 1 &&
               tensor_terms_are_joined(gpu, pixels, pyramid);
  if (!in_a_row || !reduced || last < 3 || pyramid.images <= LAST_TWICE + 1)
    return way;
  const int level = pyramid.level[3].width * pyramid.level[3].height;
  const int most =
      tensor_terms_take_levels(gpu, pixels, pyramid) ? MOST_TWICE : MOST_TWICE_OF_OTHERS;
  if (level > most ||
      tensor_tail_first_level(gpu, streams.twice_tail_blocks, pyramid, LAST_TWICE) != LAST_TWICE)
    return way;
  return Way{
      LAST_TWICE, streams.twice_tail_blocks,
      true,       level >= LEAST_TOGETHER && tensor_twice_fits_tail(streams, pyramid, LAST_TWICE),
      false,      false};
}

} // namespace

/* Steps of the chain are short and many: they go first. */
bool tensor_open(const Gpu &gpu, TensorStreams *streams, CfStatus *status)
{
  int least, greatest;

  if (!cf_cuda_ok(cudaDeviceGetStreamPriorityRange(&least, &greatest), "asking for priorities",
                  status) ||
      !cf_cuda_ok(cudaStreamCreateWithPriority(&streams->chain, cudaStreamNonBlocking, greatest),
                  "creating a stream", status))
    return false;
  streams->analysed = cf_event_create(false, status);
  streams->reduced_once = cf_event_create(false, status);
  streams->reduced = cf_event_create(false, status);
  streams->collapsed = cf_event_create(false, status);
  return streams->analysed && streams->reduced_once && streams->reduced && streams->collapsed &&
         tensor_prepare_analyse(gpu, status) && tensor_prepare_reduce(gpu, status) &&
         tensor_prepare_twice(gpu, status) && tensor_prepare_terms(gpu, status) &&
         tensor_prepare_levels(gpu, status) && tensor_prepare_tail(gpu, streams, status);
}

void tensor_close(TensorStreams *streams)
{
  if (streams->chain)
    cudaStreamDestroy(streams->chain);
  cf_event_destroy(streams->analysed);
  cf_event_destroy(streams->reduced_once);
  cf_event_destroy(streams->reduced);
  cf_event_destroy(streams->collapsed);
}

bool tensor_run(Queue *queue, const TensorStreams &streams, const Gpu &gpu, const Pixels &pixels,
                const Series &series, const Pyramid &pyramid)
{
  const bool in_a_row = queue->overlaps;
  const bool reduced = tensor_analysis_reduces(gpu, pixels, pyramid);
  const Way way = way_of(streams, gpu, pixels, pyramid, in_a_row, reduced);
  const auto run = in_a_row ? run_in_a_row : run_side_by_side;
  Strips strips = {};

  return tensor_analyse(queue, gpu, pixels, series, pyramid, -series.linear, &strips) &&
         run(queue, streams, gpu, pixels, series, pyramid, reduced, strips, way) &&
         tensor_collapse(queue, pyramid, way.last) &&
         tensor_finish(queue, gpu, pixels, series, pyramid, way.last);
}

} // namespace cf::llf
