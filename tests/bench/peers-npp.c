/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cudasepconv beside the one function of NVIDIA's NPP that takes a separable kernel of any length,
 * FilterGaussAdvancedBorder, wrapped in an engine so that both are measured alike: the time of a
 * 3840x2160 frame beside a copy, and the largest distance from the reference in code values.
 */
#include <stdio.h>
#include <stdlib.h>

#include <cuda_runtime_api.h>
#include <nppi_filtering_functions.h>

#include "compare.h"
#include "measure.h"
#include "memory.h"
#include "plan/presets.h"
#include "sepconv.h"

typedef NppStatus (*NppFilter)(const Npp8u *source, Npp32s source_step, NppiSize size,
                               NppiPoint offset, Npp8u *destination, Npp32s destination_step,
                               NppiSize roi, int taps, const Npp32f *kernel, NppiBorderType border,
                               NppStreamContext context);

typedef struct {
  NppFilter filter;
  NppiSize size;
  int taps;
  uint8_t *kernel; /* floats in device memory */
  NppStreamContext context;
} NppState;

static bool get_context(NppStreamContext *context)
{
  int device, shared_bytes;
  const struct {
    enum cudaDeviceAttr attribute;
    int *value;
  } facts[] = {
      {cudaDevAttrMultiProcessorCount, &context->nMultiProcessorCount},
      {cudaDevAttrMaxThreadsPerMultiProcessor, &context->nMaxThreadsPerMultiProcessor},
      {cudaDevAttrMaxThreadsPerBlock, &context->nMaxThreadsPerBlock},
      {cudaDevAttrMaxSharedMemoryPerBlock, &shared_bytes},
      {cudaDevAttrComputeCapabilityMajor, &context->nCudaDevAttrComputeCapabilityMajor},
      {cudaDevAttrComputeCapabilityMinor, &context->nCudaDevAttrComputeCapabilityMinor},
  };

  if (cudaGetDevice(&device) != cudaSuccess)
    return false;
  for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
    if (cudaDeviceGetAttribute(facts[i].value, facts[i].attribute, device) != cudaSuccess)
      return false;
  }
  context->nCudaDeviceId = device;
  context->nSharedMemPerBlock = (size_t)shared_bytes;
  context->nStreamFlags = cudaStreamNonBlocking;
  return true;
}

static void close_npp(void *opaque)
{
  NppState *state = opaque;

  cf_cuda_memory.free(state->kernel);
  free(state);
}

static void *open_npp(const CfVideo *video, const void *params, const CfOpenOptions *options,
                      CfStatus *status)
{
  const CfSepconvParams *sepconv = params;
  CfKernel row, column;
  float taps[CF_MAX_TAPS];
  NppState *state = calloc(1, sizeof *state);

  if (!state) {
    cf_fail(status, CF_ERROR_NO_MEMORY, "no memory for NPP's state");
    return NULL;
  }
  cf_sepconv_preset_kernels((CfSepconvPreset)sepconv->preset, sepconv->preset_size, &row, &column);
  for (int i = 0; i < row.taps; i++)
    taps[i] = (float)row.tap[i];
  *state = (NppState){
      .filter = video->format == CF_FORMAT_GRAY8 ? nppiFilterGaussAdvancedBorder_8u_C1R_Ctx
                                                 : nppiFilterGaussAdvancedBorder_8u_C4R_Ctx,
      .size = {video->width, video->height},
      .taps = row.taps,
      .kernel = cf_cuda_memory.alloc(sizeof taps),
  };
  if (state->kernel && cf_cuda_memory.upload(state->kernel, (const uint8_t *)taps, sizeof taps) &&
      get_context(&state->context))
    return state;
  cf_fail(status, CF_ERROR_FAILED, "NPP cannot be prepared");
  close_npp(state);
  return NULL;
}

static bool run_npp(void *opaque, const CfJob *job, CfStatus *status)
{
  NppState *state = opaque;
  NppStatus result;

  state->context.hStream = job->stream;
  result = state->filter(job->source.data[0], (Npp32s)job->source.stride[0], state->size,
                         (NppiPoint){0, 0}, job->destination.data[0],
                         (Npp32s)job->destination.stride[0], state->size, state->taps,
                         (const Npp32f *)state->kernel, NPP_BORDER_REPLICATE, state->context);
  return result == NPP_SUCCESS || cf_fail(status, CF_ERROR_FAILED, "NPP returns %d", (int)result);
}

