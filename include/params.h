/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A params struct is described once, by a table of CfParam: the elements make their GObject
 * properties of it, the benchmark its command line, the checks their ranges and messages.
 * Params structs are plain values: copying one is an assignment, and what one points to (a blur
 * map) is borrowed. Tables are constant; all functions are pure and safe from any thread.
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
  CF_PARAM_ENUM,   /* int, one of `choices` */
  CF_PARAM_FLAGS,  /* int, a union of `choices` */
  CF_PARAM_COLOR,  /* uint32_t, 0xAARRGGBB */
  CF_PARAM_KERNEL, /* CfKernel; its default is the single tap `initial` */
} CfParamType;

typedef struct {
  int value;
  const char *nick; /* what a user writes */
  const char *name; /* one line for documentation; NULL ends the list */
} CfChoice;

/* How a slider goes through its range. Zero, or a negative end, is possible but for LOG. */
typedef enum {
  CF_SCALE_LINEAR,
  CF_SCALE_LOG,    /* the same way multiplies the value by the same factor */
  CF_SCALE_SQUARE, /* the value goes by the square of the way from 0, and keeps its sign */
} CfScale;

typedef struct {
  const char *name; /* kebab-case; NULL ends the table */
  const char *nick;
  const char *blurb;
  CfParamType type;
  size_t offset; /* in the params struct */
  double minimum, maximum, initial;
  const char *type_name;   /* GType name of an enum or flags */
  const CfChoice *choices; /* enum, flags */

  /* For whoever shows it: nothing that computes reads these, and a row may leave them out. */
  const char *group; /* of properties that belong together; NULL: that of the row above */
  double soft_minimum, soft_maximum; /* what is usual, as a slider shows it; equal: the range */
  CfScale scale;
  double step; /* from one sensible value to the next; 0: any */
} CfParam;

/* Fills `values` with the defaults of the table. */
void cf_params_init(const CfParam *table, void *values);

/* Refuses a value outside its range, NaN and infinities included, naming it and what is allowed. */
bool cf_params_check(const CfParam *table, const void *values, CfStatus *status);

/* Sets one field from text as gst-launch writes it: numbers, nicks, `a+b` for flags,
 * `<1,4,6,4,1>` for kernels. Unknown names and bad values are refused with the reason. */
bool cf_params_parse(const CfParam *table, void *values, const char *name, const char *text,
                     CfStatus *status);

/* Copies one field of `from`; both are params structs of the table. */
void cf_params_copy(const CfParam *param, void *to, const void *from);

bool cf_params_is_default(const CfParam *param, const void *values);

/* Writes one field as a user would, cut off where `text` ends: numbers, nicks, `a+b` for flags (0
 * for none), the first eight taps of kernels and their number where there are more. */
void cf_params_print(const CfParam *param, const void *values, char *text, size_t size);

/* Rows of the table, without the one that ends it. */
unsigned cf_params_count(const CfParam *table);

/* The row of that name, or NULL. */
const CfParam *cf_params_find(const CfParam *table, const char *name);
