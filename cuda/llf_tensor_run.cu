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

/* Levels 2 and up, of which level 2 may be there already, and back to `last`, below which levels
 * have kernels of their own. */
bool run_chain(const TensorStreams &streams, Queue *chain, const Series &series,
               const Pyramid &pyramid, bool reduced, int last)
{
  const float top_gain = -series.linear;

  if ((!reduced && !tensor_reduce(chain, pyramid, 1, top_gain)) ||
      !cf_event_record(streams.reduced_once, chain->stream, chain->status))
    return false;
  for (int fine = 2; fine < last; fine++) {
    if (!tensor_reduce(chain, pyramid, fine, top_gain))
      return false;
  }
  return cf_event_record(streams.reduced, chain->stream, chain->status) &&
         (last == pyramid.images - 1 || tensor_tail(chain, pyramid, last, series));
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
         tensor_prepare_tail(gpu, status);
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

/* The terms of the finest levels are most of the work, the chain of the coarser ones most of the
 * steps: they run side by side. */
bool tensor_run(Queue *queue, const TensorStreams &streams, const Gpu &gpu, const Pixels &pixels,
                const Series &series, const Pyramid &pyramid)
{
  CfStatus *const status = queue->status;
  Queue chain = {streams.chain, queue->overlaps, false, status};
  const int last = tensor_tail_first_level(gpu, pyramid, 2);

  if (!tensor_analyse(queue, gpu, pixels, series, pyramid, -series.linear) ||
      !cf_event_record(streams.analysed, queue->stream, status) ||
      !await_event(&chain, streams.analysed))
    return false;

  const bool reduced = tensor_analysis_reduces(gpu, pixels, pyramid);
  const bool ran = run_chain(streams, &chain, series, pyramid, reduced, last) &&
                   run_terms(streams, queue, gpu, pixels, series, pyramid, reduced, last);
  /* Whatever failed, the chain must not outlive the memory it works in. */
  queue->status = ran ? status : nullptr;
  const bool joined = cf_event_record(streams.collapsed, streams.chain, queue->status) &&
                      await_event(queue, streams.collapsed);
  queue->status = status;
  return ran && joined && tensor_collapse(queue, pyramid, last) &&
         tensor_finish(queue, pixels, series, pyramid, last);
}

} // namespace llf
