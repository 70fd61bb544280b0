/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What is asked for: the whole file, a part of it, parts put together.
 */
#pragma once

#include "recipe.h"

/* Does what `options` say. FALSE with an error. */
gboolean job_run(const Recipe *recipe, const Options *options, GError **error);
