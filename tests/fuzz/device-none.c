/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A build without CUDA: all ways are the CPU's.
 */
#include "pipeline.h"

bool fuzz_device_exists(void)
{
  return false;
}

void fuzz_device_open(FuzzCase *self)
{
}

void fuzz_device_close(FuzzCase *self)
{
}

void fuzz_device_enter(FuzzCase *self)
{
}

GstBuffer *fuzz_device_buffer(FuzzCase *self, const CfTestPicture *picture)
{
  return NULL;
}

void fuzz_device_fail(FuzzCase *self)
{
}

void fuzz_device_heal(FuzzCase *self)
{
}

void fuzz_device_renew(FuzzCase *self)
{
}
