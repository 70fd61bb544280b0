/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The mip images that CUDA makes the levels of a blur map from (cuda/blurmap): which ones a plane
 * needs, which part of each, and where they lie in memory.
 *
 * An image's axes are halved log_x and log_y times: the first time with the taps 1 3 3 1 over 8,
 * then with 1 5 10 10 5 1 over 32. Along an axis the centre of texel i is at 2^log i + (2^log - 1)
 * / 2 of the plane's samples. A level reads, along each axis, the smallest image whose texels are
 * at most sigma / 1.5 wide: the part of the level's sigma that halving has not made yet is then a
 * Gaussian of at most CF_MIP_REACH texels to each side.
 */
#pragma once

#include "border.h"
#include "plan/blurmap_levels.h"

#define CF_MIP_REACH  12 /* texels to each side that a blurred sample reads */
#define CF_MIP_LOGS   8  /* mip levels along an axis, the frame's included */
#define CF_MIP_GROUPS (2 * CF_MIP_LOGS)
#define CF_MIP_IMAGES (CF_MIP_LOGS * CF_MIP_LOGS)

/* Images start and end at multiples of this along rows, so that 16 bytes of a frame map to whole
 * texels. */
#define CF_MIP_ALIGNMENT 16

/* Kernels index texels by 32 bits, and those of one channel by 31. */
#define CF_MIP_MOST_TEXELS ((uint64_t)UINT32_MAX)

typedef struct {
  int log_x, log_y; /* halvings along each axis, 0..CF_MIP_LOGS - 1 */
  int parent;       /* index of the image that this one is halved from, less than its own; -1: the
                       frame */
  bool used;        /* read by levels, not only by further images */

  /* Texels in memory, margins included: from (first_x, first_y) on, which may be negative. Beyond
   * them the image repeats its outermost texels. Layout [channel][row][column], with `pitch` texels
   * from row to row and `channel` texels from channel to channel. */
  int first_x, first_y, width, height;
  int pitch;
  uint64_t at; /* index of the first texel in the memory of all planes */
  uint64_t channel;
} CfMipImage;

typedef struct {
  int images; /* images in use */
  CfMipImage image[CF_MIP_IMAGES];

  /* Runs of neighbouring levels that read the same image. */
  int groups;
  int image_of_group[CF_MIP_GROUPS]; /* -1: the frame */
  int group_of_level[CF_BLUR_LEVELS];
} CfMipPlane;

/* The part of a plane that is blurred, and its border. */
typedef struct {
  int width, height, channels; /* of the plane in samples, and channels of each sample */
  int first, end;              /* rows first..end - 1 are written */
  int border;                  /* CfBorder */
} CfMipArea;

/* How many times an axis with this sigma, in samples of the plane, is halved. */
int cf_mip_log(double sigma);

/* The images from the frame, which does not count, down to this one: 1 for those halved from the
 * frame. */
int cf_mip_depth(const CfMipImage *image);

/* Chooses the images that the levels of a plane read, and groups the levels. */
void cf_mips_choose(CfMipPlane *plane, const CfBlurLevels *levels);

/* Places the images of a plane after the `texels` texels of other planes, and adds theirs to it.
 * False where kernels could not index them: CF_ERROR_INVALID. */
bool cf_mips_place(CfMipPlane *plane, const CfMipArea *area, uint64_t *texels, CfStatus *status);
