/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "baseproperties.h"

#include "basereport.h"
#include "presets.h"
#include "properties.h"

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
     "CUDA where a GPU can be used, else the CPU; frames in CUDA memory always need CUDA"},
    {GST_CUDA_FILTERS_BACKEND_CUDA, "cuda", "CUDA, or an error that says why it cannot be used"},
    {GST_CUDA_FILTERS_BACKEND_CPU, "cpu", "The CPU, with n-threads threads"},
    {GST_CUDA_FILTERS_BACKEND_REFERENCE, "reference",
     "The definition in double precision on the CPU: slow, to compare with"},
    {0, NULL, NULL},
};

static const CfEffect *effect_of(GstCudaFiltersBase *self)
{
  return GST_CUDA_FILTERS_BASE_GET_CLASS(self)->effect;
}

/* Whether any engine supports regions, which engines[0], the reference, tells. */
static gboolean has_regions(const CfEffect *effect)
{
  return effect->engines[0]->regions;
}

static guint count_refusals(const CfEffect *effect)
{
  return cf_params_count(effect->params) +
         (has_regions(effect) ? GST_CUDA_FILTERS_REGIONS_N_PROPERTIES : 0);
}

/* Whether `value` takes effect only when the next engine is opened. Under the object lock. */
static gboolean has_to_wait(const GstCudaFiltersBase *self, guint id, const GValue *value)
{
  if (!self->active_backend)
    return FALSE;
  switch (id) {
  case PROP_BACKEND:
    return g_value_get_enum(value) != (gint)self->backend &&
           g_strcmp0(backend_choices[g_value_get_enum(value)].nick, self->active_backend) != 0;
  case PROP_CUDA_DEVICE_ID:
    return g_value_get_int(value) != self->device_id;
  case PROP_N_THREADS:
    return g_value_get_uint(value) != self->threads;
  default:
    return FALSE;
  }
}

static void set_property(GObject *object, guint id, const GValue *value, GParamSpec *spec)
{
  GstCudaFiltersBase *self = GST_CUDA_FILTERS_BASE(object);
  CfStatus status = {CF_OK, ""};
  gboolean running, waits;
  GValue copy = G_VALUE_INIT;

  gst_cuda_filters_presets_copy_value(self, value, &copy);
  GST_OBJECT_LOCK(self);
  running = GST_STATE(self) >= GST_STATE_PAUSED;
  waits = has_to_wait(self, id, value);
  switch (id) {
  case PROP_BACKEND:
    self->backend = g_value_get_enum(value);
    self->engine_changed = TRUE;
    break;
  case PROP_CUDA_DEVICE_ID:
    self->device_id = g_value_get_int(value);
    self->engine_changed = TRUE;
    break;
  case PROP_N_THREADS:
    self->threads = g_value_get_uint(value);
    self->engine_changed = TRUE;
    break;
  case PROP_MAX_DEVICE_MEMORY:
    self->max_device_memory = g_value_get_uint64(value);
    break;
  default: {
    const guint index = id - PROP_EFFECT_FIRST, params = cf_params_count(effect_of(self)->params);

    if (index >= params)
      gst_cuda_filters_regions_set(self->roi, index - params, &copy, &status);
    else if (gst_cuda_filters_set_param(&effect_of(self)->params[index], self->params.values, value,
                                        &status)) {
      self->params.serials[index] = ++self->params.serial;
      self->params_changed = TRUE;
    }
    if (status.code == CF_OK || !running)
      self->refusals[index] = status;
    break;
  }
  }
  GST_OBJECT_UNLOCK(self);
  g_value_unset(&copy);

  /* Before the start, start() fails with this refusal; while running, the old value stays. */
  if (status.code != CF_OK && running)
    GST_ELEMENT_WARNING(self, RESOURCE, SETTINGS, ("%s", status.message),
                        ("the old value stays in use"));
  else if (status.code != CF_OK)
    GST_WARNING_OBJECT(self, "%s", status.message);
  if (waits)
    GST_ELEMENT_WARNING(self, RESOURCE, SETTINGS,
                        ("%s has no effect before the next start%s", spec->name,
                         id == PROP_CUDA_DEVICE_ID ? "" : " or new caps"),
                        ("active-backend tells what filters until then"));
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

static void get_property(GObject *object, guint id, GValue *value, GParamSpec *spec)
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
    const guint index = id - PROP_EFFECT_FIRST, params = cf_params_count(effect_of(self)->params);

    if (index >= params)
      gst_cuda_filters_regions_get(self->roi, index - params, value);
    else
      gst_cuda_filters_get_param(&effect_of(self)->params[index], self->params.values, value);
    break;
  }
  }
  GST_OBJECT_UNLOCK(self);
}

