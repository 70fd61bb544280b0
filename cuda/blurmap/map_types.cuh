/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the host lays out for the kernel of blur maps.
 */
#pragma once

#include "cuda/regions/shape_list.cuh"

extern "C" {
#include "plan/blurmap_levels.h"
}

namespace cf::blurmap
{

constexpr int kFp32Tile = 32; /* samples in both directions; the pyramid skips such tiles */
constexpr int kMostPyramidFactor = 8;
constexpr int kFp32Threads = 256;

/* How a level is made. PerSample ones, of sigmas up to 1, are the samples' own Gaussians in fact.
 */
enum LevelKind { kPerSample, kInTile, kFromPyramid };

constexpr int kPerSampleRadius = 4;

/* Bit of a tile where some sample has its own Gaussian. Levels are fewer. */
constexpr int kPerSampleBit = CF_BLUR_LEVELS - 1;

/* Small levels, filtered in tiles, have this radius at most; it bounds their memory to 20 KB. */
constexpr int kInTileRadius = 12;
constexpr int kInTileTaps = 2 * kInTileRadius + 4;

/* One level of one plane. Its taps reach over `radius` samples to either side, a multiple of 4 that
 * zeros fill up; 3 zeros follow. */
struct alignas(16) Fp32Level {
  float tap_x[kInTileTaps], tap_y[kInTileTaps];
  int radius_x, radius_y;
  float sigma_x, sigma_y;
  int kind; /* LevelKind */

  /* Of large ones. */
  size_t coarse;        /* index of the first coarse sample: [row][column][channel] */
  int log_x, log_y;     /* of the factors */
  int first_x, first_y; /* coarse column and row of that sample */
  int width, height;
};

struct LevelTable {
  float lod[CF_BLUR_TABLE + 2];
  float sigma_x[2], sigma_y[2]; /* at m = 0 and m = 1 */
  Fp32Level level[CF_BLUR_LEVELS];
};

struct MapPlane {
  const uint8_t *source;
  uint8_t *destination;
  ptrdiff_t source_stride, destination_stride;
  int width, height, channels;
  int first, end;       /* rows to make */
  int shift_x, shift_y; /* subsampling */
  int alpha;            /* channel that weights the others, or -1 */
  unsigned padding;     /* bits of channels that nobody reads */
  float centre[CF_MAX_CHANNELS], blank[CF_MAX_CHANNELS]; /* as in a pyramid */
  int border[CF_MAX_CHANNELS];                           /* code values */
  const LevelTable *table;
  int copy;               /* the level that is no blur at all, or -1 */
  unsigned per_sample[4]; /* bits of per_sample levels */
  CfMapShape shape;
  uint16_t *map;        /* isolating: of each sample, 0..CF_MAP_ONE; or NULL */
  ptrdiff_t map_stride; /* a multiple of 16 bytes */
  int tiles_x, first_tile;
  bool vector; /* rows of source and destination start on 16 bytes: on tensor cores */
};

struct MapJob {
  MapPlane plane[CF_MAX_PLANES];
  int planes;
  int border, shift, max_code;
  int mode;      /* CfMapMode; CF_MAP_NONE: by regions */
  bool isolates; /* samples count by their own map values */
  const float *coarse;
  alignas(16) float spline[4][4 * kMostPyramidFactor]; /* as in pyramid::Fp32Job */
  uint4 *levels;          /* of each tile: bits of those that it reads */
  const uint16_t *values; /* of the file */
  CfMapMixer mixer;
  MapPlane of_mixer[3]; /* the planes its terms read: only source, stride and channels count */
  int luma_width, luma_height;
  float relative, largest; /* by regions: m = min(relative * side, 250) / largest */
  CfShapeList list;
};

/* Enqueues finding the levels of all tiles. */
bool fp32_classify(const MapJob *job, bool wide, int tiles, void *stream, CfStatus *status);

/* Enqueues the filter, with room in shared memory for tiles with these radii. `per_sample`: some
 * tiles may have samples with Gaussians of their own. */
bool fp32_blend(const MapJob *job, bool wide, bool per_sample, int tiles, int radius_x,
                int radius_y, void *stream, CfStatus *status);

/* Enqueues a copy to the device; the host's memory may change when the call returns. */
bool upload(void *to, const void *from, size_t bytes, void *stream, CfStatus *status);

} // namespace cf::blurmap
