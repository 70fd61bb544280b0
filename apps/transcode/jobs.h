/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The jobs of the program: filter a whole file, filter a part of it, join parts.
 */
#pragma once

#include "recipe.h"

/* Runs the job that `options` ask for. FALSE with an error. */
gboolean job_run(const Recipe *recipe, const Options *options, GError **error);
