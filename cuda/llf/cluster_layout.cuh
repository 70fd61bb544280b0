/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Which CTA of the coarse levels' cluster holds which rows of which level in its shared memory, and
 * how rows get there. The finer coarse levels are distributed: worker CTAs (rank 1 and up) make
 * equal shares of the rows and send each to all CTAs that need it. Rank 0 gathers the first level
 * that is small enough for one CTA and holds all levels behind it.
 */
#pragma once

#include "cuda/common/ptx_cluster.cuh"
#include "cuda/llf/mma_common.cuh"

namespace cf::llf
{

/* Levels that are distributed, at most. */
constexpr int kMaxDistributed = 4;

constexpr int kMaxLevels = 16;

/* Rows first .. end - 1 of a level. */
struct Rows {
  int first, end;
};

struct ShortRows {
  short first, end;
};

/* Of levels in shared memory; `first` counts pixels of the memory of a CTA that has rows of
 * distributed levels, or of rank 0 that of levels behind these. */
struct CoarseLevel {
  int width, height, first;
};

/* Of a level that is distributed, or gathered by rank 0, in a CTA: where row 0 would be, in pixels
 * of its memory; the rows whose components it needs, those whose collapsed image it needs, and
 * those it makes. */
struct alignas(16) RowPlacement {
  int base;
  ShortRows rows, collapsed, own;
};

struct CoarseLevels {
  int levels, ctas;
  int distributed;             /* levels before the one that rank 0 gathers */
  int pixels, filtered_pixels; /* that a CTA has memory for */
  int rows_per_pass;           /* of a distributed level, that a CTA makes at a time */
  bool gate;                   /* the first kernel behind level 2, which terms need */
  float top_gain;              /* of the last level's Gaussian, in its collapsed image */
  Settling last;               /* of the level before it */
  const uint4 *groups;
  const float *gauss;
  float *collapsed;
  unsigned *inputs_ready;
  CoarseLevel level[kMaxLevels];
  RowPlacement place[kMaxDistributed + 1][kMaxClusterCtas];
};

/* --- who has which rows --- */

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

/* The rows of a distributed level, or of the one that rank 0 gathers, that a CTA makes. */
inline Rows own_rows(const CoarseLevels &job, int level, int cta)
{
  const int height = job.level[level].height, worker_ctas = job.ctas - 1;

  return cta == 0 ? Rows{0, 0} : Rows{(cta - 1) * height / worker_ctas, cta * height / worker_ctas};
}

/* The rows that those of the next level are made of. */
__host__ __device__ inline Rows reduced_rows(Rows rows, int height)
{
  return is_empty(rows) ? rows : clipped(2 * rows.first - 2, 2 * rows.end + 1, height);
}

/* Those whose collapsed image a CTA needs: its own of the first level, and what these are
 * expanded from. */
inline Rows collapsed_rows(const CoarseLevels &job, int level, int cta)
{
  Rows rows = own_rows(job, 0, cta);

  for (int i = 1; i <= level && !is_empty(rows); i++)
    rows = clipped(rows.first / 2 - 1, (rows.end - 1) / 2 + 2, job.level[i].height);
  return rows;
}

/* Those whose components it needs: these, and what its own of the next level are made of. */
inline Rows local_rows(const CoarseLevels &job, int level, int cta)
{
  const int height = job.level[level].height;

  if (cta == 0)
    return Rows{0, level == job.distributed ? height : 0};
  const Rows rows = collapsed_rows(job, level, cta);
  if (level == job.distributed)
    return rows;
  const Rows reduced = reduced_rows(own_rows(job, level + 1, cta), height);
  if (is_empty(rows) || is_empty(reduced))
    return is_empty(rows) ? reduced : rows;
  return Rows{rows.first < reduced.first ? rows.first : reduced.first,
              rows.end > reduced.end ? rows.end : reduced.end};
}

/* Fills in the places: CTAs that divide by themselves would begin later. */
inline void place_levels(CoarseLevels *job)
{
  auto short_rows = [](Rows rows) { return ShortRows{(short)rows.first, (short)rows.end}; };
  int first = job->level[job->distributed].width * job->level[job->distributed].height;

  for (int i = 0; i <= job->distributed; i++) {
    for (int cta = 0; cta < job->ctas; cta++) {
      const CoarseLevel &level = job->level[i];
      const Rows rows = local_rows(*job, i, cta);

      job->place[i][cta] =
          RowPlacement{(cta == 0 ? 0 : level.first) - rows.first * level.width, short_rows(rows),
                       short_rows(cta == 0 ? rows : collapsed_rows(*job, i, cta)),
                       short_rows(own_rows(*job, i, cta))};
    }
  }
  for (int i = job->distributed + 1; i < job->levels; i++) {
    job->level[i].first = first;
    first += job->level[i].width * job->level[i].height;
  }
}

/* Whether each row of a distributed level, or of the one that rank 0 gathers, has one maker, and so
 * the bytes that a CTA's barriers expect (expect_levels()) are those that are stored in it: else
 * CTAs wait forever. */
inline bool all_rows_arrive(const CoarseLevels &job)
{
  for (int i = 1; i <= job.distributed; i++) {
    int next = 0;

    for (int cta = 1; cta < job.ctas; cta++) {
      const RowPlacement &place = job.place[i][cta];

      if (place.own.first != next || place.own.end < next ||
          (place.rows.first < place.rows.end &&
           (place.rows.first < 0 || place.rows.end > job.level[i].height)))
        return false;
      if (i == job.distributed &&
          (place.rows.first != place.collapsed.first || place.rows.end != place.collapsed.end))
        return false;
      next = place.own.end;
    }
    if (next != job.level[i].height)
      return false;
  }
  return true;
}

/* A level as a CTA has it in its shared memory. */
struct LocalLevel {
  int width, height;
  int base; /* pixels from the memory's first one to where row 0 would be */
  Rows rows, collapsed, own;
};

/* What all CTAs hold of the levels that are stored from CTA to CTA, and this CTA of all;
 * and a barrier for each of these levels, which counts the bytes that arrive. That of level 0 is
 * for the gathered level's collapsed image. */
struct alignas(128) ClusterLayout {
  RowPlacement place[kMaxDistributed + 1][kMaxClusterCtas];
  uint64_t barrier[kMaxDistributed + 1];
  LocalLevel held[kMaxLevels];
};

/* --- the layout in shared memory --- */

__device__ __forceinline__ Rows rows_of(ShortRows rows)
{
  return Rows{rows.first, rows.end};
}

__device__ inline void fill_layout(const CoarseLevels &job, int cta, ClusterLayout *layout)
{
  const int level = (int)threadIdx.x / kMaxClusterCtas, other = (int)threadIdx.x % kMaxClusterCtas;

  if (level >= job.levels || other >= job.ctas)
    return;
  const CoarseLevel &at = job.level[level];
  LocalLevel *const held = &layout->held[level];
  if (level <= job.distributed) {
    const RowPlacement place = job.place[level][other];

    layout->place[level][other] = place;
    if (other == cta) {
      *held = LocalLevel{
          at.width,          at.height, place.base, rows_of(place.rows), rows_of(place.collapsed),
          rows_of(place.own)};
      mbarrier_init(&layout->barrier[level]);
    }
  } else if (other == 0) {
    /* That only rank 0 has. */
    const Rows rows = {0, at.height};
    *held = LocalLevel{at.width, at.height, at.first, rows, rows, rows};
  }
}

/* What will be stored in this CTA: `pixel_bytes` are those of a pixel's components and Gaussian.
 */
__device__ __forceinline__ void expect_levels(const CoarseLevels &job, int cta, int pixel_bytes,
                                              ClusterLayout *layout)
{
  const int level = (int)threadIdx.x;
  const LocalLevel &rank0_level = layout->held[job.distributed];

  if (level > job.distributed)
    return;
  const LocalLevel &held = layout->held[level];
  const int collapsed = cta == 0 ? 0 : count_of(rank0_level.collapsed) * rank0_level.width;

  mbarrier_expect_bytes(&layout->barrier[level],
                        level > 0 ? count_of(held.rows) * held.width * pixel_bytes
                                  : collapsed * (int)sizeof(float));
}

/* The CTAs that need a row of a distributed level, or of the one that rank 0 gathers, one bit
 * each, from a whole warp. */
__device__ __forceinline__ uint32_t ctas_with_row(const CoarseLevels &job,
                                                  const ClusterLayout &layout, int level, int y)
{
  const int cta = (int)threadIdx.x % 32;
  const ShortRows rows = layout.place[level][cta % kMaxClusterCtas].rows;

  return __ballot_sync(~0u, cta < job.ctas && y >= rows.first && y < rows.end);
}

} // namespace cf::llf
