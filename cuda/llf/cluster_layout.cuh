/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Which CTA of the coarse levels' cluster has which rows of which level in its shared memory, and
 * how many bytes of them it receives. The finer coarse levels are distributed: worker CTAs (ranks 1
 * and up) compute equal shares of the rows, and store each row to all CTAs that read it. Rank 0
 * gathers the first level that is small enough for one CTA, and computes all coarser levels alone.
 *
 * Levels are numbered from the finest coarse level, 0. Rows are placed by the host and counted in
 * bytes by the device; all_rows_arrive() checks that both agree.
 */
#pragma once

#include "cuda/common/ptx_cluster.cuh"
#include "cuda/llf/mma_common.cuh"

namespace cf::llf
{

/* The most levels that are distributed. */
constexpr int kMaxDistributed = 4;

constexpr int kMaxLevels = 16;

/* Rows first..end - 1 of a level. */
struct Rows {
  int first, end;
};

struct ShortRows {
  short first, end;
};

/* A level in shared memory. `first` is where its rows begin, in pixels: in the memory of every CTA
 * that has rows of a distributed level, or in rank 0's memory for the levels coarser than these. */
struct CoarseLevel {
  int width, height, first;
};

/* The rows that one CTA has of a level that is distributed, or gathered by rank 0. `base`: where
 * row 0 would be in its memory, in pixels. `rows`: those whose components it needs. `collapsed`:
 * those whose collapsed image it needs. `own`: those that it computes. */
struct alignas(16) RowPlacement {
  int base;
  ShortRows rows, collapsed, own;
};

/* The argument of the kernel. */
struct CoarseLevels {
  int count, ctas;
  int distributed; /* levels finer than the one that rank 0 gathers; 0: one CTA has all */
  int pixels, filtered_pixels; /* shared memory per CTA: for levels, for rows filtered across */
  int rows_per_pass;           /* the rows of a distributed level that a CTA computes at a time */
  bool releases_fine;          /* as in mma_downsample.cu */
  float top_gain;              /* the coarsest collapsed image is top_gain times its Gaussian */
  GaussianMix last;            /* of the second coarsest level */
  const uint4 *groups;         /* components, Gaussian and result of level 0, in global memory */
  const float *gauss;
  float *collapsed;
  unsigned *inputs_ready; /* Pyramid.coarse_inputs_ready */
  CoarseLevel level[kMaxLevels];
  RowPlacement place[kMaxDistributed + 1][kMaxClusterCtas];
};

/* ---- Which CTA has which rows ---- */

__host__ __device__ inline bool is_empty(Rows rows)
{
  return rows.first >= rows.end;
}

__host__ __device__ inline int count_of(Rows rows)
{
  return is_empty(rows) ? 0 : rows.end - rows.first;
}

__host__ __device__ inline Rows clipped(int first, int end, int height)
{
  return Rows{first > 0 ? first : 0, end < height ? end : height};
}

/* The rows of a distributed level, or of the one that rank 0 gathers, that a CTA computes. */
inline Rows own_rows(const CoarseLevels &levels, int level, int cta)
{
  const int height = levels.level[level].height, worker_ctas = levels.ctas - 1;

  return cta == 0 ? Rows{0, 0} : Rows{(cta - 1) * height / worker_ctas, cta * height / worker_ctas};
}

/* The rows of a level, of this height, that reduce to `rows` of the next level. */
__host__ __device__ inline Rows reduced_rows(Rows rows, int height)
{
  return is_empty(rows) ? rows : clipped(2 * rows.first - 2, 2 * rows.end + 1, height);
}

/* The rows whose collapsed image a CTA needs: its own rows of level 0, and the rows of coarser
 * levels from which these are expanded. */
inline Rows collapsed_rows(const CoarseLevels &levels, int level, int cta)
{
  Rows rows = own_rows(levels, 0, cta);

  for (int i = 1; i <= level && !is_empty(rows); i++)
    rows = clipped(rows.first / 2 - 1, (rows.end - 1) / 2 + 2, levels.level[i].height);
  return rows;
}

/* The rows whose components a CTA needs: those above, and those that reduce to its own rows of the
 * next level. */
inline Rows local_rows(const CoarseLevels &levels, int level, int cta)
{
  const int height = levels.level[level].height;

  if (cta == 0)
    return Rows{0, level == levels.distributed ? height : 0};
  const Rows rows = collapsed_rows(levels, level, cta);
  if (level == levels.distributed)
    return rows;
  const Rows reduced = reduced_rows(own_rows(levels, level + 1, cta), height);
  if (is_empty(rows) || is_empty(reduced))
    return is_empty(rows) ? reduced : rows;
  return Rows{rows.first < reduced.first ? rows.first : reduced.first,
              rows.end > reduced.end ? rows.end : reduced.end};
}

/* Fills in levels->place, and `first` of the levels of rank 0. On the host: the divisions would
 * delay the CTAs' start. */
inline void place_levels(CoarseLevels *levels)
{
  auto short_rows = [](Rows rows) { return ShortRows{(short)rows.first, (short)rows.end}; };
  int first = levels->level[levels->distributed].width * levels->level[levels->distributed].height;

  for (int i = 0; i <= levels->distributed; i++) {
    for (int cta = 0; cta < levels->ctas; cta++) {
      const CoarseLevel &level = levels->level[i];
      const Rows rows = local_rows(*levels, i, cta);

      levels->place[i][cta] =
          RowPlacement{(cta == 0 ? 0 : level.first) - rows.first * level.width, short_rows(rows),
                       short_rows(cta == 0 ? rows : collapsed_rows(*levels, i, cta)),
                       short_rows(own_rows(*levels, i, cta))};
    }
  }
  for (int i = levels->distributed + 1; i < levels->count; i++) {
    levels->level[i].first = first;
    first += levels->level[i].width * levels->level[i].height;
  }
}

/* Whether each row of a distributed level, or of the one that rank 0 gathers, is computed by
 * exactly one CTA. Then the bytes that a CTA's barriers expect (expect_levels()) are those that
 * other CTAs store to it; otherwise CTAs would wait forever. */
inline bool all_rows_arrive(const CoarseLevels &levels)
{
  for (int i = 1; i <= levels.distributed; i++) {
    int next = 0;

    for (int cta = 1; cta < levels.ctas; cta++) {
      const RowPlacement &place = levels.place[i][cta];

      if (place.own.first != next || place.own.end < next ||
          (place.rows.first < place.rows.end &&
           (place.rows.first < 0 || place.rows.end > levels.level[i].height)))
        return false;
      if (i == levels.distributed &&
          (place.rows.first != place.collapsed.first || place.rows.end != place.collapsed.end))
        return false;
      next = place.own.end;
    }
    if (next != levels.level[i].height)
      return false;
  }
  return true;
}

/* A level in the shared memory of this CTA; the rest as in RowPlacement. */
struct LocalLevel {
  int width, height;
  int base;
  Rows rows, collapsed, own;
};

/* The layout as each CTA keeps it in shared memory. `place`: the rows of all CTAs, for the levels
 * that are stored from CTA to CTA. `barrier`: an mbarrier for each of these, which counts the bytes
 * that arrive; level 0 is loaded from global memory, and its barrier is for the collapsed image of
 * the gathered level. `held`: this CTA's rows of all levels. */
struct alignas(128) ClusterLayout {
  RowPlacement place[kMaxDistributed + 1][kMaxClusterCtas];
  uint64_t barrier[kMaxDistributed + 1];
  LocalLevel held[kMaxLevels];
};

/* ---- The layout in shared memory ---- */

__device__ __forceinline__ Rows rows_of(ShortRows rows)
{
  return Rows{rows.first, rows.end};
}

/* Fills in a CTA's layout and initialises its barriers; a thread per level and CTA. The cluster
 * must synchronise before anything is stored to another CTA. */
__device__ inline void fill_layout(const CoarseLevels &levels, int cta, ClusterLayout *layout)
{
  const int level = (int)threadIdx.x / kMaxClusterCtas, other = (int)threadIdx.x % kMaxClusterCtas;

  if (level >= levels.count || other >= levels.ctas)
    return;
  const CoarseLevel &at = levels.level[level];
  LocalLevel *const held = &layout->held[level];
  if (level <= levels.distributed) {
    const RowPlacement place = levels.place[level][other];

    layout->place[level][other] = place;
    if (other == cta) {
      *held = LocalLevel{
          at.width,          at.height, place.base, rows_of(place.rows), rows_of(place.collapsed),
          rows_of(place.own)};
      mbarrier_init(&layout->barrier[level]);
    }
  } else if (other == 0) {
    /* Only rank 0 has this level. */
    const Rows rows = {0, at.height};
    *held = LocalLevel{at.width, at.height, at.first, rows, rows, rows};
  }
}

/* Tells this CTA's barriers how many bytes other CTAs will store to it. `pixel_bytes`: of a pixel's
 * components and Gaussian. */
__device__ __forceinline__ void expect_levels(const CoarseLevels &levels, int cta, int pixel_bytes,
                                              ClusterLayout *layout)
{
  const int level = (int)threadIdx.x;
  const LocalLevel &rank0_level = layout->held[levels.distributed];

  if (level > levels.distributed)
    return;
  const LocalLevel &held = layout->held[level];
  const int collapsed = cta == 0 ? 0 : count_of(rank0_level.collapsed) * rank0_level.width;

  mbarrier_expect_bytes(&layout->barrier[level],
                        level > 0 ? count_of(held.rows) * held.width * pixel_bytes
                                  : collapsed * (int)sizeof(float));
}

/* The CTAs that need the components of row y of a distributed level, or of the one that rank 0
 * gathers, as a mask. Called by a whole warp. */
__device__ __forceinline__ uint32_t ctas_with_row(const CoarseLevels &levels,
                                                  const ClusterLayout &layout, int level, int y)
{
  const int cta = (int)threadIdx.x % 32;
  const ShortRows rows = layout.place[level][cta % kMaxClusterCtas].rows;

  return __ballot_sync(~0u, cta < levels.ctas && y >= rows.first && y < rows.end);
}

} // namespace cf::llf
