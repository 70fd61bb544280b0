/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Parameters of effects from text, for tables of tests.
 */
#pragma once

#include "engine.h"

/* The defaults, and over them `first` and `second`, words NAME=VALUE with blanks between them. The
 * caller frees the result. Ends the program where a setting is refused. */
void *cf_settings_parse(const CfEffect *effect, const char *first, const char *second);
