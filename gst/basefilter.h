/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The base of all elements: negotiation, memory, properties, live updates, statistics, errors.
 * A subclass names its effect and describes itself; see cudablockavg.c.
 *
 * The instance is one for all files of the base class, and what they do with it goes one way:
 *
 *                     what                        knows
 *   basefilter.c      life, negotiation           all below
 *   baseframes.h      frames, events, queries     basestaged, baseoutput, baseengine, basereport
 *   basestaged.h      frames across the bus       baseoutput, basereport
 *   baseoutput.h      buffers to filter into      baseengine, basereport
 *   baseengine.h      engine, its parameters      baserefusals, basereport
 *   baseproperties.h  what users set              basereport
 *   baserefusals.h    what of it cannot be        nobody
 *   basereport.h      errors, log, statistics     nobody
 */
#pragma once

#include <gst/video/gstvideofilter.h>
#include <gst/video/video.h>

#include "engine.h"
#include "gpu.h"
#include "output-task.h"
#include "roi.h"
#include "worker.h"

G_BEGIN_DECLS

#define GST_TYPE_CUDA_FILTERS_BASE (gst_cuda_filters_base_get_type())
#define GST_CUDA_FILTERS_BASE(obj)                                                                 \
  (G_TYPE_CHECK_INSTANCE_CAST((obj), GST_TYPE_CUDA_FILTERS_BASE, GstCudaFiltersBase))
#define GST_CUDA_FILTERS_BASE_CLASS(klass)                                                         \
  (G_TYPE_CHECK_CLASS_CAST((klass), GST_TYPE_CUDA_FILTERS_BASE, GstCudaFiltersBaseClass))
#define GST_CUDA_FILTERS_BASE_GET_CLASS(obj)                                                       \
  (G_TYPE_INSTANCE_GET_CLASS((obj), GST_TYPE_CUDA_FILTERS_BASE, GstCudaFiltersBaseClass))

typedef enum {
  GST_CUDA_FILTERS_BACKEND_AUTO,
  GST_CUDA_FILTERS_BACKEND_CUDA,
  GST_CUDA_FILTERS_BACKEND_CPU,
  GST_CUDA_FILTERS_BACKEND_REFERENCE,
} GstCudaFiltersBackend;

typedef struct _GstCudaFiltersBase GstCudaFiltersBase;
typedef struct _GstCudaFiltersBaseClass GstCudaFiltersBaseClass;

struct _GstCudaFiltersBase {
  GstVideoFilter parent;

  /* Under the object lock: what the user set. */
  void *params; /* of the effect's params_size */
  gboolean params_changed;
  guint loading; /* presets that are being read: frames take none of it over before all of it */
  guint64 *turns, last_turn; /* when each parameter, and then what the effect's table does not
                                describe, was set last, counted in such calls; 0: never */
  GstCudaFiltersBackend backend;
  gint device_id;
  guint threads;
  guint64 max_device_memory;
  CfStatus *refusals; /* why a property kept its old value, one for each of the effect's and the
                         regions' properties */

  /* Partly under the object lock, see roi.h; NULL where the effect's engines know no regions. */
  GstCudaFiltersRegions *roi;

  /* Under the object lock: what the user may ask. */
  const gchar *active_backend; /* static string or NULL */
  const gchar *algorithm;      /* interned string or NULL */
  guint64 frames;
  GstClockTime total_time, last_time;

  /* Under the object lock: what was told of failures. */
  gboolean failed;             /* an error was posted and nothing has worked since */
  gboolean lost;               /* as was that the device is: nothing works until the next start */
  gboolean starved;            /* as was that there are no frames to filter into */
  guint frames_before_failure; /* that were under way then, and are still */

  /* Streaming thread only. */
  GstCudaFiltersGpu *gpu; /* NULL in a build without CUDA */
  gboolean cuda_memory;   /* negotiated caps are of CUDA memory */
  gboolean receiver_reads_video_meta, receiver_reads_crop_meta; /* offered downstream */
  GstCudaFiltersWorker *worker;
  void *running_params; /* the worker's */
  guint64 running_turn; /* all that was set up to then is in them, or was refused */
  gboolean settled;     /* frames of this stream can be, or could, be filtered with them */
  void *wanted_params;  /* those for the frames to come */
  void *settled_params; /* scratch: a copy with numbers for what is automatic */
  gboolean masks;       /* what is automatic in the worker's is for regions that are covered */
  guint64 *wanted_turns, wanted_turn;
  guint64 refusals_told, remarks_told; /* bits: a parameter's, a remark's of the effect */
  gboolean identity;
  gboolean went_on; /* a frame was filtered since the start or a flush, at `last_pts` */
  GstClockTime last_pts;
  GstCudaFiltersCover cover; /* of the frame that was looked at last, and its regions */
  CfRegions regions;

  /* Frames in system memory through the device: basestaged.c. */
  GstCudaFiltersOutputTask *output_task;
  GstPadActivateModeFunction parent_src_activate_mode;
  struct {
    gint upstream_is_live, ask_for_latency; /* atomic booleans */
    gboolean dropped; /* a frame was, since the last output was made; streaming thread */
    /* Under the object lock. */
    const gchar *algorithm; /* of the last frame that was submitted */
    guint under_way, pushed;
    GstClockTime position; /* end of the last frame that was pushed */
  } staged;
};

struct _GstCudaFiltersBaseClass {
  GstVideoFilterClass parent_class;

  const CfEffect *effect;
  GstDebugCategory *category; /* of the element */

  /* For elements whose frames come out as others: the caps of the other pad for any, fixed or not,
   * of the pad of that direction; transfer full. NULL: both have the same. Where they are the same
   * for frames under way, nothing is to be done, and these pass through. */
  GstCaps *(*other_caps)(GstPadDirection direction, const GstCaps *caps);
};

GType gst_cuda_filters_base_get_type(void);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GstCudaFiltersBase, gst_object_unref)

/* To be called under the object lock by a subclass that has set what `params` has besides the
 * fields of the effect's table: frames to come are filtered with it. */
void gst_cuda_filters_base_params_changed(GstCudaFiltersBase *self);

/* To be called from a subclass's class_init: installs the effect's properties and pad templates,
 * and the log category of the element, which has its name. CUDA memory is in the templates where
 * the effect has an engine for it. */
void gst_cuda_filters_base_class_set_effect(GstCudaFiltersBaseClass *klass, const CfEffect *effect,
                                            const gchar *name);

/* The same, after it, for effects that strips of a frame suffice for: installs max-device-memory.
 */
void gst_cuda_filters_base_class_limit_memory(GstCudaFiltersBaseClass *klass);

G_END_DECLS
