/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Maps video frames with all checks that engines rely on, and compares layouts of planes.
 */
#pragma once

#include <gst/video/video.h>

#include "image.h"

/* Input and output of a filter, mapped. Where both are the same buffer, so are their planes. */
typedef struct {
  GstVideoFrame source, destination;
  gboolean in_place;
} GstCudaFiltersFrames;

/* Maps `input` for reading and `output` for writing, with `flags` (GST_MAP_CUDA for device
 * pointers) and without references: the caller keeps the buffers. With a crop meta, planes start at
 * the cropped picture. Unlike gst_video_frame_map, fails for frames of another format or with fewer
 * pixels than the info, for crop rectangles of another size or between chroma samples, and for
 * planes that reach beyond their memory. */
gboolean gst_cuda_filters_frames_map(GstCudaFiltersFrames *frames, const GstVideoInfo *in_info,
                                     const GstVideoInfo *out_info, GstBuffer *input,
                                     GstBuffer *output, GstMapFlags flags, CfStatus *status);
void gst_cuda_filters_frames_unmap(GstCudaFiltersFrames *frames);

/* The planes of a mapped frame. */
CfPicture gst_cuda_filters_frame_picture(const GstVideoFrame *frame);

/* Whether `buffer` has the layout of `info`, so that it can be read without a video meta. */
gboolean gst_cuda_filters_frame_is_plain(GstBuffer *buffer, const GstVideoInfo *info);

/* Copies the picture of `source`, cropped by its meta, to `destination`; both in system memory. */
gboolean gst_cuda_filters_frame_copy(GstBuffer *destination, GstBuffer *source,
                                     const GstVideoInfo *info, CfStatus *status);
