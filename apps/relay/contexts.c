/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "contexts.h"

struct _RelayContexts {
  GMutex lock;
  GList *contexts; /* GstContext, one of each type */
};

RelayContexts *relay_contexts_new(void)
{
  RelayContexts *contexts = g_new0(RelayContexts, 1);

  g_mutex_init(&contexts->lock);
  return contexts;
}

void relay_contexts_free(RelayContexts *contexts)
{
  g_list_free_full(contexts->contexts, (GDestroyNotify)gst_context_unref);
  g_mutex_clear(&contexts->lock);
  g_free(contexts);
}

/* With the lock held. */
static GstContext *find(const RelayContexts *contexts, const gchar *type)
{
  for (const GList *at = contexts->contexts; at; at = at->next) {
    if (g_str_equal(gst_context_get_context_type(at->data), type))
      return at->data;
  }
  return NULL;
}

static void note_context(RelayContexts *contexts, GstMessage *message)
{
  GstContext *context = NULL;

  gst_message_parse_have_context(message, &context);
  g_mutex_lock(&contexts->lock);
  if (!find(contexts, gst_context_get_context_type(context)))
    contexts->contexts = g_list_prepend(contexts->contexts, gst_context_ref(context));
  g_mutex_unlock(&contexts->lock);
  gst_context_unref(context);
}

static void give_context(RelayContexts *contexts, GstMessage *message)
{
  const gchar *type;
  GstContext *context;

  gst_message_parse_context_type(message, &type);
  g_mutex_lock(&contexts->lock);
  context = find(contexts, type);
  if (context)
    gst_context_ref(context);
  g_mutex_unlock(&contexts->lock);
  if (!context)
    return;
  gst_element_set_context(GST_ELEMENT(GST_MESSAGE_SRC(message)), context);
  gst_context_unref(context);
}

static GstBusSyncReply receive_message(GstBus *bus, GstMessage *message, gpointer contexts)
{
  if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_HAVE_CONTEXT)
    note_context(contexts, message);
  else if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_NEED_CONTEXT)
    give_context(contexts, message);
  return GST_BUS_PASS;
}

void relay_contexts_join(RelayContexts *contexts, GstElement *pipeline)
{
  GstBus *bus = gst_element_get_bus(pipeline);
  GList *known;

  g_mutex_lock(&contexts->lock);
  known = g_list_copy_deep(contexts->contexts, (GCopyFunc)(GCallback)gst_context_ref, NULL);
  g_mutex_unlock(&contexts->lock);
  for (GList *at = known; at; at = at->next)
    gst_element_set_context(pipeline, at->data);
  g_list_free_full(known, (GDestroyNotify)gst_context_unref);
  gst_bus_set_sync_handler(bus, receive_message, contexts, NULL);
  gst_object_unref(bus);
}

void relay_contexts_leave(RelayContexts *contexts, GstElement *pipeline)
{
  GstBus *bus = gst_element_get_bus(pipeline);

  gst_bus_set_sync_handler(bus, NULL, NULL, NULL);
  gst_object_unref(bus);
}
