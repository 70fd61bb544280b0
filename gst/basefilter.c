/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "basefilter.h"

#include "baseengine.h"
#include "baseframes.h"
#include "baseproperties.h"
#include "basereport.h"
#include "basestaged.h"
#include "detections.h"
#include "formats.h"
#include "presets.h"

G_DEFINE_ABSTRACT_TYPE_WITH_CODE(GstCudaFiltersBase, gst_cuda_filters_base, GST_TYPE_VIDEO_FILTER,
                                 G_IMPLEMENT_INTERFACE(GST_TYPE_PRESET,
                                                       gst_cuda_filters_presets_init))

/* Parameters */

void gst_cuda_filters_base_params_changed(GstCudaFiltersBase *self)
{
  const guint rest = cf_params_count(GST_CUDA_FILTERS_BASE_GET_CLASS(self)->effect->params);

  self->params.serials[rest] = ++self->params.serial;
  self->params_changed = TRUE;
}

/* Lifecycle */

static gboolean gst_cuda_filters_base_start(GstBaseTransform *trans)
{
  GstCudaFiltersBase *self = GST_CUDA_FILTERS_BASE(trans);
  CfStatus status = {CF_OK, ""};

  self->params_accepted = FALSE;
  self->judged_serial = self->refusals_reported = self->remarks_reported = 0;
  self->cuda_memory = FALSE;
  self->has_last_frame = FALSE;
  gst_cuda_filters_base_reset_staged(self);
  gst_cuda_filters_base_ask_for_latency(self);
  if (self->roi)
    gst_cuda_filters_regions_start(self->roi);
  GST_OBJECT_LOCK(self);
  self->frames = 0;
  self->total_time = self->last_time = 0;
  self->error_posted = self->no_frames_posted = self->device_lost = FALSE;
  self->in_flight_at_failure = self->staged.in_flight = 0;
  status = gst_cuda_filters_base_first_refusal(self);
  GST_OBJECT_UNLOCK(self);

  if (status.code != CF_OK || !gst_cuda_filters_base_check_backend(self, &status)) {
    gst_cuda_filters_base_post_error(self, &status);
    return FALSE;
  }
  return TRUE;
}

static gboolean gst_cuda_filters_base_stop(GstBaseTransform *trans)
{
  GstCudaFiltersBase *self = GST_CUDA_FILTERS_BASE(trans);

  gst_cuda_filters_output_task_stop(self->output_task);
  gst_cuda_filters_base_close_worker(self);
  gst_cuda_filters_gpu_close(self->gpu);
  gst_cuda_filters_base_set_active_backend(self, NULL);
  return TRUE;
}

static gboolean gst_cuda_filters_base_set_info(GstVideoFilter *filter, GstCaps *in_caps,
                                               GstVideoInfo *in_info, GstCaps *out_caps,
                                               GstVideoInfo *out_info)
{
  GstCudaFiltersBase *self = GST_CUDA_FILTERS_BASE(filter);
  const gboolean passthrough = gst_base_transform_is_passthrough(GST_BASE_TRANSFORM(self));
  const gboolean cuda_memory = gst_cuda_filters_gpu_caps_are_cuda(in_caps);
  CfStatus status = {CF_OK, ""};

  /* Frames in flight have the old caps. */
  gst_cuda_filters_output_task_drain(self->output_task);
  gst_cuda_filters_base_ask_for_latency(self);
  /* With only another framerate, say, effects that follow the content over time go on. */
  if (!passthrough && cuda_memory == self->cuda_memory &&
      gst_cuda_filters_base_worker_suits(self, in_info, out_info))
    return TRUE;
  if (self->roi)
    gst_cuda_filters_regions_forget_places(self->roi);
  self->cuda_memory = cuda_memory;
  if (passthrough) {
    gst_cuda_filters_base_close_worker(self);
    gst_cuda_filters_base_set_active_backend(self, NULL);
    return TRUE;
  }
  if (!gst_cuda_filters_base_open_worker(self, in_info, out_info, &status)) {
    gst_cuda_filters_base_post_error(self, &status);
    return FALSE;
  }
  if (!gst_cuda_filters_base_is_staged(self))
    gst_cuda_filters_base_reset_staged(self);
  return TRUE;
}

/* Negotiation */

