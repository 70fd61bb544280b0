/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "baserefusals.h"

#include <string.h>

/* A parameter that was set and may be why the settings cannot be. */
typedef struct {
  guint index;  /* in the effect's table */
  guint64 turn; /* when it was set */
  gboolean refused;
  CfStatus why;
} Suspect;

static gint compare_turns(gconstpointer a, gconstpointer b)
{
  const guint64 one = ((const Suspect *)a)->turn, other = ((const Suspect *)b)->turn;

  return one < other ? -1 : one > other;
}

/* What was set since the settings in force, in that order. */
static GArray *find_suspects(const GstCudaFiltersBase *self, const CfEffect *effect)
{
  GArray *suspects = g_array_new(FALSE, TRUE, sizeof(Suspect));

  for (guint i = 0; effect->params[i].name; i++) {
    const Suspect suspect = {.index = i, .turn = self->wanted_turns[i], .refused = TRUE};

    if (suspect.turn > self->running_turn)
      g_array_append_val(suspects, suspect);
  }
  g_array_sort(suspects, compare_turns);
  return suspects;
}

/* Gives `trial` the values of suspects one after another, and keeps those that can be, until none
 * of the others can. Returns whether what remains can be. */
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
      cf_params_copy(param, trial, self->wanted_params);
      if (cf_effect_check(effect, video, trial, &suspect->why)) {
        suspect->refused = FALSE;
        good = progress = TRUE;
      } else {
        cf_params_copy(param, trial, self->running_params);
      }
    }
  } while (progress);
  return good;
}

/* What a user has set again meanwhile waits for the next frame. */
static void restore_values(GstCudaFiltersBase *self, const CfEffect *effect, const GArray *suspects)
{
  GST_OBJECT_LOCK(self);
  for (guint i = 0; i < suspects->len; i++) {
    const Suspect *suspect = &g_array_index(suspects, Suspect, i);

    if (suspect->refused && self->turns[suspect->index] == suspect->turn)
      cf_params_copy(&effect->params[suspect->index], self->params, self->running_params);
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

/* Once in a stream where a controller sets the values. */
static void report_refusal(GstCudaFiltersBase *self, const CfParam *param, const Suspect *suspect)
{
  const guint64 bit = G_GUINT64_CONSTANT(1) << suspect->index;
  gchar kept[80], refused[80];

  g_object_notify(G_OBJECT(self), param->name);
  if (is_animated(self, param->name)) {
    if (self->refusals_told & bit)
      return;
    self->refusals_told |= bit;
  }
  cf_params_print(param, self->running_params, kept, sizeof kept);
  cf_params_print(param, self->wanted_params, refused, sizeof refused);
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

gboolean gst_cuda_filters_base_judge(GstCudaFiltersBase *self, const CfVideo *video,
                                     CfStatus *status)
{
  const CfEffect *effect = GST_CUDA_FILTERS_BASE_GET_CLASS(self)->effect;
  CfStatus reason = {CF_OK, ""};
  GArray *suspects;
  void *trial;
  gboolean good;

  if (cf_effect_check(effect, video, self->wanted_params, &reason))
    return TRUE;

  /* What no table describes, a blur map, is as it is wanted. */
  trial = g_malloc(effect->params_size);
  memcpy(trial, self->wanted_params, effect->params_size);
  suspects = find_suspects(self, effect);
  for (guint i = 0; i < suspects->len; i++)
    cf_params_copy(&effect->params[g_array_index(suspects, Suspect, i).index], trial,
                   self->running_params);
  good = try_suspects(self, effect, video, suspects, trial);
  if (good) {
    refuse(self, effect, suspects);
    memcpy(self->wanted_params, trial, effect->params_size);
  } else {
    *status = reason;
  }
  g_array_unref(suspects);
  g_free(trial);
  return good;
}

/* Settings without an effect */

/* Whether the user has set it after `last_turn`, to something else than its default. */
static gboolean was_set(const GstCudaFiltersBase *self, const CfEffect *effect, const gchar *name,
                        guint64 last_turn)
{
  const CfParam *param = cf_params_find(effect->params, name);
  const guint rest = cf_params_count(effect->params);

  return self->wanted_turns[param ? param - effect->params : rest] > last_turn &&
         !(param && cf_params_is_default(param, self->running_params));
}

/* Two settings may have a remark in common. */
static guint64 rows_of_text(const CfRemark *remarks, const gchar *text)
{
  guint64 rows = 0;

  for (guint i = 0; remarks[i].name; i++) {
    if (strcmp(remarks[i].text, text) == 0)
      rows |= G_GUINT64_CONSTANT(1) << i;
  }
  return rows;
}

void gst_cuda_filters_base_remark(GstCudaFiltersBase *self, guint64 last_turn)
{
  const CfEffect *effect = GST_CUDA_FILTERS_BASE_GET_CLASS(self)->effect;

  for (guint i = 0; effect->remarks && effect->remarks[i].name; i++) {
    const CfRemark *remark = &effect->remarks[i];

    if ((self->remarks_told >> i & 1) || !was_set(self, effect, remark->name, last_turn) ||
        !remark->applies(self->running_params))
      continue;
    self->remarks_told |= rows_of_text(effect->remarks, remark->text);
    GST_ELEMENT_WARNING(self, RESOURCE, SETTINGS, ("%s", remark->text), (NULL));
  }
}
