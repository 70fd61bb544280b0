/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "filter.h"

#include "elements.h"
#include "error.h"
#include "properties.h"

/* The words of a description: separated by blanks outside quotes, which stay in them; a "!" is a
 * word of its own. */
static GPtrArray *split_words(const gchar *description)
{
  GPtrArray *words = g_ptr_array_new_with_free_func(g_free);
  GString *word = g_string_new(NULL);
  gchar quote = 0;

  for (const gchar *at = description;; at++) {
    const gboolean blank = !quote && (*at == 0 || g_ascii_isspace(*at) || *at == '!');

    if (blank && word->len > 0) {
      g_ptr_array_add(words, g_strdup(word->str));
      g_string_truncate(word, 0);
    }
    if (*at == 0)
      break;
    if (blank) {
      if (*at == '!')
        g_ptr_array_add(words, g_strdup("!"));
      continue;
    }
    if (*at == '\\' && at[1] != 0)
      g_string_append_c(word, *at++);
    else if (quote ? *at == quote : *at == '"' || *at == '\'')
      quote = quote ? 0 : *at;
    g_string_append_c(word, *at);
  }
  g_string_free(word, TRUE);
  return words;
}

static gchar *unquote(const gchar *text)
{
  const gsize length = strlen(text);

  if (length >= 2 && (text[0] == '"' || text[0] == '\'') && text[length - 1] == text[0]) {
    g_autofree gchar *inner = g_strndup(text + 1, length - 2);

    return g_strcompress(inner);
  }
  return g_strdup(text);
}

static gboolean is_element_name(const gchar *word)
{
  if (!g_ascii_isalpha(word[0]))
    return FALSE;
  for (; *word; word++) {
    if (!g_ascii_isalnum(*word) && *word != '_' && *word != '-')
      return FALSE;
  }
  return TRUE;
}

static gboolean is_property_name(const gchar *word, gsize length)
{
  if (length == 0 || !g_ascii_isalpha(word[0]))
    return FALSE;
  for (gsize i = 0; i < length; i++) {
    if (!g_ascii_isalnum(word[i]) && word[i] != '_' && word[i] != '-')
      return FALSE;
  }
  return TRUE;
}

static gboolean check_assignment(GObjectClass *type, const gchar *owner, const gchar *word,
                                 GError **error)
{
  const gchar *equals = strchr(word, '=');
  g_autofree gchar *name = NULL, *value = NULL;

  if (!equals || !is_property_name(word, equals - word))
    return TRUE;
  name = g_strndup(word, equals - word);
  value = unquote(equals + 1);
  return app_property_check(type, owner, name, value, error);
}

/* Between an element and the next "!" the only bare words are names and values of properties, where
 * blanks surround the "=". */
static gboolean check_no_name(const gchar *owner, const GPtrArray *words, guint at, GError **error)
{
  const gchar *word = g_ptr_array_index(words, at);
  const gchar *before = g_ptr_array_index(words, at - 1);
  const gchar *next = at + 1 < words->len ? g_ptr_array_index(words, at + 1) : "";

  if (!is_element_name(word) || next[0] == '=' || g_str_has_suffix(before, "="))
    return TRUE;
  g_set_error(error, APP_ERROR, APP_ERROR_USAGE,
              "\"%s\" after %s is not PROPERTY=VALUE. Elements are separated by \"!\": "
              "\"cudallf alpha=0.4 ! cudablockavg\".",
              word, owner);
  return FALSE;
}

/* Checks names and values of properties, for which gst_parse_launch() reports no error, or one that
 * does not say what is allowed. Words other than plain "element property=value" are left to it. */
static gboolean check_words(const GPtrArray *words, GError **error)
{
  g_autofree gchar *owner = NULL;
  GObjectClass *type = NULL;
  GstElement *element = NULL;
  gboolean first = TRUE, good = TRUE;

  for (guint i = 0; good && i < words->len; i++) {
    const gchar *word = g_ptr_array_index(words, i);

    if (g_str_equal(word, "!")) {
      first = TRUE;
      type = NULL;
      gst_clear_object(&element);
      continue;
    }
    if (first && is_element_name(word) && !g_str_equal(word, "bin")) {
      g_free(owner);
      owner = g_strdup(word);
      element = app_element_make(word, NULL, NULL, error);
      good = element != NULL;
      if (good)
        type = G_OBJECT_GET_CLASS(gst_object_ref_sink(element));
    } else if (!first && type) {
      good = check_no_name(owner, words, i, error) && check_assignment(type, owner, word, error);
    }
    first = FALSE;
  }
  gst_clear_object(&element);
  return good;
}

static gboolean is_caps(const gchar *word)
{
  return strchr(word, '/') && strcspn(word, "/") < strcspn(word, "=");
}

/* The description with an identity element before caps at the beginning and after caps at the end:
 * GStreamer's parser takes caps only between elements. Transfer full. */
static gchar *complete(const GPtrArray *words, const gchar *description)
{
  guint last = 0;

  if (words->len == 0)
    return g_strdup("identity");
  for (guint i = 0; i + 1 < words->len; i++) {
    if (g_str_equal(g_ptr_array_index(words, i), "!"))
      last = i + 1;
  }
  return g_strconcat(is_caps(g_ptr_array_index(words, 0)) ? "identity ! " : "", description,
                     is_caps(g_ptr_array_index(words, last)) ? " ! identity" : "", NULL);
}

