/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * mode=fill: one colour in the place of the picture, or of its regions.
 */
#pragma once

#include "blockavg.h"
#include "plan/coverage_frame.h"

/* All zero at first. Belongs to one caller at a time; runs work on the pool's threads. */
typedef struct {
  CfVideo video;
  uint8_t line[CF_MAX_PLANES][CF_COVERAGE_SAMPLES * 2 * CF_MAX_CHANNELS]; /* pixels as stored */
  CfCoverage coverage;
} CfFill;

void cf_fill_set(CfFill *fill, const CfVideo *video, uint32_t argb);

/* Frees what runs have allocated. */
void cf_fill_clear(CfFill *fill);

/* Fills a job, with regions or without. Allocates only where a frame has more regions than any
 * before. */
bool cf_fill_run(CfFill *fill, const CfJob *job, int threads, CfStatus *status);
