/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the pixels of a frame must be; oracle.c has the rest of it.
 */
#pragma once

#include "pipeline.h"

/* A frame or one of its fields, and what came out for it. */
typedef struct {
  const FuzzFrame *frame;
  bool field;
  const CfTestPicture *source, *got;
  FuzzAreas areas;
} FuzzPart;

/* NULL, or what is wrong; valid until the next call. */
const char *fuzz_judge_part(const FuzzElement *kind, const FuzzPart *part);