/* Turns an error of GStreamer's parser into one of ours. */
static void explain(const gchar *description, const GError *parse, const gchar *missing,
                    GError **error)
{
  if (g_error_matches(parse, GST_PARSE_ERROR, GST_PARSE_ERROR_NO_SUCH_ELEMENT) && missing)
    app_element_set_missing(error, missing, NULL);
  else
    g_set_error(error, APP_ERROR, APP_ERROR_USAGE,
                "The filter \"%s\" cannot be read: %s. Write elements and their properties as for "
                "gst-launch-1.0: \"cudallf alpha=0.4 ! cudablockavg\".",
                description, parse->message);
}

static gboolean has_pictures(GstElement *bin, const gchar *name)
{
  g_autoptr(GstPad) pad = gst_element_get_static_pad(bin, name);
  g_autoptr(GstCaps) possible = pad ? gst_pad_query_caps(pad, NULL) : gst_caps_new_empty();
  g_autoptr(GstCaps) pictures = gst_caps_from_string("video/x-raw(ANY)");

  return gst_caps_can_intersect(possible, pictures);
}

static gboolean is_chain(GstElement *bin, const gchar *description, GError **error)
{
  const gboolean takes = has_pictures(bin, "sink");

  if (takes && has_pictures(bin, "src"))
    return TRUE;
  g_set_error(
      error, APP_ERROR, APP_ERROR_USAGE,
      "The filter \"%s\" %s raw video: it must be a chain that takes raw video and gives raw "
      "video, without a source, a sink or a codec.",
      description, takes ? "does not give" : "does not take");
  return FALSE;
}

GstElement *app_filter_new(const gchar *description, GError **error)
{
  g_autoptr(GPtrArray) words = split_words(description);
  g_autofree gchar *completed = complete(words, description);
  g_autoptr(GError) parse = NULL;
  GstParseContext *context;
  GstElement *bin;

  if (!check_words(words, error))
    return NULL;
  context = gst_parse_context_new();
  bin = gst_parse_bin_from_description_full(completed, TRUE, context, GST_PARSE_FLAG_FATAL_ERRORS,
                                            &parse);
  if (!bin || parse) {
    g_auto(GStrv) missing = gst_parse_context_get_missing_elements(context);

    explain(description, parse, missing ? missing[0] : NULL, error);
    if (bin)
      gst_object_unref(gst_object_ref_sink(bin));
    bin = NULL;
  } else if (!is_chain(bin, description, error)) {
    gst_object_unref(gst_object_ref_sink(bin));
    bin = NULL;
  }
  gst_parse_context_free(context);
  return bin;
}

gboolean app_filter_foreach(GstElement *filter,
                            gboolean (*each)(GstElement *element, gpointer data), gpointer data)
{
  GstIterator *elements;
  GList *ordered = NULL;
  GValue item = G_VALUE_INIT;
  gboolean found = FALSE;

  if (!GST_IS_BIN(filter))
    return each(filter, data);
  /* The iterator goes from the sink to the source. */
  elements = gst_bin_iterate_sorted(GST_BIN(filter));
  while (gst_iterator_next(elements, &item) == GST_ITERATOR_OK) {
    ordered = g_list_prepend(ordered, g_value_dup_object(&item));
    g_value_reset(&item);
  }
  if (G_IS_VALUE(&item))
    g_value_unset(&item);
  gst_iterator_free(elements);
  for (GList *at = ordered; at && !found; at = at->next)
    found = app_filter_foreach(at->data, each, data);
  g_list_free_full(ordered, gst_object_unref);
  return found;
}

typedef struct {
  const gchar *owner; /* name or factory of the element; NULL: any that has the property */
  const gchar *property;
  GstElement *found; /* a reference */
} Search;

static gboolean is_sought(GstElement *element, gpointer data)
{
  Search *search = data;
  const GstElementFactory *factory = gst_element_get_factory(element);

  if (search->owner
          ? !(g_str_equal(GST_OBJECT_NAME(element), search->owner) ||
              (factory && g_str_equal(GST_OBJECT_NAME(factory), search->owner)))
          : g_str_equal(search->property, "name") ||
                !g_object_class_find_property(G_OBJECT_GET_CLASS(element), search->property))
    return FALSE;
  search->found = gst_object_ref(element);
  return TRUE;
}

/* The element that `name` is of (a reference), and its property, which points into `name`. */
static GstElement *find_owner(GstElement *filter, const gchar *name, const gchar **property,
                              GError **error)
{
  const gchar *dot = strchr(name, '.');
  g_autofree gchar *owner = dot ? g_strndup(name, dot - name) : NULL;
  Search search = {owner, dot ? dot + 1 : name, NULL};

  *property = search.property;
  if (app_filter_foreach(filter, is_sought, &search))
    return search.found;
  if (owner)
    g_set_error(error, APP_ERROR, APP_ERROR_USAGE, "The filter has no element \"%s\".", owner);
  else
    g_set_error(error, APP_ERROR, APP_ERROR_USAGE,
                "No element of the filter has a property \"%s\".", name);
  return NULL;
}

gboolean app_filter_set(GstElement *filter, const gchar *name, const gchar *text, GError **error)
{
  const gchar *property;
  GstElement *element = find_owner(filter, name, &property, error);
  gboolean good;

  if (!element)
    return FALSE;
  good = app_property_set(element, property, text, error);
  gst_object_unref(element);
  return good;
}

gchar *app_filter_get(GstElement *filter, const gchar *name, GError **error)
{
  const gchar *property;
  GstElement *element = find_owner(filter, name, &property, error);
  gchar *value;

  if (!element)
    return NULL;
  value = app_property_get(element, property);
  if (!value)
    g_set_error(error, APP_ERROR, APP_ERROR_USAGE, "Property \"%s\" cannot be read.", name);
  gst_object_unref(element);
  return value;
}