static const char *npp_algorithm(const void *state)
{
  return "FilterGaussAdvancedBorder";
}

static const CfEngine npp = {
    .name = "npp",
    .device_memory = true,
    .open = open_npp,
    .run = run_npp,
    .algorithm = npp_algorithm,
    .close = close_npp,
};

/* ---- Error ---- */

static bool filter_once(const CfEngine *engine, const CfSepconvParams *params,
                        const CfTestPicture *source, CfTestPicture *destination, CfStatus *status)
{
  const CfMemory *memory = engine->device_memory ? &cf_cuda_memory : NULL;
  const CfOpenOptions options = {.device = memory ? memory->device() : NULL};
  void *state = engine->open(&source->video, params, &options, status);
  CfMirror from = {0}, to = {0};
  bool good = false;

  if (!state)
    return false;
  if (!memory) {
    const CfJob job = {.source = source->planes, .destination = destination->planes};

    good = engine->run(state, &job, status);
  } else if (cf_mirror_init(&from, memory, source) && cf_mirror_init(&to, memory, destination) &&
             cf_mirror_upload(&from, source)) {
    const CfJob job = {.source = from.planes, .destination = to.planes, .stream = memory->stream()};

    good = engine->run(state, &job, status) && memory->synchronize() &&
           cf_mirror_download(&to, destination);
  }
  cf_mirror_free(&from);
  cf_mirror_free(&to);
  engine->close(state);
  return good || (status->code == CF_OK && cf_fail(status, CF_ERROR_FAILED, "the device failed"));
}

static bool measure_error(const CfEngine *engine, const CfVideo *video,
                          const CfSepconvParams *params, double *error, CfStatus *status)
{
  const CfVideo small = cf_video(video->format, 640, 360);
  CfTestPicture *source = cf_picture_new(&small, CF_LAYOUT_ALIGNED);
  CfTestPicture *got = cf_picture_new(&small, CF_LAYOUT_ALIGNED);
  CfTestPicture *want = cf_picture_new(&small, CF_LAYOUT_ALIGNED);
  bool good;

  cf_picture_fill(source, CF_PATTERN_NOISE, CF_ALPHA_OPAQUE, 1);
  good = filter_once(engine, params, source, got, status) &&
         filter_once(&cf_sepconv_reference, params, source, want, status);
  if (good)
    *error = cf_picture_compare(got, want, 0.0).worst;
  cf_picture_free(source);
  cf_picture_free(got);
  cf_picture_free(want);
  return good;
}

/* ---- The table ---- */

static bool print_row(const CfEngine *engine, const CfVideo *video, const CfSepconvParams *params)
{
  const CfWork work = {
      .engine = engine, .video = video, .params = params, .alpha = CF_ALPHA_OPAQUE};
  CfStatus status = {CF_OK, ""};
  CfTimes times;
  double error;

  if (!cf_measure(&work, &times, &status) ||
      !measure_error(engine, video, params, &error, &status)) {
    fprintf(stderr, "%s: %s\n", engine->name, status.message);
    return false;
  }
  printf("%-6s %4d taps  %-5s %9.1f us %7.2f copies, error %g\n",
         video->format == CF_FORMAT_GRAY8 ? "GRAY8" : "RGBA", params->preset_size, engine->name,
         1e3 * times.median_ms, times.median_ms / times.copy_ms, error);
  return true;
}

int main(void)
{
  const CfFormat formats[] = {CF_FORMAT_GRAY8, CF_FORMAT_RGBA};
  const int sizes[] = {9, 17, 33};
  CfStatus status = {CF_OK, ""};

  if (!cf_device_memory(&status)) {
    fprintf(stderr, "%s\n", status.message);
    return 1;
  }
  for (size_t f = 0; f < sizeof formats / sizeof *formats; f++) {
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
      const CfVideo video = cf_video(formats[f], 3840, 2160);
      CfSepconvParams params;

      cf_params_init(cf_sepconv.params, &params);
      params.preset = CF_SEPCONV_GAUSSIAN;
      params.preset_size = sizes[s];
      if (!print_row(&cf_sepconv_cuda, &video, &params) || !print_row(&npp, &video, &params))
        return 1;
    }
  }
  return 0;
}
