/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Which elements write a container, decode a stream and encode one on this machine.
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

/* By the suffix of `path`. NULL with an error that lists those there are. */
const Container *container_for(const gchar *path, GError **error);

/* The parser that has to stand between a stream of `caps` and a pad of the container's muxer:
 * "" if none, NULL if the container cannot hold the stream at all. `pad` is set to the name of the
 * muxer's pad template, such as "audio". Caller frees neither. */
const gchar *container_parser(const Container *container, const GstCaps *caps, const gchar **pad);

/* TRUE if it holds subtitles of SubStation Alpha with their styles. */
gboolean container_keeps_ssa(const Container *container);

/* A container that holds a stream of `caps`, for advice; NULL if none does. */
const gchar *container_that_holds(const GstCaps *caps);

/* What decodes. */
typedef struct {
  gchar *factory;
  gboolean gpu; /* its pictures can stay in CUDA memory */
} Decoder;

/* The best decoder for `caps` that opens here, those of a GPU first. FALSE with an error. */
gboolean decoder_choose(Decoder *decoder, const GstCaps *caps, GError **error);

/* TRUE if caps of this kind of stream say which pictures are in it. */
gboolean codec_tells_pictures(const GstCaps *caps);

/* What encodes. */
typedef struct {
  const gchar *codec;  /* "h264" */
  const gchar *parser; /* of its stream */
  gchar **words;       /* the element and its properties as gst-launch-1.0 takes them */
  gboolean gpu;        /* it takes pictures in CUDA memory */
  guint depth;         /* bits that it keeps of the source's */
} Encoder;

/* The encoder of `pictures` for files of `container`. `wish` is NULL (as the source, whose caps are
 * `source`, or what the container takes), the name of a codec, or an element with its properties.
 * `quality` is in the encoder's own measure, negative for its default. What the encoder cannot keep
 * of the pictures is added to `warnings`, of gchar *. FALSE with an error. */
gboolean encoder_choose(Encoder *encoder, const Container *container, const GstCaps *source,
                        const Pictures *pictures, const gchar *wish, gdouble quality,
                        GPtrArray *warnings, GError **error);
void encoder_clear(Encoder *encoder);
