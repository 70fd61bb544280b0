/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Frames in system memory through the device. The streaming thread sends a frame on its way; a task
 * of the source pad pushes it as soon as the device is done, while later frames arrive and are
 * filtered. Behind a live source the streaming thread itself waits and pushes, so that a frame in
 * front of the element never waits behind another one in it.
 *
 * GstBaseTransform pushes what generate_output() returns in the streaming thread. What is pushed
 * here instead needs the same book-keeping here: DISCONT behind dropped frames, the position, and
 * the counts of QoS messages.
 *
 * Knows baseoutput.h and basereport.h.
 */
#pragma once

#include "basefilter.h"

/* GstBaseTransform::generate_output: sends the queued input on its way and leaves the rest to the
 * output task, or pushes what comes of it. With `pass_on` it is handed on as it is. `output` is
 * set in pull mode only. */
GstFlowReturn gst_cuda_filters_base_generate_staged(GstCudaFiltersBase *self, gboolean pass_on,
                                                    GstBuffer **output);

/* Returns when all frames under way were pushed, with what came of that: the base class pushes the
 * next one, and knows the position again. */
GstFlowReturn gst_cuda_filters_base_finish_staged(GstCudaFiltersBase *self);

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
