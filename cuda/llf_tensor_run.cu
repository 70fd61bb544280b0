/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The order of a frame's kernels on tensor cores.
 */
#include "llf.cuh"

namespace llf
{
namespace
{

/* Puts a kernel that needs another stream's event behind it: nothing of it may start earlier. */
bool await_event(Queue *queue, void *event)
{
  queue->started = false;
  return cf_stream_wait_event(queue->stream, event, queue->status);
}

/* Levels 2 and up, of which level 2 may be there already, to `last`. */
bool reduce_levels(Queue *queue, const Series &series, const Pyramid &pyramid, bool reduced,
                   int last)
{
  for (int fine = reduced ? 2 : 1; fine < last; fine++) {
    if (!tensor_reduce(queue, pyramid, fine, -series.linear))
      return false;
  }
  return true;
}

/* Level 2, what comes behind it, and back to `last`, below which levels have kernels of their own.
 */
bool run_chain(const TensorStreams &streams, Queue *chain, const Gpu &gpu, const Series &series,
               const Pyramid &pyramid, bool reduced, int last)
{
  return (reduced || tensor_reduce(chain, pyramid, 1, -series.linear)) &&
         cf_event_record(streams.reduced_once, chain->stream, chain->status) &&
         reduce_levels(chain, series, pyramid, true, last) &&
         cf_event_record(streams.reduced, chain->stream, chain->status) &&
         (last == pyramid.images - 1 || tensor_tail(chain, gpu, 1, pyramid, last, series));
}

/* The terms of levels below `last`. */
bool run_terms(const TensorStreams &streams, Queue *queue, const Gpu &gpu, const Pixels &pixels,
               const Series &series, const Pyramid &pyramid, bool reduced, int last)
{
  const bool joined = tensor_terms_are_joined(gpu, pixels, pyramid);

  return (reduced || await_event(queue, streams.reduced_once)) &&
         (joined || tensor_level_terms(queue, pyramid, 1, 2, series)) &&
         tensor_pixel_terms(queue, gpu, pixels, series, pyramid) &&
         await_event(queue, streams.reduced) && tensor_level_terms(queue, pyramid, 2, last, series);
}

/* The terms of the finest levels are most of the work, the chain of the coarser ones most of the
 * steps: they run side by side, in two streams. The terms leave no room for a cluster. */
bool run_side_by_side(Queue *queue, const TensorStreams &streams, const Gpu &gpu,
                      const Pixels &pixels, const Series &series, const Pyramid &pyramid,
                      bool reduced, int last)
{
  CfStatus *const status = queue->status;
  Queue chain = {streams.chain, queue->overlaps, false, false, status};

  if (!cf_event_record(streams.analysed, queue->stream, status) ||
      !await_event(&chain, streams.analysed))
    return false;

  const bool ran = run_chain(streams, &chain, gpu, series, pyramid, reduced, last) &&
                   run_terms(streams, queue, gpu, pixels, series, pyramid, reduced, last);
  /* Whatever failed, the chain must not outlive the memory it works in. */
  queue->status = ran ? status : nullptr;
  const bool joined = cf_event_record(streams.collapsed, streams.chain, queue->status) &&
                      await_event(queue, streams.collapsed);
  queue->status = status;
  return ran && joined;
}

/* The same in one stream, without events, which take microseconds each. The terms are launched
 * behind the chain, so that it has room, but do not wait for it. */
bool run_in_a_row(Queue *queue, const TensorStreams &streams, const Gpu &gpu, const Pixels &pixels,
                  const Series &series, const Pyramid &pyramid, bool reduced, int last)
{
  const bool has_tail = last < pyramid.images - 1;
  const int first = tensor_terms_are_joined(gpu, pixels, pyramid) ? 2 : 1;

  if (!reduce_levels(queue, series, pyramid, reduced, last) ||
      (has_tail && !tensor_tail(queue, gpu, streams.tail_blocks, pyramid, last, series)))
    return false;
  queue->beside = has_tail;
  const bool ran = tensor_pixel_terms(queue, gpu, pixels, series, pyramid) &&
                   tensor_level_terms(queue, pyramid, first, last, series);
  queue->beside = false;
  return ran;
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
         tensor_prepare_terms(gpu, status) && tensor_prepare_levels(gpu, status) &&
         tensor_prepare_tail(gpu, &streams->tail_blocks, status);
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
  const int last = tensor_tail_first_level(gpu, in_a_row ? streams.tail_blocks : 1, pyramid, 2);
  const auto run = in_a_row ? run_in_a_row : run_side_by_side;

  return tensor_analyse(queue, gpu, pixels, series, pyramid, -series.linear) &&
         run(queue, streams, gpu, pixels, series, pyramid,
             tensor_analysis_reduces(gpu, pixels, pyramid), last) &&
         tensor_collapse(queue, pyramid, last) &&
         tensor_finish(queue, pixels, series, pyramid, last);
}

} // namespace llf
