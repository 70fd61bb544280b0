/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Each sample is compared with what the reference engine makes of the whole picture, one picture
 * for every area that has a strength of its own.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "blockavg.h"
#include "gaussblur.h"
#include "llf.h"
#include "oracle.h"
#include "sepconv.h"

/* How far an effect may be from its definition. */
typedef struct {
  const char *engine; /* that defines it */
  double codes;
} Rule;

typedef struct {
  const FuzzElement *kind;
  const FuzzPart *part;
  Rule rule;
  bool each; /* areas have strengths of their own */

  CfTestPicture
      *filtered[33];       /* by area, or the first one for all; NULL until they are asked for */
  CfTestPicture *moved[2]; /* with the threshold of an unsharp mask moved a little */
} Oracle;

static char wrong[400];

static const char *say(const char *format, ...) G_GNUC_PRINTF(1, 2);

static const char *say(const char *format, ...)
{
  va_list arguments;

  va_start(arguments, format);
  vsnprintf(wrong, sizeof wrong, format, arguments);
  va_end(arguments);
  return wrong;
}

/* Of a blur: codes of 8 bits where sigma varies. */
static Rule rule_of(const FuzzElement *kind, const FuzzPart *part)
{
  const CfFormatInfo *format = cf_format_info(part->source->video.format);

  if (strcmp(kind->effect->name, "blockavg") == 0)
    return (Rule){"reference", 0.0};
  if (strcmp(kind->effect->name, "llf") == 0)
    return (Rule){"cpu", 0.0};
  if (strcmp(kind->effect->name, "gaussblur") == 0) {
    const CfGaussblurParams *blur = part->frame->params;

    if (blur->map_mode != CF_MAP_NONE || blur->sigma_relative > 0.0)
      return (Rule){"reference", 2.0 * cf_max_code(format) / 255.0};
  }
  return (Rule){"reference", 1.0};
}

static bool has_no_area_outside(const FuzzPart *part)
{
  return part->areas.outside && part->areas.count == 0;
}

/* Whether areas have strengths of their own. */
static bool follows_areas(const Oracle *oracle)
{
  const void *params = oracle->part->frame->params;

  if (oracle->part->frame->cover != FUZZ_SOME && !has_no_area_outside(oracle->part))
    return false;
  if (strcmp(oracle->kind->effect->name, "gaussblur") == 0)
    return ((const CfGaussblurParams *)params)->sigma_relative != 0.0;
  if (strcmp(oracle->kind->effect->name, "blockavg") == 0)
    return ((const CfBlockavgParams *)params)->blocks_across != 0 ||
           ((const CfBlockavgParams *)params)->anchor == CF_BLOCKAVG_REGION;
  return false;
}

/* Params with which all of the picture gets what one area asks for. False where there are none: a
 * grid that starts elsewhere, or blocks beyond the property's range. */
static bool make_area_params(const Oracle *oracle, int index, void *params)
{
  const FuzzArea *area = &oracle->part->areas.area[index];
  const double side = fuzz_side(area, oracle->part->field);

  if (strcmp(oracle->kind->effect->name, "gaussblur") == 0) {
    CfGaussblurParams *blur = params;

    if (blur->sigma_relative < 0.0)
      return false;
    blur->sigma = fmin(blur->sigma_relative * side, 250.0);
    blur->sigma_vertical = -1.0;
    blur->sigma_relative = 0.0;
    return true;
  }
  CfBlockavgParams *blocks = params;

  if (blocks->anchor == CF_BLOCKAVG_REGION && (area->x != 0.0 || area->y != 0.0))
    return false;
  if (blocks->blocks_across < 0 || side > 4096.0)
    return false;
  if (blocks->blocks_across > 0)
    blocks->block_width = blocks->block_height = (int)fmax(1.0, ceil(side / blocks->blocks_across));
  blocks->blocks_across = 0;
  blocks->anchor = CF_BLOCKAVG_FRAME;
  return true;
}

static CfTestPicture *run_engine(const Oracle *oracle, const void *params)
{
  const CfTestPicture *source = oracle->part->source;
  const CfEngine *engine = cf_effect_engine(oracle->kind->effect, oracle->rule.engine);
  const CfOpenOptions options = {.threads = 1};
  CfTestPicture *result = cf_picture_new(&source->video, CF_LAYOUT_ALIGNED);
  const CfJob job = {.source = source->planes, .destination = result->planes};
  CfStatus status = {CF_OK, ""};
  void *state = engine->open(&source->video, params, &options, &status);

  if (!state || !engine->run(state, &job, &status)) {
    say("the %s engine fails: %s", engine->name, status.message);
    cf_picture_free(result);
    result = NULL;
  }
  if (state)
    engine->close(state);
  return result;
}

/* What area `index` asks for; NULL where that is open. */
static CfTestPicture *filtered_by(Oracle *oracle, int index)
{
  const int slot = oracle->each ? index : 0;

  if (!oracle->filtered[slot]) {
    void *params = g_memdup2(oracle->part->frame->params, oracle->kind->effect->params_size);

    if (!oracle->each || make_area_params(oracle, index, params))
      oracle->filtered[slot] = run_engine(oracle, params);
    g_free(params);
  }
  return oracle->filtered[slot];
}

