/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ebml.h"

#define EBML_LONGEST_ID 4

/* Reads an EBML number of up to 8 bytes: with its marker, as identifiers are, or without. Returns
 * its length; 0: there is none. */
static guint read_number(const guint8 *data, gsize size, gboolean with_marker, guint64 *number)
{
  guint length = 1;

  if (size == 0 || data[0] == 0)
    return 0;
  while (!(data[0] & (0x80 >> (length - 1))))
    length++;
  if (length > size)
    return 0;
  *number = with_marker ? data[0] : data[0] & (0x7f >> (length - 1));
  for (guint i = 1; i < length; i++)
    *number = *number << 8 | data[i];
  return length;
}

guint ebml_head(const guint8 *data, gsize size, guint64 *id, guint64 *inside)
{
  const guint first = read_number(data, MIN(size, EBML_LONGEST_ID), TRUE, id);
  const guint second = first ? read_number(data + first, size - first, FALSE, inside) : 0;

  if (second > 0 && *inside == ((guint64)1 << 7 * second) - 1)
    *inside = EBML_UNKNOWN_SIZE;
  return second ? first + second : 0;
}
