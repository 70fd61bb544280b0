/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A build without CUDA: no ways but the CPU's.
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

GstBuffer *fuzz_device_buffer(FuzzCase *self, const CfTestPicture *picture)
{
  return NULL;
}

void fuzz_device_fail(FuzzCase *self)
{
}

bool fuzz_device_heal(FuzzCase *self)
{
  return false;
}
