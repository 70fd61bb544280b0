/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Frames in CUDA memory for the element tests. Failures end the test at hand.
 */
#pragma once

#include "elements.h"
#include "gpu-compat.h"

/* Caps of `video` in CUDA memory, at 25 frames a second. */
GstCaps *device_caps(const CfVideo *video);

/* An active pool; `stream` is a stream owner of gpu-compat.h, or NULL. */
GstBufferPool *device_pool(GstCudaContext *context, const CfVideo *video, gpointer stream);
void free_device_pool(GstBufferPool *pool);

GstBuffer *acquire_device_buffer(GstBufferPool *pool);

void map_device_buffer(GstVideoFrame *frame, const CfVideo *video, GstBuffer *buffer,
                       GstMapFlags flags);

/* The picture in a buffer of the pool, written by the host and complete on the device. */
GstBuffer *device_buffer(GstBufferPool *pool, const CfTestPicture *picture);

/* The context that a frame lies in. */
GstCudaContext *context_of(GstBuffer *buffer);

/* The context that an element which has started works in; transfer full. */
GstCudaContext *context_of_element(GstElement *element);

/* main() of tests that share one CUDA context, which they find in `*context`. Skipped where none
 * can be created. */
int run_device_tests(int argc, char **argv, const char *name, void (*add_tests)(TCase *),
                     GstCudaContext **context);

/* The same of tests that share none: each element opens the device. */
int run_fake_device_tests(int argc, char **argv, const char *name, void (*add_tests)(TCase *));