/* Samples */

typedef struct {
  int plane, x, y;
  const CfPlaneFormat *info;
} Place;

static double chroma_centre(const CfVideo *video, CfRole role)
{
  return role == CF_ROLE_CHROMA_BLUE || role == CF_ROLE_CHROMA_RED ? cf_chroma_centre(video) : 0.0;
}

/* Code values; in formats with alpha as much as they are visible. */
static double visible(const CfTestPicture *picture, const Place *at, int channel)
{
  const int alpha = cf_alpha_channel(at->info);
  const int code = cf_picture_get(picture, at->plane, at->x, at->y, channel);

  if (alpha < 0 || channel == alpha)
    return code;
  return (code - chroma_centre(&picture->video, at->info->role[channel])) *
         cf_picture_get(picture, at->plane, at->x, at->y, alpha) /
         cf_max_code(cf_format_info(picture->video.format));
}

static bool is_untouched(const FuzzPart *part, const Place *at)
{
  for (int channel = 0; channel < at->info->channels; channel++) {
    if (cf_picture_raw(part->got, at->plane, at->x, at->y, channel) !=
        cf_picture_raw(part->source, at->plane, at->x, at->y, channel))
      return false;
  }
  return true;
}

/* Between what the least and the most coverage make of it. */
static bool is_mixed(const Oracle *oracle, const CfTestPicture *filtered, const Place *at,
                     FuzzCover cover)
{
  const FuzzPart *part = oracle->part;
  const double slack = oracle->rule.codes + (cover.least < 256 ? 1.0 : 0.0) + 1e-9;

  for (int channel = 0; channel < at->info->channels; channel++) {
    const double from = visible(part->source, at, channel), to = visible(filtered, at, channel);
    const double least = from + (to - from) * cover.least / 256.0;
    const double most = from + (to - from) * cover.most / 256.0;
    const double got = visible(part->got, at, channel);

    if (at->info->role[channel] != CF_ROLE_PADDING &&
        (got < fmin(least, most) - slack || got > fmax(least, most) + slack))
      return false;
  }
  return true;
}

/* Where a sample differs from its mean by as good as the threshold of an unsharp mask, its engine
 * may find it on either side. */
static bool is_at_threshold(Oracle *oracle, const Place *at, FuzzCover cover)
{
  const CfSepconvParams *params = oracle->part->frame->params;
  bool good = false;

  if (strcmp(oracle->kind->effect->name, "sepconv") != 0 || params->preset != CF_SEPCONV_UNSHARP ||
      params->threshold == 0.0)
    return false;
  for (int i = 0; i < 2 && !good; i++) {
    CfSepconvParams moved = *params;

    moved.threshold = fmin(fmax(moved.threshold + (i ? 1e-5 : -1e-5), 0.0), 1.0);
    if (!oracle->moved[i])
      oracle->moved[i] = run_engine(oracle, &moved);
    good = !oracle->moved[i] || is_mixed(oracle, oracle->moved[i], at, cover);
  }
  return good;
}

static const char *describe(Oracle *oracle, const Place *at, FuzzCover cover, int owner)
{
  const CfTestPicture *filtered = cover.most > 0 ? filtered_by(oracle, owner) : NULL;
  GString *text = g_string_new("");

  for (int channel = 0; channel < at->info->channels; channel++)
    g_string_append_printf(text, " %d of %d, filtered %d;",
                           cf_picture_raw(oracle->part->got, at->plane, at->x, at->y, channel),
                           cf_picture_raw(oracle->part->source, at->plane, at->x, at->y, channel),
                           filtered ? cf_picture_raw(filtered, at->plane, at->x, at->y, channel)
                                    : -1);
  say("plane %d x %d y %d, covered %d to %d of 256:%s allowed is %.2g codes off", at->plane, at->x,
      at->y, cover.least, cover.most, text->str, oracle->rule.codes);
  g_string_free(text, TRUE);
  return wrong;
}

static const char *judge_sample(Oracle *oracle, const Place *at)
{
  const FuzzPart *part = oracle->part;
  const FuzzFrame *frame = part->frame;
  FuzzCover cover = {frame->cover == FUZZ_ALL ? 256 : 0, frame->cover == FUZZ_ALL ? 256 : 0};
  int owners = 1, last = 0;

  if (frame->cover == FUZZ_SOME) {
    cover = fuzz_cover(&part->source->video, &part->areas, -1, at->plane, at->x, at->y);
    owners = oracle->each ? part->areas.count : 1;
  }
  if (cover.least == 0 && is_untouched(part, at))
    return NULL;
  for (int owner = 0; cover.most > 0 && owner < owners; owner++) {
    const CfTestPicture *filtered;

    if (oracle->each && !fuzz_may_own(&part->source->video, &part->areas, part->field, owner,
                                      at->plane, at->x, at->y))
      continue;
    filtered = filtered_by(oracle, owner);
    last = owner;
    if (!filtered || is_mixed(oracle, filtered, at, cover) || is_at_threshold(oracle, at, cover))
      return NULL;
  }
  return describe(oracle, at, cover, last);
}

