/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The ready-made kernels of sepconv.
 */
#pragma once

#include "sepconv.h"

extern const CfChoice cf_sepconv_preset_choices[];

/* The kernels of a preset other than CF_SEPCONV_CUSTOM; of CF_SEPCONV_UNSHARP those of its mean.
 * `size` is odd, 3..CF_MAX_TAPS. */
void cf_sepconv_preset_kernels(CfSepconvPreset preset, int size, CfKernel *row, CfKernel *column);

/* What a preset adds to the bias, as a fraction of full scale: derivatives are shown around mid
 * grey, except where their absolute value is taken. */
double cf_sepconv_preset_bias(CfSepconvPreset preset);
