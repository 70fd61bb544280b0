/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cudasepconv beside the one function of NVIDIA's NPP that takes a separable kernel of any length,
 * FilterGaussAdvancedBorder, wrapped in an engine so that both are measured alike: the time of a
 * 3840x2160 frame beside a copy, and the largest distance from the reference in code values.
 * --json prints one object a line.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static bool measure_error(const CfEngine *engine, const CfVideo *video,
                          const CfSepconvParams *params, double *error, CfStatus *status)
{
  const CfVideo small = cf_video(video->format, 640, 360);
  CfTestPicture *source = cf_picture_new(&small, CF_LAYOUT_ALIGNED);
  CfTestPicture *got = cf_picture_new(&small, CF_LAYOUT_ALIGNED);
  CfTestPicture *want = cf_picture_new(&small, CF_LAYOUT_ALIGNED);
  bool good;

  cf_picture_fill(source, CF_PATTERN_NOISE, CF_ALPHA_OPAQUE, 1);
  good = cf_filter_once(engine, params, source, got, status) &&
         cf_filter_once(&cf_sepconv_reference, params, source, want, status);
  if (good)
    *error = cf_picture_compare(got, want, 0.0).worst;
  cf_picture_free(source);
  cf_picture_free(got);
  cf_picture_free(want);
  return good;
}

/* ---- The table ---- */

static bool print_row(const CfEngine *engine, const CfFrames *frames, const CfSepconvParams *params,
                      bool json)
{
  const CfWork work = {.engine = engine, .frames = frames, .params = params};
  const char *format = cf_format_info(frames->video.format)->name;
  CfStatus status = {CF_OK, ""};
  CfTimes times;
  double error;

  if (!cf_measure(&work, &times, &status) ||
      !measure_error(engine, &frames->video, params, &error, &status)) {
    fprintf(stderr, "%s: %s\n", engine->name, status.message);
    return false;
  }
  if (json)
    printf(
        "{\"peer\": \"%s\", \"work\": \"taps\", \"value\": %d, \"format\": \"%s\", \"width\": %d, "
        "\"height\": %d, \"median_ms\": %.6g, \"min_ms\": %.6g, \"copy_ms\": %.6g, \"error\": "
        "%g}\n",
        engine == &npp ? "NPP FilterGaussAdvancedBorder" : "cudasepconv", params->preset_size,
        format, frames->video.width, frames->video.height, times.median_ms, times.copy_ms, error);
  else
    printf("%-6s %4d taps  %-5s %9.1f us %7.2f copies, error %g\n", format, params->preset_size,
           engine->name, 1e3 * times.median_ms, times.median_ms / times.copy_ms, error);
  return true;
}

static bool print_format(CfFormat format, bool json)
{
  const int sizes[] = {9, 17, 33};
  const CfVideo video = cf_video(format, 3840, 2160);
  CfStatus status = {CF_OK, ""};
  const CfMemory *memory = cf_device_memory(&status);
  CfFrames *frames = memory ? cf_frames_new(&video, CF_ALPHA_OPAQUE, memory, &status) : NULL;
  bool good = frames;

  if (!good)
    fprintf(stderr, "%s\n", status.message);
  for (size_t s = 0; good && s < sizeof sizes / sizeof *sizes; s++) {
    CfSepconvParams params;

    cf_params_init(cf_sepconv.params, &params);
    params.preset = CF_SEPCONV_GAUSSIAN;
    params.preset_size = sizes[s];
    good = print_row(&cf_sepconv_cuda, frames, &params, json) &&
           print_row(&npp, frames, &params, json);
  }
  cf_frames_free(frames);
  return good;
}

int main(int argc, char **argv)
{
  const bool json = argc > 1 && strcmp(argv[1], "--json") == 0;

  return print_format(CF_FORMAT_GRAY8, json) && print_format(CF_FORMAT_RGBA, json) ? 0 : 1;
}
