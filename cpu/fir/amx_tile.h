/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * One tile of a plane, filtered with matrix products: only where cf_fir_matrix_available.
 */
#pragma once

#include "cpu/fir/tile.h"

#ifdef CF_FIR_MATRIX_BUILT

/* Bytes of scratch that cf_fir_matrix_run needs for any tile of so many pixels a row. */
size_t cf_fir_matrix_scratch(const CfFirWork *work, int tile_width);

/* Filters a tile with work->matrix. Returns the first row that it did not write, because it needs
 * pixels that are not opaque and work->weighted is there for them; otherwise the end of the tile.
 */
int cf_fir_matrix_run(const CfFirWork *work, const CfFirRows *rows, const CfRect *bounds,
                      void *scratch);

#else

/* Where compilers do not know the matrix unit, it is never available. */
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
