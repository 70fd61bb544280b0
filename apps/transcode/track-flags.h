/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What a file says of a track to players.
 */
#pragma once

#include <glib.h>

typedef struct {
  gboolean is_off;    /* players do not choose it by themselves */
  gboolean is_forced; /* subtitles that are shown with the sound of their language */
} TrackFlags;
