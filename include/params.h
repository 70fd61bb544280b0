/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A params struct is described once, by a table of CfParam: elements make GObject properties of the
 * table, the benchmark its command line, and checks take ranges and messages from it. Params
 * structs are plain values: copying is an assignment, and what a pointer field points to (a blur
 * map) is borrowed. Tables are constant; all functions are pure and may be called from any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "status.h"

#define CF_MAX_TAPS 255

/* A 1-D filter kernel; tap[0] multiplies the leftmost (topmost) sample. */
typedef struct {
  int taps; /* 1..CF_MAX_TAPS */
  double tap[CF_MAX_TAPS];
} CfKernel;

typedef enum {
  CF_PARAM_DOUBLE, /* double */
  CF_PARAM_INT,    /* int */
  CF_PARAM_BOOL,   /* bool */
  CF_PARAM_ENUM,   /* int, the value of one of `choices` */
  CF_PARAM_FLAGS,  /* int, a bitwise or of values of `choices` */
  CF_PARAM_COLOR,  /* uint32_t, 0xAARRGGBB */
  CF_PARAM_KERNEL, /* CfKernel; its default is the single tap `initial` */
} CfParamType;

typedef struct {
  int value;        /* of an enum, or a bit of flags */
  const char *nick; /* what a user writes, kebab-case */
  const char *name; /* one line for documentation; NULL ends the list */
} CfChoice;

/* How the position of a slider maps to the value. LOG needs a range above 0. */
typedef enum {
  CF_SCALE_LINEAR,
  CF_SCALE_LOG,    /* equal ways multiply the value by equal factors */
  CF_SCALE_SQUARE, /* the value is the square of the position, with its sign */
} CfScale;

typedef struct {
  const char *name; /* kebab-case, also the name of the GObject property; NULL ends the table */
  const char *nick;
  const char *blurb;
  CfParamType type;
  size_t offset;                    /* of the field in the params struct, bytes */
  double minimum, maximum, initial; /* range of DOUBLE, INT and COLOR; default of all types */
  const char *type_name;            /* GType name of an enum or flags */
  const CfChoice *choices;          /* of an enum or flags; a NULL nick ends them */

  /* For user interfaces only: engines and checks never read these, and a row may leave them out. */
  const char *group; /* title of the group of properties; NULL: the group of the row above */
  double soft_minimum, soft_maximum; /* the usual range, for a slider; if equal, the whole range */
  CfScale scale;
  double step; /* between sensible values; 0: any value */
} CfParam;

/* Sets all fields of the params struct `values` to the defaults of the table. */
void cf_params_init(const CfParam *table, void *values);

/* Refuses (CF_ERROR_INVALID) the first value outside its range, NaN and infinities included; the
 * message names the parameter, its value and what is allowed. */
bool cf_params_check(const CfParam *table, const void *values, CfStatus *status);

/* Sets the field of parameter `name` from text as gst-launch-1.0 writes it: numbers, nicks, `a+b`
 * for flags, `<1,4,6,4,1>` for kernels. Refuses (CF_ERROR_INVALID) unknown names and bad values,
 * and then leaves the field as it was. */
bool cf_params_parse(const CfParam *table, void *values, const char *name, const char *text,
                     CfStatus *status);

/* Copies one field from one params struct to another of the same table. */
void cf_params_copy(const CfParam *param, void *to, const void *from);

/* Whether a field has the default of its table; of a kernel: a single tap with that value. */
bool cf_params_is_default(const CfParam *param, const void *values);

/* Writes one field into `text` of `size` bytes as a user would, cut off where `text` ends: numbers,
 * nicks, `a+b` for flags (0 for none); of a kernel the first eight taps, and the number of taps if
 * there are more. */
void cf_params_print(const CfParam *param, const void *values, char *text, size_t size);

/* The number of rows, without the one that ends the table. */
unsigned cf_params_count(const CfParam *table);

/* The row of that name, or NULL. */
const CfParam *cf_params_find(const CfParam *table, const char *name);
