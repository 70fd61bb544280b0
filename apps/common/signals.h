/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * SIGINT, SIGTERM and SIGHUP in a program with a GMainLoop: the first asks it to finish, a second
 * ends it at once.
 */
#pragma once

#include <glib.h>

/* The installed handlers. */
typedef struct {
  void (*stop)(gpointer data); /* called once, in the main context, for the first signal */
  gpointer data;
  guint interrupt, terminate, hangup; /* ids of their sources, or 0; private */
  gint64 first;                       /* monotonic time of the first signal, or 0; private */
} AppSignals;

/* From now on the first SIGINT, SIGTERM or SIGHUP, unless that is ignored, calls `stop`, and the
 * next one exits with 128 + its number, as after death by a signal. Signals within half a second of
 * the first are ignored, since one Ctrl-C may arrive twice: from the terminal and from a parent
 * process. `signals` must outlive the handlers, until app_signals_remove(). */
void app_signals_install(AppSignals *signals, void (*stop)(gpointer data), gpointer data);
void app_signals_remove(AppSignals *signals);
