/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The pipeline fuzzer: one element between two pads of ours, at whose one end everything happens
 * that pipelines do, and at whose other end every frame is compared with what the reference engine
 * and the definition of regions make of it (docs/reference/definitions.md). A case is what follows
 * from one seed.
 *
 *   pipeline.c   options, the watchdog, which action comes next
 *   life.c       the element, its neighbours' pads, its bus
 *   settings.c   values of properties: random ones, and what is in force
 *   frames.c     random caps and buffers
 *   masks.c      random region metas, and the areas that they ask for
 *   naive.c      what areas cover, by the definition of regions
 *   oracle.c     what a frame must be;  pixels.c  and its pixels
 *   device.c     frames in CUDA memory and a driver that fails; device-none.c without one
 */
#pragma once

#include <gst/gst.h>
#include <gst/video/video.h>

#include "naive.h"
#include "engine.h"
#include "compare.h"
#include "gaussblur.h"
#include "patterns.h"
#include "picture.h"
#include "random.h"

#define FUZZ_MOST_METAS 4

typedef struct {
  const char *name;
  const CfEffect *effect;
  bool regions; /* has the properties of regions */
} FuzzElement;

/* Where frames lie and what computes. */
typedef enum { FUZZ_CPU, FUZZ_REFERENCE, FUZZ_CUDA_SYSTEM, FUZZ_CUDA_MEMORY } FuzzWay;

typedef struct {
  CfVideo video;
  bool interlaced;
  GstCaps *caps;
  GstVideoInfo info;
} FuzzFormat;

typedef struct {
  guint32 x, y, width, height; /* as in the meta: negative ones are large */
  const char *type;
} FuzzMeta;

/* A frame that was pushed, and what is in force for it. */
typedef struct {
  guint number;
  FuzzFormat *format; /* counted */
  CfTestPicture *source;
  GstBuffer *kept; /* the buffer itself where somebody else holds it too, or NULL */
  GstClockTime pts, duration;
  guint64 offset;
  GstBufferFlags flags;
  bool has_custom, starts; /* the first after a start, a flush or a segment */
  FuzzMeta meta[FUZZ_MOST_METAS];
  int metas;
  bool receiver_takes_meta;
  void *params; /* the effect's */
  enum { FUZZ_ALL, FUZZ_NONE, FUZZ_SOME } cover;
  FuzzAreas areas;
} FuzzFrame;

/* The regions' properties and memory, as the element should have them. */
typedef struct {
  int mode; /* 0 none, 1 inside, 2 outside */
  bool ellipse, cover_missing;
  double expand, feather;
  guint64 hold;
  char *types, *fixed;
  FuzzArea seen[FUZZ_MOST_METAS];
  const char *seen_type[FUZZ_MOST_METAS];
  int seen_count, seen_width, seen_height; /* pixels of frames of this size */
  GstClockTime seen_at;
  bool covered;   /* something was in the last frame, seen or held */
  bool backwards; /* the segment's rate is below 0 */
} FuzzMasks;

typedef struct {
  guint64 seed;
  CfRandom random;
  const FuzzElement *kind;
  FuzzWay way;
  GString *history;
  guint pushed, compared;

  /* life.c */
  GstElement *element;
  GstPad *source, *sink;
  GstBus *bus;
  GAsyncQueue *arrived; /* GstBuffer */
  gint takes_meta;      /* atomic: the receiver offers GstVideoMeta */
  gint live;            /* atomic: upstream says so */
  guint pool_max;       /* of the receiver's pool; 0: it has none */
  GQueue *expected;     /* FuzzFrame */
  bool new_segment, discont;
  guint errors, warnings; /* since they were last looked at */
  char *said;             /* by the first error, or warning */

  /* settings.c */
  void *wanted;         /* params as they were set, or as they are after a frame */
  void *old;            /* params in force before they were set; NULL while there are none */
  bool refused;         /* a frame has kept old values */
  bool refused_start;   /* a value that no start takes */
  const char *animated; /* the property, or NULL */
  guint64 set, old_set; /* rows of the effect's table that were set, as CfEffect.settle has it,
                           now and with `old` */

  FuzzFormat *format;
  GstClockTime clock; /* of the next frame */
  FuzzMasks masks;
  gpointer device; /* device.c */
} FuzzCase;

