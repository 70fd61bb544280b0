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

/* Parameters of the next frame */

static void copy_params(const CfEffect *effect, GstCudaFiltersParams *to,
                        const GstCudaFiltersParams *from)
{
  memcpy(to->values, from->values, effect->params_size);
  memcpy(to->serials, from->serials, (cf_params_count(effect->params) + 1) * sizeof *to->serials);
  to->serial = from->serial;
}

/* Copies the user's parameters to `wanted` if any changed since the last call. While a preset
 * is being loaded only with `in_part`, when its first values may be copied without the others. */
static gboolean fetch_wanted_params(GstCudaFiltersBase *self, gboolean in_part)
{
  gboolean changed;

  GST_OBJECT_LOCK(self);
  changed = self->params_changed && (in_part || !self->presets_loading);
  if (changed) {
    self->params_changed = FALSE;
    copy_params(effect_of(self), &self->wanted, &self->params);
  }
  GST_OBJECT_UNLOCK(self);
  return changed;
}

/* `params` with their automatic values resolved (CfEffect.settle); valid until the next call. A
 * parameter counts as chosen by the user if it was set after the automatic one, or if it was set
 * and is not at its default. */
static const void *resolve(GstCudaFiltersBase *self, const GstCudaFiltersParams *params,
                           gboolean masks_regions)
{
  const CfEffect *effect = effect_of(self);
  uint64_t set = 0;
  guint64 since;

  memcpy(self->resolved_params, params->values, effect->params_size);
  if (!effect->settle)
    return self->resolved_params;
  since = params->serials[cf_params_find(effect->params, effect->automatic) - effect->params];
  for (guint i = 0; effect->params[i].name; i++)
    set |= (uint64_t)(params->serials[i] > since ||
                      (params->serials[i] > 0 &&
                       !cf_params_is_default(&effect->params[i], params->values)))
           << i;
  effect->settle(self->resolved_params, set, masks_regions);
  return self->resolved_params;
}

/* Automatic values depend on roi-mode, which is not among the effect's parameters: a change of it
 * counts as a change of them. */
static void update_masks_regions(GstCudaFiltersBase *self)
{
  const gboolean masks_regions = self->roi && gst_cuda_filters_regions_mask(self->roi);

  if (masks_regions == self->masks_regions)
    return;
  self->masks_regions = masks_regions;
  GST_OBJECT_LOCK(self);
  self->params_changed = TRUE;
  GST_OBJECT_UNLOCK(self);
}

static void activate_wanted_params(GstCudaFiltersBase *self)
{
  const GstCudaFiltersParams before = self->running;

  self->running = self->wanted;
  self->wanted = before;
  self->identity = effect_of(self)->is_identity(resolve(self, &self->running, self->masks_regions));
}

/* The engine has taken `running`. Warns of new settings that have no effect with them. */
static void note_accepted(GstCudaFiltersBase *self)
{
  const guint64 last_serial = self->judged_serial;

  self->judged_serial = self->running.serial;
  self->params_accepted = TRUE;
  gst_cuda_filters_base_clear_failure(self);
  gst_cuda_filters_base_warn_of_unused(self, last_serial);
}

/* GPU engines are opened, updated and closed with the CUDA context current. */
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
  good = gst_cuda_filters_worker_update(self->worker,
                                        resolve(self, &self->wanted, self->masks_regions), status);
  leave_engine(self, engine);
  return good;
}

gboolean gst_cuda_filters_base_update_params(GstCudaFiltersBase *self, CfStatus *status)
{
  update_masks_regions(self);
  if (!self->worker || !fetch_wanted_params(self, FALSE))
    return TRUE;
  if (!gst_cuda_filters_base_check_params(self, gst_cuda_filters_worker_video(self->worker),
                                          status) ||
      !update_worker(self, status)) {
    GST_OBJECT_LOCK(self);
    self->params_changed = TRUE;
    GST_OBJECT_UNLOCK(self);
    return FALSE;
  }
  activate_wanted_params(self);
  note_accepted(self);
  return TRUE;
}

