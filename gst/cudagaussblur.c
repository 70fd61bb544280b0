/* SPDX-License-Identifier: LGPL-2.1-or-later */

/**
 * SECTION:element-cudagaussblur
 * @title: cudagaussblur
 *
 * A Gaussian within one code value of its definition for every #cudagaussblur:sigma. Chroma is
 * blurred with its subsampled sigma; colours are blurred premultiplied by alpha. A negative sigma
 * sharpens as the gaussianblur element does. With #cudagaussblur:map-mode every sample has a sigma
 * of its own.
 *
 * ## Example launch lines
 * |[
 * gst-launch-1.0 videotestsrc ! cudagaussblur sigma=4 ! videoconvert ! autovideosink
 * gst-launch-1.0 videotestsrc ! cudagaussblur sigma=8 map-mode=linear map-inner=0.1 ! videoconvert
 * ! autovideosink
 * ]|
 *
 * Since: 0.1
 */

#include "cudagaussblur.h"

#include <sys/stat.h>

#include "gaussblur.h"
#include "map.h"

/* Far from the ids of the base class. */
#define PROP_MAP_LOCATION 0x10000

#define LOOK_INTERVAL (300 * G_TIME_SPAN_MILLISECOND)

/* What tells that a file is another one. */
typedef struct {
  guint64 device, inode, size;
  gint64 seconds, nanoseconds;
} FileMark;

struct _GstCudaGaussBlur {
  GstCudaFiltersBase parent;

  /* Under the object lock. */
  gchar *location;
  FileMark mark;      /* of the file when it was read last, or tried to */
  CfStatus refusal;   /* why it could not be read before the stream ran */
  GPtrArray *retired; /* maps that the streaming thread may be about to take over */

  gint64 next_look; /* streaming thread: monotonic time */
};

G_DEFINE_TYPE(GstCudaGaussBlur, gst_cuda_gauss_blur, GST_TYPE_CUDA_FILTERS_BASE);
GST_ELEMENT_REGISTER_DEFINE(cudagaussblur, "cudagaussblur", GST_RANK_NONE,
                            gst_cuda_gauss_blur_get_type());

/* Files */

static FileMark mark_of(const gchar *location)
{
  struct stat info;
  FileMark mark = {0};

  if (location && stat(location, &info) == 0) {
    mark.device = info.st_dev;
    mark.inode = info.st_ino;
    mark.size = (guint64)info.st_size;
    mark.seconds = info.st_mtim.tv_sec;
    mark.nanoseconds = info.st_mtim.tv_nsec;
  }
  return mark;
}

static gboolean same_mark(const FileMark *a, const FileMark *b)
{
  return a->device == b->device && a->inode == b->inode && a->size == b->size &&
         a->seconds == b->seconds && a->nanoseconds == b->nanoseconds;
}

/* Takes over a map and what it was read from. */
static void install_map(GstCudaGaussBlur *self, CfMap *map, const FileMark *mark)
{
  GstCudaFiltersBase *base = GST_CUDA_FILTERS_BASE(self);
  CfGaussblurParams *params = base->params;

  GST_OBJECT_LOCK(self);
  if (params->map)
    g_ptr_array_add(self->retired, (gpointer)params->map);
  params->map = map;
  gst_cuda_filters_base_params_changed(base);
  self->mark = *mark;
  self->refusal.code = CF_OK;
  GST_OBJECT_UNLOCK(self);
}

/* A map that cannot be read leaves the old one in use while the stream runs; before it runs, start
 * fails. */
static void refuse_map(GstCudaGaussBlur *self, const CfStatus *status, const FileMark *mark)
{
  gboolean running;

  GST_OBJECT_LOCK(self);
  running = GST_STATE(self) >= GST_STATE_PAUSED;
  self->mark = *mark;
  if (!running)
    self->refusal = *status;
  GST_OBJECT_UNLOCK(self);
  if (running)
    GST_ELEMENT_WARNING(self, RESOURCE, SETTINGS, ("%s", status->message),
                        ("the old value stays in use"));
  else
    GST_WARNING_OBJECT(self, "%s", status->message);
}

static gboolean is_map_in_use(GstCudaGaussBlur *self)
{
  const CfGaussblurParams *params = GST_CUDA_FILTERS_BASE(self)->params;
  gboolean used;

  GST_OBJECT_LOCK(self);
  used = GST_STATE(self) >= GST_STATE_PAUSED && params->map && params->map_mode == CF_MAP_FILE;
  GST_OBJECT_UNLOCK(self);
  return used;
}

static void load_map(GstCudaGaussBlur *self, const gchar *location)
{
  /* Before reading: a change meanwhile is seen the next time. */
  const FileMark mark = mark_of(location);
  CfStatus status = {CF_OK, ""};
  CfMap *map = NULL;

  if (location && *location)
    map = cf_map_load(location, &status);
  else if (is_map_in_use(self))
    cf_fail(&status, CF_ERROR_INVALID,
            "map-location is empty, but map-mode is file: set another map-mode first");
  if (status.code != CF_OK)
    refuse_map(self, &status, &mark);
  else
    install_map(self, map, &mark);
}

