/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The pipeline of a run, as words for gst-launch-1.0, and what is known of it beforehand.
 */
#pragma once

#include "codecs.h"
#include "media.h"
#include "options.h"

/* Names of elements in the pipeline. */
#define RECIPE_FILE    "file" /* filesrc */
#define RECIPE_IN      "in"   /* parsebin */
#define RECIPE_DECODER "decoder"
#define RECIPE_FRAMES  "frames" /* the queue before the encoder: filtered frames leave it */
#define RECIPE_ENCODER "encoder"
#define RECIPE_CODED   "coded" /* the queue behind the encoder and its parser */
#define RECIPE_MUX     "mux"
#define RECIPE_SINK    "sink"

/* How a file is filtered. */
typedef struct {
  const Media *media;
  const Container *container;
  Decoder decoder;
  Encoder encoder;
  gchar *description;      /* of all filters, in the words of gst-launch-1.0 */
  gchar **filter;          /* these words */
  gboolean to_sdr;         /* HDR comes in, and cudatonemap is in the filter */
  gboolean stays_on_gpu;   /* from the decoder through the filter */
  gboolean coarse_colours; /* no finer than 4:2:0 */
  gboolean is_turned;      /* a filter turns pictures as the file says that they are to be shown */
  GstClockTime overlap;    /* filters remember for so long: they need to have seen that much */
  GPtrArray *warnings;     /* gchar *: what is lost */
} Recipe;

/* Chooses decoder, encoder and memory. FALSE with an error. */
gboolean recipe_make(Recipe *recipe, const Media *media, const Container *container,
                     const Options *options, GError **error);
void recipe_clear(Recipe *recipe);

/* The words (gchar *, without NULL at the end) of the whole pipeline, from the file to `output`. */
GPtrArray *recipe_whole(const Recipe *recipe, const gchar *output);

/* TRUE if a stream other than the video is copied. */
gboolean recipe_keeps(const Recipe *recipe, const MediaStream *stream);

/* How the new video is to be turned, such as "rotate-90"; NULL: not at all. Caller frees. */
gchar *recipe_orientation(const Recipe *recipe);

/* From the file to a part: coded video in GStreamer's data protocol. */
GPtrArray *recipe_part(const Recipe *recipe, const gchar *output);

/* The parts whose names match `pattern` in `directory`, in their order, and the rest of the
 * file. */
GPtrArray *recipe_join(const Recipe *recipe, const gchar *directory, const gchar *pattern,
                       const gchar *output);

/* Units a second in which frames of the video's rate, and milliseconds, are whole numbers: the
 * clock of MP4 files. */
guint recipe_time_scale(const Recipe *recipe);

/* The words as a line for a shell. Caller frees. */
gchar *recipe_command_line(const GPtrArray *words);
