/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "basefilter.h"
#include "basefilter-private.h"

#include <string.h>

#include "formats.h"
#include "properties.h"

GST_DEBUG_CATEGORY(gst_cuda_filters_debug);

enum {
  PROP_0,
  PROP_BACKEND,
  PROP_CUDA_DEVICE_ID,
  PROP_N_THREADS,
  PROP_ACTIVE_BACKEND,
  PROP_STATS,
  PROP_MAX_DEVICE_MEMORY,
  PROP_EFFECT_FIRST,
};

#define DEFAULT_BACKEND   GST_CUDA_FILTERS_BACKEND_AUTO
#define DEFAULT_DEVICE_ID -1
#define DEFAULT_THREADS   0

static const CfChoice backend_choices[] = {
    {GST_CUDA_FILTERS_BACKEND_AUTO, "auto",
     "CUDA for CUDA memory and where a device opens, else CPU"},
    {GST_CUDA_FILTERS_BACKEND_CUDA, "cuda", "CUDA, or an error that says why not"},
    {GST_CUDA_FILTERS_BACKEND_CPU, "cpu", "The CPU, all threads"},
    {GST_CUDA_FILTERS_BACKEND_REFERENCE, "reference", "The slow double precision definition"},
    {0, NULL, NULL},
};

G_DEFINE_ABSTRACT_TYPE_WITH_CODE(GstCudaFiltersBase, gst_cuda_filters_base, GST_TYPE_VIDEO_FILTER,
                                 GST_DEBUG_CATEGORY_INIT(gst_cuda_filters_debug, "cudafilters", 0,
                                                         "CUDA and CPU image filters"));

static const CfEffect *effect_of(GstCudaFiltersBase *self)
{
  return GST_CUDA_FILTERS_BASE_GET_CLASS(self)->effect;
}

static guint count_params(const CfEffect *effect)
{
  guint count = 0;

  while (effect->params[count].name)
    count++;
  return count;
}

/* One engine that knows regions is enough: the others refuse frames that have some. */
static gboolean has_regions(const CfEffect *effect)
{
  return effect->engines[0]->regions;
}

static guint count_refusals(const CfEffect *effect)
{
  return count_params(effect) + (has_regions(effect) ? GST_CUDA_FILTERS_REGIONS_N_PROPERTIES : 0);
}

/* Errors */

/* Once for every failure, however often upstream offers its caps again. */
void gst_cuda_filters_base_post_error(GstCudaFiltersBase *self, const CfStatus *status)
{
  if (self->failed)
    return;
  self->failed = TRUE;
  switch (status->code) {
  case CF_ERROR_INVALID:
    GST_ELEMENT_ERROR(self, RESOURCE, SETTINGS, ("%s", status->message), (NULL));
    break;
  case CF_ERROR_NO_MEMORY:
    GST_ELEMENT_ERROR(self, RESOURCE, NO_SPACE_LEFT, ("%s", status->message), (NULL));
    break;
  case CF_ERROR_NO_DEVICE:
    GST_ELEMENT_ERROR(self, RESOURCE, NOT_FOUND, ("%s", status->message), (NULL));
    break;
  default:
    GST_ELEMENT_ERROR(self, LIBRARY, FAILED, ("%s", status->message), (NULL));
    break;
  }
}

/* Once, too, although the same caps are accepted each time that they are negotiated again. */
void gst_cuda_filters_base_post_no_frames(GstCudaFiltersBase *self)
{
  const GstVideoInfo *info = &GST_VIDEO_FILTER(self)->out_info;
  CfStatus status = {CF_OK, ""};

  if (self->starved)
    return;
  self->starved = TRUE;
  cf_fail(&status, CF_ERROR_NO_MEMORY,
          "no %s memory for a filtered frame of %s %dx%d; free some or use smaller frames",
          self->cuda_memory ? "CUDA" : "system",
          gst_video_format_to_string(GST_VIDEO_INFO_FORMAT(info)), GST_VIDEO_INFO_WIDTH(info),
          GST_VIDEO_INFO_HEIGHT(info));
  gst_cuda_filters_base_post_error(self, &status);
}

