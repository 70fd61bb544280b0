/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Makes of whatever frames come what an output can take: format, size, memory.
 */
#pragma once

#include <gst/gst.h>

typedef enum {
  RELAY_FIT_ANY,   /* sizes go through */
  RELAY_FIT_EVEN,  /* sizes go through, but for those that an encoder of 4:2:0 cannot take */
  RELAY_FIT_FIRST, /* as RELAY_FIT_EVEN for the first frame; later ones are scaled to its size */
  RELAY_FIT_FIXED, /* all are scaled to `width` x `height` */
} RelayFitSize;

typedef struct {
  RelayFitSize size;
  gint width, height;   /* of RELAY_FIT_FIXED; else the least that the output takes, or 0 */
  const gchar *formats; /* of raw video, as in caps: "I420" or "{ NV12, I420 }"; NULL: any */
  gboolean download;    /* frames may come in CUDA memory, and leave in system memory */
  gboolean in_cuda;     /* frames come and leave in CUDA memory */
} RelayFit;

/* A bin (floating) with pads "sink" and "src". APP_ERROR_MISSING. */
GstElement *relay_fit_new(const RelayFit *fit, GError **error);
