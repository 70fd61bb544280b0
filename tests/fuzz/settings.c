/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "pipeline.h"

#include <gst/controller/controller.h>
#include <math.h>
#include <string.h>

#include "filter.h"
#include "sepconv.h"

static void *copy_params(const FuzzElement *kind, const void *params)
{
  return g_memdup2(params, kind->effect->params_size);
}

const char *fuzz_settings_refusal(const FuzzElement *kind, const CfVideo *video, const void *params)
{
  static CfStatus status;
  const CfEngine *engine = cf_effect_engine(kind->effect, "reference");
  const CfOpenOptions options = {.threads = 1};
  CfFilter *filter;

  if (!cf_params_check(kind->effect->params, params, &status) ||
      (kind->effect->check && !kind->effect->check(video, params, &status)))
    return status.message;
  filter = cf_filter_open(engine, video, params, &options, &status);
  if (!filter)
    return status.message;
  cf_filter_close(filter);
  return NULL;
}

/* Elements: as gst-launch sets a property */

static bool set_text(FuzzCase *self, const char *name, const char *value)
{
  GParamSpec *spec = g_object_class_find_property(G_OBJECT_GET_CLASS(self->element), name);
  GValue parsed = G_VALUE_INIT;
  bool good;

  if (!spec)
    fuzz_case_fail(self, "there is no property %s", name);
  g_value_init(&parsed, spec->value_type);
  good = gst_value_deserialize_with_pspec(&parsed, value, spec);
  if (good)
    g_object_set_property(G_OBJECT(self->element), name, &parsed);
  g_value_unset(&parsed);
  return good;
}

void fuzz_settings_set(FuzzCase *self, const char *name, const char *value)
{
  fuzz_note(self, "%s=%s", name, value);
  if (!set_text(self, name, value))
    fuzz_case_fail(self, "%s=%s cannot be read", name, value);
}

static void read_property(FuzzCase *self, const CfParam *param, void *params)
{
  GParamSpec *spec = g_object_class_find_property(G_OBJECT_GET_CLASS(self->element), param->name);
  void *field = (char *)params + param->offset;
  GValue value = G_VALUE_INIT;

  g_value_init(&value, spec->value_type);
  g_object_get_property(G_OBJECT(self->element), param->name, &value);
  switch (param->type) {
  case CF_PARAM_DOUBLE:
    *(double *)field = g_value_get_double(&value);
    break;
  case CF_PARAM_INT:
    *(int *)field = g_value_get_int(&value);
    break;
  case CF_PARAM_BOOL:
    *(bool *)field = g_value_get_boolean(&value);
    break;
  case CF_PARAM_ENUM:
    *(int *)field = g_value_get_enum(&value);
    break;
  case CF_PARAM_FLAGS:
    *(int *)field = (int)g_value_get_flags(&value);
    break;
  case CF_PARAM_COLOR:
    *(uint32_t *)field = g_value_get_uint(&value);
    break;
  case CF_PARAM_KERNEL: {
    CfKernel *kernel = field;

    memset(kernel, 0, sizeof *kernel);
    kernel->taps = (int)gst_value_array_get_size(&value);
    for (int i = 0; i < kernel->taps; i++)
      kernel->tap[i] = g_value_get_double(gst_value_array_get_value(&value, (guint)i));
    break;
  }
  }
  g_value_unset(&value);
}

/* Marks a property as set; with one that is automatic no default is that was set before. */
static void mark(FuzzCase *self, const CfParam *param)
{
  const CfEffect *effect = self->kind->effect;

  for (guint i = 0;
       effect->automatic && strcmp(param->name, effect->automatic) == 0 && effect->params[i].name;
       i++) {
    if (cf_params_is_default(&effect->params[i], self->wanted))
      self->set &= ~(G_GUINT64_CONSTANT(1) << i);
  }
  self->set |= G_GUINT64_CONSTANT(1) << (param - effect->params);
}

/* A refused value was not set. */
static void unmark(FuzzCase *self, const CfParam *param)
{
  const CfEffect *effect = self->kind->effect;
  const guint64 bit = G_GUINT64_CONSTANT(1) << (param - effect->params);

  self->set = (self->set & ~bit) | (self->old_set & bit);
  if (effect->automatic && strcmp(param->name, effect->automatic) == 0)
    self->set |= self->old_set;
}

static bool is_same(const CfParam *param, const void *one, const void *other)
{
  const size_t size = param->type == CF_PARAM_DOUBLE   ? sizeof(double)
                      : param->type == CF_PARAM_KERNEL ? sizeof(CfKernel)
                      : param->type == CF_PARAM_BOOL   ? sizeof(bool)
                                                       : sizeof(int);

  return memcmp((const char *)one + param->offset, (const char *)other + param->offset, size) == 0;
}

