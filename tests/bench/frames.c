/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The frames that engines are measured on, and one picture's way through an engine.
 */
#include <stdlib.h>
#include <string.h>

#include "filter.h"
#include "measure.h"

/* The rows of `from`, from another row on: as unlike it as another photograph, and made at once. */
static void fill_rolled(CfTestPicture *to, const CfTestPicture *from, int number)
{
  for (int p = 0; p < cf_format_info(from->video.format)->planes; p++) {
    const int rows = cf_plane_height(&from->video, p);
    const int roll = (int)((long)rows * number / CF_BENCH_FRAMES);

    for (int y = 0; y < rows; y++)
      memcpy(to->planes.data[p] + y * to->planes.stride[p],
             from->planes.data[p] + (y + roll) % rows * from->planes.stride[p],
             cf_row_bytes(&from->video, p));
  }
}

static bool make_frame(CfFrames *frames, int number)
{
  CfFrame *frame = &frames->frame[number];

  frame->source = cf_picture_new(&frames->video, CF_LAYOUT_ALIGNED);
  frame->destination = cf_picture_new(&frames->destination, CF_LAYOUT_ALIGNED);
  if (number == 0)
    cf_picture_fill(frame->source, CF_PATTERN_PHOTO, frames->alpha, 1);
  else
    fill_rolled(frame->source, frames->frame[0].source, number);
  return !frames->memory ||
         (cf_mirror_init(&frame->device_source, frames->memory, frame->source) &&
          cf_mirror_init(&frame->device_destination, frames->memory, frame->destination) &&
          cf_mirror_upload(&frame->device_source, frame->source));
}

CfFrames *cf_frames_new(const CfVideo *video, const CfVideo *destination, CfAlphaFill alpha,
                        const CfMemory *memory, CfStatus *status)
{
  CfFrames *frames = calloc(1, sizeof *frames);
  bool made = frames != NULL;

  if (frames)
    *frames = (CfFrames){.video = *video,
                         .destination = destination ? *destination : *video,
                         .converts = destination,
                         .alpha = alpha,
                         .memory = memory};
  for (int i = 0; made && i < CF_BENCH_FRAMES; i++)
    made = make_frame(frames, i);
  if (made)
    return frames;
  cf_fail(status, CF_ERROR_NO_MEMORY, "no memory for %d frames", 2 * CF_BENCH_FRAMES);
  cf_frames_free(frames);
  return NULL;
}

void cf_frames_free(CfFrames *frames)
{
  for (int i = 0; frames && i < CF_BENCH_FRAMES; i++) {
    if (frames->memory) {
      cf_mirror_free(&frames->frame[i].device_source);
      cf_mirror_free(&frames->frame[i].device_destination);
    }
    cf_picture_free(frames->frame[i].source);
    cf_picture_free(frames->frame[i].destination);
  }
  free(frames);
}

CfOpenOptions cf_work_options(const CfWork *work)
{
  const CfFrames *frames = work->frames;

  return (CfOpenOptions){.threads = work->threads,
                         .device = work->engine->device_memory ? frames->memory->device() : NULL,
                         .destination = frames->converts ? &frames->destination : NULL};
}

CfJob cf_work_job(const CfWork *work, int number)
{
  const CfFrames *frames = work->frames;
  const CfFrame *frame = &frames->frame[number % CF_BENCH_FRAMES];
  CfJob job = {.source = frame->source->planes, .destination = frame->destination->planes};

  if (work->engine->device_memory)
    job = (CfJob){.source = frame->device_source.planes,
                  .destination = frame->device_destination.planes,
                  .stream = frames->memory->stream()};
  job.regions = work->regions;
  if (work->regions && cf_engine_works_in_place(work->engine, work->regions))
    job.destination = job.source;
  return job;
}

/* ---- One picture ---- */

static bool run_through_device(CfFilter *filter, const CfMemory *memory,
                               const CfTestPicture *source, CfTestPicture *destination,
                               CfStatus *status)
{
  CfMirror from = {0}, to = {0};
  bool good = false;

  if (cf_mirror_init(&from, memory, source) && cf_mirror_init(&to, memory, destination) &&
      cf_mirror_upload(&from, source) && cf_mirror_upload(&to, destination)) {
    const CfJob job = {.source = from.planes, .destination = to.planes, .stream = memory->stream()};

    good = cf_filter_run(filter, &job, status) && memory->synchronize() &&
           cf_mirror_download(&to, destination);
  }
  cf_mirror_free(&from);
  cf_mirror_free(&to);
  return good || (status->code == CF_OK && cf_fail(status, CF_ERROR_FAILED, "the device failed"));
}

bool cf_filter_once(const CfEngine *engine, const void *params, const CfTestPicture *source,
                    CfTestPicture *destination, CfStatus *status)
{
  const CfMemory *memory = NULL;
  CfFilter *filter;
  bool good;

  *status = (CfStatus){CF_OK, ""};
  if (engine->device_memory) {
    memory = cf_device_memory(status);
    if (!memory)
      return false;
  }
  const CfOpenOptions options = {.device = memory ? memory->device() : NULL};
  filter = cf_filter_open(engine, &source->video, params, &options, status);
  if (!filter)
    return false;
  if (memory) {
    good = run_through_device(filter, memory, source, destination, status);
  } else {
    const CfJob job = {.source = source->planes, .destination = destination->planes};

    good = cf_filter_run(filter, &job, status);
  }
  cf_filter_close(filter);
  return good;
}
