/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How a picture in host memory goes through a device in full-width strips, so that copying in,
 * filtering and copying out overlap, and pictures larger than the device's memory fit. Every source
 * row crosses the bus once: the rows that two neighbours read stay on the device and are carried
 * from the slot of one strip to the slot of the next.
 *
 * Rows are luma rows. All borders between strips are even, so that they are borders of subsampled
 * planes too.
 */
#pragma once

#include "image.h"
#include "status.h"

/* Device rows start at multiples of this, so that kernels may use their widest accesses. */
#define CF_STRIPS_ROW_ALIGNMENT 256

/* What the picture's strips are, and what they need on the device. Slots are used in turn. */
typedef struct {
  CfVideo video, result; /* of sources, and of what they become */
  int halo;        /* rows above and below that a strip reads, even; 0 if there is one strip */
  int rows;        /* that a strip makes, even, but for the last */
  int count;       /* of strips, >= 1 */
  int slots;       /* of sources, and as many of results: strips under way at once */
  int source_rows; /* that a source slot holds: rows and the halo to both sides */
  size_t source_bytes, result_bytes; /* of one slot, multiples of the row alignment */
} CfStrips;

/* Rows first .. first + rows - 1. */
typedef struct {
  int first, rows;
} CfRows;

/* One strip's work. */
typedef struct {
  CfRows made;     /* rows of the result */
  CfRows held;     /* of the source that its slot holds: carried, then arriving */
  CfRows carried;  /* from the slot of the strip before; may be none */
  CfRows arriving; /* from the host; may be none */
} CfStrip;

/* Cuts pictures of `video` for an engine with this halo (CfEngine.halo; -1: whole pictures only),
 * so that the slots take at most `limit` bytes (0: no limit). What they become are pictures of
 * `result`, of the same size (NULL: of `video`). CF_ERROR_NO_MEMORY, with what would do, where the
 * limit is too small. */
bool cf_strips_plan(CfStrips *strips, const CfVideo *video, const CfVideo *result, int halo,
                    size_t limit, CfStatus *status);

/* Bytes of device memory that all slots take. */
size_t cf_strips_bytes(const CfStrips *strips);

/* Strip `index` of a picture, 0..count - 1. */
CfStrip cf_strips_strip(const CfStrips *strips, int index);

/* The rows of `plane` that belong to luma rows which start at an even one. */
CfRows cf_strips_plane_rows(const CfVideo *video, int plane, CfRows rows);

/* Lays out the planes of a slot that holds `rows` luma rows of `video`, or of any other picture in
 * device memory, from `memory` on; returns the bytes they take. `picture` may be NULL. */
size_t cf_strips_lay_out(const CfVideo *video, int rows, uint8_t *memory, CfPicture *picture);
