/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the launches of a frame hand to each other. README.md has the diagram.
 *
 * The frame is halved again and again (plan/blurmap_mips.h), and each tile makes the levels that
 * its samples blend from the mip images of the right size. What halving leaves of a level's sigma
 * is a Gaussian that is evaluated where samples and texels lie, so one matrix of weights leads from
 * texels along an axis to samples, filtered and interpolated at once: a level of a strip is two
 * products of matrices.
 *
 * How far that is off at sigma = 1.5 texels, of 255: 0.97 in the worst order of black and white
 * along one axis where a texel is 2 samples, 0.18 where 4 or more, 0.16 and 0.06 for an edge; at 2
 * texels 0.40 and 0.07, 0.05 and 0.02.
 *
 * A sample's LOD is its place among the levels (CfBlurLevels.position): 2.25 blends three quarters
 * of level 2 with a quarter of level 3.
 *
 * Formats of more than 8 bits, and what else tensor cores do not serve, have texels and levels of
 * fp32.
 */
#pragma once

#include "cuda/blurmap/map_types.cuh"
#include "cuda/blurmap/tuning.h"

extern "C" {
#include "plan/blurmap_mips.h"
}

namespace cf::blurmap
{

constexpr int kThreads = 128; /* of a CTA, in all launches but the one that sorts */

/* A tile is made by a CTA, a strip of it by a warp: the rows of a matrix product. Strips start at
 * multiples of kStripRows of the plane. */
constexpr int kTileColumns = 32, kStripRows = 16, kTileRows = kThreads / 32 * kStripRows;

/* --- mip images --- */

/* CfMipImage for kernels: texels [channel][row][column]; isolating, times the map. Of fp16 those
 * are centred that do not weigh, of fp32 none, and isolating the map is one channel more. Of the
 * frame itself all is zero. */
struct MipImage {
  int log_x, log_y;
  int first_x, first_y, width, height;
  int pitch;
  uint32_t at, channel;
};

/* 12 times what halving adds to the variance of a Gaussian, in samples: 3/4 the first time, then
 * 5/4 in units that double each time. */
__host__ __device__ inline int mip_variance12(int log)
{
  return log == 0 ? 0 : (5 << 2 * log) - 11;
}

/* One image to be made from another, or from the frame (then `from` is all zero). */
struct MipDownsample {
  int plane;
  int first_cta;
  int across; /* CTAs side by side, or warps where they read the frame */
  int rows;   /* texels that each of them makes below each other */
  MipImage from, to;
};

/* --- weights --- */

/* A level's matrices of weights in the order in which a warp's threads hold them. Down: 16 samples
 * of a strip, of 16 * blocks_down rows of texels from `first_row` on, counted from CF_MIP_REACH
 * before the strip's first. Across: 32 samples in the same way. Where a texel is larger than a
 * strip or a tile, matrices differ by where in the texel these lie. */
struct alignas(16) LevelWeights {
  short first_row, blocks_down, first_column, blocks_across;
  unsigned short variants_down, variants_across; /* less 1, a power of two each */
  unsigned down, across;                         /* index of the first uint4 */
  int group;                                     /* of neighbouring levels of the same image */
  float sigma_x, sigma_y;                        /* in samples */
};

struct PlanePlan {
  int groups;
  MipImage image[CF_MIP_GROUPS]; /* of each group */
  LevelWeights level[CF_BLUR_LEVELS];
};

/* --- records: what the sigma lookup finds for the tiles --- */

/* A level in a strip of a tile. A tile's windows into images lie one behind another in shared
 * memory, all channels of one image together. */
struct alignas(16) StripLevel {
  uint32_t down;   /* index of its weights; group << 24; three blocks << 31 */
  uint32_t across; /* index; blocks << 24 */
  uint32_t from;   /* first texel in the window; number in the strip << 13; of the frame << 31 */
  uint32_t texels; /* a channel of the window; a channel of all windows before it << 13 */
};

struct alignas(16) StripRecord {
  uint32_t count;  /* levels; where more than kRecordLevels, the tile lists them again */
  uint32_t copies; /* whether some sample is copied */
  uint32_t unused[2];
  StripLevel level[kRecordLevels];
};

/* What a tile needs of an image, all inside its margins. */
struct alignas(16) MipWindow {
  uint32_t from, channel; /* index of the first texel; texels from channel to channel */
  uint32_t pitch, rows;   /* texels from row to row; rows, WindowCopy << 16 */
};

/* How a window's rows are copied: in so many pieces of so many bytes. */
enum WindowCopy {
  kCopyFrame, /* the texels are samples of the frame */
  kCopy7x16,
  kCopy5x16,
  kCopy4x16,
  kCopy8x8,
  kCopy16x4,
  kCopyClamped /* also beyond the margins: as the image says */
};

constexpr unsigned kFrameOnly = 128; /* in TileRecord.windows: none is of a mip image */

struct alignas(16) TileRecord {
  uint32_t groups; /* bits */
  uint32_t texels; /* of a channel of all windows */
  uint16_t x, y;   /* of the plane, in tiles and strips */
  uint8_t windows; /* listed below, all or none */
  uint8_t plane;
  uint16_t cost; /* levels of the strip that has most; twice as many where it reads the frame */
  MipWindow window[kRecordWindows];
};

constexpr float kLodStep = 1.0f / 512; /* LODs are multiples of it */

/* The LOD of a sample that is copied, or not made: an fp16 number far from all levels. Others are
 * not negative. */
constexpr unsigned kLodCopied = 0xfbff;

/* Among the bits of a strip's levels: some sample is copied. Levels are fewer. */
constexpr int kCopiedBit = CF_BLUR_LEVELS - 1;

/* --- a frame --- */

struct FrameJob {
  MapJob map;
  const PlanePlan *plane; /* [plane] in device memory, like all pointers here */
  const uint4 *weights;
  __half *texels;                  /* of all images, also where they are fp32 */
  const MipDownsample *downsample; /* of this launch */
  int downsamples;
  MipDownsample inline_downsample[kInlineDownsamples]; /* the same, where they are that few */