/* Chooses the parameters to open a worker with. The first caps of a stream need all settings to be
 * allowed, else opening fails; after a change of caps, settings that the new caps do not allow are
 * refused, where the old values are allowed. */
static gboolean choose_params_for(GstCudaFiltersBase *self, const GstVideoInfo *info,
                                  CfStatus *status)
{
  const gboolean params_accepted = self->params_accepted;
  CfVideo video;

  self->params_accepted = FALSE;
  fetch_wanted_params(self, TRUE);
  if (params_accepted && gst_cuda_filters_video_from_info(info, &video) &&
      !gst_cuda_filters_base_check_params(self, &video, status))
    return FALSE;
  activate_wanted_params(self);
  return TRUE;
}

/* Looks at the newest settings, which the current frame will be filtered with. */
void gst_cuda_filters_base_check_mask(GstCudaFiltersBase *self)
{
  const CfEffect *effect = effect_of(self);
  const gboolean some = self->cover == GST_CUDA_FILTERS_COVER_SOME;
  CfStatus why = {CF_OK, ""};
  gboolean hides, changed, presets_loading;

  if (!effect->hides || !self->worker)
    return;
  GST_OBJECT_LOCK(self);
  presets_loading = self->presets_loading;
  changed = self->params_changed;
  hides = effect->hides(gst_cuda_filters_worker_video(self->worker),
                        resolve(self, &self->params, gst_cuda_filters_regions_mask(self->roi)),
                        some ? &self->regions : NULL, &why);
  GST_OBJECT_UNLOCK(self);
  /* A good mask of settings that change by themselves is no reason to warn again. */
  if (!presets_loading && !(hides && gst_object_has_active_control_bindings(GST_OBJECT(self))) &&
      gst_cuda_filters_regions_must_warn_of_weak_mask(self->roi, hides, changed))
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

/* The CUDA engine, with the GPU opened for it; NULL with the reason. */
static const CfEngine *device_engine(GstCudaFiltersBase *self, gint device_id, CfStatus *reason)
{
  const CfEngine *engine = cf_effect_engine(effect_of(self), "cuda");

  if (!gst_cuda_filters_gpu_open(self->gpu, device_id, reason))
    return NULL;
  if (!engine)
    cf_fail(reason, CF_ERROR_NO_DEVICE, "this element does not run on CUDA yet");
  return engine;
}

/* The entry of the effect's engine table for backend and memory, with the GPU opened if it needs
 * one. */
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

gboolean gst_cuda_filters_base_worker_suits(GstCudaFiltersBase *self, const GstVideoInfo *input,
                                            const GstVideoInfo *output)
{
  gboolean wanted;

  GST_OBJECT_LOCK(self);
  wanted = !self->engine_changed && !self->error_posted;
  GST_OBJECT_UNLOCK(self);
  return wanted && self->worker && gst_cuda_filters_worker_suits(self->worker, input, output);
}

gboolean gst_cuda_filters_base_open_worker(GstCudaFiltersBase *self, const GstVideoInfo *input,
                                           const GstVideoInfo *output, CfStatus *status)
{
  CfOpenOptions options = {0};
  const CfEngine *engine;

  gst_cuda_filters_base_close_worker(self);
  GST_OBJECT_LOCK(self);
  self->params_changed = TRUE;
  self->engine_changed = FALSE;
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
  if (!choose_params_for(self, input, status) || !enter_engine(self, engine, status))
    return FALSE;
  self->worker = gst_cuda_filters_worker_new(effect_of(self), engine, input, output,
                                             resolve(self, &self->running, self->masks_regions),
                                             &options, status);
  leave_engine(self, engine);
  if (!self->worker)
    return FALSE;
  GST_INFO_OBJECT(self, "%s engine", engine->name);
  note_accepted(self);
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
