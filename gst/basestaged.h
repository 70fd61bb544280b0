/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Frames in system memory that are filtered on the GPU (staged frames). The streaming thread
 * submits a frame; a task of the source pad pushes it when the GPU is done, while later frames are
 * uploaded and filtered. Behind a live source the streaming thread waits and pushes itself:
 * overlapping frames would add latency.
 *
 * Frames pushed here bypass GstBaseTransform, which pushes what generate_output() returns. So its
 * book-keeping is done here, too: DISCONT after dropped frames, the position, and the counts of QoS
 * messages.
 */
#pragma once

#include "basefilter.h"

/* GstBaseTransform::generate_output: submits the queued input and leaves pushing to the output
 * task, or waits and pushes. With `pass_through` the input is pushed unfiltered. `output` is set in
 * pull mode only. */
GstFlowReturn gst_cuda_filters_base_generate_staged(GstCudaFiltersBase *self, gboolean pass_through,
                                                    GstBuffer **output);

/* Waits until the output task has pushed all frames in flight and returns the flow of that: from
 * then on the base class pushes frames and knows the position. */
GstFlowReturn gst_cuda_filters_base_finish_staged(GstCudaFiltersBase *self);

/* The GstCudaFiltersDeliver of the output task. */
GstFlowReturn gst_cuda_filters_base_deliver(gpointer base, gboolean discard);

/* At the start and after a flush: resets the book-keeping. */
void gst_cuda_filters_base_reset_staged(GstCudaFiltersBase *self);

/* Answers a position query, if frames were pushed here. */
gboolean gst_cuda_filters_base_answer_position(GstCudaFiltersBase *self, GstQuery *query);

/* Adds the number of frames pushed here to the counts of a QoS message. */
void gst_cuda_filters_base_count_in_message(GstCudaFiltersBase *self, GstMessage *message);

/* Whether upstream is live, which decides whether frames overlap: note_latency reads it from an
 * answered latency query (`good`: it was answered), ask_for_latency makes the next frame send such
 * a query. Any thread. */
void gst_cuda_filters_base_note_latency(GstCudaFiltersBase *self, GstQuery *query, gboolean good);
void gst_cuda_filters_base_ask_for_latency(GstCudaFiltersBase *self);