/* Properties */

static void gst_cuda_filters_base_set_property(GObject *object, guint id, const GValue *value,
                                               GParamSpec *spec)
{
  GstCudaFiltersBase *self = GST_CUDA_FILTERS_BASE(object);
  CfStatus status = {CF_OK, ""};
  gboolean running;

  GST_OBJECT_LOCK(self);
  running = GST_STATE(self) >= GST_STATE_PAUSED;
  switch (id) {
  case PROP_BACKEND:
    self->backend = g_value_get_enum(value);
    break;
  case PROP_CUDA_DEVICE_ID:
    self->device_id = g_value_get_int(value);
    break;
  case PROP_N_THREADS:
    self->threads = g_value_get_uint(value);
    break;
  case PROP_MAX_DEVICE_MEMORY:
    self->max_device_memory = g_value_get_uint64(value);
    break;
  default: {
    const guint index = id - PROP_EFFECT_FIRST, params = count_params(effect_of(self));

    if (index >= params)
      gst_cuda_filters_regions_set(self->roi, index - params, value, &status);
    else if (gst_cuda_filters_set_param(&effect_of(self)->params[index], self->params, value,
                                        &status))
      self->params_changed = TRUE;
    if (status.code == CF_OK || !running)
      self->refusals[index] = status;
    break;
  }
  }
  GST_OBJECT_UNLOCK(self);

  /* Before the stream runs, start() fails with the refusal; afterwards the old value goes on. */
  if (status.code != CF_OK && running)
    GST_ELEMENT_WARNING(self, RESOURCE, SETTINGS, ("%s", status.message),
                        ("the old value stays in use"));
  else if (status.code != CF_OK)
    GST_WARNING_OBJECT(self, "%s", status.message);
}

static GstStructure *make_stats(const GstCudaFiltersBase *self)
{
  return gst_structure_new(
      "application/x-cudafilters-stats", "frames", G_TYPE_UINT64, self->frames, "backend",
      G_TYPE_STRING, self->active_backend ? self->active_backend : "none", "algorithm",
      G_TYPE_STRING, self->algorithm ? self->algorithm : "none", "average-time", G_TYPE_UINT64,
      self->frames ? self->total_time / self->frames : (guint64)0, "last-time", G_TYPE_UINT64,
      self->last_time, NULL);
}

static void gst_cuda_filters_base_get_property(GObject *object, guint id, GValue *value,
                                               GParamSpec *spec)
{
  GstCudaFiltersBase *self = GST_CUDA_FILTERS_BASE(object);

  GST_OBJECT_LOCK(self);
  switch (id) {
  case PROP_BACKEND:
    g_value_set_enum(value, self->backend);
    break;
  case PROP_CUDA_DEVICE_ID:
    g_value_set_int(value, self->device_id);
    break;
  case PROP_N_THREADS:
    g_value_set_uint(value, self->threads);
    break;
  case PROP_MAX_DEVICE_MEMORY:
    g_value_set_uint64(value, self->max_device_memory);
    break;
  case PROP_ACTIVE_BACKEND:
    g_value_set_string(value, self->active_backend ? self->active_backend : "none");
    break;
  case PROP_STATS:
    g_value_take_boxed(value, make_stats(self));
    break;
  default: {
    const guint index = id - PROP_EFFECT_FIRST, params = count_params(effect_of(self));

    if (index >= params)
      gst_cuda_filters_regions_get(self->roi, index - params, value);
    else
      gst_cuda_filters_get_param(&effect_of(self)->params[index], self->params, value);
    break;
  }
  }
  GST_OBJECT_UNLOCK(self);
}

static void set_active_backend(GstCudaFiltersBase *self, const gchar *name)
{
  gboolean changed;

  GST_OBJECT_LOCK(self);
  changed = g_strcmp0(self->active_backend, name) != 0;
  self->active_backend = name;
  GST_OBJECT_UNLOCK(self);
  if (changed)
    g_object_notify(G_OBJECT(self), "active-backend");
}

