/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The elements that --to stands for.
 */
#pragma once

#include "hardware.h"
#include "options.h"

typedef struct {
  GstElement *bin;  /* floating, with a pad "sink" for raw video */
  GstPad *measure;  /* where raw or encoded frames reach the sending element; a reference */
  gboolean in_cuda; /* takes frames in CUDA memory */
} RelayOutput;

/* Creates the elements. With `cuda` frames may come in CUDA memory. Errors: APP_ERROR_MISSING,
 * APP_ERROR_USAGE. */
gboolean relay_output_build(RelayOutput *output, const RelayOptions *options,
                            const RelayHardware *hardware, gboolean cuda, GError **error);
