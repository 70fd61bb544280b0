/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Device memory that can be made read-only, by the driver's calls for virtual addresses. The
 * driver is asked for them by name: these tests also start where there is none.
 */
#include "granules.h"

#include <cuda.h>
#include <dlfcn.h>

typedef struct {
  CUresult (*granularity)(size_t *, const CUmemAllocationProp *, CUmemAllocationGranularity_flags);
  CUresult (*reserve)(CUdeviceptr *, size_t, size_t, CUdeviceptr, unsigned long long);
  CUresult (*create)(CUmemGenericAllocationHandle *, size_t, const CUmemAllocationProp *,
                     unsigned long long);
  CUresult (*map)(CUdeviceptr, size_t, size_t, CUmemGenericAllocationHandle, unsigned long long);
  CUresult (*set_access)(CUdeviceptr, size_t, const CUmemAccessDesc *, size_t);
} Driver;

/* One process has one device for all its tests. */
static const CUmemAllocationProp property = {
    .type = CU_MEM_ALLOCATION_TYPE_PINNED,
    .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0},
};

static bool find_driver(Driver *driver)
{
  void *library = dlopen("libcuda.so.1", RTLD_NOW);

  if (!library)
    return false;
  *(void **)&driver->granularity = dlsym(library, "cuMemGetAllocationGranularity");
  *(void **)&driver->reserve = dlsym(library, "cuMemAddressReserve");
  *(void **)&driver->create = dlsym(library, "cuMemCreate");
  *(void **)&driver->map = dlsym(library, "cuMemMap");
  *(void **)&driver->set_access = dlsym(library, "cuMemSetAccess");
  return driver->granularity && driver->reserve && driver->create && driver->map &&
         driver->set_access;
}

static size_t granularity(void)
{
  Driver driver;
  size_t bytes = 0;

  if (!find_driver(&driver) ||
      driver.granularity(&bytes, &property, CU_MEM_ALLOC_GRANULARITY_MINIMUM) != CUDA_SUCCESS)
    return 0;
  return bytes;
}

static bool protect_granules(uint8_t *memory, size_t bytes, bool read_only)
{
  const CUmemAccessDesc access = {.location = property.location,
                                  .flags = read_only ? CU_MEM_ACCESS_FLAGS_PROT_READ
                                                     : CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  Driver driver;

  return find_driver(&driver) &&
         driver.set_access((CUdeviceptr)memory, bytes, &access, 1) == CUDA_SUCCESS;
}

/* A piece of physical memory each granule: rights are given to whole pieces. */
static uint8_t *map_granules(size_t bytes)
{
  const size_t step = granularity();
  CUdeviceptr address;
  Driver driver;

  if (step == 0 || !find_driver(&driver) ||
      driver.reserve(&address, bytes, 0, 0, 0) != CUDA_SUCCESS)
    return NULL;
  for (size_t at = 0; at < bytes; at += step) {
    CUmemGenericAllocationHandle handle;

    if (driver.create(&handle, step, &property, 0) != CUDA_SUCCESS ||
        driver.map(address + at, step, 0, handle, 0) != CUDA_SUCCESS)
      return NULL;
  }
  uint8_t *memory = (uint8_t *)(uintptr_t)address;
  return protect_granules(memory, bytes, false) ? memory : NULL;
}

const CfGranules cf_cuda_granules = {granularity, map_granules, protect_granules};
