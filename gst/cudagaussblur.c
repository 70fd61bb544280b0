/* SPDX-License-Identifier: LGPL-2.1-or-later */

/**
 * SECTION:element-cudagaussblur
 * @title: cudagaussblur
 *
 * A Gaussian blur, within one code value of its definition for every #cudagaussblur:sigma. The
 * sigma of chroma is scaled by its subsampling; colours are premultiplied by alpha. A negative
 * sigma sharpens, as in the gaussianblur element. With #cudagaussblur:map-mode each sample has a
 * sigma of its own, which a blur map tells; with #cudagaussblur:roi-mode only regions are blurred.
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
#include "plan/map.h"
#include "presets.h"

/* Far from the ids of the base class. */
#define PROP_MAP_LOCATION 0x10000

#define LOOK_INTERVAL (300 * G_TIME_SPAN_MILLISECOND)

/* What tells that a file is another one; all zero: there is none. */
typedef struct {
  gboolean exists;
  guint64 device, inode, size;
  gint64 seconds, nanoseconds;
} FileMark;

struct _GstCudaGaussBlur {
  GstCudaFiltersBase parent;

  /* Under the object lock. */
  gchar *location;    /* of the map in force; of the one to read where no stream runs; or NULL */
  gchar *wanted;      /* set while a stream runs, and not judged yet; or NULL */
  FileMark mark;      /* of the file at `location` when it was read last, or tried to */
  guint turn;         /* counts what makes void what is being read: settings, starts, stops */
  gboolean streaming; /* from start to stop */
  gboolean busy;      /* a thread looks at the file */
  GPtrArray *retired; /* maps that the streaming thread may be about to take over */

  gint64 next_look; /* streaming thread: monotonic time */
};

G_DEFINE_TYPE(GstCudaGaussBlur, gst_cuda_gauss_blur, GST_TYPE_CUDA_FILTERS_BASE);
GST_ELEMENT_REGISTER_DEFINE(cudagaussblur, "cudagaussblur", GST_RANK_NONE,
                            gst_cuda_gauss_blur_get_type());

/* Files */

/* Others write to a FIFO or a device all the time: that does not make it another one. */
static FileMark mark_of(const gchar *location)
{
  struct stat info;
  FileMark mark = {0};

  if (stat(location, &info) == 0) {
    mark.exists = TRUE;
    mark.device = info.st_dev;
    mark.inode = info.st_ino;
    if (S_ISREG(info.st_mode)) {
      mark.size = (guint64)info.st_size;
      mark.seconds = info.st_mtim.tv_sec;
      mark.nanoseconds = info.st_mtim.tv_nsec;
    }
  }
  return mark;
}

/* A file that is gone, perhaps for a moment while it is replaced, is no change. */
static gboolean has_changed(const FileMark *known, const FileMark *mark)
{
  const gboolean same = known->device == mark->device && known->inode == mark->inode &&
                        known->size == mark->size && known->seconds == mark->seconds &&
                        known->nanoseconds == mark->nanoseconds;

  return !known->exists || (mark->exists && !same);
}

/* Maps */

static GPtrArray *new_retired(void)
{
  return g_ptr_array_new_with_free_func((GDestroyNotify)cf_map_unref);
}

/* Takes over a map, or NULL; under the object lock. */
static void install_map(GstCudaGaussBlur *self, CfMap *map)
{
  GstCudaFiltersBase *base = GST_CUDA_FILTERS_BASE(self);
  CfGaussblurParams *params = base->params;

  if (params->map)
    g_ptr_array_add(self->retired, (gpointer)params->map);
  params->map = map;
  gst_cuda_filters_base_params_changed(base);
}

/* Refused while a stream runs. */
static void warn_of_map(GstCudaGaussBlur *self, const CfStatus *status)
{
  GST_ELEMENT_WARNING(self, RESOURCE, SETTINGS, ("%s", status->message),
                      ("the old value stays in use"));
}

/* Puts in force the map that was read from `location` in `turn`, or NULL: keeps the old one. */
static void settle(GstCudaGaussBlur *self, const gchar *location, guint turn, CfMap *map,
                   const FileMark *mark, const CfStatus *status)
{
  gboolean current, wanted;

  GST_OBJECT_LOCK(self);
  current = turn == self->turn;
  wanted = current && self->wanted;
  if (current && map) {
    install_map(self, map);
    g_free(self->location);
    self->location = g_strdup(location);
  }
  if (current && (map || !wanted))
    self->mark = *mark;
  if (current)
    g_clear_pointer(&self->wanted, g_free);
  GST_OBJECT_UNLOCK(self);

  if (!current)
    cf_map_unref(map);
  else if (!map)
    warn_of_map(self, status);
  if (wanted && !map)
    g_object_notify(G_OBJECT(self), "map-location");
}

