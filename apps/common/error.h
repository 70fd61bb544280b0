/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Errors of the programs and the exit codes that they end with. Every message is a sentence for a
 * user: what failed, on which value, what is allowed, what to do.
 */
#pragma once

#include <glib.h>

/* The exit codes that all programs share. */
typedef enum {
  APP_EXIT_OK = 0,      /* done, or stopped by SIGINT or SIGTERM */
  APP_EXIT_FAILED = 1,  /* something failed while it ran */
  APP_EXIT_USAGE = 2,   /* an argument is wrong */
  APP_EXIT_MISSING = 3, /* a GStreamer element or a library is not installed */
} AppExit;

#define APP_ERROR app_error_quark()
GQuark app_error_quark(void);

/* Codes of APP_ERROR; each has its exit code. */
typedef enum {
  APP_ERROR_FAILED,
  APP_ERROR_USAGE,
  APP_ERROR_MISSING,
} AppError;

/* The exit code for `error`; APP_EXIT_FAILED for those of other domains, APP_EXIT_OK for NULL. */
AppExit app_exit_code(const GError *error);