/* Parameters of the frames to come */

static gboolean take_params(GstCudaFiltersBase *self)
{
  gboolean changed;

  GST_OBJECT_LOCK(self);
  changed = self->params_changed;
  self->params_changed = FALSE;
  if (changed)
    memcpy(self->running_params, self->params, effect_of(self)->params_size);
  GST_OBJECT_UNLOCK(self);
  return changed;
}

/* Engines on the GPU are opened, updated and closed in its context. */
static gboolean enter_engine(GstCudaFiltersBase *self, const CfEngine *engine, CfStatus *status)
{
  return !engine->device_memory || gst_cuda_filters_gpu_enter(self->gpu, status);
}

static void leave_engine(GstCudaFiltersBase *self, const CfEngine *engine)
{
  if (engine->device_memory)
    gst_cuda_filters_gpu_leave(self->gpu);
}

static gboolean update_worker(GstCudaFiltersBase *self, CfStatus *status)
{
  const CfEngine *engine = gst_cuda_filters_worker_engine(self->worker);
  gboolean good;

  if (!enter_engine(self, engine, status))
    return FALSE;
  good = gst_cuda_filters_worker_update(self->worker, self->running_params, status);
  leave_engine(self, engine);
  return good;
}

/* Refused settings are tried again with every frame: none passes until they are mended. */
gboolean gst_cuda_filters_base_update_params(GstCudaFiltersBase *self, CfStatus *status)
{
  if (!take_params(self))
    return TRUE;
  if (self->worker && !update_worker(self, status)) {
    GST_OBJECT_LOCK(self);
    self->params_changed = TRUE;
    GST_OBJECT_UNLOCK(self);
    return FALSE;
  }
  self->identity = effect_of(self)->is_identity(self->running_params);
  if (self->worker)
    self->failed = FALSE;
  return TRUE;
}

/* Lifecycle */

GstCudaFiltersBackend gst_cuda_filters_base_wanted_backend(GstCudaFiltersBase *self,
                                                           gint *device_id)
{
  GstCudaFiltersBackend backend;

  GST_OBJECT_LOCK(self);
  backend = self->backend;
  *device_id = self->device_id;
  GST_OBJECT_UNLOCK(self);
  return backend;
}

static gboolean must_run_on_cpu(GstCudaFiltersBackend backend)
{
  return backend == GST_CUDA_FILTERS_BACKEND_CPU || backend == GST_CUDA_FILTERS_BACKEND_REFERENCE;
}

/* The row of the engine table for the negotiated memory, with the GPU open if it needs one. */
static const CfEngine *choose_engine(GstCudaFiltersBase *self, CfStatus *status)
{
  const CfEffect *effect = effect_of(self);
  gint device_id;
  const GstCudaFiltersBackend backend = gst_cuda_filters_base_wanted_backend(self, &device_id);
  CfStatus reason = {CF_OK, ""};

  if (backend == GST_CUDA_FILTERS_BACKEND_REFERENCE)
    return cf_effect_engine(effect, "reference");
  if (backend == GST_CUDA_FILTERS_BACKEND_CPU)
    return cf_effect_engine(effect, "cpu");
  if (gst_cuda_filters_gpu_open(self->gpu, device_id, &reason))
    return cf_effect_engine(effect, "cuda");
  if (backend == GST_CUDA_FILTERS_BACKEND_AUTO && !self->cuda_memory) {
    GST_INFO_OBJECT(self, "CPU, because %s", reason.message);
    return cf_effect_engine(effect, "cpu");
  }
  cf_fail(status, reason.code, "backend=cuda cannot be used: %s. backend=cpu works everywhere.",
          reason.message);
  return NULL;
}

