/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The data of a frame that the launches pass to each other. README.md has the diagram.
 *
 * The frame is downsampled to mip images (plan/blurmap_mips.h), and each tile makes the levels that
 * its samples blend from the mip images of the right size. Downsampling accounts for a part of a
 * level's variance; the rest is a Gaussian, evaluated at the distances between samples and texels.
 * So one matrix of weights along an axis filters and interpolates at once, and a level of a strip
 * is two matrix products.
 *
 * Largest error at sigma = 1.5 texels, in 255ths: 0.97 for the worst sequence of black and white
 * along one axis if a texel is 2 samples, 0.18 if it is 4 or more; for an edge 0.16 and 0.06. At
 * sigma = 2 texels: 0.40 and 0.07; for an edge 0.05 and 0.02.
 *
 * A sample's LOD is its position among the levels (CfBlurLevels.position): LOD 2.25 is 3/4 of level
 * 2 and 1/4 of level 3.
 *
 * Texels and levels are fp16, or fp32 for formats of more than 8 bits and wherever else the tensor
 * core kernels do not apply.
 */
#pragma once

#include "cuda/blurmap/map_types.cuh"
#include "cuda/blurmap/tuning.h"

extern "C" {
#include "plan/blurmap_mips.h"
}

namespace cf::blurmap
{

constexpr int kThreads = 128; /* of a CTA, in all launches but sort_tiles() */

/* A CTA makes a tile. Each of its warps makes a strip, with the rows of a matrix product. Strips
 * start at multiples of kStripRows of the plane. */
constexpr int kTileColumns = 32, kStripRows = 16, kTileRows = kThreads / 32 * kStripRows;

/* --- mip images --- */

/* CfMipImage for kernels. Texels are [channel][row][column]; all zero stands for the frame itself.
 * In fp16 the centre is subtracted from channels (device.cuh, PixelHalves), in fp32 it is not. With
 * map_isolate texels are multiplied by the map, and in fp32 the map is an additional channel. */
struct MipImage {
  int log_x, log_y; /* a texel is 2^log_x by 2^log_y samples */
  int first_x, first_y, width, height;
  int pitch;
  uint32_t at, channel; /* index of the first texel; texels from channel to channel */
};

/* 12 times the variance, in samples^2, of downsampling to texels of 2^log samples: 3/4 for the
 * first step, then 5/4 times the square of the texel before. */
__host__ __device__ inline int mip_variance12(int log)
{
  return log == 0 ? 0 : (5 << 2 * log) - 11;
}

/* A mip image to make, from another one or from the frame (`from` is all zero). */
struct MipDownsample {
  int plane;
  int first_cta;
  int across; /* CTAs side by side; warps, if they read the frame */
  int rows;   /* rows of texels that each of these makes */
  MipImage from, to;
};

/* --- weights --- */

/* A level's weight matrices, in the order in which the lanes of a warp hold their elements. Down:
 * 16 samples of a strip by 16 * blocks_down rows of texels. The first of these is number
 * `first_row`, counted from CF_MIP_REACH texels before the texel of the strip's first sample.
 * Across: 32 samples of a tile, in the same way. If a texel is larger than a strip or tile, there
 * is one variant of the matrix for each position of the strip or tile in the texel. */
struct alignas(16) LevelWeights {
  short first_row, blocks_down, first_column, blocks_across;
  unsigned short variants_down, variants_across; /* number of variants - 1; that is a power of 2 */
  unsigned down, across;                         /* index of the first uint4 in FrameJob.weights */
  int group;                                     /* neighbouring levels of one image are a group */
  float sigma_x, sigma_y;                        /* in samples */
};

struct PlanePlan {
  int groups;
  MipImage image[CF_MIP_GROUPS]; /* the image of each group */
  LevelWeights level[CF_BLUR_LEVELS];
};

/* --- records: the results of look_up_sigma() for each tile --- */

/* A level of a strip. The windows of a tile into mip images lie one after the other in shared
 * memory, each with all of its channels. */
struct alignas(16) StripLevel {
  uint32_t down;   /* index of the weights | group << 24 | (blocks_down == 3) << 31 */
  uint32_t across; /* index of the weights | blocks_across << 24 */
  uint32_t from;   /* first texel in the window | level less the first << 13 | frame's rows << 31 */
  uint32_t texels; /* texels of the window's channel | of one channel of all windows before << 13 */
};

struct alignas(16) StripRecord {
  uint32_t count;  /* levels; if above kRecordLevels, the CTA lists them itself */
  uint32_t copies; /* whether some sample is copied from the source */
  uint32_t unused[2];
  StripLevel level[kRecordLevels];
};

/* The texels that a tile needs of a mip image. */
struct alignas(16) MipWindow {
  uint32_t from, channel; /* index of the first texel; texels from channel to channel */
  uint32_t pitch, rows;   /* texels from row to row; rows | WindowCopy << 16 */
};

/* How a row of a window is copied to shared memory: kCopyNxB by N copies of B bytes. */
enum WindowCopy {
  kCopyFrame, /* converted from samples of the frame */
  kCopy7x16,
  kCopy5x16,
  kCopy4x16,
  kCopy8x8,
  kCopy16x4,
  kCopyClamped /* texel by texel, indices clamped to the image; MipWindow is not used */
};

constexpr unsigned kFrameOnly = 128; /* flag in TileRecord.windows: no window is of a mip image */

struct alignas(16) TileRecord {
  uint32_t groups; /* a bit for each group that the tile needs */
  uint32_t texels; /* texels of one channel of all windows */
  uint16_t x, y;   /* position in the plane, in tiles and in strips */
  uint8_t windows; /* windows listed below, all or none; and kFrameOnly */
  uint8_t plane;
  uint16_t cost; /* most levels of a strip; twice that if the tile reads the frame */
  MipWindow window[kRecordWindows];
};

constexpr float kLodStep = 1.0f / 512; /* LODs are rounded to multiples of this */

/* The LOD of samples that are copied from the source, or not made: a negative fp16 number far from
 * all levels. Other LODs are not negative. */
constexpr unsigned kLodCopied = 0xfbff;

/* The bit among those of a strip's levels that says that some sample is copied. */
constexpr int kCopiedBit = CF_BLUR_LEVELS - 1;

/* --- a frame --- */

struct FrameJob {
  MapJob map;
  const PlanePlan *plane; /* [plane]; in device memory, like all pointers here */
  const uint4 *weights;
  __half *texels;                  /* of all mip images; floats where these are fp32 */
  const MipDownsample *downsample; /* the images that this launch makes */
  int downsamples;
  MipDownsample inline_downsample[kInlineDownsamples]; /* the same, if there are no more */

