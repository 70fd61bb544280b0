/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "output-task.h"

struct _GstCudaFiltersOutputTask {
  GstPad *pad;
  GstCudaFiltersDeliver deliver;
  gpointer data;

  GMutex lock;
  GCond changed;      /* signals changes of the members below */
  guint in_flight;    /* submitted and not delivered */
  GstFlowReturn flow; /* of the first failed delivery that was not returned yet */
  gboolean flushing, stopping;
  gboolean started;    /* the pad's task is */
  gboolean delivering; /* `deliver` is being called */
};

GstCudaFiltersOutputTask *
gst_cuda_filters_output_task_new(GstPad *pad, GstCudaFiltersDeliver deliver, gpointer data)
{
  GstCudaFiltersOutputTask *self = g_new0(GstCudaFiltersOutputTask, 1);

  self->pad = pad;
  self->deliver = deliver;
  self->data = data;
  self->stopping = TRUE;
  g_mutex_init(&self->lock);
  g_cond_init(&self->changed);
  return self;
}

void gst_cuda_filters_output_task_free(GstCudaFiltersOutputTask *self)
{
  g_mutex_clear(&self->lock);
  g_cond_clear(&self->changed);
  g_free(self);
}

void gst_cuda_filters_output_task_activate(GstCudaFiltersOutputTask *self)
{
  g_mutex_lock(&self->lock);
  self->in_flight = 0;
  self->flow = GST_FLOW_OK;
  self->flushing = self->stopping = FALSE;
  g_mutex_unlock(&self->lock);
}

/* One round of the pad's task: one delivery, or the end. */
static void deliver_next(gpointer data)
{
  GstCudaFiltersOutputTask *self = data;
  GstFlowReturn flow;
  gboolean discard;

  g_mutex_lock(&self->lock);
  while (self->in_flight == 0 && !self->stopping)
    g_cond_wait(&self->changed, &self->lock);
  if (self->stopping) {
    g_mutex_unlock(&self->lock);
    gst_pad_pause_task(self->pad);
    return;
  }
  discard = self->flushing || self->flow != GST_FLOW_OK;
  self->delivering = TRUE;
  g_mutex_unlock(&self->lock);

  flow = self->deliver(self->data, discard);

  g_mutex_lock(&self->lock);
  self->delivering = FALSE;
  self->in_flight--;
  if (self->flow == GST_FLOW_OK)
    self->flow = flow;
  g_cond_broadcast(&self->changed);
  g_mutex_unlock(&self->lock);
}

void gst_cuda_filters_output_task_stop(GstCudaFiltersOutputTask *self)
{
  g_mutex_lock(&self->lock);
  self->stopping = TRUE;
  self->started = FALSE;
  g_cond_broadcast(&self->changed);
  g_mutex_unlock(&self->lock);
  gst_pad_stop_task(self->pad);
}

void gst_cuda_filters_output_task_set_flushing(GstCudaFiltersOutputTask *self, gboolean flushing)
{
  g_mutex_lock(&self->lock);
  while (!flushing && self->in_flight > 0 && !self->stopping)
    g_cond_wait(&self->changed, &self->lock);
  self->flushing = flushing;
  if (!flushing)
    self->flow = GST_FLOW_OK;
  g_cond_broadcast(&self->changed);
  g_mutex_unlock(&self->lock);
}

GstFlowReturn gst_cuda_filters_output_task_wait_for_room(GstCudaFiltersOutputTask *self, guint most)
{
  GstFlowReturn flow;

  g_mutex_lock(&self->lock);
  while (!self->stopping && !self->flushing &&
         self->in_flight >= (self->flow == GST_FLOW_OK ? most : 1))
    g_cond_wait(&self->changed, &self->lock);
  if (self->stopping || self->flushing) {
    flow = GST_FLOW_FLUSHING;
  } else {
    flow = self->flow;
    self->flow = GST_FLOW_OK;
  }
  g_mutex_unlock(&self->lock);
  return flow;
}

void gst_cuda_filters_output_task_submitted(GstCudaFiltersOutputTask *self)
{
  gboolean start;

  g_mutex_lock(&self->lock);
  self->in_flight++;
  start = !self->started && !self->stopping;
  self->started |= start;
  g_cond_broadcast(&self->changed);
  g_mutex_unlock(&self->lock);
  /* Outside the lock: starting a task posts a message, whose sync handlers are the application's
   * code. If stop() comes in between, another stop() follows when the streaming thread has ended.
   */
  if (start)
    gst_pad_start_task(self->pad, deliver_next, self, NULL);
}

void gst_cuda_filters_output_task_drain(GstCudaFiltersOutputTask *self)
{
  g_mutex_lock(&self->lock);
  while (self->delivering || (self->in_flight > 0 && !self->stopping))
    g_cond_wait(&self->changed, &self->lock);
  g_mutex_unlock(&self->lock);
}