static gboolean gst_cuda_filters_base_start(GstBaseTransform *trans)
{
  GstCudaFiltersBase *self = GST_CUDA_FILTERS_BASE(trans);
  CfStatus status = {CF_OK, ""};
  gint device_id;

  self->failed = self->starved = FALSE;
  self->cuda_memory = FALSE;
  self->cover = GST_CUDA_FILTERS_COVER_ALL;
  if (self->roi)
    gst_cuda_filters_regions_reset(self->roi);
  GST_OBJECT_LOCK(self);
  self->params_changed = TRUE;
  self->frames = 0;
  self->total_time = self->last_time = 0;
  self->algorithm = NULL;
  for (guint i = 0; status.code == CF_OK && i < count_refusals(effect_of(self)); i++)
    status = self->refusals[i];
  GST_OBJECT_UNLOCK(self);

  if (status.code == CF_OK &&
      gst_cuda_filters_base_wanted_backend(self, &device_id) == GST_CUDA_FILTERS_BACKEND_CUDA)
    choose_engine(self, &status);
  if (status.code != CF_OK) {
    gst_cuda_filters_base_post_error(self, &status);
    return FALSE;
  }
  return TRUE;
}

void gst_cuda_filters_base_close_worker(GstCudaFiltersBase *self)
{
  const CfEngine *engine;
  CfStatus status = {CF_OK, ""};

  GST_OBJECT_LOCK(self);
  self->algorithm = NULL;
  GST_OBJECT_UNLOCK(self);
  if (!self->worker)
    return;
  engine = gst_cuda_filters_worker_engine(self->worker);
  if (engine->device_memory)
    gst_cuda_filters_gpu_wait(self->gpu);
  if (enter_engine(self, engine, &status)) {
    gst_cuda_filters_worker_free(self->worker);
    leave_engine(self, engine);
  } else {
    GST_WARNING_OBJECT(self, "device memory cannot be freed: %s", status.message);
  }
  self->worker = NULL;
}

static gboolean gst_cuda_filters_base_stop(GstBaseTransform *trans)
{
  GstCudaFiltersBase *self = GST_CUDA_FILTERS_BASE(trans);

  gst_cuda_filters_base_close_worker(self);
  gst_cuda_filters_gpu_close(self->gpu);
  set_active_backend(self, NULL);
  return TRUE;
}

gboolean gst_cuda_filters_base_open_worker(GstCudaFiltersBase *self, const GstVideoInfo *info,
                                           CfStatus *status)
{
  CfOpenOptions options = {0};
  const CfEngine *engine;

  gst_cuda_filters_base_close_worker(self);
  GST_OBJECT_LOCK(self);
  self->params_changed = TRUE;
  options.threads = (int)self->threads;
  GST_OBJECT_UNLOCK(self);

  engine = choose_engine(self, status);
  if (!engine)
    return FALSE;
  if (engine->device_memory)
    options.device = gst_cuda_filters_gpu_device(self->gpu);
  if (self->cuda_memory && !gst_cuda_filters_gpu_check_info(info, status))
    return FALSE;
  gst_cuda_filters_base_update_params(self, status);
  if (!enter_engine(self, engine, status))
    return FALSE;
  self->worker = gst_cuda_filters_worker_new(effect_of(self), engine, info, self->running_params,
                                             &options, status);
  leave_engine(self, engine);
  if (!self->worker)
    return FALSE;
  GST_INFO_OBJECT(self, "%s engine", engine->name);
  self->failed = FALSE;
  set_active_backend(self, engine->name);
  return TRUE;
}

gboolean gst_cuda_filters_base_runs_on_device(GstCudaFiltersBase *self)
{
  return self->worker && gst_cuda_filters_worker_engine(self->worker)->device_memory;
}

/* Overlapping costs two frames of latency, which only pipelines that are not live have to give. */
static gboolean upstream_is_live(GstCudaFiltersBase *self)
{
  GstQuery *query = gst_query_new_latency();
  gboolean live = FALSE;

  if (gst_pad_peer_query(GST_BASE_TRANSFORM_SINK_PAD(self), query))
    gst_query_parse_latency(query, &live, NULL, NULL);
  gst_query_unref(query);
  return live;
}

static gboolean may_overlap(GstCudaFiltersBase *self, const GstVideoInfo *info)
{
  return gst_cuda_filters_base_runs_on_device(self) && !self->cuda_memory &&
         GST_VIDEO_INFO_FPS_N(info) > 0 && !upstream_is_live(self);
}

