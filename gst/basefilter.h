/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The base class of all elements: negotiation, memory, properties, live updates, statistics,
 * errors. A subclass names its effect and describes itself; see cudablockavg.c.
 *
 * The files of the base class share the instance struct. Their calls go one way, from the top of
 * this table to the bottom:
 *
 *                     purpose                      calls
 *   basefilter.c      life cycle, negotiation      all below
 *   baseframes.h      frames, events, queries      basestaged, baseoutput, baseengine, basereport
 *   basestaged.h      system memory through a GPU  baseoutput, basereport
 *   baseoutput.h      output buffers               baseengine, basereport
 *   baseengine.h      engine and its parameters    baserefusals, basereport
 *   baseproperties.h  GObject properties           basereport
 *   baserefusals.h    parameters that are refused  none
 *   basereport.h      errors, log, statistics      none
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

/* Values of the effect's parameters, and when they were set. */
typedef struct {
  void *values;     /* params_size bytes */
  guint64 *serials; /* for each parameter the number of the call that set its value, 0 if none did;
                       the last entry is for members outside the effect's table */
  guint64 serial;   /* number of the last such call */
} GstCudaFiltersParams;

typedef struct _GstCudaFiltersBase GstCudaFiltersBase;
typedef struct _GstCudaFiltersBaseClass GstCudaFiltersBaseClass;

struct _GstCudaFiltersBase {
  GstVideoFilter parent;

  /* Settings of the user; under the object lock. */
  GstCudaFiltersParams params;
  gboolean params_changed;
  guint presets_loading; /* presets being loaded; frames use their values only when all are set */
  GstCudaFiltersBackend backend;
  gint device_id;
  guint threads;
  gboolean engine_changed; /* one of these three was set since the worker was opened */
  guint64 max_device_memory;
  CfStatus *refusals; /* for each property of the effect and of regions: why its last value was
                         refused before the start */

  /* Partly under the object lock, see roi.h; NULL where the effect's engines have no regions. */
  GstCudaFiltersRegions *roi;

  /* Read-only properties; under the object lock. */
  const gchar *active_backend; /* static string or NULL */
  const gchar *algorithm;      /* interned string or NULL */
  guint64 frames;
  GstClockTime total_time, last_time;

  /* Errors already posted, so that each failure is reported once; under the object lock. */
  gboolean error_posted;      /* an error was posted, and no frame was filtered since */
  gboolean device_lost;       /* the device was lost: nothing works before the next start */
  gboolean no_frames_posted;  /* there was no memory for an output frame */
  guint in_flight_at_failure; /* staged frames that were in flight at the error, and still are */

  /* Streaming thread. */
  GstCudaFiltersGpu *gpu; /* NULL in a build without CUDA */
  gboolean cuda_memory;   /* negotiated caps have memory:CUDAMemory */
  gboolean receiver_reads_video_meta, receiver_reads_crop_meta; /* by allocation query */
  GstCudaFiltersWorker *worker;
  GstCudaFiltersParams running; /* of the worker */
  GstCudaFiltersParams wanted;  /* a copy of `params`, for the next frame */
  guint64 judged_serial;        /* settings up to this one are in `running`, or were refused */
  gboolean params_accepted;     /* frames of this stream can be filtered with `running` */
  void *resolved_params;        /* scratch: values with automatic ones resolved */
  gboolean masks_regions;       /* automatic values are resolved for roi-mode=inside */
  guint64 refusals_reported, remarks_reported; /* bit masks by parameter and by CfRemark */
  gboolean identity;
  gboolean has_last_frame; /* a frame at last_pts came since the start or the last flush */
  GstClockTime last_pts;
  GstCudaFiltersCover cover; /* of the current frame, as are `regions` */
  CfRegions regions;

  /* Frames in system memory that go through the GPU: basestaged.c. */
  GstCudaFiltersOutputTask *output_task;
  GstPadActivateModeFunction parent_src_activate_mode;
  struct {
    gint upstream_is_live, ask_for_latency; /* atomic booleans */
    gboolean dropped; /* a frame was dropped since the last output; streaming thread */
    /* Under the object lock. */
    const gchar *algorithm;  /* of the last frame submitted */
    guint in_flight, pushed; /* numbers of frames */
    GstClockTime position;   /* end of the last frame pushed */
  } staged;
};

struct _GstCudaFiltersBaseClass {
  GstVideoFilterClass parent_class;

  const CfEffect *effect;
  GstDebugCategory *category; /* of the element */

  /* For elements whose output caps differ from the input caps: the caps of the other pad for
   * `caps`, fixed or not, of the pad of `direction`; transfer full. NULL where both pads have the
   * same caps. Frames whose fixed caps are the same on both pads pass through untouched. */
  GstCaps *(*other_caps)(GstPadDirection direction, const GstCaps *caps);
};

GType gst_cuda_filters_base_get_type(void);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GstCudaFiltersBase, gst_object_unref)

/* A subclass calls this under the object lock after it has changed members of `params.values` that
 * are not in the effect's table, so that the next frame is filtered with them. */
void gst_cuda_filters_base_params_changed(GstCudaFiltersBase *self);

/* A subclass calls this from its class_init. Installs the effect's properties, the pad templates
 * (with CUDA memory where the effect has a CUDA engine) and the element's log category, `name`. */
void gst_cuda_filters_base_class_set_effect(GstCudaFiltersBaseClass *klass, const CfEffect *effect,
                                            const gchar *name);

/* Likewise, after set_effect, for effects that can filter a frame in strips: installs
 * max-device-memory. */
void gst_cuda_filters_base_class_limit_memory(GstCudaFiltersBaseClass *klass);

G_END_DECLS