  /* LODs, [strip][2][lane]: each uint4 is eight samples as fp16, in the order of the accumulators
   * of matrix products. LODs are counted from the strip's first level. */
  uint4 *lods;
  uint4 *inverse;      /* map_isolate: factors of sums, in the same order */
  uint4 *levels;       /* [strip]: a bit for each level that the strip blends */
  StripRecord *strips; /* in the order in which CTAs make tiles */
  TileRecord *tiles;   /* in the same order */
  int tile_count;
  const unsigned *order; /* order[i]: the i-th tile to make; NULL: in order of position */

  /* `*transparent` is set to `frame`, the frame's number from 1 on, if the frame has alpha below
   * 255. */
  unsigned *transparent;
  unsigned frame;
  bool always_transparent; /* no launch looks at alpha: assume that the frame has */

  /* Shared memory carveout of an SM, in percent: what tiles need. It is the same for all launches,
   * since CTAs that need another carveout cannot start while CTAs of an earlier launch run.
   * Negative: as it is (cf::prefer_carveout()). */
  int shared_percent;
  bool overlaps; /* the next launch may be dependent (cuda/common/launch.cuh) */
};

/* --- launches; each only enqueues --- */

/* map_plane.cu, with map_isolate: makes MapPlane.map of each plane. */
bool read_maps(const FrameJob *job, void *stream, CfStatus *status);

/* mip_from_frame.cu: makes the first mip images from the frame, and sets `*transparent`. */
int frame_texels_of_warp(int channels, int log_x); /* texels side by side that a warp makes */
bool downsample_frame(const FrameJob *job, int ctas, void *stream, CfStatus *status);

/* mip_downsample.cu: makes the images of one depth from those of the depth before. */
bool downsample_mips(const FrameJob *job, int ctas, void *stream, CfStatus *status);

/* sigma_lookup.cu: finds LODs, levels and the records of all tiles. */
bool look_up_sigma(const FrameJob *job, int multiprocessors, void *stream, CfStatus *status);

/* sigma_lookup.cu: makes the order of tiles by falling cost, from the records of `job`. */
bool sort_tiles(const FrameJob *job, unsigned *order, void *stream, CfStatus *status);

/* mma_tiles.cu: resamples and blends the levels, and stores the result. */
int tile_shared_bytes_of_sm(void); /* of all resident CTAs, with what the system reserves */
bool blend_tiles(const FrameJob *job, void *stream, CfStatus *status);

/* mma_tiles.cu, with map_isolate: blurs white planes, and stores FrameJob.inverse. */
bool blend_map(const FrameJob *job, void *stream, CfStatus *status);

/* fp32_tiles.cu: in single precision, the images of one depth, and the tiles. */
bool downsample_fp32(const FrameJob *job, int ctas, void *stream, CfStatus *status);
bool blend_fp32(const FrameJob *job, void *stream, CfStatus *status);

/* --- resample_weights.cpp --- */

/* Weights in host memory, grown by realloc(). */
struct WeightList {
  uint4 *data;
  size_t count, room;
};

/* Append the weight matrices of a level along one axis, of this sigma in samples, for texels of
 * 2^log samples. */
bool add_weights_down(WeightList *weights, double sigma, int log, LevelWeights *level,
                      CfStatus *status);
bool add_weights_across(WeightList *weights, double sigma, int log, LevelWeights *level,
                        CfStatus *status);

/* --- schedule.cpp --- */

struct Schedule;

/* Allocates device memory for records. NULL on failure. */
Schedule *schedule_open(const CfVideo *video, CfDevice *device, CfStatus *status);

/* Sets the levels of all planes, and allocates what map_isolate needs. False if memory is short or
 * images would be too large to index; then it must be called again before the next run. */
bool schedule_plan(Schedule *schedule, int border, bool isolates, const CfBlurLevels *const *levels,
                   CfStatus *status);

/* Whether frames are made on tensor cores, with the levels last planned. */
bool schedule_uses_mma(const Schedule *schedule);

/* Enqueues the filter of rows first .. end - 1 of each plane. schedule_run() itself sets tiles and
 * MapPlane.map. With `same_map` the map is that of the last run. */
bool schedule_run(Schedule *schedule, const MapJob *map, bool same_map, void *stream,
                  CfStatus *status);

void schedule_close(Schedule *schedule);

} // namespace cf::blurmap
