/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "commands.h"

#include <glib-unix.h>
#include <unistd.h>

#include "apps/common/filter.h"
#include "events.h"

#define LONGEST_LINE 65536

struct _RelayCommands {
  const RelayOptions *options;
  GstElement *filter;
  GString *text; /* a line that is not complete yet */
  guint source;
};

static void run(RelayCommands *commands, const gchar *line)
{
  g_autofree gchar *text = g_strstrip(g_strdup(line)), *now = NULL;
  g_autoptr(GError) error = NULL;
  gchar *blank = text;

  if (*text == 0 || *text == '#')
    return;
  while (*blank && !g_ascii_isspace(*blank) && *blank != '=')
    blank++;
  if (*blank) {
    *blank++ = 0;
    if (!app_filter_set(commands->filter, text, g_strstrip(blank), &error)) {
      relay_event_warning(commands->options, error->message);
      return;
    }
  }
  now = app_filter_get(commands->filter, text, &error);
  if (now)
    relay_event_property(commands->options, text, now);
  else
    relay_event_warning(commands->options, error->message);
}

static void run_lines(RelayCommands *commands)
{
  gchar *newline;

  while ((newline = strchr(commands->text->str, '\n'))) {
    *newline = 0;
    run(commands, commands->text->str);
    g_string_erase(commands->text, 0, newline + 1 - commands->text->str);
  }
  if (commands->text->len > LONGEST_LINE)
    g_string_truncate(commands->text, 0);
}

static gboolean receive(gint file, GIOCondition condition, gpointer data)
{
  RelayCommands *commands = data;
  gchar bytes[4096];
  const gssize count = read(file, bytes, sizeof bytes);

  if (count <= 0) {
    commands->source = 0;
    return G_SOURCE_REMOVE;
  }
  for (gssize i = 0; i < count; i++)
    g_string_append_c(commands->text, bytes[i] ? bytes[i] : ' ');
  run_lines(commands);
  return G_SOURCE_CONTINUE;
}

/* The terminal would stop a background process that reads (SIGTTIN). */
static gboolean may_read(void)
{
  return !isatty(STDIN_FILENO) || tcgetpgrp(STDIN_FILENO) == getpgrp();
}

RelayCommands *relay_commands_new(const RelayOptions *options, GstElement *filter)
{
  RelayCommands *commands = g_new0(RelayCommands, 1);

  commands->options = options;
  commands->filter = filter;
  commands->text = g_string_new(NULL);
  if (may_read())
    commands->source =
        g_unix_fd_add(STDIN_FILENO, G_IO_IN | G_IO_HUP | G_IO_ERR, receive, commands);
  return commands;
}

void relay_commands_free(RelayCommands *commands)
{
  g_clear_handle_id(&commands->source, g_source_remove);
  g_string_free(commands->text, TRUE);
  g_free(commands);
}