static gboolean gst_cuda_filters_base_set_info(GstVideoFilter *filter, GstCaps *in_caps,
                                               GstVideoInfo *in_info, GstCaps *out_caps,
                                               GstVideoInfo *out_info)
{
  GstCudaFiltersBase *self = GST_CUDA_FILTERS_BASE(filter);
  CfStatus status = {CF_OK, ""};

  self->cuda_memory = gst_cuda_filters_gpu_caps_are_cuda(in_caps);
  if (!gst_cuda_filters_base_open_worker(self, in_info, &status)) {
    gst_cuda_filters_base_post_error(self, &status);
    return FALSE;
  }
  self->overlaps = may_overlap(self, in_info);
  return TRUE;
}

/* Negotiation */

static GstCaps *gst_cuda_filters_base_transform_caps(GstBaseTransform *trans,
                                                     GstPadDirection direction, GstCaps *caps,
                                                     GstCaps *filter)
{
  GstCudaFiltersBase *self = GST_CUDA_FILTERS_BASE(trans);
  gint device_id;
  GstCaps *result = gst_caps_copy(caps);

  if (must_run_on_cpu(gst_cuda_filters_base_wanted_backend(self, &device_id))) {
    for (guint i = gst_caps_get_size(result); i > 0; i--) {
      const GstCapsFeatures *features = gst_caps_get_features(result, i - 1);

      if (features && gst_caps_features_contains(features, "memory:CUDAMemory"))
        gst_caps_remove_structure(result, i - 1);
    }
  }
  if (filter) {
    GstCaps *common = gst_caps_intersect_full(filter, result, GST_CAPS_INTERSECT_FIRST);

    gst_caps_unref(result);
    result = common;
  }
  return result;
}

static void gst_cuda_filters_base_set_context(GstElement *element, GstContext *context)
{
  GstCudaFiltersBase *self = GST_CUDA_FILTERS_BASE(element);
  gint device_id;

  gst_cuda_filters_base_wanted_backend(self, &device_id);
  gst_cuda_filters_gpu_set_context(self->gpu, context, device_id);
  GST_ELEMENT_CLASS(gst_cuda_filters_base_parent_class)->set_context(element, context);
}

static gboolean query_is_cuda(GstQuery *query)
{
  GstCaps *caps = NULL;

  gst_query_parse_allocation(query, &caps, NULL);
  return caps && gst_cuda_filters_gpu_caps_are_cuda(caps);
}

static gboolean gst_cuda_filters_base_propose_allocation(GstBaseTransform *trans, GstQuery *decided,
                                                         GstQuery *query)
{
  GstCudaFiltersBase *self = GST_CUDA_FILTERS_BASE(trans);

  if (decided && gst_cuda_filters_base_runs_on_device(self) &&
      !(query_is_cuda(query) ? gst_cuda_filters_gpu_propose_allocation(self->gpu, query)
                             : gst_cuda_filters_gpu_propose_system_allocation(self->gpu, query)))
    return FALSE;
  return GST_BASE_TRANSFORM_CLASS(gst_cuda_filters_base_parent_class)
      ->propose_allocation(trans, decided, query);
}

static gboolean gst_cuda_filters_base_decide_allocation(GstBaseTransform *trans, GstQuery *query)
{
  GstCudaFiltersBase *self = GST_CUDA_FILTERS_BASE(trans);

  if (gst_cuda_filters_base_runs_on_device(self) &&
      !(query_is_cuda(query) ? gst_cuda_filters_gpu_decide_allocation(self->gpu, query)
                             : gst_cuda_filters_gpu_decide_system_allocation(self->gpu, query))) {
    gst_cuda_filters_base_post_no_frames(self);
    return FALSE;
  }
  return GST_BASE_TRANSFORM_CLASS(gst_cuda_filters_base_parent_class)
      ->decide_allocation(trans, query);
}

