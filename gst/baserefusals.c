/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "baserefusals.h"

#include <string.h>

/* A parameter that was set since `running`, and may be the one that is not allowed. */
typedef struct {
  guint index;    /* in the effect's table */
  guint64 serial; /* of its last setting */
  gboolean refused;
  CfStatus why;
} Suspect;

static gint compare_serials(gconstpointer a, gconstpointer b)
{
  const guint64 one = ((const Suspect *)a)->serial, other = ((const Suspect *)b)->serial;

  return one < other ? -1 : one > other;
}

/* The parameters set since `running`, in the order of their setting. */
static GArray *find_suspects(const GstCudaFiltersBase *self, const CfEffect *effect)
{
  GArray *suspects = g_array_new(FALSE, TRUE, sizeof(Suspect));

  for (guint i = 0; effect->params[i].name; i++) {
    const Suspect suspect = {.index = i, .serial = self->wanted.serials[i], .refused = TRUE};

    if (suspect.serial > self->judged_serial)
      g_array_append_val(suspects, suspect);
  }
  g_array_sort(suspects, compare_serials);
  return suspects;
}

/* Tries the new value of each suspect in `trial`, and keeps it if `trial` is allowed then; repeats
 * that until no more values can be kept. Returns whether `trial` is allowed in the end. */
static gboolean try_suspects(const GstCudaFiltersBase *self, const CfEffect *effect,
                             const CfVideo *video, GArray *suspects, void *trial)
{
  gboolean good = cf_effect_check(effect, video, trial, NULL), progress;

  do {
    progress = FALSE;
    for (guint i = 0; i < suspects->len; i++) {
      Suspect *suspect = &g_array_index(suspects, Suspect, i);
      const CfParam *param = &effect->params[suspect->index];

      if (!suspect->refused)
        continue;
      cf_params_copy(param, trial, self->wanted.values);
      if (cf_effect_check(effect, video, trial, &suspect->why)) {
        suspect->refused = FALSE;
        good = progress = TRUE;
      } else {
        cf_params_copy(param, trial, self->running.values);
      }
    }
  } while (progress);
  return good;
}

/* Sets refused properties back, also in that the refused value was no choice of the user's, except
 * those that the user has set again meanwhile: they are checked with the next frame. */
static void restore_values(GstCudaFiltersBase *self, const CfEffect *effect, const GArray *suspects)
{
  GST_OBJECT_LOCK(self);
  for (guint i = 0; i < suspects->len; i++) {
    const Suspect *suspect = &g_array_index(suspects, Suspect, i);
    const guint index = suspect->index;

    if (!suspect->refused)
      continue;
    self->wanted.serials[index] = self->running.serials[index];
    if (self->params.serials[index] != suspect->serial)
      continue;
    cf_params_copy(&effect->params[index], self->params.values, self->running.values);
    self->params.serials[index] = self->running.serials[index];
  }
  GST_OBJECT_UNLOCK(self);
}

static gboolean is_animated(GstCudaFiltersBase *self, const gchar *name)
{
  GstControlBinding *binding = gst_object_get_control_binding(GST_OBJECT(self), name);
  const gboolean animated = binding && !gst_control_binding_is_disabled(binding);

  gst_clear_object(&binding);
  return animated;
}

/* For values of a controller once in a stream, else each time. */
static void report_refusal(GstCudaFiltersBase *self, const CfParam *param, const Suspect *suspect)
{
  const guint64 bit = G_GUINT64_CONSTANT(1) << suspect->index;
  gchar kept[80], refused[80];

  g_object_notify(G_OBJECT(self), param->name);
  if (is_animated(self, param->name)) {
    if (self->refusals_reported & bit)
      return;
    self->refusals_reported |= bit;
  }
  cf_params_print(param, self->running.values, kept, sizeof kept);
  cf_params_print(param, self->wanted.values, refused, sizeof refused);
  GST_ELEMENT_WARNING(
      self, RESOURCE, SETTINGS,
      ("%s stays %s, %s is refused: %s", param->name, kept, refused, suspect->why.message),
      ("frames flow on with the old value"));
}

static void refuse(GstCudaFiltersBase *self, const CfEffect *effect, const GArray *suspects)
{
  restore_values(self, effect, suspects);
  for (guint i = 0; i < suspects->len; i++) {
    const Suspect *suspect = &g_array_index(suspects, Suspect, i);

    if (suspect->refused)
      report_refusal(self, &effect->params[suspect->index], suspect);
  }
}

gboolean gst_cuda_filters_base_check_params(GstCudaFiltersBase *self, const CfVideo *video,
                                            CfStatus *status)
{
  const CfEffect *effect = GST_CUDA_FILTERS_BASE_GET_CLASS(self)->effect;
  CfStatus reason = {CF_OK, ""};
  GArray *suspects;
  void *trial;
  gboolean good;

  if (cf_effect_check(effect, video, self->wanted.values, &reason))
    return TRUE;

  /* Members outside the effect's table (a blur map) keep their wanted value. */
  trial = g_malloc(effect->params_size);
  memcpy(trial, self->wanted.values, effect->params_size);
  suspects = find_suspects(self, effect);
  for (guint i = 0; i < suspects->len; i++)
    cf_params_copy(&effect->params[g_array_index(suspects, Suspect, i).index], trial,
                   self->running.values);
  good = try_suspects(self, effect, video, suspects, trial);
  if (good) {
    refuse(self, effect, suspects);
    memcpy(self->wanted.values, trial, effect->params_size);
  } else {
    *status = reason;
  }
  g_array_unref(suspects);
  g_free(trial);
  return good;
}

/* Settings without an effect */

/* Whether the user set `name` after `last_serial`, to a value other than its default. A name that
 * is not in the effect's table stands for all members outside it. */
static gboolean was_set(const GstCudaFiltersBase *self, const CfEffect *effect, const gchar *name,
                        guint64 last_serial)
{
  const CfParam *param = cf_params_find(effect->params, name);
  const guint rest = cf_params_count(effect->params);

  return self->running.serials[param ? param - effect->params : rest] > last_serial &&
         !(param && cf_params_is_default(param, self->running.values));
}

/* Bit mask of the remarks with this text, which several parameters may share. */
static guint64 rows_of_text(const CfRemark *remarks, const gchar *text)
{
  guint64 rows = 0;

  for (guint i = 0; remarks[i].name; i++) {
    if (strcmp(remarks[i].text, text) == 0)
      rows |= G_GUINT64_CONSTANT(1) << i;
  }
  return rows;
}

void gst_cuda_filters_base_warn_of_unused(GstCudaFiltersBase *self, guint64 last_serial)
{
  const CfEffect *effect = GST_CUDA_FILTERS_BASE_GET_CLASS(self)->effect;

  for (guint i = 0; effect->remarks && effect->remarks[i].name; i++) {
    const CfRemark *remark = &effect->remarks[i];

    if ((self->remarks_reported >> i & 1) || !was_set(self, effect, remark->name, last_serial) ||
        !remark->applies(self->running.values))
      continue;
    self->remarks_reported |= rows_of_text(effect->remarks, remark->text);
    GST_ELEMENT_WARNING(self, RESOURCE, SETTINGS, ("%s", remark->text), (NULL));
  }
}