/* Reads what is wanted, or what has changed. FALSE where nothing is left to do. */
static gboolean look_once(GstCudaGaussBlur *self)
{
  gchar *location = NULL;
  FileMark known = {0};
  guint turn;
  gboolean again;

  GST_OBJECT_LOCK(self);
  if (self->streaming)
    location = g_strdup(self->wanted ? self->wanted : self->location);
  if (!self->wanted)
    known = self->mark;
  turn = self->turn;
  GST_OBJECT_UNLOCK(self);

  if (location) {
    /* Before reading: a change meanwhile is seen the next time. */
    const FileMark mark = mark_of(location);
    CfStatus status = {CF_OK, ""};

    if (has_changed(&known, &mark))
      settle(self, location, turn, cf_map_load(location, &status), &mark, &status);
  }
  g_free(location);
  GST_OBJECT_LOCK(self);
  again = self->wanted != NULL;
  self->busy = again;
  GST_OBJECT_UNLOCK(self);
  return again;
}

/* Frees `retired`, an array of maps or NULL, and reads until nothing is left to do. */
static void look(GstElement *element, gpointer retired)
{
  if (retired)
    g_ptr_array_unref(retired);
  while (look_once(GST_CUDA_GAUSS_BLUR(element)))
    ;
}

/* Streaming */

/* Reads the map that the first frame needs, if it is not there from an earlier start. */
static gboolean read_first_map(GstCudaGaussBlur *self, CfStatus *status)
{
  CfMap *map = NULL;
  FileMark known, mark = {0};
  gchar *location;
  guint turn;

  GST_OBJECT_LOCK(self);
  self->streaming = TRUE;
  turn = ++self->turn;
  location = g_strdup(self->location);
  known = self->mark;
  GST_OBJECT_UNLOCK(self);
  if (location) {
    mark = mark_of(location);
    if (has_changed(&known, &mark))
      map = cf_map_load(location, status);
    g_free(location);
  }
  GST_OBJECT_LOCK(self);
  if (map && turn == self->turn) {
    install_map(self, g_steal_pointer(&map));
    self->mark = mark;
  }
  GST_OBJECT_UNLOCK(self);
  cf_map_unref(map);
  return status->code == CF_OK;
}

/* What is not judged by now will be by the next start. */
static void end_stream(GstCudaGaussBlur *self)
{
  GST_OBJECT_LOCK(self);
  self->turn++;
  self->streaming = FALSE;
  if (self->wanted) {
    g_free(self->location);
    self->location = g_steal_pointer(&self->wanted);
    self->mark = (FileMark){0};
  }
  GST_OBJECT_UNLOCK(self);
}

static gboolean gst_cuda_gauss_blur_start(GstBaseTransform *trans)
{
  GstCudaGaussBlur *self = GST_CUDA_GAUSS_BLUR(trans);
  CfStatus status = {CF_OK, ""};

  self->next_look = 0;
  if (!read_first_map(self, &status))
    GST_ELEMENT_ERROR(self, RESOURCE, SETTINGS, ("%s", status.message), (NULL));
  else if (GST_BASE_TRANSFORM_CLASS(gst_cuda_gauss_blur_parent_class)->start(trans))
    return TRUE;
  end_stream(self);
  return FALSE;
}

static gboolean gst_cuda_gauss_blur_stop(GstBaseTransform *trans)
{
  end_stream(GST_CUDA_GAUSS_BLUR(trans));
  return GST_BASE_TRANSFORM_CLASS(gst_cuda_gauss_blur_parent_class)->stop(trans);
}

/* Lets another thread look at the file, and free what is retired: between two frames nobody reads
 * those maps but engines, which have references of their own. */
static void look_now_and_then(GstCudaGaussBlur *self)
{
  const gint64 now = g_get_monotonic_time();
  GPtrArray *retired = NULL;
  gboolean begins;

  if (now < self->next_look)
    return;
  self->next_look = now + LOOK_INTERVAL;
  GST_OBJECT_LOCK(self);
  begins = !self->busy && (self->location || self->retired->len > 0);
  if (begins && self->retired->len > 0) {
    retired = self->retired;
    self->retired = new_retired();
  }
  self->busy |= begins;
  GST_OBJECT_UNLOCK(self);
  if (begins)
    gst_element_call_async(GST_ELEMENT(self), look, retired, NULL);
}

