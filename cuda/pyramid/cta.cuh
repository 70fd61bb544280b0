/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Threads of a CTA in all kernels of both pyramids. */
constexpr int kPyramidThreads = 128;
