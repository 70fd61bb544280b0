/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What all effects have in common, and the effects by name, for whoever is handed one on a command
 * line.
 */
#include <string.h>

#include "blockavg.h"
#include "gaussblur.h"
#include "llf.h"
#include "sepconv.h"

bool cf_effect_check(const CfEffect *effect, const CfVideo *video, const void *params,
                     CfStatus *status)
{
  return cf_params_check(effect->params, params, status) &&
         (!effect->check || effect->check(video, params, status));
}

const CfEngine *cf_effect_engine(const CfEffect *effect, const char *name)
{
  for (const CfEngine *const *engine = effect->engines; *engine; engine++) {
    if (strcmp((*engine)->name, name) == 0)
      return *engine;
  }
  return NULL;
}

const CfEffect *cf_effect(const char *name)
{
  static const CfEffect *const effects[] = {&cf_llf, &cf_gaussblur, &cf_blockavg, &cf_sepconv};

  for (size_t i = 0; i < sizeof effects / sizeof effects[0]; i++) {
    if (strcmp(effects[i]->name, name) == 0)
      return effects[i];
  }
  return NULL;
}
