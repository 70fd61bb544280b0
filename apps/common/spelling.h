/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Finds what somebody meant who wrote a name wrong.
 */
#pragma once

#include <glib.h>

/* The search for the name that is most like `word`. Begin with {.word = ...}. */
typedef struct {
  const gchar *word;
  gchar *found; /* NULL: none is like it */
  guint distance;
} AppSpelling;

/* Looks at one name that there is. */
void app_spelling_try(AppSpelling *spelling, const gchar *name);

/* " Do you mean \"cudallf\"?", or "". Caller frees; ends the search. */
gchar *app_spelling_end(AppSpelling *spelling);
