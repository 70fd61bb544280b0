/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Plans a run: chooses elements, and finds out what is lost.
 */
#pragma once

#include "codecs.h"
#include "media.h"
#include "options.h"

/* Names of elements in the pipeline. */
#define RECIPE_FILE    "file" /* filesrc */
#define RECIPE_IN      "in"   /* parsebin */
#define RECIPE_DECODER "decoder"
#define RECIPE_FRAMES  "frames" /* the queue of filtered frames, before the encoder */
#define RECIPE_ENCODER "encoder"
#define RECIPE_CODED   "coded" /* the queue behind the encoder and its parser */
#define RECIPE_MUX     "mux"
#define RECIPE_SINK    "sink"

#define RECIPE_TONEMAP   "cudatonemap"
#define RECIPE_CUDA_CAPS "video/x-raw(memory:CUDAMemory)"

/* How a file is filtered. */
typedef struct {
  const Media *media;
  const Container *container;
  Decoder decoder;
  Encoder encoder;
  gchar *description;      /* all filters, as for gst-launch-1.0 */
  gchar **filter;          /* the words of `description` */
  gboolean to_sdr;         /* the source is HDR, and cudatonemap is in the filter */
  gboolean stays_on_gpu;   /* frames are in CUDA memory from the decoder through the filter */
  gboolean coarse_colours; /* the encoder gets 4:2:0 */
  gboolean is_turned;      /* the filter applies the file's rotation */
  GstClockTime overlap;    /* how far back in time the result of a filter depends on frames */
  GPtrArray *warnings;     /* gchar *: losses */
} Recipe;

/* Chooses decoder, encoder and memory. FALSE with an error. */
gboolean recipe_make(Recipe *recipe, const Media *media, const Container *container,
                     const Options *options, GError **error);
void recipe_clear(Recipe *recipe);

/* TRUE if a stream other than the video is copied. */
gboolean recipe_keeps(const Recipe *recipe, const MediaStream *stream);

/* The rotation to store for the new video, such as "rotate-90"; NULL: none. Caller frees. */
gchar *recipe_orientation(const Recipe *recipe);

/* The time scale for MP4 files: units a second in which frame durations and milliseconds are whole
 * numbers. */
guint recipe_time_scale(const Recipe *recipe);
