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

#include <sys/stat.h>

#include "basefilter.h"
#include "elements.h"
#include "gaussblur.h"
#include "plan/map.h"
#include "presets.h"

/* Beyond the ids of the base class. */
#define PROP_MAP_LOCATION 0x10000

#define CHECK_INTERVAL (300 * G_TIME_SPAN_MILLISECOND)

/* Identifies a version of a file, by its inode, size and time of change; all zero: no file. */
typedef struct {
  gboolean exists;
  guint64 device, inode, size;
  gint64 seconds, nanoseconds;
} FileStamp;

G_DECLARE_FINAL_TYPE(GstCudaGaussBlur, gst_cuda_gauss_blur, GST, CUDA_GAUSS_BLUR,
                     GstCudaFiltersBase)

struct _GstCudaGaussBlur {
  GstCudaFiltersBase parent;

  /* Under the object lock. */
  gchar *location; /* file of the current map, or, before the start, of the map to read; or NULL */
  gchar *pending_location; /* set while running and not read yet; or NULL */
  FileStamp stamp;         /* of the file at `location` when last read, with or without success */
  guint generation;        /* incremented by settings, starts and stops: an older read is void */
  gboolean streaming;      /* between start and stop */
  gboolean reading;        /* another thread checks or reads the file */
  GPtrArray *retired;      /* replaced maps, which the streaming thread may still be using */

  gint64 next_check; /* streaming thread: monotonic time */
};

G_DEFINE_TYPE(GstCudaGaussBlur, gst_cuda_gauss_blur, GST_TYPE_CUDA_FILTERS_BASE);
GST_ELEMENT_REGISTER_DEFINE(cudagaussblur, "cudagaussblur", GST_RANK_NONE,
                            gst_cuda_gauss_blur_get_type());

/* Files */

/* Size and time count for regular files only: writes to a FIFO or device are no new version. */
static FileStamp stamp_of(const gchar *location)
{
  struct stat info;
  FileStamp stamp = {0};

  if (stat(location, &info) == 0) {
    stamp.exists = TRUE;
    stamp.device = info.st_dev;
    stamp.inode = info.st_ino;
    if (S_ISREG(info.st_mode)) {
      stamp.size = (guint64)info.st_size;
      stamp.seconds = info.st_mtim.tv_sec;
      stamp.nanoseconds = info.st_mtim.tv_nsec;
    }
  }
  return stamp;
}

/* A missing file is no change: it may be missing for a moment while it is replaced. */
static gboolean has_changed(const FileStamp *known, const FileStamp *stamp)
{
  const gboolean same = known->device == stamp->device && known->inode == stamp->inode &&
                        known->size == stamp->size && known->seconds == stamp->seconds &&
                        known->nanoseconds == stamp->nanoseconds;

  return !known->exists || (stamp->exists && !same);
}

/* Maps */

static GPtrArray *new_retired(void)
{
  return g_ptr_array_new_with_free_func((GDestroyNotify)cf_map_unref);
}

/* Sets the map, transfer full, or NULL; under the object lock. */
static void install_map(GstCudaGaussBlur *self, CfMap *map)
{
  GstCudaFiltersBase *base = GST_CUDA_FILTERS_BASE(self);
  CfGaussblurParams *params = base->params.values;

  if (params->map)
    g_ptr_array_add(self->retired, (gpointer)params->map);
  params->map = map;
  gst_cuda_filters_base_params_changed(base);
}

/* Reports a map that was refused while running. */
static void warn_of_map(GstCudaGaussBlur *self, const CfStatus *status)
{
  GST_ELEMENT_WARNING(self, RESOURCE, SETTINGS, ("%s", status->message),
                      ("the old value stays in use"));
}

/* Installs `map`, which was read from `location`, unless `generation` is outdated. NULL means that
 * reading failed with `status`: the old map stays. */
static void finish_reading(GstCudaGaussBlur *self, const gchar *location, guint generation,
                           CfMap *map, const FileStamp *stamp, const CfStatus *status)
{
  gboolean current, was_pending;

  GST_OBJECT_LOCK(self);
  current = generation == self->generation;
  was_pending = current && self->pending_location;
  if (current && map) {
    install_map(self, map);
    g_free(self->location);
    self->location = g_strdup(location);
  }
  if (current && (map || !was_pending))
    self->stamp = *stamp;
  if (current)
    g_clear_pointer(&self->pending_location, g_free);
  GST_OBJECT_UNLOCK(self);

  if (!current)
    cf_map_unref(map);
  else if (!map)
    warn_of_map(self, status);
  if (was_pending && !map)
    g_object_notify(G_OBJECT(self), "map-location");
}

/* Reads the pending map, or the current one if its file has changed. FALSE if none is pending then.
 */
static gboolean read_once(GstCudaGaussBlur *self)
{
  gchar *location = NULL;
  FileStamp known = {0};
  guint generation;
  gboolean again;

  GST_OBJECT_LOCK(self);
  if (self->streaming)
    location = g_strdup(self->pending_location ? self->pending_location : self->location);
  if (!self->pending_location)
    known = self->stamp;
  generation = self->generation;
  GST_OBJECT_UNLOCK(self);

  if (location) {
    /* Taken before reading, so that a change during the read is noticed the next time. */
    const FileStamp stamp = stamp_of(location);
    CfStatus status = {CF_OK, ""};

    if (has_changed(&known, &stamp))
      finish_reading(self, location, generation, cf_map_load(location, &status), &stamp, &status);
  }
  g_free(location);
  GST_OBJECT_LOCK(self);
  again = self->pending_location != NULL;
  self->reading = again;
  GST_OBJECT_UNLOCK(self);
  return again;
}

