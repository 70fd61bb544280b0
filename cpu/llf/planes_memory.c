/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cpu/llf/planes_memory.h"

#include <stdlib.h>

#include "cpu/common/memory.h"

/* A row of the picture that starts after `margin` samples. */
static float *take_row(CfArena *arena, const CfLlfPlanes *planes, int margin)
{
  float *row = cf_arena_take(arena, planes->row * sizeof *row);

  return row ? row + margin : NULL;
}

static void lay_out_worker(CfArena *arena, const CfLlfPlanes *planes, Worker *worker)
{
  for (int i = 0; i < RING; i++) {
    PictureRow *row = &worker->ring[i];

    row->code = take_row(arena, planes, 0);
    row->intensity = take_row(arena, planes, 0);
    row->fraction = take_row(arena, planes, CF_LLF_MARGIN);
    row->pair = (uint16_t *)take_row(arena, planes, CF_LLF_MARGIN);
  }
  for (int i = 0; i < 2; i++) {
    worker->fraction[i] = take_row(arena, planes, 0);
    worker->sum[i] = take_row(arena, planes, 0);
    worker->difference[i] = take_row(arena, planes, 0);
    worker->pair[i] = (uint16_t *)take_row(arena, planes, 0);
  }
  worker->scratch = take_row(arena, planes, 0);
  for (int i = 0; i < CF_LLF_WEIGHTED_LEVELS * WEIGHTS; i++)
    worker->weight[i / WEIGHTS][i % WEIGHTS].row = take_row(arena, planes, 0);
}

static size_t padded(int width)
{
  return ((size_t)width + 2 * CF_LLF_MARGIN - 1) / CF_LLF_MARGIN * CF_LLF_MARGIN;
}

static void lay_out(CfArena *arena, void *self)
{
  CfLlfPlanes *planes = self;
  const CfLlfPyramid *pyramid = &planes->pyramid;

  for (int thread = 0; thread < planes->threads; thread++)
    lay_out_worker(arena, planes, &planes->worker[thread]);
  planes->sides = cf_arena_take(arena, (size_t)pyramid->height[0] * sizeof *planes->sides);
  for (int l = 0; l < pyramid->images; l++) {
    const size_t pixels = padded(pyramid->width[l]) * (size_t)pyramid->height[l];
    const size_t bytes = pixels * sizeof(float);

    planes->stride[l] = padded(pyramid->width[l]);
    if (l > 0 || planes->groups > 1)
      planes->difference[l] = cf_arena_take(arena, bytes);
    if (l > 0)
      planes->gaussian[l] = cf_arena_take(arena, bytes);
    if (l > 0)
      planes->component[l] = cf_arena_take(arena, pixels * 16 * sizeof(int16_t));
    if (l > 0 && l <= CF_LLF_WEIGHTED_LEVELS)
      planes->moments[l - 1] = cf_arena_take(arena, bytes);
  }
}

CfLlfPlanes *cf_llf_planes_open(int width, int height, int groups, int threads)
{
  CfLlfPlanes *planes = calloc(1, sizeof *planes + (size_t)threads * sizeof planes->worker[0]);

  if (!planes)
    return NULL;
  planes->threads = threads;
  planes->pyramid = cf_llf_full_pyramid(width, height);
  planes->groups = groups;
  planes->row = padded(width) + 2 * CF_LLF_MARGIN;
  /* Zeroed: samples beyond the width take part in sums that nobody reads, where stale bytes could
   * be slow denormal numbers. */
  planes->memory = cf_laid_out(lay_out, planes);
  if (planes->memory)
    return planes;
  free(planes);
  return NULL;
}

void cf_llf_planes_close(CfLlfPlanes *planes)
{
  if (!planes)
    return;
  free(planes->memory);
  free(planes);
}
