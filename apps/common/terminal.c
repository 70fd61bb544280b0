/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "terminal.h"

#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define ERASE_LINE "\r\033[K"

static gchar *last_status; /* the status on the screen, or NULL */

gboolean app_is_terminal(FILE *file)
{
  const gchar *terminal = g_getenv("TERM");

  return isatty(fileno(file)) && terminal && !g_str_equal(terminal, "dumb");
}

static glong terminal_width(void)
{
  struct winsize size;

  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col : 80;
}

/* A character in the last column would start a new line. */
static void draw(const gchar *text)
{
  g_autofree gchar *valid = g_utf8_make_valid(text, -1);
  const glong most = terminal_width() - 1;

  if (g_utf8_strlen(valid, -1) > most)
    *g_utf8_offset_to_pointer(valid, most) = 0;
  fprintf(stderr, ERASE_LINE "%s", valid);
  fflush(stderr);
}

void app_status(const gchar *text)
{
  if (!app_is_terminal(stderr)) {
    fprintf(stderr, "%s\n", text);
    return;
  }
  draw(text);
  g_free(last_status);
  last_status = g_strdup(text);
}

void app_status_end(void)
{
  if (last_status)
    fputc('\n', stderr);
  g_clear_pointer(&last_status, g_free);
}

void app_say(const gchar *format, ...)
{
  g_autofree gchar *text = NULL;
  va_list arguments;

  va_start(arguments, format);
  text = g_strdup_vprintf(format, arguments);
  va_end(arguments);
  fprintf(stderr, "%s%s\n", last_status ? ERASE_LINE : "", text);
  if (last_status)
    draw(last_status);
}

void app_complain(const gchar *message)
{
  const gchar *program = g_get_prgname();

  app_say("%s: %s", program ? program : "error", message);
}
