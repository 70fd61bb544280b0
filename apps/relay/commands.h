/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Lines on standard input that change the filter while it runs.
 */
#pragma once

#include "options.h"

typedef struct _RelayCommands RelayCommands;

/* From now on the line "NAME VALUE" sets a property of `filter` and prints its value; "NAME" prints
 * it. A program in the background of a terminal does not read. End of input is ignored. */
RelayCommands *relay_commands_new(const RelayOptions *options, GstElement *filter);
void relay_commands_free(RelayCommands *commands);
