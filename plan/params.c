/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "params.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *field(const CfParam *param, void *values)
{
  return (char *)values + param->offset;
}

static void set_number(const CfParam *param, void *values, double number)
{
  void *target = field(param, values);

  switch (param->type) {
  case CF_PARAM_DOUBLE:
    *(double *)target = number;
    break;
  case CF_PARAM_INT:
  case CF_PARAM_ENUM:
  case CF_PARAM_FLAGS:
    *(int *)target = (int)number;
    break;
  case CF_PARAM_BOOL:
    *(bool *)target = number != 0.0;
    break;
  case CF_PARAM_COLOR:
    *(uint32_t *)target = (uint32_t)number;
    break;
  case CF_PARAM_KERNEL: {
    CfKernel *kernel = target;
    memset(kernel, 0, sizeof *kernel);
    kernel->taps = 1;
    kernel->tap[0] = number;
    break;
  }
  }
}

void cf_params_init(const CfParam *table, void *values)
{
  for (const CfParam *param = table; param->name; param++)
    set_number(param, values, param->initial);
}

unsigned cf_params_count(const CfParam *table)
{
  unsigned count = 0;

  while (table[count].name)
    count++;
  return count;
}

const CfParam *cf_params_find(const CfParam *table, const char *name)
{
  for (const CfParam *param = table; param->name; param++) {
    if (strcmp(param->name, name) == 0)
      return param;
  }
  return NULL;
}

static size_t field_size(const CfParam *param)
{
  switch (param->type) {
  case CF_PARAM_DOUBLE:
    return sizeof(double);
  case CF_PARAM_INT:
  case CF_PARAM_ENUM:
  case CF_PARAM_FLAGS:
    return sizeof(int);
  case CF_PARAM_BOOL:
    return sizeof(bool);
  case CF_PARAM_COLOR:
    return sizeof(uint32_t);
  case CF_PARAM_KERNEL:
    return sizeof(CfKernel);
  }
  return 0;
}

void cf_params_copy(const CfParam *param, void *to, const void *from)
{
  memcpy((char *)to + param->offset, (const char *)from + param->offset, field_size(param));
}

static double number_of(const CfParam *param, const void *values)
{
  const void *value = (const char *)values + param->offset;

  switch (param->type) {
  case CF_PARAM_DOUBLE:
    return *(const double *)value;
  case CF_PARAM_INT:
  case CF_PARAM_ENUM:
  case CF_PARAM_FLAGS:
    return *(const int *)value;
  case CF_PARAM_BOOL:
    return *(const bool *)value;
  case CF_PARAM_COLOR:
    return *(const uint32_t *)value;
  case CF_PARAM_KERNEL:
    return ((const CfKernel *)value)->tap[0];
  }
  return 0.0;
}

bool cf_params_is_default(const CfParam *param, const void *values)
{
  const CfKernel *kernel = (const void *)((const char *)values + param->offset);

  if (param->type == CF_PARAM_KERNEL && kernel->taps != 1)
    return false;
  return number_of(param, values) == param->initial;
}

/* ---- Text ---- */

/* Appends what fits into `size` bytes. */
__attribute__((format(printf, 3, 4))) static void append(char *text, size_t size,
                                                         const char *format, ...)
{
  const size_t used = strlen(text);
  va_list arguments;

  va_start(arguments, format);
  vsnprintf(text + used, size - used, format, arguments);
  va_end(arguments);
}

static void print_choices(const CfParam *param, int value, char *text, size_t size)
{
  const bool flags = param->type == CF_PARAM_FLAGS;

  for (const CfChoice *choice = param->choices; choice->nick; choice++) {
    if (flags ? value & choice->value : value == choice->value)
      append(text, size, "%s%s", *text ? "+" : "", choice->nick);
  }
  if (!*text)
    append(text, size, "%d", value);
}