static void reload_if_changed(GstCudaGaussBlur *self)
{
  gchar *location;
  FileMark known, mark;

  GST_OBJECT_LOCK(self);
  location = g_strdup(self->location);
  known = self->mark;
  GST_OBJECT_UNLOCK(self);
  mark = mark_of(location);
  /* A file that is gone, perhaps for a moment while it is replaced, is no change. */
  if (mark.inode && !same_mark(&mark, &known))
    load_map(self, location);
  g_free(location);
}

/* Maps that are no longer set: in the streaming thread, between two frames, nobody reads them but
 * engines, which have references of their own. */
static void free_retired(GstCudaGaussBlur *self)
{
  GST_OBJECT_LOCK(self);
  g_ptr_array_set_size(self->retired, 0);
  GST_OBJECT_UNLOCK(self);
}

/* Streaming */

static gboolean gst_cuda_gauss_blur_start(GstBaseTransform *trans)
{
  GstCudaGaussBlur *self = GST_CUDA_GAUSS_BLUR(trans);
  CfStatus refusal;

  reload_if_changed(self);
  GST_OBJECT_LOCK(self);
  refusal = self->refusal;
  GST_OBJECT_UNLOCK(self);
  if (refusal.code != CF_OK) {
    GST_ELEMENT_ERROR(self, RESOURCE, SETTINGS, ("%s", refusal.message), (NULL));
    return FALSE;
  }
  self->next_look = 0;
  return GST_BASE_TRANSFORM_CLASS(gst_cuda_gauss_blur_parent_class)->start(trans);
}

static void gst_cuda_gauss_blur_before_transform(GstBaseTransform *trans, GstBuffer *buffer)
{
  GstCudaGaussBlur *self = GST_CUDA_GAUSS_BLUR(trans);
  const gint64 now = g_get_monotonic_time();

  if (now >= self->next_look) {
    self->next_look = now + LOOK_INTERVAL;
    free_retired(self);
    reload_if_changed(self);
  }
  GST_BASE_TRANSFORM_CLASS(gst_cuda_gauss_blur_parent_class)->before_transform(trans, buffer);
}

/* Properties */

static void gst_cuda_gauss_blur_set_property(GObject *object, guint id, const GValue *value,
                                             GParamSpec *spec)
{
  GstCudaGaussBlur *self = GST_CUDA_GAUSS_BLUR(object);
  gchar *location;

  if (id != PROP_MAP_LOCATION) {
    G_OBJECT_CLASS(gst_cuda_gauss_blur_parent_class)->set_property(object, id, value, spec);
    return;
  }
  GST_OBJECT_LOCK(self);
  g_free(self->location);
  self->location = g_value_dup_string(value);
  location = g_strdup(self->location);
  GST_OBJECT_UNLOCK(self);
  load_map(self, location);
  g_free(location);
}

static void gst_cuda_gauss_blur_get_property(GObject *object, guint id, GValue *value,
                                             GParamSpec *spec)
{
  GstCudaGaussBlur *self = GST_CUDA_GAUSS_BLUR(object);

  if (id != PROP_MAP_LOCATION) {
    G_OBJECT_CLASS(gst_cuda_gauss_blur_parent_class)->get_property(object, id, value, spec);
    return;
  }
  GST_OBJECT_LOCK(self);
  g_value_set_string(value, self->location);
  GST_OBJECT_UNLOCK(self);
}

/* Class */

static void gst_cuda_gauss_blur_finalize(GObject *object)
{
  GstCudaGaussBlur *self = GST_CUDA_GAUSS_BLUR(object);
  const CfGaussblurParams *params = GST_CUDA_FILTERS_BASE(self)->params;

  cf_map_unref(params->map);
  g_ptr_array_unref(self->retired);
  g_free(self->location);
  G_OBJECT_CLASS(gst_cuda_gauss_blur_parent_class)->finalize(object);
}

static void gst_cuda_gauss_blur_class_init(GstCudaGaussBlurClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS(klass);
  GstBaseTransformClass *trans_class = GST_BASE_TRANSFORM_CLASS(klass);

  gst_cuda_filters_base_class_set_effect(GST_CUDA_FILTERS_BASE_CLASS(klass), &cf_gaussblur);
  gst_cuda_filters_base_class_limit_memory(GST_CUDA_FILTERS_BASE_CLASS(klass));
  object_class->set_property = gst_cuda_gauss_blur_set_property;
  object_class->get_property = gst_cuda_gauss_blur_get_property;
  object_class->finalize = gst_cuda_gauss_blur_finalize;
  trans_class->start = GST_DEBUG_FUNCPTR(gst_cuda_gauss_blur_start);
  trans_class->before_transform = GST_DEBUG_FUNCPTR(gst_cuda_gauss_blur_before_transform);
  g_object_class_install_property(
      object_class, PROP_MAP_LOCATION,
      g_param_spec_string("map-location", "Map location",
                          "The blur map of map-mode=file: a gray PGM or PNG of 8 or 16 bits, read "
                          "again when it changes",
                          NULL,
                          G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_PLAYING));
  gst_element_class_set_static_metadata(
      GST_ELEMENT_CLASS(klass), "Gaussian blur", "Filter/Effect/Video/Hardware",
      "Blurs (or sharpens) with an exact Gaussian of any size, on CUDA or the CPU",
      "gst-cuda-filters maintainers");
}

static void gst_cuda_gauss_blur_init(GstCudaGaussBlur *self)
{
  self->retired = g_ptr_array_new_with_free_func((GDestroyNotify)cf_map_unref);
}
