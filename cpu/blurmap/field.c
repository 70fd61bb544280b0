/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cpu/blurmap/field.h"

#include <string.h>

#include "cpu/common/cpu.h"
#include "cpu/common/samples.h"
#include "plan/int_math.h"

/* ---- Rows ---- */

CF_MULTIVERSION
static void analytic_row(const CfMapShape *shape, int y, int width, float *m)
{
  for (int x = 0; x < width; x++)
    m[x] = cf_map_analytic(shape, x, y);
}

static void file_row(const CfMapShape *shape, const uint16_t *values, int y, int width, float *m)
{
  for (int x = 0; x < width; x++)
    m[x] = cf_map_bilinear(shape, values, x, y);
}

static void relative_row(const CfBlurRows *rows, int p, int y, int width, float *m)
{
  const CfCoverage *frame = rows->coverage;
  uint16_t coverage[CF_COVERAGE_SAMPLES];
  int owner[CF_COVERAGE_SAMPLES], last = -1;
  float share = 0.0f;

  memset(m, 0, (size_t)width * sizeof *m);
  for (int begin = 0; begin < width; begin += CF_COVERAGE_SAMPLES) {
    const int count = cf_min(width - begin, CF_COVERAGE_SAMPLES);

    if (!cf_coverage_row(frame, p, y, begin, count, coverage, owner))
      continue;
    /* Neighbours mostly belong to the same region: its value is kept. */
    for (int i = 0; i < count; i++) {
      if (!coverage[i])
        continue;
      if (owner[i] != last) {
        last = owner[i];
        share = (float)(cf_blur_field_side_sigma(rows->field, frame->region[last].shape.side) /
                        rows->largest);
      }
      m[begin + i] = share;
    }
  }
}

/* Adds one term of the mixer to a row: weight times the mean code over the luma pixels of each
 * sample. */
static void add_term(const CfBlurField *field, const CfJob *job, const CfMapMixer *mixer, int term,
                     int p, int y, int width, float *m)
{
  const CfFormatInfo *info = cf_format_info(field->video.format);
  const int channel = mixer->term[term].channel;
  const CfSamples samples = cf_samples_of(&field->video, &job->source, mixer->term[term].plane);
  const int shift_x = info->plane[p].subsampling_x, shift_y = info->plane[p].subsampling_y;
  const int bottom = cf_min((y + 1) << shift_y, field->video.height);
  const float weight = mixer->term[term].weight / (float)(bottom - (y << shift_y));

  for (int row = y << shift_y; row < bottom; row++) {
    for (int x = 0; x < width; x++) {
      const int first = x << shift_x, end = cf_min((x + 1) << shift_x, field->video.width);
      int sum = 0;

      for (int column = first; column < end; column++)
        sum += cf_sample_load(&samples, column, row, channel);
      m[x] += weight * (float)sum / (float)(end - first);
    }
  }
}

static void picture_row(const CfBlurField *field, const CfJob *job, int p, int y, int width,
                        float *m)
{
  const CfMapMixer mixer = cf_map_mixer(&field->video, &field->params);

  for (int x = 0; x < width; x++)
    m[x] = mixer.offset;
  for (int i = 0; i < mixer.terms; i++)
    add_term(field, job, &mixer, i, p, y, width, m);
  for (int x = 0; x < width; x++)
    m[x] = fminf(fmaxf(m[x], 0.0f), 1.0f);
}

CfBlurRows cf_blur_rows(const CfBlurField *field, const CfJob *job, const CfCoverage *coverage)
{
  CfBlurRows rows = {.field = field, .job = job, .coverage = coverage};
  bool alike;

  if (cf_blur_field_is_relative(field, job->regions))
    rows.largest = cf_blur_field_largest_sigma(field, job->regions, &alike);
  return rows;
}

void cf_blur_row(const CfBlurRows *rows, int p, int y, float *m)
{
  const CfBlurField *field = rows->field;
  const int width = cf_plane_width(&field->video, p);

  if (rows->values) {
    for (int x = 0; x < width; x++)
      m[x] = (float)rows->values[(size_t)y * (size_t)width + (size_t)x] * (1.0f / CF_MAP_ONE);
  } else if (rows->largest > 0.0) {
    relative_row(rows, p, y, width, m);
  } else if (cf_blur_field_is_still(field)) {
    const CfMapShape shape = cf_map_shape(&field->video, &field->params, p);

    if (shape.mode == CF_MAP_FILE)
      file_row(&shape, cf_map_values(field->params.map), y, width, m);
    else
      analytic_row(&shape, y, width, m);
  } else {
    picture_row(field, rows->job, p, y, width, m);
  }
}
