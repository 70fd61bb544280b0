/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Compiled once per instruction set and per number of components, CF_LLF_COMPONENTS; CF_LLF_BUILD
 * names both.
 */
#include "cpu/llf/simd_rows.h"

/* The components of a pixel. */
typedef struct {
  Vector part[COMPONENTS / LANES];
} Pixel;

#define EACH_PART(i) _Pragma("GCC unroll 4") for (int i = 0; i < COMPONENTS / LANES; i++)

/* ---- Component planes ---- */

INLINE Vector look_up(const float *table, CfLlfLookup lookup, CfLlfPositions at, int x, int part)
{
  const float *entry = table + 2 * (size_t)at.pair[x] + part * LANES;
  const Vector here = load(entry);

  return lookup == CF_LLF_DIRECT ? here : here + at.fraction[x] * (load(entry + COMPONENTS) - here);
}

/* The filters below are scaled by 1 / their outermost tap where there are several taps, so that
 * this one needs no multiplication; results are multiplied by the missing factor at the end. The
 * other scaled taps are integers, so that all sums over planes are exact. */
#define SIDE_OF_EDGE   (float)(CF_LLF_TAP_SIDE / CF_LLF_TAP_EDGE)
#define CENTRE_OF_EDGE (float)(CF_LLF_TAP_CENTRE / CF_LLF_TAP_EDGE)
#define REDUCED        (float)(CF_LLF_TAP_EDGE * CF_LLF_TAP_EDGE)
#define EVEN           (2.0 * CF_LLF_TAP_EDGE)
#define ODD            (2.0 * CF_LLF_TAP_SIDE)

/* One direction of reduce; both directions together lack the factor REDUCED. */
INLINE Vector five_taps(Vector a, Vector b, Vector c, Vector d, Vector e)
{
  return CENTRE_OF_EDGE * c + (SIDE_OF_EDGE * (b + d) + (a + e));
}

/* Column x of five rows of the picture, reduced vertically. */
INLINE Pixel analyse_column(const float *basis, CfLlfLookup lookup, const CfLlfPositions fine[5],
                            int x)
{
  Pixel column;

  EACH_PART(i)
  {
    column.part[i] =
        five_taps(look_up(basis, lookup, fine[0], x, i), look_up(basis, lookup, fine[1], x, i),
                  look_up(basis, lookup, fine[2], x, i), look_up(basis, lookup, fine[3], x, i),
                  look_up(basis, lookup, fine[4], x, i));
  }
  return column;
}

INLINE Pixel reduce_column(const int16_t *const fine[5], int x)
{
  const size_t at = (size_t)x * COMPONENTS;
  Pixel column;

  EACH_PART(i)
  {
    const size_t from = at + (size_t)(i * LANES);
    column.part[i] = five_taps(load_shorts(fine[0] + from), load_shorts(fine[1] + from),
                               load_shorts(fine[2] + from), load_shorts(fine[3] + from),
                               load_shorts(fine[4] + from));
  }
  return column;
}

INLINE void store_reduced(int16_t *coarse, int x, const Pixel *a, const Pixel *b, const Pixel *c,
                          const Pixel *d, const Pixel *e)
{
  EACH_PART(i)
  {
    store_shorts(coarse + (size_t)x * COMPONENTS + i * LANES,
                 REDUCED * five_taps(a->part[i], b->part[i], c->part[i], d->part[i], e->part[i]));
  }
}

INLINE void analyse_row(const float *basis, CfLlfLookup lookup, const CfLlfPositions fine[5],
                        int coarse_width, int16_t *coarse)
{
  Pixel a = analyse_column(basis, lookup, fine, -2);
  Pixel b = analyse_column(basis, lookup, fine, -1);
  Pixel c = analyse_column(basis, lookup, fine, 0);

  for (int x = 0; x < coarse_width; x++) {
    const Pixel d = analyse_column(basis, lookup, fine, 2 * x + 1);
    const Pixel e = analyse_column(basis, lookup, fine, 2 * x + 2);

    store_reduced(coarse, x, &a, &b, &c, &d, &e);
    a = c;
    b = d;
    c = e;
  }
}

/* Distance, in bytes, of prefetches into the second-level cache in rows of components, which that
 * cache cannot hold in full: the hardware prefetcher is late for them. */
#define FETCH_AHEAD 2048

/* Prefetches for two pixels, 32 or 64 bytes. */
INLINE void fetch_ahead(const int16_t *row, int x)
{
  __builtin_prefetch((const char *)row + (size_t)x * COMPONENTS * sizeof *row + FETCH_AHEAD, 0, 2);
}

static void reduce_row(const int16_t *const fine[5], int fine_width, int16_t *coarse)
{
  const int coarse_width = (fine_width + 1) / 2;
  Pixel a = reduce_column(fine, cf_llf_mirrored(-2, fine_width));
  Pixel b = reduce_column(fine, cf_llf_mirrored(-1, fine_width));
  Pixel c = reduce_column(fine, 0);

  for (int x = 0; x < coarse_width; x++) {
    fetch_ahead(fine[3], 2 * x);
    fetch_ahead(fine[4], 2 * x);
    const Pixel d = reduce_column(fine, cf_llf_mirrored(2 * x + 1, fine_width));
    const Pixel e = reduce_column(fine, cf_llf_mirrored(2 * x + 2, fine_width));

    store_reduced(coarse, x, &a, &b, &c, &d, &e);
    a = c;
    b = d;
    c = e;
  }
}

