/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "basefilter.h"
#include "basefilter-private.h"

#include <string.h>

#include "formats.h"
#include "presets.h"

GST_DEBUG_CATEGORY(gst_cuda_filters_debug);

G_DEFINE_ABSTRACT_TYPE_WITH_CODE(GstCudaFiltersBase, gst_cuda_filters_base, GST_TYPE_VIDEO_FILTER,
                                 GST_DEBUG_CATEGORY_INIT(gst_cuda_filters_debug, "cudafilters", 0,
                                                         "CUDA and CPU image filters");
                                 G_IMPLEMENT_INTERFACE(GST_TYPE_PRESET,
                                                       gst_cuda_filters_presets_init));

const CfEffect *gst_cuda_filters_base_effect(GstCudaFiltersBase *self)
{
  return GST_CUDA_FILTERS_BASE_GET_CLASS(self)->effect;
}

/* Errors */

/* Once for every failure, however often upstream offers its caps again. */
void gst_cuda_filters_base_post_error(GstCudaFiltersBase *self, const CfStatus *status)
{
  gboolean known;

  GST_OBJECT_LOCK(self);
  known = self->failed || self->lost;
  self->failed = TRUE;
  if (!known) {
    self->lost = status->code == CF_ERROR_DEVICE_LOST;
    self->frames_before_failure = self->staged.under_way;
  }
  GST_OBJECT_UNLOCK(self);
  if (known)
    return;
  if (status->code == CF_ERROR_DEVICE_LOST)
    gst_cuda_filters_gpu_check_critical(self->gpu);
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
  gboolean known;

  GST_OBJECT_LOCK(self);
  known = self->starved;
  self->starved = TRUE;
  GST_OBJECT_UNLOCK(self);
  if (known)
    return;
  cf_fail(&status, CF_ERROR_NO_MEMORY,
          "no %s memory for a filtered frame of %s %dx%d; free some or use smaller frames",
          self->cuda_memory ? "CUDA" : "system",
          gst_video_format_to_string(GST_VIDEO_INFO_FORMAT(info)), GST_VIDEO_INFO_WIDTH(info),
          GST_VIDEO_INFO_HEIGHT(info));
  gst_cuda_filters_base_post_error(self, &status);
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

/* The next failure is told of again. */
static void forget_failure(GstCudaFiltersBase *self)
{
  GST_OBJECT_LOCK(self);
  self->failed = FALSE;
  GST_OBJECT_UNLOCK(self);
}

/* Parameters of the frames to come */

void gst_cuda_filters_base_params_changed(GstCudaFiltersBase *self)
{
  const guint rest = cf_params_count(gst_cuda_filters_base_effect(self)->params);

  self->turns[rest] = ++self->last_turn;
  self->params_changed = TRUE;
}

static gboolean take_wanted_params(GstCudaFiltersBase *self)
{
  const CfEffect *effect = gst_cuda_filters_base_effect(self);
  gboolean changed;

  GST_OBJECT_LOCK(self);
  changed = self->params_changed;
  self->params_changed = FALSE;
  if (changed) {
    memcpy(self->wanted_params, self->params, effect->params_size);
    memcpy(self->wanted_turns, self->turns,
           (cf_params_count(effect->params) + 1) * sizeof *self->turns);
    self->wanted_turn = self->last_turn;
  }
  GST_OBJECT_UNLOCK(self);
  return changed;
}

static void run_wanted_params(GstCudaFiltersBase *self)
{
  void *before = self->running_params;

  self->running_params = self->wanted_params;
  self->wanted_params = before;
  self->identity = gst_cuda_filters_base_effect(self)->is_identity(self->running_params);
}

/* The settings in force are known to be good, and to be told of what has no effect in them. */
static void settle(GstCudaFiltersBase *self)
{
  const guint64 last_turn = self->running_turn;

  self->running_turn = self->wanted_turn;
  self->settled = TRUE;
  forget_failure(self);
  gst_cuda_filters_base_remark(self, last_turn);
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
  good = gst_cuda_filters_worker_update(self->worker, self->wanted_params, status);
  leave_engine(self, engine);
  return good;
}

gboolean gst_cuda_filters_base_update_params(GstCudaFiltersBase *self, CfStatus *status)
{
  if (!self->worker || !take_wanted_params(self))
    return TRUE;
  if (!gst_cuda_filters_base_judge(self, gst_cuda_filters_worker_video(self->worker), status) ||
      !update_worker(self, status)) {
    GST_OBJECT_LOCK(self);
    self->params_changed = TRUE;
    GST_OBJECT_UNLOCK(self);
    return FALSE;
  }
  run_wanted_params(self);
  settle(self);
  return TRUE;
}

/* For frames that a worker is to be opened for: the first of a stream have to be possible with all
 * that was set; where settings are in force, those stay that they are possible with. */
static gboolean take_params_for(GstCudaFiltersBase *self, const GstVideoInfo *info,
                                CfStatus *status)
{
  const gboolean settled = self->settled;
  CfVideo video;

  self->settled = FALSE;
  take_wanted_params(self);
  if (settled && gst_cuda_filters_video_from_info(info, &video) &&
      !gst_cuda_filters_base_judge(self, &video, status))
    return FALSE;
  run_wanted_params(self);
  return TRUE;
}

/* Of what the user set last, which the frame is about to be filtered with. */
void gst_cuda_filters_base_check_mask(GstCudaFiltersBase *self)
{
  const CfEffect *effect = gst_cuda_filters_base_effect(self);
  const gboolean some = self->cover == GST_CUDA_FILTERS_COVER_SOME;
  CfStatus why = {CF_OK, ""};
  gboolean hides, changed;

  if (!effect->hides || !self->worker)
    return;
  GST_OBJECT_LOCK(self);
  changed = self->params_changed;
  hides = effect->hides(gst_cuda_filters_worker_video(self->worker), self->params,
                        some ? &self->regions : NULL, &why);
  GST_OBJECT_UNLOCK(self);
  if (gst_cuda_filters_regions_must_tell_of_weakness(self->roi, hides, changed))
    GST_ELEMENT_WARNING(self, RESOURCE, SETTINGS, ("%s", why.message),
                        ("the regions can be recognized in what leaves this element"));
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
  const CfEffect *effect = gst_cuda_filters_base_effect(self);
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

  self->settled = FALSE;
  self->running_turn = self->refusals_told = self->remarks_told = 0;
  self->cuda_memory = FALSE;
  self->cover = GST_CUDA_FILTERS_COVER_ALL;
  gst_cuda_filters_base_reset_staged(self);
  gst_cuda_filters_base_ask_for_latency(self);
  if (self->roi)
    gst_cuda_filters_regions_start(self->roi);
  GST_OBJECT_LOCK(self);
  self->params_changed = TRUE;
  self->frames = 0;
  self->total_time = self->last_time = 0;
  self->algorithm = NULL;
  self->failed = self->starved = self->lost = FALSE;
  self->frames_before_failure = self->staged.under_way = 0;
  status = gst_cuda_filters_base_first_refusal(self);
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

  gst_cuda_filters_output_task_stop(self->output_task);
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
  if (!take_params_for(self, info, status) || !enter_engine(self, engine, status))
    return FALSE;
  self->worker = gst_cuda_filters_worker_new(gst_cuda_filters_base_effect(self), engine, info,
                                             self->running_params, &options, status);
  leave_engine(self, engine);
  if (!self->worker)
    return FALSE;
  GST_INFO_OBJECT(self, "%s engine", engine->name);
  settle(self);
  set_active_backend(self, engine->name);
  return TRUE;
}

gboolean gst_cuda_filters_base_runs_on_device(GstCudaFiltersBase *self)
{
  return self->worker && gst_cuda_filters_worker_engine(self->worker)->device_memory;
}

gboolean gst_cuda_filters_base_is_staged(GstCudaFiltersBase *self)
{
  return gst_cuda_filters_base_runs_on_device(self) && !self->cuda_memory;
}

static gboolean gst_cuda_filters_base_set_info(GstVideoFilter *filter, GstCaps *in_caps,
                                               GstVideoInfo *in_info, GstCaps *out_caps,
                                               GstVideoInfo *out_info)
{
  GstCudaFiltersBase *self = GST_CUDA_FILTERS_BASE(filter);
  CfStatus status = {CF_OK, ""};

  /* Frames under way are of the old caps. */
  gst_cuda_filters_output_task_drain(self->output_task);
  gst_cuda_filters_base_ask_for_latency(self);
  self->cuda_memory = gst_cuda_filters_gpu_caps_are_cuda(in_caps);
  if (!gst_cuda_filters_base_open_worker(self, in_info, &status)) {
    gst_cuda_filters_base_post_error(self, &status);
    return FALSE;
  }
  if (!gst_cuda_filters_base_is_staged(self))
    gst_cuda_filters_base_reset_staged(self);
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

/* A pool of CUDA memory is done with when it has been decided. The base classes would set it up
 * twice more, from 1.24 on with a trial allocation each, and make up for one that fails with system
 * memory or with an error of their own. */
static gboolean gst_cuda_filters_base_decide_allocation(GstBaseTransform *trans, GstQuery *query)
{
  GstCudaFiltersBase *self = GST_CUDA_FILTERS_BASE(trans);
  const gboolean on_device = gst_cuda_filters_base_runs_on_device(self);
  const gboolean is_cuda = on_device && query_is_cuda(query);

  self->receiver_reads_video_meta =
      gst_query_find_allocation_meta(query, GST_VIDEO_META_API_TYPE, NULL);
  self->receiver_reads_crop_meta =
      gst_query_find_allocation_meta(query, GST_VIDEO_CROP_META_API_TYPE, NULL);
  if (on_device && !(is_cuda ? gst_cuda_filters_gpu_decide_allocation(self->gpu, query)
                             : gst_cuda_filters_gpu_decide_system_allocation(self->gpu, query))) {
    gst_cuda_filters_base_post_no_frames(self);
    return FALSE;
  }
  return is_cuda || GST_BASE_TRANSFORM_CLASS(gst_cuda_filters_base_parent_class)
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

/* Size and orientation stay, so whatever a meta says stays true; but what is written is the picture
 * that a crop meta shows, and no more. */
static gboolean gst_cuda_filters_base_transform_meta(GstBaseTransform *trans, GstBuffer *output,
                                                     GstMeta *meta, GstBuffer *input)
{
  return meta->info->api != GST_VIDEO_CROP_META_API_TYPE;
}

/* Whoever waits for the output task, or for a frame from a pool that has none left, is to return
 * before the sink pad is deactivated, which waits for the streaming thread. */
static void stop_output(GstCudaFiltersBase *self)
{
  GstBufferPool *pool = gst_base_transform_get_buffer_pool(GST_BASE_TRANSFORM(self));

  if (pool)
    gst_buffer_pool_set_flushing(pool, TRUE);
  gst_clear_object(&pool);
  gst_cuda_filters_output_task_stop(self->output_task);
}

static gboolean src_activate_mode(GstPad *pad, GstObject *parent, GstPadMode mode, gboolean active)
{
  GstCudaFiltersBase *self = GST_CUDA_FILTERS_BASE(parent);

  if (active)
    gst_cuda_filters_output_task_activate(self->output_task);
  else
    stop_output(self);
  return self->parent_src_activate_mode(pad, parent, mode, active);
}

static gboolean gst_cuda_filters_base_post_message(GstElement *element, GstMessage *message)
{
  if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_QOS)
    gst_cuda_filters_base_count_in_message(GST_CUDA_FILTERS_BASE(element), message);
  return GST_ELEMENT_CLASS(gst_cuda_filters_base_parent_class)->post_message(element, message);
}

/* Class */

static void gst_cuda_filters_base_constructed(GObject *object)
{
  GstCudaFiltersBase *self = GST_CUDA_FILTERS_BASE(object);

  G_OBJECT_CLASS(gst_cuda_filters_base_parent_class)->constructed(object);
  gst_cuda_filters_base_init_properties(self);
}

static void gst_cuda_filters_base_finalize(GObject *object)
{
  GstCudaFiltersBase *self = GST_CUDA_FILTERS_BASE(object);

  gst_cuda_filters_output_task_free(self->output_task);
  gst_cuda_filters_gpu_free(self->gpu);
  gst_cuda_filters_base_clear_properties(self);
  G_OBJECT_CLASS(gst_cuda_filters_base_parent_class)->finalize(object);
}

static void gst_cuda_filters_base_init(GstCudaFiltersBase *self)
{
  GstPad *pad = GST_BASE_TRANSFORM_SRC_PAD(self);

  self->gpu = gst_cuda_filters_gpu_new(GST_ELEMENT(self));
  self->output_task = gst_cuda_filters_output_task_new(pad, gst_cuda_filters_base_deliver, self);
  self->parent_src_activate_mode = GST_PAD_ACTIVATEMODEFUNC(pad);
  gst_pad_set_activatemode_function(pad, src_activate_mode);
}

void gst_cuda_filters_base_class_set_effect(GstCudaFiltersBaseClass *klass, const CfEffect *effect)
{
  GstElementClass *element_class = GST_ELEMENT_CLASS(klass);
  GstCaps *caps = gst_cuda_filters_gpu_caps();

  caps =
      caps ? gst_caps_merge(caps, gst_cuda_filters_system_caps()) : gst_cuda_filters_system_caps();
  klass->effect = effect;
  gst_cuda_filters_base_install_effect_properties(G_OBJECT_CLASS(klass), effect);
  gst_element_class_add_pad_template(
      element_class, gst_pad_template_new("sink", GST_PAD_SINK, GST_PAD_ALWAYS, caps));
  gst_element_class_add_pad_template(
      element_class, gst_pad_template_new("src", GST_PAD_SRC, GST_PAD_ALWAYS, caps));
  gst_caps_unref(caps);
}

static void gst_cuda_filters_base_class_init(GstCudaFiltersBaseClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS(klass);
  GstElementClass *element_class = GST_ELEMENT_CLASS(klass);
  GstBaseTransformClass *trans_class = GST_BASE_TRANSFORM_CLASS(klass);
  GstVideoFilterClass *filter_class = GST_VIDEO_FILTER_CLASS(klass);

  object_class->constructed = gst_cuda_filters_base_constructed;
  object_class->finalize = gst_cuda_filters_base_finalize;
  gst_cuda_filters_base_install_common_properties(object_class);

  element_class->set_context = GST_DEBUG_FUNCPTR(gst_cuda_filters_base_set_context);
  element_class->post_message = GST_DEBUG_FUNCPTR(gst_cuda_filters_base_post_message);
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