static void init_params(GstCudaFiltersParams *params, const CfEffect *effect)
{
  params->values = g_malloc0(effect->params_size);
  params->serials = g_new0(guint64, cf_params_count(effect->params) + 1);
}

static void clear_params(GstCudaFiltersParams *params)
{
  g_free(params->values);
  g_free(params->serials);
}

void gst_cuda_filters_base_init_properties(GstCudaFiltersBase *self)
{
  const CfEffect *effect = effect_of(self);

  self->backend = DEFAULT_BACKEND;
  self->device_id = DEFAULT_DEVICE_ID;
  self->threads = DEFAULT_THREADS;
  init_params(&self->params, effect);
  init_params(&self->running, effect);
  init_params(&self->wanted, effect);
  self->resolved_params = g_malloc0(effect->params_size);
  self->refusals = g_new0(CfStatus, count_refusals(effect));
  cf_params_init(effect->params, self->params.values);
  if (has_regions(effect))
    self->roi = gst_cuda_filters_regions_new();
}

void gst_cuda_filters_base_clear_properties(GstCudaFiltersBase *self)
{
  clear_params(&self->params);
  clear_params(&self->running);
  clear_params(&self->wanted);
  g_free(self->resolved_params);
  g_free(self->refusals);
  gst_cuda_filters_regions_free(self->roi);
}

CfStatus gst_cuda_filters_base_first_refusal(GstCudaFiltersBase *self)
{
  const guint count = count_refusals(effect_of(self));
  CfStatus status = {CF_OK, ""};

  for (guint i = 0; status.code == CF_OK && i < count; i++)
    status = self->refusals[i];
  return status;
}

void gst_cuda_filters_base_install_common_properties(GObjectClass *klass)
{
  const GParamFlags settable = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_READY;
  const GParamFlags readable = G_PARAM_READABLE | G_PARAM_STATIC_STRINGS;

  klass->set_property = set_property;
  klass->get_property = get_property;
  g_object_class_install_property(
      klass, PROP_BACKEND,
      g_param_spec_enum(
          "backend", "Backend", "Where frames are filtered",
          gst_cuda_filters_choices_type("GstCudaFiltersBackend", backend_choices, FALSE),
          DEFAULT_BACKEND, settable));
  g_object_class_install_property(
      klass, PROP_CUDA_DEVICE_ID,
      g_param_spec_int(
          "cuda-device-id", "CUDA Device ID",
          "CUDA device to use (-1 = that of the neighbouring elements, else the first)", -1,
          G_MAXINT, DEFAULT_DEVICE_ID, settable));
  g_object_class_install_property(
      klass, PROP_N_THREADS,
      g_param_spec_uint("n-threads", "Threads",
                        "Number of CPU threads (0 = one for each processor)", 0, G_MAXINT,
                        DEFAULT_THREADS, settable));
  g_object_class_install_property(
      klass, PROP_ACTIVE_BACKEND,
      g_param_spec_string(
          "active-backend", "Active Backend",
          "Backend in use: cuda, cpu, reference, or none before caps are negotiated", "none",
          readable));
  g_object_class_install_property(
      klass, PROP_STATS,
      g_param_spec_boxed("stats", "Statistics",
                         "Frames filtered, backend, algorithm, and the average-time and last-time "
                         "of a frame in nanoseconds",
                         GST_TYPE_STRUCTURE, readable));
}

void gst_cuda_filters_base_install_effect_properties(GObjectClass *klass, const CfEffect *effect)
{
  /* GObject calls those of the class that installed a property, and derived classes do not inherit
   * them. */
  klass->set_property = set_property;
  klass->get_property = get_property;
  gst_cuda_filters_install_params(klass, effect->params, PROP_EFFECT_FIRST);
  if (has_regions(effect))
    gst_cuda_filters_regions_install(klass, PROP_EFFECT_FIRST + cf_params_count(effect->params));
}

void gst_cuda_filters_base_class_limit_memory(GstCudaFiltersBaseClass *klass)
{
  g_object_class_install_property(
      G_OBJECT_CLASS(klass), PROP_MAX_DEVICE_MEMORY,
      g_param_spec_uint64("max-device-memory", "Maximum device memory",
                          "Limit in bytes on the GPU memory for a frame in system memory, which is "
                          "then filtered in strips (0 = what is free)",
                          0, G_MAXUINT64, 0,
                          G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_PLAYING |
                              GST_PARAM_CONTROLLABLE));
}
