/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How a picture in host memory passes through a device in full-width strips, so that copying in,
 * filtering and copying out overlap, and so that pictures may be larger than the device's memory.
 * Every source row crosses the bus once: rows that two neighbouring strips read stay on the device,
 * and are copied from the slot of one strip to the slot of the next.
 *
 * Rows are luma rows. Borders between strips are even, so that they are borders of subsampled
 * planes too.
 */
#pragma once

#include "image.h"
#include "status.h"

/* Rows in device memory start at multiples of this, so that kernels may use wide accesses. */
#define CF_STRIPS_ROW_ALIGNMENT 256

/* How a picture is cut, and the device memory that its strips need. Slots are used in turn. */
typedef struct {
  CfVideo video, result; /* format and size of sources and of results */
  int halo;        /* rows above and below it that a strip reads, even; 0 if there is one strip */
  int rows;        /* of the result per strip, even; the last strip may have fewer */
  int count;       /* number of strips, >= 1 */
  int slots;       /* slots for sources, and as many for results: strips in flight at once */
  int source_rows; /* rows that a source slot holds: a strip's and its halo on both sides */
  size_t source_bytes, result_bytes; /* of one slot, multiples of the row alignment */
} CfStrips;

/* Rows first..first + rows - 1. */
typedef struct {
  int first, rows;
} CfRows;

/* The rows of one strip. */
typedef struct {
  CfRows made;     /* rows of the result that the strip writes */
  CfRows held;     /* source rows in its slot: the carried rows, then the arriving ones */
  CfRows carried;  /* copied from the slot of the strip before; may be none */
  CfRows arriving; /* copied from the host; may be none */
} CfStrip;

/* Cuts pictures of `video` for an engine with this halo (CfEngine.halo; -1: whole pictures only) so
 * that all slots together take at most `limit` bytes (0: no limit). `result` is the format of the
 * results, of the same size (NULL: `video`). Fails with CF_ERROR_NO_MEMORY, and with the bytes that
 * would suffice, where the limit is too small. */
bool cf_strips_plan(CfStrips *strips, const CfVideo *video, const CfVideo *result, int halo,
                    size_t limit, CfStatus *status);

/* Bytes of device memory of all slots. */
size_t cf_strips_bytes(const CfStrips *strips);

/* Strip `index` of a picture, 0..count - 1. */
CfStrip cf_strips_strip(const CfStrips *strips, int index);

/* The rows of `plane` that belong to luma rows which start at an even one. */
CfRows cf_strips_plane_rows(const CfVideo *video, int plane, CfRows rows);

/* Lays out the planes of `rows` luma rows of `video` in device memory, from `memory` on; returns
 * their bytes. `picture`, unless NULL, gets the addresses and strides. */
size_t cf_strips_lay_out(const CfVideo *video, int rows, uint8_t *memory, CfPicture *picture);
