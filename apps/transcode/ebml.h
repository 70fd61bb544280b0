/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Elements of EBML (RFC 8794) in memory, and those of Matroska (RFC 9559).
 */
#pragma once

#include <glib.h>

#define ID_SEGMENT       0x18538067
#define ID_CLUSTER       0x1f43b675
#define ID_BLOCK_GROUP   0xa0
#define ID_INFO          0x1549a966
#define ID_DURATION      0x4489
#define ID_TRACKS        0x1654ae6b
#define ID_TRACK         0xae
#define ID_TRACK_UID     0x73c5
#define ID_TRACK_NAME    0x536e
#define ID_FLAG_DEFAULT  0x88
#define ID_FLAG_FORCED   0x55aa
#define ID_VIDEO         0xe0
#define ID_COLOUR        0x55b0
#define ID_MASTERING     0x55d0
#define ID_LUMINANCE_MAX 0x55d9
#define ID_LUMINANCE_MIN 0x55da
#define ID_TAGS          0x1254c367
#define ID_TAG           0x7373
#define ID_SIMPLE_TAG    0x67c8
#define ID_TAG_STRING    0x4487
#define ID_VOID          0xec

/* The size of an element whose writer, a live stream's, did not know it. */
#define EBML_UNKNOWN_SIZE G_MAXUINT64

/* Reads an element's head, its identifier and the size of its content (EBML_UNKNOWN_SIZE or in
 * bytes), from the `size` bytes at `data`. Returns the length of the head; 0 if these bytes are no
 * whole head. */
guint ebml_head(const guint8 *data, gsize size, guint64 *id, guint64 *inside);
