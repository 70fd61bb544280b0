/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the element tests share: the table of elements, settings as text, frames made of test
 * pictures, and what an element posts. Failures end the test at hand, as all checks of GstCheck do.
 */
#pragma once

#include <gst/check/gstcheck.h>
#include <gst/check/gstharness.h>
#include <gst/video/video.h>

#include "compare.h"
#include "engine.h"
#include "patterns.h"
#include "picture.h"

/* Settings are text, `name=value` separated by spaces, that elements and engines read alike. */
typedef struct {
  const char *name;
  const CfEffect *effect;
  const char *working;  /* settings that change a frame */
  const char *other;    /* change it differently; names all that `working` names */
  const char *identity; /* leave any frame as it is; names all that `working` names */

  /* A property that the controller moves from `from` to `to`. */
  struct {
    const char *property;
    double from, to;
  } animated;
} ElementCase;

#define N_ELEMENTS 4
extern const ElementCase element_cases[N_ELEMENTS];

/* cudatonemap, which does nothing to the frames that the others are tested with. `identity` is none
 * for it. */
extern const ElementCase tonemap_case;

/* Runs a suite of one test case and returns the exit status; TAP goes to stdout. */
int run_tests(int argc, char **argv, const char *name, void (*add_tests)(TCase *));

/* --- elements --- */

/* Fails on unknown properties and values that GObject cannot read. Works outside tests, too. */
void set_text(GstElement *element, const char *settings);

/* A harness around a new element with backend=cpu, one thread and `settings`, whose messages go to
 * `bus` (transfer full) and whose caps are those of `video`; `more_caps` is appended to them, such
 * as ", interlace-mode=interleaved", or NULL. Its receiver reads GstVideoMeta. */
GstHarness *harness_new(const char *element, const char *settings, const CfVideo *video,
                        const char *more_caps, GstBus **bus);

/* The same with a receiver that takes frames for what their caps alone say, as filesink does. */
GstHarness *harness_new_plain(const char *element, const char *settings, const CfVideo *video,
                              GstBus **bus);
void harness_free(GstHarness *harness, GstBus *bus);

/* Pushes a caps event for `video`. Whether it was refused shows with the next frame. */
void push_caps(GstHarness *harness, const CfVideo *video, const char *more_caps);

/* Stops and starts the element, with another stream of these caps. */
void restart(GstHarness *harness, const CfVideo *video);

/* --- what elements say --- */

/* Fails unless exactly `count` messages of `type` (error or warning) are on the bus; takes all
 * messages off it. The text of the first must contain `text`, unless that is NULL. */
void assert_posted(GstBus *bus, GstMessageType type, guint count, const char *text);

/* Runs `code`, which must make GLib warn and then go on. */
#define ASSERT_REFUSED_BY_GLIB(code)                                                               \
  G_STMT_START                                                                                     \
  {                                                                                                \
    _gst_check_expecting_log = TRUE;                                                               \
    _gst_check_raised_warning = _gst_check_raised_critical = FALSE;                                \
    code;                                                                                          \
    fail_unless(_gst_check_raised_warning || _gst_check_raised_critical, "GLib accepts it: %s",    \
                #code);                                                                            \
    _gst_check_expecting_log = FALSE;                                                              \
  }                                                                                                \
  G_STMT_END

/* --- frames --- */

/* A picture of noise, or whatever `pattern` shows. */
CfTestPicture *new_picture(const CfVideo *video, CfLayout layout, CfPattern pattern, guint64 seed);

/* A buffer at `pts` on the memory of `picture`, which it takes, one GstMemory a plane, described by
 * a GstVideoMeta with the strides and offsets of the picture's layout. */
GstBuffer *buffer_from_picture(CfTestPicture *picture, GstClockTime pts);

/* The same samples as GStreamer lays them out by default, in one memory, without a meta. */
GstBuffer *plain_buffer(const CfTestPicture *picture, GstClockTime pts);

/* A copy of what `buffer` shows, its low padding bits included. */
CfTestPicture *picture_from_buffer(const CfVideo *video, GstBuffer *buffer);

/* What the cpu engine of `element` makes of `source` with `settings` and one thread. */
CfTestPicture *engine_output(const ElementCase *element, const char *settings,
                             const CfTestPicture *source);

/* The same of any effect, in `regions` only (NULL: everywhere). */
CfTestPicture *engine_output_in_regions(const CfEffect *effect, const char *settings,
                                        const CfTestPicture *source, const CfRegions *regions);

/* Fails, naming the first sample, unless `buffer` (transfer full) shows exactly `want`. */
void assert_shows(GstBuffer *buffer, const CfTestPicture *want, const char *what);

gboolean same_samples(const CfTestPicture *a, const CfTestPicture *b);

/* Pushes a frame and returns what comes out; fails if nothing does within seconds. */
GstBuffer *filter_buffer(GstHarness *harness, GstBuffer *buffer);