  /* LODs, for each strip two words of each thread of the warp that makes it: eight samples each, in
   * the order in which products have them, as fp16 counted from the strip's first level. */
  uint4 *lods;
  uint4 *inverse;      /* isolating: in the same order, what sums are multiplied by */
  uint4 *levels;       /* of each strip: bits of those that it blends */
  StripRecord *strips; /* in the order in which CTAs make tiles */
  TileRecord *tiles;
  int tile_count;
  const unsigned *order; /* [place] the tile that is made then; nullptr: one after another */

  /* Equal to `frame` where frame number `frame` has pixels that are not opaque. */
  unsigned *transparent;
  unsigned frame;          /* from 1 on */
  bool always_transparent; /* nobody has looked */

  /* Percent of an SM's memory that is shared memory: what tiles need, and the same for all
   * launches, since CTAs of a launch that wants another share cannot start while CTAs of a launch
   * before it run. */
  int shared_percent;
  bool overlaps; /* the next launch may be a dependent one (cuda/common/launch.cuh) */
};

/* --- launches; each only enqueues --- */

/* map_plane.cu: reads the map of each plane, isolating. */
bool read_maps(const FrameJob *job, void *stream, CfStatus *status);

/* mip_from_frame.cu: makes the images halved once, and finds whether all pixels are opaque. */
int frame_texels_of_warp(int channels, int log_x); /* side by side */
bool downsample_frame(const FrameJob *job, int ctas, void *stream, CfStatus *status);

/* mip_downsample.cu: makes the images of one depth from those of the depth before. */
bool downsample_mips(const FrameJob *job, int ctas, void *stream, CfStatus *status);

/* sigma_lookup.cu: finds LODs, levels and the records of all tiles. */
bool look_up_sigma(const FrameJob *job, int multiprocessors, void *stream, CfStatus *status);

/* sigma_lookup.cu: from the records `job` has, the order of tiles by falling cost. */
bool sort_tiles(const FrameJob *job, unsigned *order, void *stream, CfStatus *status);

/* mma_tiles.cu: resamples and blends the levels, and stores the result. */
int tile_shared_bytes_of_sm(void); /* with what the device keeps for itself */
bool blend_tiles(const FrameJob *job, void *stream, CfStatus *status);

/* mma_tiles.cu: the same of planes that are white, isolating, for FrameJob.inverse. */
bool blend_map(const FrameJob *job, void *stream, CfStatus *status);

/* fp32_tiles.cu: instead of all these, the images of one depth, and the tiles. */
bool downsample_fp32(const FrameJob *job, int ctas, void *stream, CfStatus *status);
bool blend_fp32(const FrameJob *job, void *stream, CfStatus *status);

/* --- resample_weights.cpp --- */

/* On the host; grows by realloc. */
struct WeightList {
  uint4 *data;
  size_t count, room;
};

/* Adds the weights of a level along one axis, which has this sigma and texels of 2^log samples. */
bool add_weights_down(WeightList *weights, double sigma, int log, LevelWeights *level,
                      CfStatus *status);
bool add_weights_across(WeightList *weights, double sigma, int log, LevelWeights *level,
                        CfStatus *status);

/* --- schedule.cpp --- */

struct Schedule;

/* Allocates what depends on the picture's size alone. */
Schedule *schedule_open(const CfVideo *video, CfDevice *device, CfStatus *status);

/* Takes over the levels of all planes, and allocates what isolating needs. False, and then to be
 * planned again before the next run, where memory is short or images would be too large to be
 * indexed. */
bool schedule_plan(Schedule *schedule, int border, bool isolates, const CfBlurLevels *const *levels,
                   CfStatus *status);

/* Whether frames of the levels last planned are made on tensor cores. */
bool schedule_uses_mma(const Schedule *schedule);

/* Filters rows first..end - 1 of each plane, which `map` describes but for its tiles and the planes
 * of the map. With `same_map` what the map says is what it said the last time. */
bool schedule_run(Schedule *schedule, const MapJob *map, bool same_map, void *stream,
                  CfStatus *status);

void schedule_close(Schedule *schedule);

} // namespace cf::blurmap
