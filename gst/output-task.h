/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Frames that are under way on the device, delivered in their order by a task of the source pad, so
 * that none waits for a later frame to arrive.
 *
 * The streaming thread submits; the task delivers. What must stay behind the frames under way (a
 * serialized event, a frame that needs no device) waits with drain() or wait_for_room().
 */
#pragma once

#include <gst/gst.h>

typedef struct _GstCudaFiltersOutputTask GstCudaFiltersOutputTask;

/* Waits for the oldest frame under way and pushes it; with `discard` it is dropped instead. Returns
 * what the push did, or GST_FLOW_ERROR after posting why there is nothing to push. Called without a
 * lock, from the task's thread. */
typedef GstFlowReturn (*GstCudaFiltersDeliver)(gpointer data, gboolean discard);

/* `pad` and `data` are borrowed and outlive the result. */
GstCudaFiltersOutputTask *
gst_cuda_filters_output_task_new(GstPad *pad, GstCudaFiltersDeliver deliver, gpointer data);
void gst_cuda_filters_output_task_free(GstCudaFiltersOutputTask *self);

/* The pad is activated: nothing is under way, and frames may be submitted. */
void gst_cuda_filters_output_task_activate(GstCudaFiltersOutputTask *self);

/* Ends the task; waits for a delivery under way, which a flushing pad ends. Whoever waits below
 * returns with GST_FLOW_FLUSHING, and what was submitted and not delivered is the caller's. May be
 * called more than once. */
void gst_cuda_filters_output_task_stop(GstCudaFiltersOutputTask *self);

/* While flushing, frames are dropped and waiting ends with GST_FLOW_FLUSHING. Turning it off waits
 * until nothing is under way. */
void gst_cuda_filters_output_task_set_flushing(GstCudaFiltersOutputTask *self, gboolean flushing);

/* Waits until fewer than `most` frames are under way. After a delivery that failed the flow it
 * returned is told once, when nothing is under way any more; its later frames are dropped. */
GstFlowReturn gst_cuda_filters_output_task_wait_for_room(GstCudaFiltersOutputTask *self,
                                                         guint most);

/* One more frame is under way. */
void gst_cuda_filters_output_task_submitted(GstCudaFiltersOutputTask *self);

/* Waits until nothing is under way, or the task is stopped and no delivery is under way; a flow
 * that failed is left for wait_for_room(). */
void gst_cuda_filters_output_task_drain(GstCudaFiltersOutputTask *self);
