/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * SIGINT and SIGTERM in a program with a GMainLoop: the first asks it to finish, a second ends it
 * at once.
 */
#pragma once

#include <glib.h>

/* What is installed. */
typedef struct {
  void (*stop)(gpointer data); /* called once, in the main context, for the first signal */
  gpointer data;
  guint interrupt, terminate; /* of the sources; private */
  gint64 first;               /* when the first came, monotonic, or 0; private */
} AppSignals;

/* From now on SIGINT and SIGTERM call `stop`. The next one exits with 128 + its number, as a shell
 * says that a signal ended a program; but not within half a second, since one Ctrl-C may arrive
 * twice, from the terminal and from a program that started this one. `signals` stays where it is
 * until app_signals_remove(). */
void app_signals_install(AppSignals *signals, void (*stop)(gpointer data), gpointer data);
void app_signals_remove(AppSignals *signals);
