/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "error.h"

G_DEFINE_QUARK(app - error - quark, app_error)

AppExit app_exit_code(const GError *error)
{
  if (!error)
    return APP_EXIT_OK;
  if (g_error_matches(error, APP_ERROR, APP_ERROR_USAGE))
    return APP_EXIT_USAGE;
  if (g_error_matches(error, APP_ERROR, APP_ERROR_MISSING))
    return APP_EXIT_MISSING;
  return APP_EXIT_FAILED;
}
