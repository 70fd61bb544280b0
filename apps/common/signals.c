/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "signals.h"

#include <glib-unix.h>
#include <signal.h>
#include <unistd.h>

/* Signals within this time, in us, count as one. */
#define SAME_SIGNAL (G_USEC_PER_SEC / 2)

static gboolean receive(AppSignals *signals, gint number)
{
  const gint64 now = g_get_monotonic_time();

  if (signals->first == 0) {
    signals->first = now;
    signals->stop(signals->data);
  } else if (now - signals->first > SAME_SIGNAL) {
    _exit(128 + number);
  }
  return G_SOURCE_CONTINUE;
}

static gboolean receive_interrupt(gpointer data)
{
  return receive(data, SIGINT);
}

static gboolean receive_terminate(gpointer data)
{
  return receive(data, SIGTERM);
}

static gboolean receive_hangup(gpointer data)
{
  return receive(data, SIGHUP);
}

/* As nohup(1) leaves it. */
static gboolean ignores_hangup(void)
{
  struct sigaction action;

  return sigaction(SIGHUP, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

void app_signals_install(AppSignals *signals, void (*stop)(gpointer data), gpointer data)
{
  *signals = (AppSignals){.stop = stop, .data = data};
  signals->interrupt = g_unix_signal_add(SIGINT, receive_interrupt, signals);
  signals->terminate = g_unix_signal_add(SIGTERM, receive_terminate, signals);
  if (!ignores_hangup())
    signals->hangup = g_unix_signal_add(SIGHUP, receive_hangup, signals);
}

void app_signals_remove(AppSignals *signals)
{
  g_source_remove(signals->interrupt);
  g_source_remove(signals->terminate);
  g_clear_handle_id(&signals->hangup, g_source_remove);
}