static void gst_cuda_gauss_blur_before_transform(GstBaseTransform *trans, GstBuffer *buffer)
{
  look_now_and_then(GST_CUDA_GAUSS_BLUR(trans));
  GST_BASE_TRANSFORM_CLASS(gst_cuda_gauss_blur_parent_class)->before_transform(trans, buffer);
}

/* Properties */

/* Before the stream runs: start will read it. Under the object lock. */
static void keep_location(GstCudaGaussBlur *self, const gchar *location)
{
  g_free(self->location);
  self->location = g_strdup(location);
  self->mark = (FileMark){0};
  install_map(self, NULL);
}

/* While a stream runs another thread reads the new map, and the old one stays in force until it is
 * there. Only where there is none the caller waits: what it sets next, map-mode=file, may need it.
 */
static void set_location(GstCudaGaussBlur *self, const gchar *location)
{
  const CfGaussblurParams *params = GST_CUDA_FILTERS_BASE(self)->params;
  CfStatus status = {CF_OK, ""};
  gboolean begins = FALSE, waits;

  GST_OBJECT_LOCK(self);
  waits = !params->map;
  if (self->streaming && !location && !waits && params->map_mode == CF_MAP_FILE) {
    cf_fail(&status, CF_ERROR_INVALID,
            "map-location is empty, but map-mode is file: set another map-mode first");
  } else {
    self->turn++;
    g_clear_pointer(&self->wanted, g_free);
    if (self->streaming && location) {
      begins = !self->busy;
      self->wanted = g_strdup(location);
      self->busy = TRUE;
    } else {
      keep_location(self, location);
    }
  }
  GST_OBJECT_UNLOCK(self);

  if (status.code != CF_OK)
    warn_of_map(self, &status);
  else if (begins && waits)
    look(GST_ELEMENT(self), NULL);
  else if (begins)
    gst_element_call_async(GST_ELEMENT(self), look, NULL, NULL);
}

static void gst_cuda_gauss_blur_set_property(GObject *object, guint id, const GValue *value,
                                             GParamSpec *spec)
{
  if (id == PROP_MAP_LOCATION) {
    GValue copy = G_VALUE_INIT;
    const gchar *location;

    gst_cuda_filters_presets_copy_value(GST_CUDA_FILTERS_BASE(object), value, &copy);
    location = g_value_get_string(&copy);
    set_location(GST_CUDA_GAUSS_BLUR(object), location && *location ? location : NULL);
    g_value_unset(&copy);
  } else {
    G_OBJECT_CLASS(gst_cuda_gauss_blur_parent_class)->set_property(object, id, value, spec);
  }
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
  g_value_set_string(value, self->wanted ? self->wanted : self->location);
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
  g_free(self->wanted);
  G_OBJECT_CLASS(gst_cuda_gauss_blur_parent_class)->finalize(object);
}

static void gst_cuda_gauss_blur_class_init(GstCudaGaussBlurClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS(klass);
  GstBaseTransformClass *trans_class = GST_BASE_TRANSFORM_CLASS(klass);

  gst_cuda_filters_base_class_set_effect(GST_CUDA_FILTERS_BASE_CLASS(klass), &cf_gaussblur,
                                         "cudagaussblur");
  gst_cuda_filters_base_class_limit_memory(GST_CUDA_FILTERS_BASE_CLASS(klass));
  object_class->set_property = gst_cuda_gauss_blur_set_property;
  object_class->get_property = gst_cuda_gauss_blur_get_property;
  object_class->finalize = gst_cuda_gauss_blur_finalize;
  trans_class->start = GST_DEBUG_FUNCPTR(gst_cuda_gauss_blur_start);
  trans_class->stop = GST_DEBUG_FUNCPTR(gst_cuda_gauss_blur_stop);
  trans_class->before_transform = GST_DEBUG_FUNCPTR(gst_cuda_gauss_blur_before_transform);
  g_object_class_install_property(
      object_class, PROP_MAP_LOCATION,
      g_param_spec_string("map-location", "Map location",
                          "File with the blur map for map-mode=file: PNG, PGM or PPM; colours "
                          "count by their luma; read again when the file changes",
                          NULL,
                          G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_PLAYING));
  gst_element_class_set_static_metadata(
      GST_ELEMENT_CLASS(klass), "Gaussian blur", "Filter/Effect/Video/Hardware",
      "Blurs or sharpens with a Gaussian of any size, everywhere, in regions or by a blur map",
      "gst-cuda-filters maintainers");
}

static void gst_cuda_gauss_blur_init(GstCudaGaussBlur *self)
{
  self->retired = new_retired();
}