void fuzz_settings_begin(FuzzCase *self)
{
  if (self->old || fuzz_settings_refusal(self->kind, &self->format->video, self->wanted))
    return;
  self->old = copy_params(self->kind, self->wanted);
  self->old_set = self->set;
}

void *fuzz_settings_in_force(FuzzCase *self)
{
  const FuzzElement *kind = self->kind;
  void *params = g_malloc0(kind->effect->params_size);
  const char *refusal = fuzz_settings_refusal(kind, &self->format->video, self->wanted);
  const bool may_refuse = self->old && (refusal || self->animated);

  for (const CfParam *param = kind->effect->params; param->name; param++) {
    const bool moves = self->animated && strcmp(self->animated, param->name) == 0;

    read_property(self, param, params);
    if (moves && !is_same(param, params, self->wanted))
      mark(self, param);
    if (moves || is_same(param, params, self->wanted))
      continue;
    if (!may_refuse)
      fuzz_case_fail(self, "%s is not what it was set to, and no value was to be refused",
                     param->name);
    if (!is_same(param, params, self->old))
      fuzz_case_fail(self, "%s is neither what it was set to nor what was in force", param->name);
    unmark(self, param);
    self->refused = true;
  }
  self->old_set = self->set;
  refusal = fuzz_settings_refusal(kind, &self->format->video, params);
  if (refusal)
    fuzz_case_fail(self, "a frame is filtered with settings that are to be refused: %s", refusal);
  memcpy(self->wanted, params, kind->effect->params_size);
  g_free(self->old);
  self->old = copy_params(kind, params);
  if (kind->effect->settle)
    kind->effect->settle(params, self->set, kind->regions && self->masks.mode == 1);
  return params;
}

/* Random values */

static double random_number(FuzzCase *self, const CfParam *param)
{
  double from = param->minimum, to = param->maximum;

  switch (fuzz_below(self, 8)) {
  case 0:
    return from;
  case 1:
    return to;
  case 2:
    return param->initial;
  case 3:
    return fuzz_between(self, from, to);
  default:
    from = fmax(from, -4.0);
    to = fmin(to, 9.0);
    return fuzz_between(self, from, to);
  }
}

static void append_number(GString *text, double number)
{
  char digits[G_ASCII_DTOSTR_BUF_SIZE];

  g_string_append(text, g_ascii_dtostr(digits, sizeof digits, number));
}

static void append_kernel(FuzzCase *self, GString *text)
{
  const int taps = fuzz_one_in(self, 16)  ? (int[]){255, 256, 128, 65}[fuzz_below(self, 4)]
                   : fuzz_one_in(self, 4) ? 1 + fuzz_below(self, 40)
                                          : 1 + fuzz_below(self, 7);
  const bool whole = fuzz_one_in(self, 2);

  g_string_append_c(text, '<');
  for (int i = 0; i < taps; i++) {
    const double tap = fuzz_between(self, -1.0, 3.0);

    g_string_append(text, i ? "," : "");
    append_number(text, whole ? floor(tap * 2.0) : tap);
  }
  g_string_append_c(text, '>');
}

static void append_choices(FuzzCase *self, const CfParam *param, GString *text)
{
  int count = 0;

  while (param->choices[count].nick)
    count++;
  g_string_append(text, param->choices[fuzz_below(self, count)].nick);
  for (int more = fuzz_below(self, 3); param->type == CF_PARAM_FLAGS && more > 0; more--)
    g_string_append_printf(text, "+%s", param->choices[fuzz_below(self, count)].nick);
}

static char *random_value(FuzzCase *self, const CfParam *param)
{
  GString *text = g_string_new("");

  switch (param->type) {
  case CF_PARAM_KERNEL:
    append_kernel(self, text);
    break;
  case CF_PARAM_ENUM:
  case CF_PARAM_FLAGS:
    append_choices(self, param, text);
    break;
  case CF_PARAM_BOOL:
    g_string_append(text, fuzz_one_in(self, 2) ? "true" : "false");
    break;
  case CF_PARAM_COLOR:
    g_string_append_printf(text, "%" G_GUINT32_FORMAT, (guint32)cf_random(&self->random));
    break;
  case CF_PARAM_INT: {
    int number = (int)random_number(self, param);

    if (g_str_has_prefix(param->name, "anchor-") && !fuzz_one_in(self, 4))
      number = -1;
    if (strcmp(param->name, "preset-size") == 0 && !fuzz_one_in(self, 6))
      number |= 1;
    g_string_append_printf(text, "%d", number);
    break;
  }
  case CF_PARAM_DOUBLE: {
    double number = random_number(self, param);

    /* Gains that magnify the last bit of any arithmetic tell nothing. */
    if (strcmp(param->name, "scale") == 0)
      number = fmax(-4.0, fmin(number, 4.0));
    append_number(text, number);
    break;
  }
  }
  return g_string_free(text, FALSE);
}

