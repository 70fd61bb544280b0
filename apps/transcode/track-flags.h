/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The flags of a track that tell players whether to choose it.
 */
#pragma once

#include <glib.h>

typedef struct {
  gboolean is_off;    /* chosen only by the viewer */
  gboolean is_forced; /* subtitles that are shown with the sound of their language */
} TrackFlags;
