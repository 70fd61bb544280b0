/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The mip images that the levels of a blur map are made from on CUDA (cuda/blurmap): which ones a
 * plane needs, what part of each, and where they lie in memory.
 *
 * An image's axes are halved log_x and log_y times, first by the taps 1 3 3 1 over 8, then by
 * 1 5 10 10 5 1 over 32. The centre of texel i along an axis is at 2^log i + (2^log - 1) / 2 of the
 * plane's samples. A level takes, along each axis, the smallest image of which a texel is at most
 * sigma / 1.5: what halving leaves of the level's sigma is then a Gaussian that reaches over
 * CF_MIP_REACH texels at most.
 */
#pragma once

#include "border.h"
#include "plan/blurmap_levels.h"

#define CF_MIP_REACH  12 /* texels around a sample's that it may take something of */
#define CF_MIP_LOGS   8  /* an axis is halved at most CF_MIP_LOGS - 1 times */
#define CF_MIP_GROUPS (2 * CF_MIP_LOGS)
#define CF_MIP_IMAGES (CF_MIP_LOGS * CF_MIP_LOGS)

/* Images start at multiples of it along rows, so that 16 bytes of a frame map to whole texels. */
#define CF_MIP_ALIGNMENT 16

/* Kernels index texels by 32 bits, and those of a channel by 31. */
#define CF_MIP_MOST_TEXELS ((uint64_t)UINT32_MAX)

typedef struct {
  int log_x, log_y;
  int parent; /* the image that it is halved from, or -1: the frame; smaller than its own index */
  bool used;  /* by levels, not only by further images */

  /* Texels in memory, margins included: from (first_x, first_y) on, which may be negative. Beyond
   * these an image continues with its outermost texels. [channel][row][column], `pitch` texels from
   * row to row, `channel` from channel to channel. */
  int first_x, first_y, width, height;
  int pitch;
  uint64_t at; /* index of the first texel among those of all planes */
  uint64_t channel;
} CfMipImage;

typedef struct {
  int images;
  CfMipImage image[CF_MIP_IMAGES];

  /* Neighbouring levels that are made from the same image. */
  int groups;
  int image_of_group[CF_MIP_GROUPS]; /* -1: the frame */
  int group_of_level[CF_BLUR_LEVELS];
} CfMipPlane;

/* What of a plane is blurred, and how it continues. */
typedef struct {
  int width, height, channels; /* samples, and channels of each */
  int first, end;              /* rows to make */
  int border;                  /* CfBorder */
} CfMipArea;

/* How often an axis of this sigma, in samples, is halved. */
int cf_mip_log(double sigma);

/* How many images lie between this one and the frame, plus one: 1 for those made from the frame. */
int cf_mip_depth(const CfMipImage *image);

/* Chooses the images of a plane's levels. */
void cf_mips_choose(CfMipPlane *plane, const CfBlurLevels *levels);

/* Places the images of a plane behind `*texels` texels of other planes, and counts theirs. False
 * where kernels could not index them: CF_ERROR_INVALID. */
bool cf_mips_place(CfMipPlane *plane, const CfMipArea *area, uint64_t *texels, CfStatus *status);
