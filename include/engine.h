/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The contract between an effect and those who run it: elements, tests and the benchmark.
 * An effect is a params struct, a table of descriptions of its fields, and a table of engines.
 * Engines need not know packed formats; filter.h runs them on any.
 */
#pragma once

#include "image.h"
#include "params.h"
#include "regions.h"
#include "status.h"

/* Resources of one GPU context shared by all engines on it (scratch pool, limits): device.h. NULL
 * on the CPU. */
typedef struct CfDevice CfDevice;

typedef struct {
  int threads;      /* CPU threads of run(), 0 = all; cuda engines take none */
  CfDevice *device; /* cuda engines only: borrowed, outlives the engine's state */

  /* What destinations are, borrowed for the call, for effects with `check_destination`; the size is
   * the source's. NULL for all others. */
  const CfVideo *destination;
} CfOpenOptions;

/* One frame's work; all of it is borrowed until run() returns, and the pictures' memory for cuda
 * engines until the stream has passed. */
typedef struct {
  /* Never overlap, unless cf_engine_works_in_place(): then they may be the same, plane for plane
   * and stride for stride. `source` is read only. */
  CfPicture source, destination;

  /* cuda engines: the CUstream to enqueue on, NULL for the default stream. It belongs to the
   * context of CfOpenOptions.device, and is not being captured into a graph: kernels of a frame
   * count on what the frame before left on the device, so run() refuses such streams. On the CPU:
   * NULL. */
  void *stream;

  /* Engines with `regions` filter only there, and every byte outside equals the source's; NULL for
   * the whole picture. */
  const CfRegions *regions;

  /* For effects that follow what frames show: seconds since the frame before, and whether this one
   * goes on from no frame that the state has seen, as after a seek. */
  double seconds;
  bool fresh;

  /* Engines with `halo` make only the luma rows first_row..first_row + rows - 1; rows = 0 for all.
   * Both are even, but for the last rows of a picture. The pictures' pointers are those of row 0,
   * but only these rows of the destination need to be in memory, and of the source those and
   * halo(state) more to either side that lie in the picture. Not together with `regions`. */
  int first_row, rows;
} CfJob;

/* One row of an effect's engine table.
 *
 * A state belongs to one caller at a time, from any thread: no two of its functions, algorithm()
 * and halo() included, may run at once. Different states run concurrently. `params` points to the
 * effect's params struct and `video` to a geometry, both passed by cf_effect_check() and borrowed
 * for the call. `status` may be NULL.
 *
 * cuda engines: open, update, run and close are called with the context of CfOpenOptions.device
 * current on the calling thread. A job's work is all on its stream, or joined to it, and no call
 * waits for the device but where it allocates or frees. */
typedef struct {
  const char *name;   /* "reference", "cpu", "cuda" */
  bool device_memory; /* pictures are in device memory */
  bool in_place;      /* source and destination may be the same picture */

  /* Prepares for a geometry and format, and allocates what each frame needs. The caller closes the
   * state. NULL on failure: CF_ERROR_INVALID, _NO_MEMORY, _NO_DEVICE (no kernels for this GPU),
   * _DEVICE_LOST. */
  void *(*open)(const CfVideo *video, const void *params, const CfOpenOptions *options,
                CfStatus *status);

  /* Takes new parameters over for the jobs to come, also while a job of a cuda engine is under way.
   * Allocates only where a parameter needs more memory than any before (a longer kernel, a blur
   * map). On failure the state keeps its old parameters. */
  bool (*update)(void *state, const void *params, CfStatus *status);

  /* Filters one picture. CPU engines return when it is done; cuda engines enqueue and return at
   * once. Jobs of one state run one after another: whoever changes the stream has the new one wait
   * for the last job on the old one (an event), since they share the state's device memory.
   * Nothing is allocated but with the first job that needs what none before did, such as regions,
   * more of them, or sigmas that vary. Device memory that is aligned to 16 bytes, with strides that
   * are multiples of 16, takes the fast kernels; all else takes slower ones and makes the same
   * samples to a code value.
   * After a failure the destination may hold anything, and what was enqueued may still be under
   * way; the state may run the next job, unless the error is CF_ERROR_DEVICE_LOST. */
  bool (*run)(void *state, const CfJob *job, CfStatus *status);

  /* The algorithm in use since the last update or run, for statistics: "fir-fixed", "sine-8", ...
   * Neither needs a context nor waits. Valid until the next call with this state. */
  const char *(*algorithm)(const void *state);

  /* Frees everything; NULL is not allowed. cuda: the caller has made sure that no job of this state
   * is under way. */
  void (*close)(void *state);

  bool regions; /* heeds CfJob.regions */

  /* Luma rows above and below its band that a job reads with the present parameters, or -1 where
   * it needs the whole picture. NULL: the engine knows no bands. */
  int (*halo)(const void *state);

  /* Filters packed 4:2:2 of `video`, whose planes `state` was opened for, as run() does these, if
   * it can do that at once: `done` says whether. NULL: never. */
  bool (*run_packed)(void *state, const CfVideo *video, const CfJob *job, bool *done,
                     CfStatus *status);

  bool regions_in_place; /* as in_place, of jobs with regions */
} CfEngine;

