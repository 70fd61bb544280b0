/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Converts frames to a format, size and memory that an output takes.
 */
#pragma once

#include <gst/gst.h>

typedef enum {
  RELAY_FIT_ANY,   /* sizes stay */
  RELAY_FIT_EVEN,  /* odd sizes are scaled to even ones, for encoders of 4:2:0 */
  RELAY_FIT_FIRST, /* as RELAY_FIT_EVEN for the first frame; later ones are scaled to its size */
  RELAY_FIT_FIXED, /* all frames are scaled to `width` x `height` */
} RelayFitSize;

typedef struct {
  RelayFitSize size;
  gint width, height;   /* for RELAY_FIT_FIXED; else the least size of the output, or 0 */
  const gchar *formats; /* of raw video, as in caps: "I420" or "{ NV12, I420 }"; NULL: any */
  gboolean download;    /* from CUDA memory, if frames come in it, to system memory */
  gboolean in_cuda;     /* from CUDA memory to CUDA memory */
} RelayFit;

/* A bin (floating) with pads "sink" and "src". APP_ERROR_MISSING. */
GstElement *relay_fit_new(const RelayFit *fit, GError **error);
