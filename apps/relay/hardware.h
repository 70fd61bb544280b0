/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Which decoders and encoders work on this machine.
 */
#pragma once

#include <gst/gst.h>

typedef struct {
  gboolean decodes;     /* the GPU decodes H.264, into its own memory */
  gboolean gpu_encoder; /* `encoder` is one of the GPU, and reads its memory */
  const gchar *encoder; /* factory that makes H.264; NULL: there is none */
} RelayHardware;

/* Looks for them, those of the GPU first if `gpu`, and sets the ranks of GPU decoders accordingly
 * for all pipelines of this process. Opens the device. */
RelayHardware relay_hardware_probe(gboolean gpu);

/* An encoder (floating) of H.264 for live video with its properties set; APP_ERROR_MISSING. */
GstElement *relay_hardware_make_encoder(const RelayHardware *hardware, guint kbit_per_second,
                                        GError **error);

/* TRUE if `pad` can give or take frames in CUDA memory. */
gboolean relay_hardware_pad_has_cuda(GstPad *pad);