/* Changes */

/* The same as wished by the engine's own parser. */
static void want(FuzzCase *self, const char *name, const char *value)
{
  void *wished = copy_params(self->kind, self->wanted);
  CfStatus status = {CF_OK, ""};
  const char *refusal = NULL;

  if (cf_params_parse(self->kind->effect->params, wished, name, value, &status)) {
    refusal = fuzz_settings_refusal(self->kind, &self->format->video, wished);
    memcpy(self->wanted, wished, self->kind->effect->params_size);
    mark(self, cf_params_find(self->kind->effect->params, name));
  } else {
    refusal = status.message;
    self->refused_start |= GST_STATE(self->element) < GST_STATE_PAUSED;
  }
  if (refusal)
    fuzz_note(self, "  to be refused: %s", refusal);
  g_free(wished);
}

void fuzz_settings_change(FuzzCase *self)
{
  const CfEffect *effect = self->kind->effect;
  int count = 0;

  while (effect->params[count].name)
    count++;
  if (self->kind->regions && fuzz_one_in(self, 2)) {
    fuzz_masks_change(self);
  } else {
    const CfParam *param = &effect->params[fuzz_below(self, count)];
    char *value = random_value(self, param);

    if (!self->animated || strcmp(self->animated, param->name) != 0) {
      fuzz_settings_set(self, param->name, value);
      want(self, param->name, value);
    }
    g_free(value);
  }
}

/* All values that are allowed, so that what comes next works. */
void fuzz_settings_mend(FuzzCase *self)
{
  const CfEffect *effect = self->kind->effect;

  fuzz_note(self, "all settings back to their defaults");
  cf_params_init(effect->params, self->wanted);
  for (const CfParam *param = effect->params; param->name; param++) {
    mark(self, param);
    GParamSpec *spec = g_object_class_find_property(G_OBJECT_GET_CLASS(self->element), param->name);

    if (param->type == CF_PARAM_KERNEL)
      set_text(self, param->name, "<1>");
    else
      g_object_set_property(G_OBJECT(self->element), param->name,
                            g_param_spec_get_default_value(spec));
  }
  self->refused_start = false;
}

void fuzz_settings_animate(FuzzCase *self)
{
  static const struct {
    const char *effect, *property;
    double from, to;
  } ways[] = {{"llf", "alpha", 0.25, 3.0},        {"gaussblur", "sigma", 0.0, 6.0},
              {"blockavg", "block-width", 1, 20}, {"sepconv", "scale", 0.0, 2.0},
              {"sepconv", "preset-size", 3, 15},  {"llf", "intensity-levels", 0, 16}};
  const int way = fuzz_below(self, G_N_ELEMENTS(ways));
  GstObject *element = GST_OBJECT(self->element);

  if (self->animated) {
    GstControlBinding *binding = gst_object_get_control_binding(element, self->animated);

    fuzz_note(self, "%s moves no more", self->animated);
    gst_object_remove_control_binding(element, binding);
    gst_object_unref(binding);
    self->animated = NULL;
  } else if (strcmp(ways[way].effect, self->kind->effect->name) == 0) {
    GstControlSource *control = gst_interpolation_control_source_new();

    self->animated = ways[way].property;
    fuzz_note(self, "%s moves from %g to %g", self->animated, ways[way].from, ways[way].to);
    g_object_set(control, "mode", GST_INTERPOLATION_MODE_LINEAR, NULL);
    gst_timed_value_control_source_set(GST_TIMED_VALUE_CONTROL_SOURCE(control), 0, ways[way].from);
    gst_timed_value_control_source_set(GST_TIMED_VALUE_CONTROL_SOURCE(control), GST_SECOND,
                                       ways[way].to);
    gst_object_add_control_binding(
        element, gst_direct_control_binding_new_absolute(element, self->animated, control));
    gst_object_unref(control);
  }
}

void fuzz_settings_new(FuzzCase *self)
{
  const CfEffect *effect = self->kind->effect;

  g_free(self->wanted);
  self->wanted = g_malloc0(effect->params_size);
  cf_params_init(effect->params, self->wanted);
  self->refused = self->refused_start = false;
  self->animated = NULL;
  self->set = 0;
  fuzz_masks_free(self);
  self->masks = (FuzzMasks){.types = g_strdup(""), .fixed = g_strdup("")};
  fuzz_masks_forget(self);
  /* Where the element has it: regions then stay where they are detected. */
  if (g_object_class_find_property(G_OBJECT_GET_CLASS(self->element), "roi-steady"))
    g_object_set(self->element, "roi-steady", 0.0, NULL);
}

void fuzz_settings_free(FuzzCase *self)
{
  fuzz_masks_free(self);
  g_clear_pointer(&self->wanted, g_free);
  g_clear_pointer(&self->old, g_free);
}