/* The base class would make up for a missing pool with system memory. */
static gboolean gst_cuda_filters_base_transform_size(GstBaseTransform *trans,
                                                     GstPadDirection direction, GstCaps *caps,
                                                     gsize size, GstCaps *other_caps,
                                                     gsize *other_size)
{
  if (gst_cuda_filters_gpu_caps_are_cuda(caps))
    return FALSE;
  return GST_BASE_TRANSFORM_CLASS(gst_cuda_filters_base_parent_class)
      ->transform_size(trans, direction, caps, size, other_caps, other_size);
}

/* GstVideoFilter takes a class without this function for one that works in place only, and never
 * calls it here, because transform() above maps the frames itself: the parent's lets frames pass
 * unfiltered when they cannot be mapped. */
static GstFlowReturn gst_cuda_filters_base_transform_frame(GstVideoFilter *filter,
                                                           GstVideoFrame *input,
                                                           GstVideoFrame *output)
{
  g_return_val_if_reached(GST_FLOW_ERROR);
}

/* Size and orientation stay, so whatever a meta says stays true. */
static gboolean gst_cuda_filters_base_transform_meta(GstBaseTransform *trans, GstBuffer *output,
                                                     GstMeta *meta, GstBuffer *input)
{
  return TRUE;
}

/* Class */

static void gst_cuda_filters_base_constructed(GObject *object)
{
  GstCudaFiltersBase *self = GST_CUDA_FILTERS_BASE(object);
  const CfEffect *effect = effect_of(self);

  G_OBJECT_CLASS(gst_cuda_filters_base_parent_class)->constructed(object);
  self->params = g_malloc0(effect->params_size);
  self->running_params = g_malloc0(effect->params_size);
  self->refusals = g_new0(CfStatus, count_refusals(effect));
  cf_params_init(effect->params, self->params);
  if (has_regions(effect))
    self->roi = gst_cuda_filters_regions_new();
}

static void gst_cuda_filters_base_finalize(GObject *object)
{
  GstCudaFiltersBase *self = GST_CUDA_FILTERS_BASE(object);

  gst_cuda_filters_gpu_free(self->gpu);
  g_free(self->params);
  g_free(self->running_params);
  g_free(self->refusals);
  gst_cuda_filters_regions_free(self->roi);
  G_OBJECT_CLASS(gst_cuda_filters_base_parent_class)->finalize(object);
}

static void gst_cuda_filters_base_init(GstCudaFiltersBase *self)
{
  self->backend = DEFAULT_BACKEND;
  self->device_id = DEFAULT_DEVICE_ID;
  self->threads = DEFAULT_THREADS;
  self->gpu = gst_cuda_filters_gpu_new(GST_ELEMENT(self));
}

static void install_common_properties(GObjectClass *klass)
{
  const GParamFlags settable = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_READY;
  const GParamFlags readable = G_PARAM_READABLE | G_PARAM_STATIC_STRINGS;

  g_object_class_install_property(
      klass, PROP_BACKEND,
      g_param_spec_enum(
          "backend", "Backend", "What computes",
          gst_cuda_filters_choices_type("GstCudaFiltersBackend", backend_choices, FALSE),
          DEFAULT_BACKEND, settable));
  g_object_class_install_property(klass, PROP_CUDA_DEVICE_ID,
                                  g_param_spec_int("cuda-device-id", "CUDA Device ID",
                                                   "CUDA device to use (-1 = auto)", -1, G_MAXINT,
                                                   DEFAULT_DEVICE_ID, settable));
  g_object_class_install_property(klass, PROP_N_THREADS,
                                  g_param_spec_uint("n-threads", "Threads", "CPU threads (0 = all)",
                                                    0, G_MAXINT, DEFAULT_THREADS, settable));
  g_object_class_install_property(
      klass, PROP_ACTIVE_BACKEND,
      g_param_spec_string(
          "active-backend", "Active Backend",
          "What really computes: cuda, cpu, reference, or none before there are caps", "none",
          readable));
  g_object_class_install_property(
      klass, PROP_STATS,
      g_param_spec_boxed("stats", "Statistics",
                         "frames, backend, algorithm, average-time and last-time of a frame in ns",
                         GST_TYPE_STRUCTURE, readable));
}

