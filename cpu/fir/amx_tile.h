/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Filters one tile of a plane with matrix products. Called only where cf_fir_matrix_available().
 */
#pragma once

#include "cpu/fir/tile.h"

#ifdef CF_FIR_MATRIX_BUILT

/* Bytes of scratch that cf_fir_matrix_run needs for tiles of up to `tile_width` pixels. */
size_t cf_fir_matrix_scratch(const CfFirWork *work, int tile_width);

/* Filters a tile with work->matrix. Returns the end of the tile, or the first row that was not
 * written, because it depends on pixels that are not opaque and the caller filters those by other
 * means. */
int cf_fir_matrix_run(const CfFirWork *work, const CfFirRows *rows, const CfRect *bounds,
                      void *scratch);

#else

/* Compilers that do not know the matrix unit: it is never available. */
static inline size_t cf_fir_matrix_scratch(const CfFirWork *work, int tile_width)
{
  return 0;
}

static inline int cf_fir_matrix_run(const CfFirWork *work, const CfFirRows *rows,
                                    const CfRect *tile, void *scratch)
{
  return tile->y0;
}

#endif