/* Whether a job with these regions, or without (NULL), may have one picture for both. */
static inline bool cf_engine_works_in_place(const CfEngine *engine, const CfRegions *regions)
{
  return engine->in_place || (regions && engine->regions_in_place);
}

/* A setting that makes no difference, or not the one it is there for, with the others as they are.
 */
typedef struct {
  const char *name;                    /* of the setting; NULL ends the list */
  bool (*applies)(const void *params); /* whether that is so */
  const char *text;                    /* what a user is told */
} CfRemark;

/* Constant; all functions are pure and safe from any thread. */
typedef struct {
  const char *name; /* "llf" */
  size_t params_size;
  const CfParam *params; /* ends with a NULL name */

  /* For effects whose destinations are other pictures than their sources, of the same size: refuses
   * (CF_ERROR_INVALID) what cannot be made of `video`. NULL: destinations are as sources. */
  bool (*check_destination)(const CfVideo *video, const CfVideo *destination, CfStatus *status);

  /* Puts numbers in the place of values that are automatic, for frames of which regions are
   * covered (`masks`) or not. `set` has a bit for each row of the table: whether a user has chosen
   * the value, be it the default; a default that was set before `automatic` was, as by who sets all
   * values that were read elsewhere, is not chosen. NULL if nothing is automatic. */
  void (*settle)(void *params, uint64_t set, bool masks);
  const char *automatic; /* the parameter that is by default; NULL without settle */

  /* Refuses combinations that the single ranges cannot; NULL if there are none. */
  bool (*check)(const CfVideo *video, const void *params, CfStatus *status);

  /* False, with what to set instead in `why`, where these parameters, settled, hide too little of
   * what is in `regions`; NULL for the regions: of any. A face in a region that is covered can be
   * recognised by its blocks below a sixth of its shorter side, and by a sigma below 0.15 of it
   * (tests/quality/masks.py); of regions that are left out, and of the whole picture, only a mask
   * that leaves everything as it was is too weak. NULL if the effect knows none. */
  bool (*hides)(const CfVideo *video, const void *params, const CfRegions *regions, CfStatus *why);

  /* True where the output equals the input for every picture. */
  bool (*is_identity)(const void *params);

  /* For those who have set something else than a default; NULL if there are none. */
  const CfRemark *remarks;

  const CfEngine *const *engines; /* ends with NULL; "reference" first, "cuda" only if built */
} CfEffect;

/* Refuses (CF_ERROR_INVALID) what cf_video_check, the ranges or the effect's own check refuse: what
 * passes, engines may be opened for and updated with. */
bool cf_effect_check(const CfEffect *effect, const CfVideo *video, const void *params,
                     CfStatus *status);

/* Refuses (CF_ERROR_INVALID) a job that `engine`, opened for `video` and `destination` (NULL: as
 * `video`), must not be handed: planes that are missing, strides below a row's bytes, negative or
 * odd ones where the engine takes none, source and destination of which only some planes are the
 * same or which the engine does not filter in place, regions or bands that it does not know, bands
 * that are not in the picture. Does not see planes that overlap otherwise. */
bool cf_job_check(const CfEngine *engine, const CfVideo *video, const CfVideo *destination,
                  const CfJob *job, CfStatus *status);

/* The engine row of that name, or NULL. */
const CfEngine *cf_effect_engine(const CfEffect *effect, const char *name);

/* The effect of that name ("llf", "gaussblur", "blockavg", "sepconv", "tonemap"), or NULL. */
const CfEffect *cf_effect(const char *name);
