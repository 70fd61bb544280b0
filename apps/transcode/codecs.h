/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Chooses the elements that mux, decode and encode on this machine.
 */
#pragma once

#include "pictures.h"

/* A kind of file that can be written. */
typedef struct {
  const gchar *name;     /* for people */
  const gchar *suffixes; /* separated by blanks, with one at each end */
  const gchar *muxer;
  const gchar *codecs; /* of video, by name, the best first; separated by blanks */
  gboolean is_quicktime;
} Container;

/* The container for the suffix of `path`. NULL with an error that lists the suffixes. */
const Container *container_for(const gchar *path, GError **error);

/* The parser needed between a stream of `caps` and the container's muxer: "" for none, NULL if the
 * container cannot hold the stream. Sets `pad` to the name of the muxer's pad template, such as
 * "audio". Both static. */
const gchar *container_parser(const Container *container, const GstCaps *caps, const gchar **pad);

/* TRUE if the container can hold SubStation Alpha subtitles with their styles. */
gboolean container_keeps_ssa(const Container *container);

/* A container that holds a stream of `caps`, for advice; NULL if none does. */
const gchar *container_that_holds(const GstCaps *caps);

/* A decoder. */
typedef struct {
  gchar *factory;
  gboolean gpu; /* its output can be in CUDA memory */
} Decoder;

/* The best decoder for `caps` that can be opened, GPU decoders first. FALSE with an error. */
gboolean decoder_choose(Decoder *decoder, const GstCaps *caps, GError **error);

/* TRUE if the caps of this codec tell depth and chroma of its pictures. */
gboolean codec_tells_pictures(const GstCaps *caps);

/* An encoder. */
typedef struct {
  const gchar *codec;  /* "h264" */
  const gchar *parser; /* for its stream */
  gchar **words;       /* the element and its properties as gst-launch-1.0 takes them */
  gboolean gpu;        /* takes pictures in CUDA memory */
  guint depth;         /* how many of the source's bits it keeps */
} Encoder;

/* The encoder of `pictures` for files of `container`. `wish` is the name of a codec, an element
 * with its properties, or NULL for the codec of the source, whose caps are `source`, if the
 * container can hold it. `quality` is in the encoder's own units, negative for its default. Appends
 * to `warnings` (gchar *) what the encoder cannot keep of the pictures. FALSE with an error. */
gboolean encoder_choose(Encoder *encoder, const Container *container, const GstCaps *source,
                        const Pictures *pictures, const gchar *wish, gdouble quality,
                        GPtrArray *warnings, GError **error);
void encoder_clear(Encoder *encoder);
