/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How every fallible call of the engines reports an error: it returns false (or NULL) and fills a
 * CfStatus with a code that decides what the caller may do, and with a sentence for the user. A
 * call that succeeds leaves the CfStatus untouched.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef enum {
  CF_OK = 0,
  CF_ERROR_INVALID,     /* a parameter or a geometry is not allowed; the message says what is */
  CF_ERROR_NO_MEMORY,   /* host or device memory ran out; a later try may succeed */
  CF_ERROR_NO_DEVICE,   /* no driver, no GPU, or no kernel image for this GPU */
  CF_ERROR_DEVICE_LOST, /* a sticky device error: the context is unusable until it is destroyed */
  CF_ERROR_FAILED,      /* anything else */
} CfCode;

typedef struct {
  CfCode code;       /* set by a call that fails; callers start with CF_OK */
  char message[320]; /* a sentence, ends with 0; cut off where it is longer */
} CfStatus;

/* Fills `status` (may be NULL) with `code` and a printf message; returns false, so that callers can
 * write `return cf_fail (status, ...)`. */
bool cf_fail(CfStatus *status, CfCode code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* `bytes` zeroed bytes, or NULL with CF_ERROR_NO_MEMORY. The caller frees them with free(). */
void *cf_zeroed(size_t bytes, CfStatus *status);
