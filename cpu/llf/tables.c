/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cpu/llf/tables.h"

#include <math.h>
#include <string.h>

/* With linear interpolation between 1025 nodes, a sine of the 16th harmonic is off by less than
 * 1e-3. */
#define SERIES_STEPS 1024

/* Sampled curves bend sharply at the noise floor. Only the basis of the picture has to follow them,
 * since their weights are straight lines between samples. */
#define SAMPLED_PICTURE_STEPS 4096

/* The shape of all tables. */
typedef struct {
  int components; /* in all groups together */
  int groups;
  int entries, nodes;
} Shape;

static int whole_multiple(int of, int at_least)
{
  return (at_least + of - 1) / of * of;
}

static Shape shape_of(const CfLlfParams *params, int codes)
{
  Shape shape = {
      .components = 2 * params->harmonics, .entries = SERIES_STEPS + 1, .nodes = SERIES_STEPS + 1};

  if (params->method == CF_LLF_SAMPLED) {
    /* Samples are nodes, so that interpolated weights are exact. */
    const int intervals = cf_llf_intensity_levels(params) - 1;
    shape.components = intervals + 1;
    shape.entries = whole_multiple(intervals, SAMPLED_PICTURE_STEPS) + 1;
    shape.nodes = intervals + 1;
  }
  if (codes > 0)
    shape.entries = codes;
  shape.groups = (shape.components + 15) / 16;
  return shape;
}

static int group_components(const Shape *shape, int group)
{
  const int left = shape->components - 16 * group;

  return left < 16 ? left : 16;
}

int cf_llf_tables_groups(const CfLlfParams *params)
{
  return shape_of(params, 0).groups;
}

size_t cf_llf_tables_size(const CfLlfParams *params, int codes)
{
  const Shape shape = shape_of(params, codes);

  return (size_t)shape.groups * 16 * (size_t)(2 * shape.entries + shape.nodes);
}

static double entry_intensity(const CfLlfTables *tables, int entry)
{
  if (tables->lookup == CF_LLF_BETWEEN)
    return (double)entry / (tables->entries - 1);
  return fmin(fmax((entry - tables->offset) / tables->scale, 0.0), 1.0);
}

/* Components 2 n and 2 n + 1, counted over all groups, are the sine and the cosine of harmonic n +
 * 1. `basis` may be NULL. */
static void series_entry(const CfLlfSeries *series, int first, int count, double intensity,
                         float *basis, float *weight)
{
  const double angle = series->base * intensity, step_sine = sin(angle), step_cosine = cos(angle);
  double sine = sin((first / 2 + 1) * angle), cosine = cos((first / 2 + 1) * angle);

  for (int c = 0; c < count; c += 2) {
    const double b = series->b[(first + c) / 2] / CF_LLF_ONE,
                 next_sine = sine * step_cosine + cosine * step_sine;

    if (basis) {
      basis[c] = (float)rint(sine * CF_LLF_ONE);
      basis[c + 1] = (float)rint(cosine * CF_LLF_ONE);
    }
    weight[c] = (float)(b * cosine);
    weight[c + 1] = (float)(-b * sine);
    cosine = cosine * step_cosine - sine * step_sine;
    sine = next_sine;
  }
}

/* The sampled curves without their linear part, in fixed point. */
typedef struct {
  const CfLlfParams *params;
  double linear;
  double unit; /* fixed point units per 1, so that the largest value just fits */
  int intervals;
} Samples;

static double sampled_curve(const Samples *samples, double d)
{
  return cf_llf_remap(samples->params, d) - (1.0 + samples->linear) * d;
}

static Samples samples_of(const CfLlfParams *params, double linear)
{
  Samples samples = {
      .params = params, .linear = linear, .intervals = cf_llf_intensity_levels(params) - 1};
  double largest = 0.0;

  for (int i = 0; i <= SAMPLED_PICTURE_STEPS; i++)
    largest = fmax(largest, fabs(sampled_curve(&samples, (double)i / SAMPLED_PICTURE_STEPS)));
  /* Between two steps the curve may be a little higher. */
  samples.unit = largest > 0.0 ? CF_LLF_ONE / (1.05 * largest) : 0.0;
  return samples;
}

static void samples_entry(const Samples *samples, int first, int count, double intensity,
                          float *basis, float *weight)
{
  for (int c = 0; c < count; c++) {
    const double place = intensity * samples->intervals - (first + c);

    if (basis)
      basis[c] = (float)rint(sampled_curve(samples, place / samples->intervals) * samples->unit);
    weight[c] = samples->unit > 0.0 ? (float)(fmax(0.0, 1.0 - fabs(place)) / samples->unit) : 0.0f;
  }
}

void cf_llf_tables_fill(CfLlfTables *tables, const CfLlfParams *params, int codes)
{
  const CfLlfSeries series = cf_llf_series(params);
  const Samples samples = samples_of(params, series.linear);
  const bool sampled = params->method == CF_LLF_SAMPLED;
  const Shape shape = shape_of(params, codes);
  float *memory = tables->memory;

  memset(memory, 0, cf_llf_tables_size(params, codes) * sizeof *memory);
  tables->lookup = codes > 0 ? CF_LLF_DIRECT : CF_LLF_BETWEEN;
  tables->entries = shape.entries;
  tables->nodes = shape.nodes;
  tables->linear = series.linear;
  /* Interpolated curves do not pass through 0 as the exact curve does, so a pixel's own terms do
   * not cancel. Those of sines do; what rounding leaves of them is too small to show in pictures of
   * up to 10 bits. */
  tables->keeps_own_terms = sampled || tables->scale > 1023.0;
  tables->groups = shape.groups;
  for (int g = 0; g < shape.groups; g++) {
    const int first = 16 * g, count = group_components(&shape, g);
    const CfLlfKernels *kernels = cf_llf_kernels(count);
    const size_t size = (size_t)kernels->components;
    float *basis = memory, *picture_weight = basis + (size_t)shape.entries * 16;
    float *weight = picture_weight + (size_t)shape.entries * 16;

    for (int entry = 0; entry < shape.entries; entry++) {
      const size_t at = (size_t)entry * size;
      const double intensity = entry_intensity(tables, entry);
      if (sampled)
        samples_entry(&samples, first, count, intensity, basis + at, picture_weight + at);
      else
        series_entry(&series, first, count, intensity, basis + at, picture_weight + at);
    }
    for (int node = 0; node < shape.nodes; node++) {
      const size_t at = (size_t)node * size;
      const double intensity = (double)node / (shape.nodes - 1);
      if (sampled)
        samples_entry(&samples, first, count, intensity, NULL, weight + at);
      else
        series_entry(&series, first, count, intensity, NULL, weight + at);
    }
    tables->group[g] = (CfLlfGroup){kernels, basis, picture_weight, weight};
    memory = weight + (size_t)shape.nodes * 16;
  }
}
