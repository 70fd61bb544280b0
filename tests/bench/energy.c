/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "energy.h"

#include <dlfcn.h>
#include <stdio.h>

#include "filter.h"

/* Counters of GPUs move every 20 to 100 ms. */
#define MEASURED_MS 1500.0
#define WARM_UP_MS  300.0

/* ---- Counters ---- */

typedef struct {
  void *shared_object;
  void *device;
  int (*energy)(void *device, unsigned long long *millijoules);
} Nvml;

/* Without NVML, or a GPU that counts, `energy` stays NULL. The first GPU of both CUDA and NVML is
 * meant, which are the same where the machine has one. */
static Nvml open_nvml(void)
{
  Nvml nvml = {.shared_object = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)};
  int (*init)(void), (*get_device)(unsigned, void **);
  unsigned long long ignored;

  if (!nvml.shared_object)
    return nvml;
  *(void **)&init = dlsym(nvml.shared_object, "nvmlInit_v2");
  *(void **)&get_device = dlsym(nvml.shared_object, "nvmlDeviceGetHandleByIndex_v2");
  *(void **)&nvml.energy = dlsym(nvml.shared_object, "nvmlDeviceGetTotalEnergyConsumption");
  if (!init || !get_device || !nvml.energy || init() != 0 || get_device(0, &nvml.device) != 0 ||
      nvml.energy(nvml.device, &ignored) != 0)
    nvml.energy = NULL;
  return nvml;
}

/* Millijoules since some time in the past; negative where nothing counts. */
static double read_counter(const Nvml *nvml, bool device)
{
  unsigned long long count = 0;
  double result = -1.0;

  if (device)
    return nvml->energy && nvml->energy(nvml->device, &count) == 0 ? (double)count : -1.0;
  FILE *file = fopen("/sys/class/powercap/intel-rapl:0/energy_uj", "r");
  if (file && fscanf(file, "%llu", &count) == 1)
    result = 1e-3 * (double)count;
  if (file)
    fclose(file);
  return result;
}

/* ---- Runs ---- */

/* Runs for that long; returns the number of frames, negative on failure. */
static long run_for(CfFilter *filter, const CfWork *work, double milliseconds, CfStatus *status)
{
  const CfMemory *memory = work->engine->device_memory ? work->frames->memory : NULL;
  const double start = cf_now_ms();
  long frames = 0;

  while (cf_now_ms() - start < milliseconds) {
    for (int i = 0; i < CF_BENCH_FRAMES; i++, frames++) {
      const CfJob job = cf_work_job(work, i);

      if (!cf_filter_run(filter, &job, status))
        return -1;
    }
    if (memory && frames % (64 * CF_BENCH_FRAMES) == 0 && !memory->synchronize()) {
      cf_fail(status, CF_ERROR_FAILED, "work on the device failed");
      return -1;
    }
  }
  if (memory && !memory->synchronize()) {
    cf_fail(status, CF_ERROR_FAILED, "work on the device failed");
    return -1;
  }
  return frames;
}

bool cf_measure_energy(const CfWork *work, double *millijoules, CfStatus *status)
{
  const bool device = work->engine->device_memory;
  const Nvml nvml = device ? open_nvml() : (Nvml){0};
  const CfOpenOptions options = {.threads = work->threads,
                                 .device = device ? work->frames->memory->device() : NULL};
  bool good = true;

  *millijoules = 0.0;
  if (read_counter(&nvml, device) >= 0.0) {
    CfFilter *filter =
        cf_filter_open(work->engine, &work->frames->video, work->params, &options, status);

    good = filter && run_for(filter, work, WARM_UP_MS, status) > 0;
    const double before = read_counter(&nvml, device);
    const long frames = good ? run_for(filter, work, MEASURED_MS, status) : 0;
    good = good && frames > 0;
    if (good)
      *millijoules = (read_counter(&nvml, device) - before) / (double)frames;
    cf_filter_close(filter);
  }
  if (nvml.shared_object)
    dlclose(nvml.shared_object);
  return good;
}
