/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What memory is in use, for programs that run for long.
 */
#pragma once

/* MiB of device memory in use on the first visible GPU, by all processes, as nvidia-smi says; -1
 * where that cannot be found out. */
int device_mib(void);

/* MiB of this process that are in memory; below 0 where that cannot be found out. */
double host_mib(void);
