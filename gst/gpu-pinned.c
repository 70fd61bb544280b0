/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gpu-pinned.h"

#include "device.h"

#define GST_TYPE_CUDA_FILTERS_PINNED_ALLOCATOR (gst_cuda_filters_pinned_allocator_get_type())
G_DECLARE_FINAL_TYPE(GstCudaFiltersPinnedAllocator, gst_cuda_filters_pinned_allocator, GST,
                     CUDA_FILTERS_PINNED_ALLOCATOR, GstAllocator)

struct _GstCudaFiltersPinnedAllocator {
  GstAllocator parent;
  GstCudaContext *context;
};

typedef struct {
  GstMemory parent;
  gpointer data;
  gpointer block; /* to free with g_free; NULL if `data` is page-locked */
} PinnedMemory;

G_DEFINE_TYPE(GstCudaFiltersPinnedAllocator, gst_cuda_filters_pinned_allocator, GST_TYPE_ALLOCATOR);

static gpointer alloc_pinned(GstCudaContext *context, gsize size)
{
  gpointer data = NULL;

  if (gst_cuda_context_push(context)) {
    data = cf_pinned_alloc(size, NULL);
    gst_cuda_context_pop(NULL);
  }
  return data;
}

/* Page-locked memory starts at a page boundary, which satisfies every alignment in use. */
static GstMemory *gst_cuda_filters_pinned_allocator_alloc(GstAllocator *allocator, gsize size,
                                                          GstAllocationParams *params)
{
  GstCudaFiltersPinnedAllocator *self = GST_CUDA_FILTERS_PINNED_ALLOCATOR(allocator);
  const gsize whole = params->prefix + size + params->padding;
  PinnedMemory *memory = g_new0(PinnedMemory, 1);

  memory->data = alloc_pinned(self->context, whole);
  if (!memory->data) {
    memory->block = g_try_malloc(whole + params->align);
    if (!memory->block) {
      g_free(memory);
      return NULL;
    }
    memory->data = (gpointer)(((guintptr)memory->block + params->align) & ~(guintptr)params->align);
  }
  gst_memory_init(GST_MEMORY_CAST(memory), params->flags | GST_MEMORY_FLAG_NO_SHARE, allocator,
                  NULL, whole, params->align, params->prefix, size);
  return GST_MEMORY_CAST(memory);
}

static void gst_cuda_filters_pinned_allocator_free(GstAllocator *allocator, GstMemory *memory)
{
  GstCudaFiltersPinnedAllocator *self = GST_CUDA_FILTERS_PINNED_ALLOCATOR(allocator);
  PinnedMemory *pinned = (PinnedMemory *)memory;

  if (pinned->block) {
    g_free(pinned->block);
  } else if (gst_cuda_context_push(self->context)) {
    cf_pinned_free(pinned->data);
    gst_cuda_context_pop(NULL);
  }
  g_free(pinned);
}

static gpointer map_memory(GstMemory *memory, gsize size, GstMapFlags flags)
{
  return ((PinnedMemory *)memory)->data;
}

static void unmap_memory(GstMemory *memory)
{
}

static void gst_cuda_filters_pinned_allocator_finalize(GObject *object)
{
  gst_object_unref(GST_CUDA_FILTERS_PINNED_ALLOCATOR(object)->context);
  G_OBJECT_CLASS(gst_cuda_filters_pinned_allocator_parent_class)->finalize(object);
}

static void gst_cuda_filters_pinned_allocator_class_init(GstCudaFiltersPinnedAllocatorClass *klass)
{
  GST_ALLOCATOR_CLASS(klass)->alloc = gst_cuda_filters_pinned_allocator_alloc;
  GST_ALLOCATOR_CLASS(klass)->free = gst_cuda_filters_pinned_allocator_free;
  G_OBJECT_CLASS(klass)->finalize = gst_cuda_filters_pinned_allocator_finalize;
}

static void gst_cuda_filters_pinned_allocator_init(GstCudaFiltersPinnedAllocator *self)
{
  GstAllocator *allocator = GST_ALLOCATOR_CAST(self);

  allocator->mem_type = "CudaFiltersPinned";
  allocator->mem_map = map_memory;
  allocator->mem_unmap = unmap_memory;
}

GstAllocator *gst_cuda_filters_pinned_allocator_new(GstCudaContext *context)
{
  GstCudaFiltersPinnedAllocator *self = g_object_new(GST_TYPE_CUDA_FILTERS_PINNED_ALLOCATOR, NULL);

  self->context = gst_object_ref(context);
  return GST_ALLOCATOR_CAST(gst_object_ref_sink(self));
}

gboolean gst_cuda_filters_is_pinned(GstBuffer *buffer)
{
  for (guint i = 0; i < gst_buffer_n_memory(buffer); i++) {
    GstMemory *memory = gst_buffer_peek_memory(buffer, i);

    if (!GST_IS_CUDA_FILTERS_PINNED_ALLOCATOR(memory->allocator) || ((PinnedMemory *)memory)->block)
      return FALSE;
  }
  return TRUE;
}
