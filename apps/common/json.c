/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "json.h"

#include <math.h>

struct _AppJson {
  GString *text;
  GString *closing; /* closing brackets of the open objects and arrays, the innermost last */
};

static void begin_member(AppJson *json, const gchar *key)
{
  const gchar last = json->text->str[json->text->len - 1];

  if (last != '{' && last != '[')
    g_string_append_c(json->text, ',');
  if (key)
    g_string_append_printf(json->text, "\"%s\":", key);
}

static void open_nested(AppJson *json, gchar opening, gchar closing)
{
  g_string_append_c(json->text, opening);
  g_string_append_c(json->closing, closing);
}

AppJson *app_json_new(void)
{
  AppJson *json = g_new(AppJson, 1);

  json->text = g_string_new(NULL);
  json->closing = g_string_new(NULL);
  open_nested(json, '{', '}');
  return json;
}

void app_json_string(AppJson *json, const gchar *key, const gchar *value)
{
  g_autofree gchar *valid = value ? g_utf8_make_valid(value, -1) : NULL;

  begin_member(json, key);
  if (!valid) {
    g_string_append(json->text, "null");
    return;
  }
  g_string_append_c(json->text, '"');
  for (const gchar *at = valid; *at; at++) {
    if (*at == '"' || *at == '\\')
      g_string_append_printf(json->text, "\\%c", *at);
    else if ((guchar)*at < 0x20)
      g_string_append_printf(json->text, "\\u%04x", *at);
    else
      g_string_append_c(json->text, *at);
  }
  g_string_append_c(json->text, '"');
}

void app_json_integer(AppJson *json, const gchar *key, gint64 value)
{
  begin_member(json, key);
  g_string_append_printf(json->text, "%" G_GINT64_FORMAT, value);
}

void app_json_boolean(AppJson *json, const gchar *key, gboolean value)
{
  begin_member(json, key);
  g_string_append(json->text, value ? "true" : "false");
}

void app_json_number(AppJson *json, const gchar *key, gdouble value, guint decimals)
{
  gchar format[16], digits[G_ASCII_DTOSTR_BUF_SIZE + 310];

  begin_member(json, key);
  g_snprintf(format, sizeof format, "%%.%uf", MIN(decimals, 17));
  g_string_append(json->text,
                  isfinite(value) ? g_ascii_formatd(digits, sizeof digits, format, value) : "null");
}

void app_json_open_object(AppJson *json, const gchar *key)
{
  begin_member(json, key);
  open_nested(json, '{', '}');
}

void app_json_open_array(AppJson *json, const gchar *key)
{
  begin_member(json, key);
  open_nested(json, '[', ']');
}

void app_json_close(AppJson *json)
{
  const gsize last = json->closing->len - 1;

  g_string_append_c(json->text, json->closing->str[last]);
  g_string_truncate(json->closing, last);
}

gboolean app_json_print(AppJson *json, FILE *file)
{
  gboolean good;

  while (json->closing->len > 0)
    app_json_close(json);
  good = fprintf(file, "%s\n", json->text->str) >= 0 && fflush(file) == 0;
  g_string_free(json->text, TRUE);
  g_string_free(json->closing, TRUE);
  g_free(json);
  return good;
}
