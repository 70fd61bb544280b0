/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A rung as an engine, so that it is measured and compared as every engine is; and the production
 * kernel beside it.
 */
#pragma once

#include "engine.h"
#include "ladder.h"

/* What these engines take in the place of an effect's params. */
typedef struct {
  const CfLadder *ladder;
  const CfRung *rung; /* NULL: the production kernel, */
  const void *params; /* with these params of the ladder's effect */
} CfRungParams;

/* The engine for pictures where the ladder has them. */
const CfEngine *cf_rung_engine(const CfLadder *ladder);

/* The same for the production kernel: the effect's own, or on host memory that with the transfer
 * that elements use, a picture at a time; its params are a CfRungParams there. */
const CfEngine *cf_production_engine(const CfLadder *ladder);