static void print_kernel(const CfKernel *kernel, char *text, size_t size)
{
  const int shown = kernel->taps <= 8 ? kernel->taps : 8;

  for (int i = 0; i < shown; i++)
    append(text, size, "%s%g", i ? "," : "<", kernel->tap[i]);
  if (shown < kernel->taps)
    append(text, size, ",... %d taps", kernel->taps);
  append(text, size, ">");
}

void cf_params_print(const CfParam *param, const void *values, char *text, size_t size)
{
  const double number = number_of(param, values);

  text[0] = '\0';
  switch (param->type) {
  case CF_PARAM_DOUBLE:
  case CF_PARAM_INT:
    append(text, size, "%g", number);
    break;
  case CF_PARAM_BOOL:
    append(text, size, "%s", number != 0.0 ? "true" : "false");
    break;
  case CF_PARAM_ENUM:
  case CF_PARAM_FLAGS:
    print_choices(param, (int)number, text, size);
    break;
  case CF_PARAM_COLOR:
    append(text, size, "0x%08x", (unsigned)number);
    break;
  case CF_PARAM_KERNEL:
    print_kernel((const CfKernel *)(const void *)((const char *)values + param->offset), text,
                 size);
    break;
  }
}

static void list_choices(const CfChoice *choices, char *text, size_t size)
{
  size_t used = 0;

  text[0] = '\0';
  for (const CfChoice *choice = choices; choice->nick && used < size; choice++)
    used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "", choice->nick);
}

static bool check_range(const CfParam *param, double value, CfStatus *status)
{
  if (value >= param->minimum && value <= param->maximum)
    return true;
  return cf_fail(status, CF_ERROR_INVALID, "%s is %g, allowed is %g to %g", param->name, value,
                 param->minimum, param->maximum);
}

static bool check_choice(const CfParam *param, int value, CfStatus *status)
{
  char allowed[160];

  for (const CfChoice *choice = param->choices; choice->nick; choice++) {
    if (choice->value == value)
      return true;
  }
  list_choices(param->choices, allowed, sizeof allowed);
  return cf_fail(status, CF_ERROR_INVALID, "%s is %d, allowed is one of %s", param->name, value,
                 allowed);
}

static bool check_flags(const CfParam *param, int value, CfStatus *status)
{
  char allowed[160];
  int all = 0;

  for (const CfChoice *choice = param->choices; choice->nick; choice++)
    all |= choice->value;
  if ((value & ~all) == 0)
    return true;
  list_choices(param->choices, allowed, sizeof allowed);
  return cf_fail(status, CF_ERROR_INVALID, "%s is 0x%x, allowed is any union of %s", param->name,
                 (unsigned)value, allowed);
}

static bool check_kernel(const CfParam *param, const CfKernel *kernel, CfStatus *status)
{
  if (kernel->taps < 1 || kernel->taps > CF_MAX_TAPS)
    return cf_fail(status, CF_ERROR_INVALID, "%s has %d taps, allowed is 1 to %d", param->name,
                   kernel->taps, CF_MAX_TAPS);
  for (int i = 0; i < kernel->taps; i++) {
    if (!isfinite(kernel->tap[i]))
      return cf_fail(status, CF_ERROR_INVALID, "%s: tap %d is not a finite number", param->name, i);
  }
  return true;
}

bool cf_params_check(const CfParam *table, const void *values, CfStatus *status)
{
  for (const CfParam *param = table; param->name; param++) {
    const void *value = (const char *)values + param->offset;
    bool good = true;

    switch (param->type) {
    case CF_PARAM_DOUBLE:
      good = check_range(param, *(const double *)value, status);
      break;
    case CF_PARAM_INT:
      good = check_range(param, *(const int *)value, status);
      break;
    case CF_PARAM_ENUM:
      good = check_choice(param, *(const int *)value, status);
      break;
    case CF_PARAM_FLAGS:
      good = check_flags(param, *(const int *)value, status);
      break;
    case CF_PARAM_KERNEL:
      good = check_kernel(param, value, status);
      break;
    case CF_PARAM_BOOL:
    case CF_PARAM_COLOR:
      break;
    }
    if (!good)
      return false;
  }
  return true;
}

