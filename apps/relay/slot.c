/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "slot.h"

struct _RelaySlot {
  GMutex lock;
  GCond changed;
  GQueue samples; /* the oldest first */
  guint capacity;
  gboolean drop;
  gboolean ended;
};

RelaySlot *relay_slot_new(guint capacity, gboolean drop)
{
  RelaySlot *slot = g_new0(RelaySlot, 1);

  g_mutex_init(&slot->lock);
  g_cond_init(&slot->changed);
  g_queue_init(&slot->samples);
  slot->capacity = capacity;
  slot->drop = drop;
  return slot;
}

static void clear(RelaySlot *slot)
{
  g_queue_clear_full(&slot->samples, (GDestroyNotify)gst_sample_unref);
}

void relay_slot_free(RelaySlot *slot)
{
  clear(slot);
  g_cond_clear(&slot->changed);
  g_mutex_clear(&slot->lock);
  g_free(slot);
}

guint relay_slot_put(RelaySlot *slot, GstSample *sample)
{
  guint dropped = 0;

  g_mutex_lock(&slot->lock);
  while (!slot->ended && !slot->drop && slot->samples.length >= slot->capacity)
    g_cond_wait(&slot->changed, &slot->lock);
  if (slot->ended) {
    gst_sample_unref(sample);
    dropped = 1;
  } else {
    for (; slot->samples.length >= slot->capacity; dropped++)
      gst_sample_unref(g_queue_pop_head(&slot->samples));
    g_queue_push_tail(&slot->samples, sample);
    g_cond_broadcast(&slot->changed);
  }
  g_mutex_unlock(&slot->lock);
  return dropped;
}

RelayTake relay_slot_take(RelaySlot *slot, gint64 deadline, GstSample **sample)
{
  RelayTake result = RELAY_TAKE_FRAME;

  g_mutex_lock(&slot->lock);
  while (slot->samples.length == 0 && !slot->ended && result == RELAY_TAKE_FRAME) {
    if (deadline == 0)
      g_cond_wait(&slot->changed, &slot->lock);
    else if (!g_cond_wait_until(&slot->changed, &slot->lock, deadline))
      result = RELAY_TAKE_TIMEOUT;
  }
  if (slot->samples.length > 0) {
    *sample = g_queue_pop_head(&slot->samples);
    result = RELAY_TAKE_FRAME;
    g_cond_broadcast(&slot->changed);
  } else if (slot->ended) {
    result = RELAY_TAKE_END;
  }
  g_mutex_unlock(&slot->lock);
  return result;
}

void relay_slot_end(RelaySlot *slot)
{
  g_mutex_lock(&slot->lock);
  slot->ended = TRUE;
  g_cond_broadcast(&slot->changed);
  g_mutex_unlock(&slot->lock);
}

void relay_slot_abort(RelaySlot *slot)
{
  g_mutex_lock(&slot->lock);
  slot->ended = TRUE;
  clear(slot);
  g_cond_broadcast(&slot->changed);
  g_mutex_unlock(&slot->lock);
}
