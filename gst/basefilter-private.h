/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Between the rooms of the base class: basefilter.c (life, negotiation), baseproperties.c,
 * baserefusals.c (values that cannot be), baseframes.c (frames) and basestaged.c (those in system
 * memory that are filtered on the device).
 */
#pragma once

#include "basefilter.h"

GST_DEBUG_CATEGORY_EXTERN(gst_cuda_filters_debug);
#define GST_CAT_DEFAULT gst_cuda_filters_debug

/* The effect of the element's class. */
const CfEffect *gst_cuda_filters_base_effect(GstCudaFiltersBase *self);

/* Installs the common properties; called once, from the base class's init. */
void gst_cuda_filters_base_install_common_properties(GObjectClass *klass);

/* Installs those of `effect` and of its regions, for an element's class. */
void gst_cuda_filters_base_install_effect_properties(GObjectClass *klass, const CfEffect *effect);

/* What the user sets, at its defaults; freed by clear. */
void gst_cuda_filters_base_init_properties(GstCudaFiltersBase *self);
void gst_cuda_filters_base_clear_properties(GstCudaFiltersBase *self);

/* Why a property kept its old value, CF_OK if none did; under the object lock. */
CfStatus gst_cuda_filters_base_first_refusal(GstCudaFiltersBase *self);

/* Posts `status` as an element error, once for every failure. */
void gst_cuda_filters_base_post_error(GstCudaFiltersBase *self, const CfStatus *status);

/* Posts that there is no memory for frames to filter into. */
void gst_cuda_filters_base_post_no_frames(GstCudaFiltersBase *self);

/* What the user asked for. */
GstCudaFiltersBackend gst_cuda_filters_base_wanted_backend(GstCudaFiltersBase *self,
                                                           gint *device_id);

/* Opens the engine for `info` and the memory negotiated; a worker that is open is closed first. */
gboolean gst_cuda_filters_base_open_worker(GstCudaFiltersBase *self, const GstVideoInfo *info,
                                           CfStatus *status);
void gst_cuda_filters_base_close_worker(GstCudaFiltersBase *self);

/* Takes over what the user set since the last frame, but for what cannot be: that is refused with a
 * warning, and its old value stays. Fails only where the engine does; then the settings are tried
 * again with every frame, and none passes until they work. */
gboolean gst_cuda_filters_base_update_params(GstCudaFiltersBase *self, CfStatus *status);

/* Whether frames of `video` can be filtered with `wanted_params`. Where running_params are why they
 * cannot, `status` tells; otherwise what was set since and cannot be is refused, in the properties
 * too, and `wanted_params` is what remains. Streaming thread. */
gboolean gst_cuda_filters_base_judge(GstCudaFiltersBase *self, const CfVideo *video,
                                     CfStatus *status);

/* Tells the user, once in a stream, of what was set after `last_turn` and has no effect under
 * running_params. Streaming thread. */
void gst_cuda_filters_base_remark(GstCudaFiltersBase *self, guint64 last_turn);

/* Warns where what the settings make of the regions of the frame at hand hides nothing. */
void gst_cuda_filters_base_check_mask(GstCudaFiltersBase *self);

/* Whether the worker's engine works in device memory. */
gboolean gst_cuda_filters_base_runs_on_device(GstCudaFiltersBase *self);

/* Whether frames in system memory go through the device. */
gboolean gst_cuda_filters_base_is_staged(GstCudaFiltersBase *self);

/* Sets the functions of baseframes.c; called once, from the class's init. */
void gst_cuda_filters_base_install_frames(GstBaseTransformClass *klass);

/* Counts a frame that was filtered, in any thread. */
void gst_cuda_filters_base_count_frame(GstCudaFiltersBase *self, GstClockTime time,
                                       const gchar *algorithm);

/* `output` becomes `input`, which is taken, or a copy of it where the receiver could not read its
 * layout. */
GstFlowReturn gst_cuda_filters_base_hand_on(GstCudaFiltersBase *self, GstBuffer *input,
                                            GstBuffer **output);

/* ---- basestaged.c ---- */

/* GstBaseTransform::generate_output: sends the queued input on its way and leaves the rest to the
 * output task, or pushes what comes of it. With `pass_on` it is handed on as it is. `output` is
 * set in pull mode only. */
GstFlowReturn gst_cuda_filters_base_generate_staged(GstCudaFiltersBase *self, gboolean pass_on,
                                                    GstBuffer **output);

/* GstCudaFiltersDeliver of the output task. */
GstFlowReturn gst_cuda_filters_base_deliver(gpointer base, gboolean discard);

/* The stream starts, or starts anew after a flush: nothing was pushed or dropped. */
void gst_cuda_filters_base_reset_staged(GstCudaFiltersBase *self);

/* Answers a query for the position, if frames were pushed by the output task. */
gboolean gst_cuda_filters_base_answer_position(GstCudaFiltersBase *self, GstQuery *query);

/* Adds frames that were pushed here to those that a QoS message counts. */
void gst_cuda_filters_base_count_in_message(GstCudaFiltersBase *self, GstMessage *message);

/* Whether upstream is live decides whether frames overlap: what a latency query answered, `good` if
 * anything, and that one is to be made before the next frame. Any thread. */
void gst_cuda_filters_base_note_latency(GstCudaFiltersBase *self, GstQuery *query, gboolean good);
void gst_cuda_filters_base_ask_for_latency(GstCudaFiltersBase *self);
