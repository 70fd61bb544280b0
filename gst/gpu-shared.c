/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gpu-shared.h"

#include "gpu-compat.h"

/* With more held inputs the host is that many frames ahead of the device, and waits. */
#define MAX_HELD 8

/* An input without a stream of its own, held until the device has read it. */
typedef struct {
  guint64 number;
  GstBuffer *buffer;
} HeldInput;

/* GstCudaContext -> GstCudaFiltersShared. */
static GMutex shared_lock;
static GHashTable *shared_by_context;

static gboolean fill_shared(GstCudaFiltersShared *shared, CfStatus *status)
{
  gboolean good = FALSE;

  if (!gst_cuda_context_push(shared->context))
    return cf_fail(status, CF_ERROR_DEVICE_LOST, "the CUDA context cannot be entered");
  shared->device = cf_device_open(status);
  if (shared->device) {
    shared->stream = gst_cuda_filters_compat_stream_new(shared->context, status);
    good = shared->stream != NULL;
    if (!good)
      cf_device_close(shared->device);
  }
  gst_cuda_context_pop(NULL);
  return good;
}

GstCudaContext *gst_cuda_filters_shared_find_context(guint device_id)
{
  GstCudaContext *found = NULL;
  GHashTableIter all;
  gpointer context;

  g_mutex_lock(&shared_lock);
  if (shared_by_context) {
    g_hash_table_iter_init(&all, shared_by_context);
    while (!found && g_hash_table_iter_next(&all, &context, NULL)) {
      guint its_device = 0;

      g_object_get(context, "cuda-device-id", &its_device, NULL);
      if (its_device == device_id)
        found = gst_object_ref(context);
    }
  }
  g_mutex_unlock(&shared_lock);
  return found;
}

GstCudaFiltersShared *gst_cuda_filters_shared_acquire(GstCudaContext *context, CfStatus *status)
{
  GstCudaFiltersShared *shared;

  g_mutex_lock(&shared_lock);
  if (!shared_by_context)
    shared_by_context = g_hash_table_new(NULL, NULL);
  shared = g_hash_table_lookup(shared_by_context, context);
  if (!shared) {
    shared = g_new0(GstCudaFiltersShared, 1);
    shared->context = gst_object_ref(context);
    g_mutex_init(&shared->lock);
    g_queue_init(&shared->held_inputs);
    if (fill_shared(shared, status)) {
      g_hash_table_insert(shared_by_context, context, shared);
    } else {
      gst_object_unref(shared->context);
      g_mutex_clear(&shared->lock);
      g_clear_pointer(&shared, g_free);
    }
  }
  if (shared)
    shared->references++;
  g_mutex_unlock(&shared_lock);
  return shared;
}

/* Releases the held inputs up to `number`. */
static void release_inputs(GstCudaFiltersShared *shared, guint64 number)
{
  GQueue read = G_QUEUE_INIT;
  HeldInput *held;

  g_mutex_lock(&shared->lock);
  while ((held = g_queue_peek_head(&shared->held_inputs)) && held->number <= number)
    g_queue_push_tail(&read, g_queue_pop_head(&shared->held_inputs));
  g_mutex_unlock(&shared->lock);
  /* Outside the lock: a pool runs code of others when it gets a buffer back. */
  while ((held = g_queue_pop_head(&read))) {
    gst_buffer_unref(held->buffer);
    g_free(held);
  }
}

gboolean gst_cuda_filters_shared_synchronize(GstCudaFiltersShared *shared, CfStatus *status)
{
  guint64 number;
  gboolean good;

  g_mutex_lock(&shared->lock);
  number = shared->enqueued;
  g_mutex_unlock(&shared->lock);
  good = cf_stream_synchronize(gst_cuda_filters_compat_stream_handle(shared->stream), status);
  release_inputs(shared, number);
  return good;
}

gboolean gst_cuda_filters_shared_hold(GstCudaFiltersShared *shared, GstBuffer *buffer,
                                      CfStatus *status)
{
  HeldInput *held = g_new0(HeldInput, 1);
  guint length;

  held->buffer = gst_buffer_ref(buffer);
  g_mutex_lock(&shared->lock);
  held->number = ++shared->enqueued;
  g_queue_push_tail(&shared->held_inputs, held);
  length = g_queue_get_length(&shared->held_inputs);
  g_mutex_unlock(&shared->lock);
  return length <= MAX_HELD || gst_cuda_filters_shared_synchronize(shared, status);
}

void gst_cuda_filters_shared_release(GstCudaFiltersShared *shared)
{
  gboolean last;

  g_mutex_lock(&shared_lock);
  last = --shared->references == 0;
  if (last)
    g_hash_table_remove(shared_by_context, shared->context);
  g_mutex_unlock(&shared_lock);
  if (!last)
    return;

  /* Outside shared_lock, so that elements on other contexts wait neither for this device nor for
   * code that a pool runs when it gets a buffer back. */
  if (gst_cuda_context_push(shared->context)) {
    gst_cuda_filters_shared_synchronize(shared, NULL);
    cf_device_close(shared->device);
    gst_cuda_filters_compat_stream_free(shared->stream);
    gst_cuda_context_pop(NULL);
  }
  release_inputs(shared, G_MAXUINT64);
  gst_object_unref(shared->context);
  g_mutex_clear(&shared->lock);
  g_free(shared);
}