static const char *judge_samples(Oracle *oracle)
{
  const CfVideo *video = &oracle->part->source->video;
  const CfFormatInfo *format = cf_format_info(video->format);

  for (int p = 0; p < format->planes; p++) {
    for (int y = 0; y < cf_plane_height(video, p); y++) {
      for (int x = 0; x < cf_plane_width(video, p); x++) {
        const Place at = {p, x, y, &format->plane[p]};
        const char *found = judge_sample(oracle, &at);

        if (found)
          return found;
      }
    }
  }
  return NULL;
}

/* Pictures */

/* Below an alpha of 1 and without a noise floor the remap leaps where differences are 0, and with
 * them the last bit of a level of the pyramid. */
static bool is_steep(const CfLlfParams *llf)
{
  return llf->alpha < 1.0 && llf->noise_floor < 0.005;
}

/* The exact filter by its definition, as far as it can be computed within a moment: 90 dB, which
 * formats of fewer than 16 bits cannot tell from a code. */
static const char *judge_exact_llf(const Oracle *oracle)
{
  const CfTestPicture *source = oracle->part->source;
  const CfLlfParams *llf = oracle->part->frame->params;
  Oracle definition = *oracle;
  const bool deep = cf_format_info(source->video.format)->bits == 16;
  CfDifference difference;
  CfTestPicture *want;

  if (strcmp(oracle->kind->effect->name, "llf") != 0 || llf->method != CF_LLF_EXACT ||
      source->video.width * source->video.height > 300)
    return NULL;
  definition.rule.engine = "reference";
  want = run_engine(&definition, llf);
  if (!want)
    return wrong;
  difference = cf_picture_compare(oracle->part->got, want, 1.0);
  cf_picture_free(want);
  if (is_steep(llf) || deep) {
    const double least = is_steep(llf) ? 45.0 : 90.0;

    return difference.psnr >= least ? NULL : say("%.1f dB from the definition", difference.psnr);
  }
  return difference.first.plane < 0
             ? NULL
             : say("plane %d x %d y %d is %.2f codes from the definition", difference.first.plane,
                   difference.first.x, difference.first.y, difference.first.difference);
}

/* Blur maps are defined as one sum over all taps for every sample. */
static bool takes_too_long(const FuzzElement *kind, const FuzzPart *part)
{
  const CfGaussblurParams *blur = part->frame->params;
  const CfVideo *video = &part->source->video;
  double sigma;

  if (strcmp(kind->effect->name, "gaussblur") != 0 || blur->map_mode == CF_MAP_NONE)
    return false;
  sigma = fmax(fmax(fabs(blur->sigma), blur->sigma_vertical), blur->sigma_min);
  return (8.0 * sigma + 1.0) * (8.0 * sigma + 1.0) * video->width * video->height > 2e8;
}

static const char *judge_planes(const FuzzElement *kind, const FuzzPart *part)
{
  const bool identity = kind->effect->is_identity(part->frame->params);
  Oracle oracle = {.kind = kind, .part = part, .rule = rule_of(kind, part)};
  FuzzFrame unchanged = *part->frame;
  FuzzPart as_it_was = *part;
  const char *found;

  oracle.each = follows_areas(&oracle);
  /* Beyond all areas, or without any, no page says whose strength it is. */
  if ((oracle.each && (part->areas.outside || part->areas.count == 0)) ||
      takes_too_long(kind, part))
    return NULL;
  if (identity) {
    unchanged.cover = FUZZ_NONE;
    as_it_was.frame = &unchanged;
    oracle.part = &as_it_was;
    oracle.each = false;
  }
  found = judge_samples(&oracle);
  for (size_t i = 0; i < G_N_ELEMENTS(oracle.filtered); i++)
    cf_picture_free(oracle.filtered[i]);
  for (size_t i = 0; i < G_N_ELEMENTS(oracle.moved); i++)
    cf_picture_free(oracle.moved[i]);
  return found || identity ? found : judge_exact_llf(&oracle);
}

static CfTestPicture *planes_of(const CfTestPicture *packed)
{
  const CfVideo video = cf_planar_video(&packed->video);
  CfTestPicture *planar = cf_picture_new(&video, CF_LAYOUT_ALIGNED);

  cf_picture_unpack(packed, planar);
  return planar;
}

const char *fuzz_judge_part(const FuzzElement *kind, const FuzzPart *part)
{
  CfTestPicture *source, *got;
  FuzzPart planar = *part;
  const char *found;

  if (!cf_format_info(part->source->video.format)->packed)
    return judge_planes(kind, part);
  planar.source = source = planes_of(part->source);
  planar.got = got = planes_of(part->got);
  found = judge_planes(kind, &planar);
  cf_picture_free(source);
  cf_picture_free(got);
  return found;
}
