/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "arrivals.h"

#include "times.h"

/* At least as many frames as a decoder holds. */
#define MAX_FRAMES 64

typedef struct {
  GstClockTime time;
  gint64 arrival;
} Arrival;

struct _RelayArrivals {
  GMutex lock;
  Arrival ring[MAX_FRAMES];
  guint next;
};

RelayArrivals *relay_arrivals_new(void)
{
  RelayArrivals *arrivals = g_new0(RelayArrivals, 1);

  g_mutex_init(&arrivals->lock);
  for (guint i = 0; i < MAX_FRAMES; i++)
    arrivals->ring[i].time = GST_CLOCK_TIME_NONE;
  return arrivals;
}

void relay_arrivals_free(RelayArrivals *arrivals)
{
  g_mutex_clear(&arrivals->lock);
  g_free(arrivals);
}

static GstPadProbeReturn note(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  RelayArrivals *arrivals = data;
  const GstClockTime time = relay_running_time(pad, GST_PAD_PROBE_INFO_BUFFER(info));

  if (time == GST_CLOCK_TIME_NONE)
    return GST_PAD_PROBE_OK;
  g_mutex_lock(&arrivals->lock);
  arrivals->ring[arrivals->next] = (Arrival){time, g_get_monotonic_time()};
  arrivals->next = (arrivals->next + 1) % MAX_FRAMES;
  g_mutex_unlock(&arrivals->lock);
  return GST_PAD_PROBE_OK;
}

void relay_arrivals_watch(RelayArrivals *arrivals, GstPad *pad)
{
  gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, note, arrivals, NULL);
}

gint64 relay_arrivals_find(RelayArrivals *arrivals, GstClockTime time)
{
  gint64 found = 0;

  g_mutex_lock(&arrivals->lock);
  for (guint i = 0; i < MAX_FRAMES && found == 0; i++) {
    if (arrivals->ring[i].time == time)
      found = arrivals->ring[i].arrival;
  }
  g_mutex_unlock(&arrivals->lock);
  return found;
}