void gst_cuda_filters_base_class_set_effect(GstCudaFiltersBaseClass *klass, const CfEffect *effect)
{
  GstElementClass *element_class = GST_ELEMENT_CLASS(klass);
  GstCaps *caps = gst_cuda_filters_gpu_caps();

  caps =
      caps ? gst_caps_merge(caps, gst_cuda_filters_system_caps()) : gst_cuda_filters_system_caps();
  klass->effect = effect;
  /* GObject forgets these for every class, and asks them of the class that installs a property. */
  G_OBJECT_CLASS(klass)->set_property = gst_cuda_filters_base_set_property;
  G_OBJECT_CLASS(klass)->get_property = gst_cuda_filters_base_get_property;
  gst_cuda_filters_install_params(G_OBJECT_CLASS(klass), effect->params, PROP_EFFECT_FIRST);
  if (has_regions(effect))
    gst_cuda_filters_regions_install(G_OBJECT_CLASS(klass),
                                     PROP_EFFECT_FIRST + count_params(effect));
  gst_element_class_add_pad_template(
      element_class, gst_pad_template_new("sink", GST_PAD_SINK, GST_PAD_ALWAYS, caps));
  gst_element_class_add_pad_template(
      element_class, gst_pad_template_new("src", GST_PAD_SRC, GST_PAD_ALWAYS, caps));
  gst_caps_unref(caps);
}

void gst_cuda_filters_base_class_limit_memory(GstCudaFiltersBaseClass *klass)
{
  g_object_class_install_property(
      G_OBJECT_CLASS(klass), PROP_MAX_DEVICE_MEMORY,
      g_param_spec_uint64("max-device-memory", "Maximum device memory",
                          "Bytes of device memory for a frame in system memory, which goes through "
                          "the device in strips (0 = what is free)",
                          0, G_MAXUINT64, 0,
                          G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_PLAYING |
                              GST_PARAM_CONTROLLABLE));
}

static void gst_cuda_filters_base_class_init(GstCudaFiltersBaseClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS(klass);
  GstElementClass *element_class = GST_ELEMENT_CLASS(klass);
  GstBaseTransformClass *trans_class = GST_BASE_TRANSFORM_CLASS(klass);
  GstVideoFilterClass *filter_class = GST_VIDEO_FILTER_CLASS(klass);

  object_class->constructed = gst_cuda_filters_base_constructed;
  object_class->finalize = gst_cuda_filters_base_finalize;
  object_class->set_property = gst_cuda_filters_base_set_property;
  object_class->get_property = gst_cuda_filters_base_get_property;
  install_common_properties(object_class);

  element_class->set_context = GST_DEBUG_FUNCPTR(gst_cuda_filters_base_set_context);
  trans_class->transform_caps = GST_DEBUG_FUNCPTR(gst_cuda_filters_base_transform_caps);
  trans_class->propose_allocation = GST_DEBUG_FUNCPTR(gst_cuda_filters_base_propose_allocation);
  trans_class->decide_allocation = GST_DEBUG_FUNCPTR(gst_cuda_filters_base_decide_allocation);
  trans_class->transform_size = GST_DEBUG_FUNCPTR(gst_cuda_filters_base_transform_size);
  trans_class->start = GST_DEBUG_FUNCPTR(gst_cuda_filters_base_start);
  trans_class->stop = GST_DEBUG_FUNCPTR(gst_cuda_filters_base_stop);
  trans_class->transform_meta = GST_DEBUG_FUNCPTR(gst_cuda_filters_base_transform_meta);
  filter_class->set_info = GST_DEBUG_FUNCPTR(gst_cuda_filters_base_set_info);
  filter_class->transform_frame = GST_DEBUG_FUNCPTR(gst_cuda_filters_base_transform_frame);

  gst_cuda_filters_base_install_frames(trans_class);
  gst_type_mark_as_plugin_api(GST_TYPE_CUDA_FILTERS_BASE, 0);
}
