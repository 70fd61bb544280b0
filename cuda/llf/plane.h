/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * For engines that filter planes of their own by cf_llf_cuda.
 */
#pragma once

namespace cf::llf
{

/* For a state of cf_llf_cuda, opened for GRAY16_LE: from the next update on it may use tensor
 * cores, which round by a few codes of 16 bits. */
void allow_fp16_sums(void *state);

} // namespace cf::llf