static bool parse_number(const CfParam *param, const char *text, double *number, CfStatus *status)
{
  char *end;

  errno = 0;
  *number = strtod(text, &end);
  if (end == text || *end || errno)
    return cf_fail(status, CF_ERROR_INVALID, "%s: \"%s\" is not a number", param->name, text);
  return true;
}

static bool parse_bool(const CfParam *param, const char *text, double *number, CfStatus *status)
{
  *number = strcmp(text, "true") == 0;
  if (*number == 0.0 && strcmp(text, "false") != 0)
    return cf_fail(status, CF_ERROR_INVALID, "%s: \"%s\" is neither true nor false", param->name,
                   text);
  return true;
}

static bool parse_choices(const CfParam *param, const char *text, double *number, CfStatus *status)
{
  const char separator = param->type == CF_PARAM_FLAGS ? '+' : '\0';
  char allowed[160];
  int sum = 0;

  while (true) {
    const char *end = separator ? strchr(text, separator) : NULL;
    const size_t length = end ? (size_t)(end - text) : strlen(text);
    const CfChoice *choice = param->choices;

    while (choice->nick &&
           (strlen(choice->nick) != length || strncmp(choice->nick, text, length) != 0))
      choice++;
    if (!choice->nick) {
      list_choices(param->choices, allowed, sizeof allowed);
      return cf_fail(status, CF_ERROR_INVALID, "%s: \"%s\" is not one of %s", param->name, text,
                     allowed);
    }
    sum |= choice->value;
    if (!end)
      break;
    text = end + 1;
  }
  *number = sum;
  return true;
}

static bool parse_kernel(const CfParam *param, const char *text, CfKernel *kernel, CfStatus *status)
{
  CfKernel parsed = {0};
  const char *cursor = text + strspn(text, "< ");

  while (*cursor && *cursor != '>') {
    char *end;
    const double tap = strtod(cursor, &end);

    if (end == cursor || parsed.taps == CF_MAX_TAPS)
      return cf_fail(status, CF_ERROR_INVALID,
                     "%s is a list of 1 to %d numbers such as <1,4,6,4,1>, not \"%s\"", param->name,
                     CF_MAX_TAPS, text);
    parsed.tap[parsed.taps++] = tap;
    cursor = end + strspn(end, ", ");
  }
  cursor += strspn(cursor, "> ");
  if (*cursor)
    return cf_fail(status, CF_ERROR_INVALID, "%s: \"%s\" goes on after its list of numbers",
                   param->name, text);
  if (!check_kernel(param, &parsed, status))
    return false;
  *kernel = parsed;
  return true;
}

bool cf_params_parse(const CfParam *table, void *values, const char *name, const char *text,
                     CfStatus *status)
{
  const CfParam *param = cf_params_find(table, name);
  double number = 0.0;

  if (!param)
    return cf_fail(status, CF_ERROR_INVALID, "there is no property %s", name);

  switch (param->type) {
  case CF_PARAM_KERNEL:
    return parse_kernel(param, text, field(param, values), status);
  case CF_PARAM_ENUM:
  case CF_PARAM_FLAGS:
    if (!parse_choices(param, text, &number, status))
      return false;
    break;
  case CF_PARAM_BOOL:
    if (!parse_bool(param, text, &number, status))
      return false;
    break;
  case CF_PARAM_DOUBLE:
  case CF_PARAM_INT:
  case CF_PARAM_COLOR:
    if (!parse_number(param, text, &number, status) || !check_range(param, number, status))
      return false;
    if (param->type != CF_PARAM_DOUBLE && number != floor(number))
      return cf_fail(status, CF_ERROR_INVALID, "%s: %s is not a whole number", name, text);
    break;
  }
  set_number(param, values, number);
  return true;
}
