/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define REAL  double
#define LINES cf_lines_double

#include "cpu/fir/real_impl.h"