static gboolean must_run_on_cpu(GstCudaFiltersBackend backend)
{
  return backend == GST_CUDA_FILTERS_BACKEND_CPU || backend == GST_CUDA_FILTERS_BACKEND_REFERENCE;
}

static GstCaps *gst_cuda_filters_base_transform_caps(GstBaseTransform *trans,
                                                     GstPadDirection direction, GstCaps *caps,
                                                     GstCaps *filter)
{
  GstCudaFiltersBase *self = GST_CUDA_FILTERS_BASE(trans);
  const GstCudaFiltersBaseClass *klass = GST_CUDA_FILTERS_BASE_GET_CLASS(self);
  gint device_id;
  GstCaps *result = klass->other_caps ? klass->other_caps(direction, caps) : gst_caps_copy(caps);

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

/* The parent's function is not called for CUDA memory: it would configure the pool twice more (from
 * 1.24 on with a trial allocation each time), and fall back to system memory, or post an error of
 * its own, where that fails. */
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

/* Fails for CUDA memory, so that the base class does not replace a missing pool by system memory.
 */
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

/* Never called: transform() of baseframes.c maps the frames, since the parent's lets frames that it
 * cannot map pass unfiltered. It exists because GstVideoFilter takes a class without it for one
 * that works in place only. */
static GstFlowReturn gst_cuda_filters_base_transform_frame(GstVideoFilter *filter,
                                                           GstVideoFrame *input,
                                                           GstVideoFrame *output)
{
  g_return_val_if_reached(GST_FLOW_ERROR);
}

/* Region metas count from the buffer's corner, as videocrop leaves them; in the output the cropped
 * picture begins at the corner. */
static void move_region(GstBuffer *output, const GstVideoRegionOfInterestMeta *region,
                        const GstVideoCropMeta *crop)
{
  GstVideoRegionOfInterestMeta *moved = gst_buffer_add_video_region_of_interest_meta_id(
      output, region->roi_type, region->x - crop->x, region->y - crop->y, region->w, region->h);

  moved->id = region->id;
  moved->parent_id = region->parent_id;
  for (const GList *param = region->params; param; param = param->next)
    gst_video_region_of_interest_meta_add_param(moved, gst_structure_copy(param->data));
}

/* All metas stay valid, since size and orientation do. Of a cropped picture the output holds only
 * that: region metas are moved to it. Those of analytics, which GStreamer cannot move before 1.28,
 * are dropped with the crop meta; their object detections become regions, for later elements. */
static gboolean gst_cuda_filters_base_transform_meta(GstBaseTransform *trans, GstBuffer *output,
                                                     GstMeta *meta, GstBuffer *input)
{
  const GstVideoCropMeta *crop = gst_buffer_get_video_crop_meta(input);

  if (!crop)
    return TRUE;
  if (meta->info->api == GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE) {
    move_region(output, (GstVideoRegionOfInterestMeta *)meta, crop);
    return FALSE;
  }
  return meta->info->api != GST_VIDEO_CROP_META_API_TYPE &&
         !gst_cuda_filters_detections_become_regions(output, meta, crop);
}

/* Wakes the streaming thread where it waits for the output task or for a buffer of an exhausted
 * pool: deactivating the sink pad, which comes next, waits for that thread. */
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
  GstCudaFiltersBase *self = GST_CUDA_FILTERS_BASE(element);
  const gboolean needs_context = GST_MESSAGE_TYPE(message) == GST_MESSAGE_NEED_CONTEXT;
  gboolean good;

  if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_QOS)
    gst_cuda_filters_base_count_in_message(self, message);
  good = GST_ELEMENT_CLASS(gst_cuda_filters_base_parent_class)->post_message(element, message);
  if (needs_context)
    gst_cuda_filters_gpu_share_context(self->gpu);
  return good;
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

void gst_cuda_filters_base_class_set_effect(GstCudaFiltersBaseClass *klass, const CfEffect *effect,
                                            const gchar *name)
{
  GstElementClass *element_class = GST_ELEMENT_CLASS(klass);
  GstCaps *caps = cf_effect_engine(effect, "cuda") ? gst_cuda_filters_gpu_caps() : NULL;

  caps =
      caps ? gst_caps_merge(caps, gst_cuda_filters_system_caps()) : gst_cuda_filters_system_caps();
  klass->effect = effect;
  GST_DEBUG_CATEGORY_INIT(klass->category, name, 0, "element of cudafilters");
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