/* Ends the process after telling of the case. */
_Noreturn void fuzz_case_fail(const FuzzCase *self, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* Adds a line to the history of the case. */
void fuzz_note(FuzzCase *self, const char *format, ...) G_GNUC_PRINTF(2, 3);

static inline int fuzz_below(FuzzCase *self, int count)
{
  return cf_random_below(&self->random, count);
}

static inline bool fuzz_one_in(FuzzCase *self, int count)
{
  return cf_random_below(&self->random, count) == 0;
}

static inline double fuzz_between(FuzzCase *self, double least, double most)
{
  return least + cf_random_unit(&self->random) * (most - least);
}

/* life.c */
void fuzz_life_new(FuzzCase *self);
void fuzz_life_free(FuzzCase *self);
GstStateChangeReturn fuzz_life_set_state(FuzzCase *self, GstState state);
void fuzz_life_swap(FuzzCase *self);
void fuzz_life_segment(FuzzCase *self);
void fuzz_life_flush(FuzzCase *self);
void fuzz_life_drain(FuzzCase *self);
void fuzz_life_take_messages(FuzzCase *self);

/* Takes what has arrived; with `all` until nothing is expected any more. */
void fuzz_life_collect(FuzzCase *self, bool all);

/* settings.c */
void fuzz_settings_new(FuzzCase *self);
void fuzz_settings_free(FuzzCase *self);
void fuzz_settings_change(FuzzCase *self);
void fuzz_settings_mend(FuzzCase *self);
void fuzz_settings_animate(FuzzCase *self);
void fuzz_settings_set(FuzzCase *self, const char *name, const char *value);

/* After the caps of a started element: its settings are in force, if they can be. */
void fuzz_settings_begin(FuzzCase *self);

/* What is in force, read from the element; fails if it is not what it should be. */
void *fuzz_settings_in_force(FuzzCase *self);

/* Why the effect refuses params, or NULL. */
const char *fuzz_settings_refusal(const FuzzElement *kind, const CfVideo *video,
                                  const void *params);

/* frames.c */
FuzzFormat *fuzz_format_new(FuzzCase *self);
FuzzFormat *fuzz_format_ref(FuzzFormat *format);
void fuzz_format_unref(FuzzFormat *format);

/* A random frame of the present format, and the buffer to push. */
FuzzFrame *fuzz_frame_new(FuzzCase *self, GstBuffer **buffer);
void fuzz_frame_free(FuzzFrame *frame);

/* masks.c */
void fuzz_masks_change(FuzzCase *self);
void fuzz_masks_forget(FuzzCase *self);
void fuzz_masks_free(FuzzCase *self);
int fuzz_masks_random_metas(FuzzCase *self, FuzzMeta *metas);
/* Fills cover and areas of a frame; to be called in the order of frames. */
void fuzz_masks_look(FuzzCase *self, FuzzFrame *frame);

/* oracle.c: whether frames are filtered by field: interlaced ones, if both fields have chroma lines
 * enough. */
bool fuzz_has_fields(const FuzzFormat *format);

/* oracle.c: fails unless the buffer is what the frame must become. */
void fuzz_judge(FuzzCase *self, const FuzzFrame *frame, GstBuffer *buffer);

/* device.c */
bool fuzz_device_exists(void);
void fuzz_device_open(FuzzCase *self);
void fuzz_device_close(FuzzCase *self);

/* Gives the element the context that frames lie in. */
void fuzz_device_enter(FuzzCase *self);

GstBuffer *fuzz_device_buffer(FuzzCase *self, const CfTestPicture *picture);

/* A call of the driver fails from now on, until it is healed. */
void fuzz_device_fail(FuzzCase *self);
void fuzz_device_heal(FuzzCase *self);
void fuzz_device_renew(FuzzCase *self);
