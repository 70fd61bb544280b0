/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * For engines that filter a plane of their own with a state of cf_llf_cuda.
 */
#pragma once

namespace cf::llf
{

/* Allows tensor cores for a state of cf_llf_cuda that was opened for GRAY16_LE, from the next
 * update on. Their fp16 sums are off by a few 16-bit codes. */
void allow_fp16_sums(void *state);

} // namespace cf::llf
