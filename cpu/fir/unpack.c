/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cpu/fir/unpack.h"

bool cf_taps_are_symmetric(const CfTaps *taps)
{
  for (int i = 0; i < taps->count / 2; i++) {
    if (taps->tap[i] != taps->tap[taps->count - 1 - i])
      return false;
  }
  return true;
}

static void fill_taps(const CfLines *lines, const CfTaps *taps, bool symmetric, void *to)
{
  CfFixedError error;

  if (lines == &cf_lines_fixed)
    cf_lines_fixed_taps(taps, symmetric, to, &error);
  for (int i = 0; i < taps->count; i++) {
    if (lines == &cf_lines_float)
      ((float *)to)[i] = (float)taps->tap[i];
    else if (lines == &cf_lines_double)
      ((double *)to)[i] = taps->tap[i];
  }
}

CfLineTaps cf_line_taps(const CfLines *lines, const CfTaps *taps, CfArena *arena)
{
  CfLineTaps line_taps = {.count = 1};

  if (cf_taps_are_identity(taps))
    return line_taps;
  line_taps.count = taps->count;
  line_taps.anchor = taps->anchor;
  line_taps.symmetric = cf_taps_are_symmetric(taps);
  void *tap = cf_arena_take(arena, (size_t)taps->count * lines->size);
  if (tap)
    fill_taps(lines, taps, line_taps.symmetric, tap);
  line_taps.tap = tap;
  return line_taps;
}

static void set(const CfLines *lines, const void *array, size_t i, double value)
{
  if (lines == &cf_lines_float)
    ((float *)array)[i] = (float)value;
  else
    ((double *)array)[i] = value;
}

static void fill_tone(const CfLineFormat *format, const CfLines *lines, size_t samples)
{
  const double sum = format->plan->row.sum * format->plan->column.sum;

  for (size_t i = 0; i < samples; i++) {
    const CfFirChannel *channel = &format->plan->channel[i % (size_t)format->channels];
    /* Weighted lines are centred before they are summed, others after. */
    const double centred = format->premultiplied ? 0.0 : channel->centre * channel->scale * sum;

    set(lines, format->scale, i, channel->scale);
    set(lines, format->sign, i, channel->absolute ? -1.0 : 1.0);
    set(lines, format->offset, i, channel->centre - centred + channel->bias + 0.5);
  }
}

static void fill_centre(CfLineFormat *format, const CfLines *lines, CfArena *arena)
{
  format->centre = cf_arena_take(arena, 4 * CF_WEIGHT_CHUNK * lines->size);
  for (size_t i = 0; format->centre && i < 4 * CF_WEIGHT_CHUNK; i++)
    set(lines, format->centre, i, format->plan->channel[i % 4].centre);
}

void cf_line_format_tables(CfLineFormat *format, const CfLines *lines, size_t samples,
                           CfArena *arena)
{
  if (lines == &cf_lines_fixed)
    return;
  format->scale = cf_arena_take(arena, samples * lines->size);
  format->sign = cf_arena_take(arena, samples * lines->size);
  format->offset = cf_arena_take(arena, samples * lines->size);
  if (format->offset)
    fill_tone(format, lines, samples);
  if (format->premultiplied)
    fill_centre(format, lines, arena);
}