/* A column of the next level, expanded vertically to the even and the odd row of a pair. */
typedef struct {
  Pixel row[2];
} Column;

/* Lacks the factor EVEN. */
INLINE Vector expand_even(Vector before, Vector here, Vector after)
{
  return CENTRE_OF_EDGE * here + (before + after);
}

/* Lacks the factor ODD. */
INLINE Vector expand_odd(Vector here, Vector after)
{
  return here + after;
}

INLINE Column expand_column(const int16_t *const coarse[3], int x)
{
  Column column;

  EACH_PART(i)
  {
    const size_t from = (size_t)x * COMPONENTS + (size_t)(i * LANES);
    const Vector above = load_shorts(coarse[0] + from), here = load_shorts(coarse[1] + from);
    const Vector below = load_shorts(coarse[2] + from);

    column.row[0].part[i] = expand_even(above, here, below);
    column.row[1].part[i] = expand_odd(here, below);
  }
  return column;
}

/* Where a pixel's own terms come from. */
typedef struct {
  enum { NO_SELF, SELF_IN_PLANE, SELF_IN_TABLE } kind;
  const int16_t *row[2];
  const float *basis;
} Self;

/* Adds to `sum` the weights times the Laplacian of the pixel at x: its own terms less `factor`
 * times `expanded`; without own terms, less `expanded`. */
INLINE Vector weigh(const float *weight, CfLlfLookup lookup, CfLlfPositions at, const Self *self,
                    int row, int x, int part, const float factor, Vector expanded, Vector sum)
{
  const Vector weights = look_up(weight, lookup, at, x, part);
  Vector own;

  switch (self->kind) {
  case NO_SELF:
    return sum - weights * expanded;
  case SELF_IN_PLANE:
    own = load_shorts(self->row[row] + (size_t)x * COMPONENTS + part * LANES);
    break;
  default:
    /* Rounded as in planes, so that areas of one value give 0. */
    own = look_up(self->basis, lookup, at, x, part);
    if (lookup == CF_LLF_BETWEEN)
      own = own + ROUNDER - ROUNDER;
    break;
  }
  return sum + weights * (own - factor * expanded);
}

INLINE void combine_rows(const float *weight, CfLlfLookup lookup, const CfLlfPositions at[2],
                         const Self *self, const int16_t *const coarse[3], int width,
                         float *const sum[2])
{
  static const float factor[2][2] = {{(float)(EVEN * EVEN), (float)(EVEN * ODD)},
                                     {(float)(ODD * EVEN), (float)(ODD * ODD)}};
  const int coarse_width = (width + 1) / 2;
  Column here = expand_column(coarse, 0), before = here;

  for (int x = 0; x < coarse_width; x++) {
    const Column after = expand_column(coarse, x + 1 < coarse_width ? x + 1 : coarse_width - 1);
    Vector total[2][2] = {{{0}}};
    Float4 sums;

    fetch_ahead(coarse[2], x);
    for (int row = 0; row < 2 && self->kind == SELF_IN_PLANE; row++)
      fetch_ahead(self->row[row], 2 * x);
    for (int row = 0; row < 2; row++) {
      EACH_PART(i)
      {
        const Vector left = before.row[row].part[i], middle = here.row[row].part[i];
        const Vector right = after.row[row].part[i];

        total[row][0] = weigh(weight, lookup, at[row], self, row, 2 * x, i, factor[row][0],
                              expand_even(left, middle, right), total[row][0]);
        total[row][1] = weigh(weight, lookup, at[row], self, row, 2 * x + 1, i, factor[row][1],
                              expand_odd(middle, right), total[row][1]);
      }
    }
    sums = sum_lanes(total[0][0], total[0][1], total[1][0], total[1][1]);
    if (self->kind == NO_SELF)
      sums *= (Float4){factor[0][0], factor[0][1], factor[1][0], factor[1][1]};
    memcpy(sum[0] + 2 * x, &sums, 8);
    memcpy(sum[1] + 2 * x, (const char *)&sums + 8, 8);
    before = here;
    here = after;
  }
}

/* Level 0, with the pixels' own terms unless `basis` is NULL. */
INLINE void combine_picture(const float *weight, const float *basis, CfLlfLookup lookup,
                            const CfLlfPositions at[2], const int16_t *const coarse[3], int width,
                            float *const sum[2])
{
  const Self none = {NO_SELF, {NULL, NULL}, NULL}, self = {SELF_IN_TABLE, {NULL, NULL}, basis};

  if (basis)
    combine_rows(weight, lookup, at, &self, coarse, width, sum);
  else
    combine_rows(weight, lookup, at, &none, coarse, width, sum);
}

/* ---- Neighbourhoods ---- */

