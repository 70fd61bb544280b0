/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "spelling.h"

#include <string.h>

#define LONGEST 40

/* The number of letters to insert, remove or replace, of words of up to LONGEST letters. */
static guint distance_of(const gchar *from, const gchar *to)
{
  const gsize length = strlen(to);
  guint row[LONGEST + 1];

  for (guint j = 0; j <= length; j++)
    row[j] = j;
  for (guint i = 1; *from; i++, from++) {
    guint corner = row[0];

    row[0] = i;
    for (guint j = 1; j <= length; j++) {
      const guint replaced = corner + (g_ascii_tolower(*from) != g_ascii_tolower(to[j - 1]));

      corner = row[j];
      row[j] = MIN(replaced, 1 + MIN(row[j], row[j - 1]));
    }
  }
  return row[length];
}

void app_spelling_try(AppSpelling *spelling, const gchar *name)
{
  const gsize length = strlen(spelling->word);
  guint distance;

  if (length > LONGEST || strlen(name) > LONGEST)
    return;
  distance = distance_of(spelling->word, name);
  if (distance > (length + 2) / 4 || (spelling->found && distance >= spelling->distance))
    return;
  g_free(spelling->found);
  spelling->found = g_strdup(name);
  spelling->distance = distance;
}

gchar *app_spelling_end(AppSpelling *spelling)
{
  gchar *question =
      spelling->found ? g_strdup_printf(" Do you mean \"%s\"?", spelling->found) : g_strdup("");

  g_clear_pointer(&spelling->found, g_free);
  return question;
}
