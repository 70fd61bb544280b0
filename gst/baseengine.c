/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "baseengine.h"

#include <string.h>

#include "baserefusals.h"
#include "basereport.h"
#include "formats.h"

static const CfEffect *effect_of(GstCudaFiltersBase *self)
{
  return GST_CUDA_FILTERS_BASE_GET_CLASS(self)->effect;
}

/* Parameters of the frames to come */

/* What has been set since the last call, if anything has; a preset `in_part` only if there is need.
 */
static gboolean take_wanted_params(GstCudaFiltersBase *self, gboolean in_part)
{
  const CfEffect *effect = effect_of(self);
  gboolean changed;

  GST_OBJECT_LOCK(self);
  changed = self->params_changed && (in_part || !self->loading);
  if (changed) {
    self->params_changed = FALSE;
    memcpy(self->wanted_params, self->params, effect->params_size);
    memcpy(self->wanted_turns, self->turns,
           (cf_params_count(effect->params) + 1) * sizeof *self->turns);
    self->wanted_turn = self->last_turn;
  }
  GST_OBJECT_UNLOCK(self);
  return changed;
}

/* Parameters as engines take them, of which those are set that have a turn; valid until the next
 * call. */
static const void *settle_params(GstCudaFiltersBase *self, const void *params, const guint64 *turns,
                                 gboolean masks)
{
  const CfEffect *effect = effect_of(self);
  uint64_t set = 0;
  guint64 since;

  memcpy(self->settled_params, params, effect->params_size);
  if (!effect->settle)
    return self->settled_params;
  since = turns[cf_params_find(effect->params, effect->automatic) - effect->params];
  for (guint i = 0; effect->params[i].name; i++)
    set |= (uint64_t)(turns[i] > since ||
                      (turns[i] > 0 && !cf_params_is_default(&effect->params[i], params)))
           << i;
  effect->settle(self->settled_params, set, masks);
  return self->settled_params;
}

/* What is automatic depends on the mode of the regions, which is set apart. */
static void look_for_masks(GstCudaFiltersBase *self)
{
  const gboolean masks = self->roi && gst_cuda_filters_regions_mask(self->roi);

  if (masks == self->masks)
    return;
  self->masks = masks;
  GST_OBJECT_LOCK(self);
  self->params_changed = TRUE;
  GST_OBJECT_UNLOCK(self);
}

static void run_wanted_params(GstCudaFiltersBase *self)
{
  void *before = self->running_params;

  self->running_params = self->wanted_params;
  self->wanted_params = before;
  self->identity = effect_of(self)->is_identity(
      settle_params(self, self->running_params, self->wanted_turns, self->masks));
}

/* The settings in force are known to be good, and to be told of what has no effect in them. */
static void settle(GstCudaFiltersBase *self)
{
  const guint64 last_turn = self->running_turn;

  self->running_turn = self->wanted_turn;
  self->settled = TRUE;
  gst_cuda_filters_base_forget_failure(self);
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
  good = gst_cuda_filters_worker_update(
      self->worker, settle_params(self, self->wanted_params, self->wanted_turns, self->masks),
      status);
  leave_engine(self, engine);
  return good;
}

gboolean gst_cuda_filters_base_update_params(GstCudaFiltersBase *self, CfStatus *status)
{
  look_for_masks(self);
  if (!self->worker || !take_wanted_params(self, FALSE))
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
  take_wanted_params(self, TRUE);
  if (settled && gst_cuda_filters_video_from_info(info, &video) &&
      !gst_cuda_filters_base_judge(self, &video, status))
    return FALSE;
  run_wanted_params(self);
  return TRUE;
}

/* Of what the user set last, which the frame is about to be filtered with. */
void gst_cuda_filters_base_check_mask(GstCudaFiltersBase *self)
{
  const CfEffect *effect = effect_of(self);
  const gboolean some = self->cover == GST_CUDA_FILTERS_COVER_SOME;
  CfStatus why = {CF_OK, ""};
  gboolean hides, changed, loading;

  if (!effect->hides || !self->worker)
    return;
  GST_OBJECT_LOCK(self);
  loading = self->loading;
  changed = self->params_changed;
  hides = effect->hides(
      gst_cuda_filters_worker_video(self->worker),
      settle_params(self, self->params, self->turns, gst_cuda_filters_regions_mask(self->roi)),
      some ? &self->regions : NULL, &why);
  GST_OBJECT_UNLOCK(self);
  if (!loading && gst_cuda_filters_regions_must_tell_of_weakness(self->roi, hides, changed))
    GST_ELEMENT_WARNING(self, RESOURCE, SETTINGS, ("%s", why.message),
                        ("the regions can be recognized in what leaves this element"));
}

/* The engine */

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

/* The engine for the GPU, which is open then; NULL with the reason. */
static const CfEngine *device_engine(GstCudaFiltersBase *self, gint device_id, CfStatus *reason)
{
  const CfEngine *engine = cf_effect_engine(effect_of(self), "cuda");

  if (!gst_cuda_filters_gpu_open(self->gpu, device_id, reason))
    return NULL;
  if (!engine)
    cf_fail(reason, CF_ERROR_NO_DEVICE, "this element does not run on CUDA yet");
  return engine;
}

/* The row of the engine table for the negotiated memory, with the GPU open if it needs one. */
static const CfEngine *choose_engine(GstCudaFiltersBase *self, CfStatus *status)
{
  const CfEffect *effect = effect_of(self);
  gint device_id;
  const GstCudaFiltersBackend backend = gst_cuda_filters_base_wanted_backend(self, &device_id);
  CfStatus reason = {CF_OK, ""};
  const CfEngine *engine;

  if (backend == GST_CUDA_FILTERS_BACKEND_REFERENCE)
    return cf_effect_engine(effect, "reference");
  if (backend == GST_CUDA_FILTERS_BACKEND_CPU)
    return cf_effect_engine(effect, "cpu");
  engine = device_engine(self, device_id, &reason);
  if (engine)
    return engine;
  if (backend == GST_CUDA_FILTERS_BACKEND_AUTO && !self->cuda_memory) {
    GST_INFO_OBJECT(self, "CPU, because %s", reason.message);
    return cf_effect_engine(effect, "cpu");
  }
  cf_fail(status, reason.code, "backend=cuda cannot be used: %s. backend=cpu works everywhere.",
          reason.message);
  return NULL;
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

gboolean gst_cuda_filters_base_open_worker(GstCudaFiltersBase *self, const GstVideoInfo *input,
                                           const GstVideoInfo *output, CfStatus *status)
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
  if (self->cuda_memory && !(gst_cuda_filters_gpu_check_info(input, status) &&
                             gst_cuda_filters_gpu_check_info(output, status)))
    return FALSE;
  if (!take_params_for(self, input, status) || !enter_engine(self, engine, status))
    return FALSE;
  self->worker = gst_cuda_filters_worker_new(
      effect_of(self), engine, input, output,
      settle_params(self, self->running_params, self->wanted_turns, self->masks), &options, status);
  leave_engine(self, engine);
  if (!self->worker)
    return FALSE;
  GST_INFO_OBJECT(self, "%s engine", engine->name);
  settle(self);
  gst_cuda_filters_base_set_active_backend(self, engine->name);
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

gboolean gst_cuda_filters_base_check_backend(GstCudaFiltersBase *self, CfStatus *status)
{
  gint device_id;

  return gst_cuda_filters_base_wanted_backend(self, &device_id) != GST_CUDA_FILTERS_BACKEND_CUDA ||
         choose_engine(self, status) != NULL;
}
