/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What pictures need of an encoder.
 */
#pragma once

#include "media.h"

typedef struct {
  guint depth;     /* bits a sample */
  gboolean chroma; /* finer than 4:2:0 */
  gboolean alpha;  /* some of it can be seen through */
  gboolean interlaced;
} Pictures;

/* Those of a coded stream, as far as its caps tell. */
Pictures pictures_of(const GstCaps *caps);

/* Those of the video of `media`. The first of them is decoded by the element `decoder` where the
 * caps of the codec do not tell what pictures are in it. */
Pictures pictures_look(const Media *media, const gchar *decoder);
