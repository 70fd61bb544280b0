/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A task of the source pad that delivers the frames in flight on the device in their order, so that
 * a finished frame does not wait for the next one to arrive.
 *
 * The streaming thread submits; the task delivers. Serialized events and frames that need no device
 * must stay behind the frames in flight: they wait with drain() or wait_for_room().
 */
#pragma once

#include <gst/gst.h>

typedef struct _GstCudaFiltersOutputTask GstCudaFiltersOutputTask;

/* Waits for the oldest frame in flight and pushes it, or drops it with `discard`. Returns the
 * result of the push, or GST_FLOW_ERROR after posting an error. Called by the task's thread,
 * without locks. */
typedef GstFlowReturn (*GstCudaFiltersDeliver)(gpointer data, gboolean discard);

/* `pad` and `data` are borrowed and outlive the result. */
GstCudaFiltersOutputTask *
gst_cuda_filters_output_task_new(GstPad *pad, GstCudaFiltersDeliver deliver, gpointer data);
void gst_cuda_filters_output_task_free(GstCudaFiltersOutputTask *self);

/* When the pad is activated: no frame is in flight, and frames may be submitted. */
void gst_cuda_filters_output_task_activate(GstCudaFiltersOutputTask *self);

/* Ends the task, after its current delivery, which a flushing pad ends soon. Waits in the functions
 * below return GST_FLOW_FLUSHING. The caller disposes of frames that were not delivered. May be
 * called more than once. */
void gst_cuda_filters_output_task_stop(GstCudaFiltersOutputTask *self);

/* While flushing, frames are dropped and waits return GST_FLOW_FLUSHING. Turning it off waits until
 * no frame is in flight. */
void gst_cuda_filters_output_task_set_flushing(GstCudaFiltersOutputTask *self, gboolean flushing);

/* Waits until fewer than `most` frames are in flight. After a delivery failed, later frames in
 * flight are dropped, and its flow return is returned here, once, when none is left. */
GstFlowReturn gst_cuda_filters_output_task_wait_for_room(GstCudaFiltersOutputTask *self,
                                                         guint most);

/* Counts one more frame in flight; starts the task if needed. */
void gst_cuda_filters_output_task_submitted(GstCudaFiltersOutputTask *self);

/* Waits until no frame is in flight, or the task is stopped and not delivering. The flow return of
 * a failed delivery is left for wait_for_room(). */
void gst_cuda_filters_output_task_drain(GstCudaFiltersOutputTask *self);
