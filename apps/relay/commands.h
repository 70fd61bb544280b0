/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Lines on standard input that change the filter while it runs.
 */
#pragma once

#include "options.h"

typedef struct _RelayCommands RelayCommands;

/* From now on "NAME VALUE" sets a property of `filter`, and tells what it is then; "NAME" only
 * tells. A program that was started in the background of a terminal does not read. The end of
 * standard input changes nothing. */
RelayCommands *relay_commands_new(const RelayOptions *options, GstElement *filter);
void relay_commands_free(RelayCommands *commands);
