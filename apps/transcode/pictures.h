/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The properties of pictures that an encoder has to support.
 */
#pragma once

#include "media.h"

typedef struct {
  guint depth;     /* bits a sample */
  gboolean chroma; /* chroma is finer than 4:2:0 */
  gboolean alpha;  /* some pixels are not opaque */
  gboolean interlaced;
} Pictures;

/* The properties of a coded stream, as far as its caps tell them. */
Pictures pictures_of(const GstCaps *caps);

/* The properties of the video of `media`. Decodes the first picture with the element `decoder` if
 * the caps of the codec do not tell them. */
Pictures pictures_look(const Media *media, const gchar *decoder);