/* Frees `retired`, an array of maps or NULL, and reads until no map is pending. */
static void read_map(GstElement *element, gpointer retired)
{
  if (retired)
    g_ptr_array_unref(retired);
  while (read_once(GST_CUDA_GAUSS_BLUR(element)))
    ;
}

/* Streaming */

/* Reads the map for the first frame, unless it is still there from an earlier start. */
static gboolean read_first_map(GstCudaGaussBlur *self, CfStatus *status)
{
  CfMap *map = NULL;
  FileStamp known, stamp = {0};
  gchar *location;
  guint generation;

  GST_OBJECT_LOCK(self);
  self->streaming = TRUE;
  generation = ++self->generation;
  location = g_strdup(self->location);
  known = self->stamp;
  GST_OBJECT_UNLOCK(self);
  if (location) {
    stamp = stamp_of(location);
    if (has_changed(&known, &stamp))
      map = cf_map_load(location, status);
    g_free(location);
  }
  GST_OBJECT_LOCK(self);
  if (map && generation == self->generation) {
    install_map(self, g_steal_pointer(&map));
    self->stamp = stamp;
  }
  GST_OBJECT_UNLOCK(self);
  cf_map_unref(map);
  return status->code == CF_OK;
}

/* A location that is still pending is read by the next start. */
static void end_stream(GstCudaGaussBlur *self)
{
  GST_OBJECT_LOCK(self);
  self->generation++;
  self->streaming = FALSE;
  if (self->pending_location) {
    g_free(self->location);
    self->location = g_steal_pointer(&self->pending_location);
    self->stamp = (FileStamp){0};
  }
  GST_OBJECT_UNLOCK(self);
}

static gboolean gst_cuda_gauss_blur_start(GstBaseTransform *trans)
{
  GstCudaGaussBlur *self = GST_CUDA_GAUSS_BLUR(trans);
  CfStatus status = {CF_OK, ""};

  self->next_check = 0;
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

/* Every CHECK_INTERVAL lets another thread check the file and free retired maps. That is safe
 * between two frames: only engines use those maps then, with references of their own. */
static void check_file_periodically(GstCudaGaussBlur *self)
{
  const gint64 now = g_get_monotonic_time();
  GPtrArray *retired = NULL;
  gboolean begins;

  if (now < self->next_check)
    return;
  self->next_check = now + CHECK_INTERVAL;
  GST_OBJECT_LOCK(self);
  begins = !self->reading && (self->location || self->retired->len > 0);
  if (begins && self->retired->len > 0) {
    retired = self->retired;
    self->retired = new_retired();
  }
  self->reading |= begins;
  GST_OBJECT_UNLOCK(self);
  if (begins)
    gst_element_call_async(GST_ELEMENT(self), read_map, retired, NULL);
}

static void gst_cuda_gauss_blur_before_transform(GstBaseTransform *trans, GstBuffer *buffer)
{
  check_file_periodically(GST_CUDA_GAUSS_BLUR(trans));
  GST_BASE_TRANSFORM_CLASS(gst_cuda_gauss_blur_parent_class)->before_transform(trans, buffer);
}

/* Properties */

/* Before the start: start will read the map. Under the object lock. */
static void keep_location(GstCudaGaussBlur *self, const gchar *location)
{
  g_free(self->location);
  self->location = g_strdup(location);
  self->stamp = (FileStamp){0};
  install_map(self, NULL);
}

/* While running, another thread reads the new map, and the old one stays until then. Without an old
 * one the caller waits for the read, since it may set map-mode=file next, which needs a map. */
static void set_location(GstCudaGaussBlur *self, const gchar *location)
{
  const CfGaussblurParams *params = GST_CUDA_FILTERS_BASE(self)->params.values;
  CfStatus status = {CF_OK, ""};
  gboolean begins = FALSE, waits;

  GST_OBJECT_LOCK(self);
  waits = !params->map;
  if (self->streaming && !location && !waits && params->map_mode == CF_MAP_FILE) {
    cf_fail(&status, CF_ERROR_INVALID,
            "map-location is empty, but map-mode is file: set another map-mode first");
  } else {
    self->generation++;
    g_clear_pointer(&self->pending_location, g_free);
    if (self->streaming && location) {
      begins = !self->reading;
      self->pending_location = g_strdup(location);
      self->reading = TRUE;
    } else {
      keep_location(self, location);
    }
  }
  GST_OBJECT_UNLOCK(self);

  if (status.code != CF_OK)
    warn_of_map(self, &status);
  else if (begins && waits)
    read_map(GST_ELEMENT(self), NULL);
  else if (begins)
    gst_element_call_async(GST_ELEMENT(self), read_map, NULL, NULL);
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
  g_value_set_string(value, self->pending_location ? self->pending_location : self->location);
  GST_OBJECT_UNLOCK(self);
}

/* Class */

static void gst_cuda_gauss_blur_finalize(GObject *object)
{
  GstCudaGaussBlur *self = GST_CUDA_GAUSS_BLUR(object);
  const CfGaussblurParams *params = GST_CUDA_FILTERS_BASE(self)->params.values;

  cf_map_unref(params->map);
  g_ptr_array_unref(self->retired);
  g_free(self->location);
  g_free(self->pending_location);
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
