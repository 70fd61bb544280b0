/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cpu/llf/harmonic_memory.h"

#include <stdlib.h>
#include <string.h>

#include "cpu/common/memory.h"

static void *allocate(CfLlfPlanes *planes, size_t bytes)
{
  void *memory = cf_aligned_alloc(bytes);

  if (memory) {
    /* Samples beyond the width take part in sums that nobody reads; keep them tame. */
    memset(memory, 0, bytes);
    planes->memory[planes->allocated++] = memory;
  }
  return memory;
}

static bool allocate_workers(CfLlfPlanes *planes)
{
  const size_t rows_per_worker = RING * 4 + CF_LLF_WEIGHTED_LEVELS * WEIGHTS + 9;
  float *memory;

  planes->worker = calloc((size_t)planes->threads, sizeof *planes->worker);
  memory =
      allocate(planes, (size_t)planes->threads * rows_per_worker * planes->row * sizeof *memory);
  if (!planes->worker || !memory)
    return false;
  for (int thread = 0; thread < planes->threads; thread++) {
    Worker *worker = &planes->worker[thread];
    float **rows[7] = {&worker->fraction[0], &worker->fraction[1],   &worker->sum[0],
                       &worker->sum[1],      &worker->difference[0], &worker->difference[1],
                       &worker->scratch};

    for (int i = 0; i < RING; i++) {
      worker->ring[i].code = memory;
      worker->ring[i].intensity = memory + planes->row;
      worker->ring[i].fraction = memory + 2 * planes->row + CF_LLF_MARGIN;
      worker->ring[i].pair = (uint16_t *)(memory + 3 * planes->row) + CF_LLF_MARGIN;
      memory += 4 * planes->row;
    }
    for (int i = 0; i < 7; i++, memory += planes->row)
      *rows[i] = memory;
    for (int i = 0; i < 2; i++, memory += planes->row)
      worker->pair[i] = (uint16_t *)memory;
    for (int i = 0; i < CF_LLF_WEIGHTED_LEVELS * WEIGHTS; i++, memory += planes->row)
      worker->weight[i / WEIGHTS][i % WEIGHTS].row = memory;
  }
  return true;
}

static size_t padded(int width)
{
  return ((size_t)width + 2 * CF_LLF_MARGIN - 1) / CF_LLF_MARGIN * CF_LLF_MARGIN;
}

CfLlfPlanes *cf_llf_planes_open(int width, int height, int groups, int threads)
{
  const CfLlfPyramid pyramid = cf_llf_full_pyramid(width, height);
  CfLlfPlanes *planes = calloc(1, sizeof *planes);
  bool good = planes;

  if (!planes)
    return NULL;
  planes->threads = threads;
  planes->row = padded(width) + 2 * CF_LLF_MARGIN;
  planes->sides = calloc((size_t)height, sizeof *planes->sides);
  good = planes->sides && allocate_workers(planes);
  for (int l = 0; good && l < pyramid.images; l++) {
    const size_t pixels = padded(pyramid.width[l]) * (size_t)pyramid.height[l];

    planes->stride[l] = padded(pyramid.width[l]);
    if (l > 0 || groups > 1)
      good = (planes->difference[l] = allocate(planes, pixels * sizeof(float)));
    if (l > 0)
      good = good && (planes->gaussian[l] = allocate(planes, pixels * sizeof(float))) &&
             (planes->component[l] = allocate(planes, pixels * 16 * sizeof(int16_t)));
    if (l > 0 && l <= CF_LLF_WEIGHTED_LEVELS)
      good = good && (planes->moments[l - 1] = allocate(planes, pixels * sizeof(float)));
  }
  if (good)
    return planes;
  cf_llf_planes_close(planes);
  return NULL;
}

void cf_llf_planes_close(CfLlfPlanes *planes)
{
  if (!planes)
    return;
  for (int i = 0; i < planes->allocated; i++)
    free(planes->memory[i]);
  free(planes->sides);
  free(planes->worker);
  free(planes);
}
