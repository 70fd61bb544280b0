/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *cf_settings_parse(const CfEffect *effect, const char *first, const char *second)
{
  void *params = calloc(1, effect->params_size);
  CfStatus status = {CF_OK, ""};
  char text[256];

  cf_params_init(effect->params, params);
  snprintf(text, sizeof text, "%s %s", first, second);
  for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) {
    char *value = strchr(word, '=');

    *value++ = '\0';
    if (!cf_params_parse(effect->params, params, word, value, &status)) {
      fprintf(stderr, "%s\n", status.message);
      abort();
    }
  }
  return params;
}
