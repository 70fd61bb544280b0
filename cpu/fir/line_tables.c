/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cpu/fir/line_tables.h"

#include <string.h>

bool cf_taps_are_symmetric(const CfTaps *taps)
{
  for (int i = 0; i < taps->count / 2; i++) {
    if (taps->tap[i] != taps->tap[taps->count - 1 - i])
      return false;
  }
  return true;
}

/* Taps for lines of bytes, which are always there: a single tap of 1 becomes a pair with taps of
 * 1/2. */
static CfLineTaps byte_taps(const CfTaps *taps, CfArena *arena)
{
  const bool identity = cf_taps_are_identity(taps);
  const int count = identity ? 1 : taps->count;
  const bool symmetric = identity || cf_taps_are_symmetric(taps);
  int16_t *tap = cf_arena_take(arena, (size_t)count * sizeof *tap);
  CfFixedError error;

  if (tap && identity)
    tap[0] = INT16_MAX / 2 + 1;
  else if (tap && cf_lines_fixed_taps(taps, tap, &error) && symmetric && count % 2)
    tap[count / 2] /= 2;
  return (CfLineTaps){
      .count = count, .anchor = identity ? 0 : taps->anchor, .symmetric = symmetric, .tap = tap};
}

CfLineTaps cf_line_taps(const CfLines *lines, const CfTaps *taps, CfArena *arena)
{
  if (cf_lines_are_bytes(lines))
    return byte_taps(taps, arena);

  CfLineTaps line_taps = {.count = 1};
  CfFixedError error;

  if (cf_taps_are_identity(taps))
    return line_taps;
  line_taps.count = taps->count;
  line_taps.anchor = taps->anchor;
  line_taps.symmetric = cf_taps_are_symmetric(taps);
  void *tap = cf_arena_take(arena, (size_t)taps->count * lines->size);
  if (tap && !lines->set)
    cf_lines_fixed_taps(taps, tap, &error);
  for (int i = 0; tap && lines->set && i < taps->count; i++)
    lines->set(tap, (size_t)i, taps->tap[i]);
  line_taps.tap = tap;
  return line_taps;
}

static void fill_mapping(const CfLineFormat *format, const CfLines *lines, size_t samples)
{
  const double sum = format->plan->row.sum * format->plan->column.sum;

  for (size_t i = 0; i < samples; i++) {
    const CfFirChannel *channel = &format->plan->channel[i % (size_t)format->channels];
    /* Weighted lines are relative to `centre` before they are summed; for others the offset
     * corrects it. */
    const double centred = format->premultiplied ? 0.0 : channel->centre * channel->scale * sum;

    lines->set(format->scale, i, channel->scale);
    lines->set(format->sign, i, channel->absolute ? -1.0 : 1.0);
    lines->set(format->offset, i, channel->centre - centred + channel->bias + 0.5);
  }
}

static void fill_centre(CfLineFormat *format, const CfLines *lines, CfArena *arena)
{
  format->centre = cf_arena_take(arena, 4 * CF_WEIGHT_CHUNK * lines->size);
  for (size_t i = 0; format->centre && i < 4 * CF_WEIGHT_CHUNK; i++)
    lines->set(format->centre, i, format->plan->channel[i % 4].centre);
}

CfLineFormat cf_line_format(const CfVideo *video, int p, const CfFirPlane *plan, bool premultiplied,
                            const CfLines *lines, size_t samples, CfArena *arena)
{
  const CfFormatInfo *info = cf_format_info(video->format);
  CfLineFormat format = {.channels = info->plane[p].channels,
                         .alpha = cf_alpha_channel(&info->plane[p]),
                         .bytes = cf_sample_bytes(info),
                         .shift = info->shift,
                         .max_code = cf_max_code(info),
                         .premultiplied = premultiplied,
                         .dropped = -1,
                         .plan = plan};

  if (!lines->set)
    return format;
  format.scale = cf_arena_take(arena, samples * lines->size);
  format.sign = cf_arena_take(arena, samples * lines->size);
  format.offset = cf_arena_take(arena, samples * lines->size);
  if (format.offset)
    fill_mapping(&format, lines, samples);
  if (premultiplied)
    fill_centre(&format, lines, arena);
  return format;
}

void cf_border_pixel(const CfVideo *video, const CfFirPlane *plan, uint8_t pixel[8])
{
  const CfFormatInfo *info = cf_format_info(video->format);

  for (int c = 0; c < CF_MAX_CHANNELS; c++) {
    const uint16_t sample = (uint16_t)(plan->channel[c].border << info->shift);

    memcpy(pixel + c * cf_sample_bytes(info), &sample, (size_t)cf_sample_bytes(info));
  }
}