/* The curve at `place`, in entries. By intrinsics: compilers vectorise such look-ups only when
 * tuned for a processor. */
INLINE Vector curve_at(const CfLlfCurve *curve, Vector place)
{
  const Integers entry = __builtin_convertvector(place, Integers);
  const Vector fraction = place - __builtin_convertvector(entry, Vector);
  const float *table = &curve->entry->value;
  Vector value, step;

#if LANES == 16
  value = (Vector)_mm512_i32gather_ps((__m512i)entry, table, 8);
  step = (Vector)_mm512_i32gather_ps((__m512i)entry, table + 1, 8);
#elif LANES == 8
  value = (Vector)_mm256_i32gather_ps(table, (__m256i)entry, 8);
  step = (Vector)_mm256_i32gather_ps(table + 1, (__m256i)entry, 8);
#else
  for (int i = 0; i < LANES; i++) {
    value[i] = table[2 * entry[i]];
    step[i] = table[2 * entry[i] + 1];
  }
#endif
  return value + fraction * step;
}

INLINE float add_lanes(Vector vector)
{
  float sum = 0.0f;

  for (int i = 0; i < LANES; i++)
    sum += vector[i];
  return sum;
}

static void gather(const CfLlfCurve *curve, const float *pixel, int count, float g,
                   const float *reduced, const float *expanded, float sum[2])
{
  Vector reduced_sum = {0}, expanded_sum = {0};

  for (int k = 0; k < count; k += LANES) {
    const Vector value = curve_at(curve, (load(pixel + k) - g) * curve->steps + curve->zero);

    reduced_sum += load(reduced + k) * value;
    expanded_sum += load(expanded + k) * value;
  }
  sum[0] = add_lanes(reduced_sum);
  sum[1] = add_lanes(expanded_sum);
}

static void gather_color(const CfLlfCurve *curve, const float *const pixel[3], int count,
                         const float g[3], const float *reduced, const float *expanded,
                         float sum[6])
{
  Vector sums[6] = {{0}};

  for (int k = 0; k < count; k += LANES) {
    const Vector difference[3] = {load(pixel[0] + k) - g[0], load(pixel[1] + k) - g[1],
                                  load(pixel[2] + k) - g[2]};
    const Vector length =
        square_root(difference[0] * difference[0] + difference[1] * difference[1] +
                    difference[2] * difference[2]);
    /* A length of 0 divides differences of 0. */
    const Vector factor = curve_at(curve, length * curve->steps + curve->zero) / (length + 1e-20f);
    const Vector from_reduced = load(reduced + k) * factor;
    const Vector from_expanded = load(expanded + k) * factor;

    for (int c = 0; c < 3; c++) {
      sums[c] += from_reduced * difference[c];
      sums[3 + c] += from_expanded * difference[c];
    }
  }
  for (int i = 0; i < 6; i++)
    sum[i] = add_lanes(sums[i]);
}

/* ---- The table of kernels ---- */

static void analyse_direct(const float *basis, const CfLlfPositions fine[5], int coarse_width,
                           int16_t *coarse)
{
  analyse_row(basis, CF_LLF_DIRECT, fine, coarse_width, coarse);
}

static void analyse_between(const float *basis, const CfLlfPositions fine[5], int coarse_width,
                            int16_t *coarse)
{
  analyse_row(basis, CF_LLF_BETWEEN, fine, coarse_width, coarse);
}

static void combine(const float *weight, const CfLlfPositions at[2], const int16_t *const own[2],
                    const int16_t *const coarse[3], int width, float *const sum[2])
{
  const Self self = {SELF_IN_PLANE, {own[0], own[1]}, NULL};

  combine_rows(weight, CF_LLF_BETWEEN, at, &self, coarse, width, sum);
}

static void combine_direct(const float *weight, const float *basis, const CfLlfPositions at[2],
                           const int16_t *const coarse[3], int width, float *const sum[2])
{
  combine_picture(weight, basis, CF_LLF_DIRECT, at, coarse, width, sum);
}

static void combine_between(const float *weight, const float *basis, const CfLlfPositions at[2],
                            const int16_t *const coarse[3], int width, float *const sum[2])
{
  combine_picture(weight, basis, CF_LLF_BETWEEN, at, coarse, width, sum);
}

#define JOIN_(a, b) a##_##b
#define JOIN(a, b)  JOIN_(a, b)
#define EXPORTED    JOIN(cf_llf_kernels, CF_LLF_BUILD)

extern const CfLlfKernels EXPORTED;
const CfLlfKernels EXPORTED = {
    .components = COMPONENTS,
    .analyse = {analyse_direct, analyse_between},
    .reduce = reduce_row,
    .combine = combine,
    .combine_picture = {combine_direct, combine_between},
    .locate_codes = locate_codes,
    .locate = locate,
    .reduce_image = reduce_image,
    .add_expanded = add_expanded,
    .laplacian = laplacian,
    .moments = moments,
    .weights = weights,
    .multiply_weights = multiply_weights,
    .ease = ease,
    .ease_follow = ease_follow,
    .gather = gather,
    .gather_color = gather_color,
};
