/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define REAL  float
#define LINES cf_lines_float

#include "cpu/fir/real_impl.h"
