/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The contract between an effect and its callers: elements, tests and the benchmark. An effect
 * (CfEffect) is a params struct, a table that describes its fields, and a table of engines
 * (CfEngine), the implementations. Most engines know no packed formats; filter.h runs every engine
 * on every format.
 */
#pragma once

#include "image.h"
#include "params.h"
#include "regions.h"
#include "status.h"

/* Resources of one GPU context, shared by all engines on it: scratch pool, device limits
 * (device.h). NULL on the CPU. */
typedef struct CfDevice CfDevice;

typedef struct {
  int threads;      /* CPU threads that run() may use, 0 = one per available processor; ignored by
                       cuda engines */
  CfDevice *device; /* cuda engines only: borrowed, outlives the engine's state */

  /* Format of the destinations, of the source's size, for effects with `check_destination`;
   * borrowed for the call. NULL for all other effects. */
  const CfVideo *destination;
} CfOpenOptions;

/* The work on one frame. Everything it points to is borrowed until run() returns; with cuda engines
 * the pictures' memory until the work on the stream has finished. */
typedef struct {
  /* The pictures never overlap, except where cf_engine_works_in_place(): then they may be the same,
   * with the same pointer and stride for every plane. `source` is only read. */
  CfPicture source, destination;

  /* cuda engines: the CUstream to enqueue on, NULL for the default stream; it belongs to the
   * context of CfOpenOptions.device. run() refuses a stream that is being captured into a graph:
   * kernels depend on flags that the frame before left in device memory. CPU engines: NULL. */
  void *stream;

  /* Engines with `regions` filter only what these cover and leave every byte outside as in the
   * source. NULL: the whole picture. */
  const CfRegions *regions;

  /* For effects that follow the content over time: seconds since the previous frame, and whether
   * this frame has no predecessor that the state has seen, as after a seek. */
  double seconds;
  bool fresh;

  /* Engines with `halo` write only the luma rows first_row..first_row + rows - 1; rows = 0: all.
   * Both numbers are even, except that a band may end with the last row of the picture. The
   * pictures' pointers are those of row 0, but only the band's rows of the destination have to be
   * in memory, and of the source the band's and halo(state) more on either side, as far as they lie
   * in the picture. Not together with `regions`. */
  int first_row, rows;
} CfJob;

/* One implementation of an effect: a row of its engine table.
 *
 * A state is used by one caller at a time, from any thread: no two of its functions, algorithm()
 * and halo() included, may run at once. Different states may run concurrently. `params` points to
 * the effect's params struct and `video` to a geometry; both have passed cf_effect_check() and are
 * borrowed for the call. `status` may be NULL.
 *
 * cuda engines: open, update, run and close are called with the context of CfOpenOptions.device
 * current on the calling thread. All work of a job is on its stream or joined to it by events, and
 * calls wait for the device only where they allocate or free. */
typedef struct {
  const char *name;   /* "reference", "cpu", "cuda" */
  bool device_memory; /* pictures are in device memory */
  bool in_place;      /* source and destination may be the same picture */

  /* Prepares a state for a geometry and format, and allocates what every frame needs. The caller
   * closes the state. NULL on failure: CF_ERROR_INVALID, _NO_MEMORY, _NO_DEVICE (no kernels for
   * this GPU), _DEVICE_LOST. */
  void *(*open)(const CfVideo *video, const void *params, const CfOpenOptions *options,
                CfStatus *status);

  /* Takes over new parameters for the following jobs, also while a job of a cuda engine is in
   * flight. Allocates only where a parameter needs more memory than any before it (a longer kernel,
   * a blur map). On failure the state keeps its old parameters. */
  bool (*update)(void *state, const void *params, CfStatus *status);

  /* Filters one picture. CPU engines return when it is done; cuda engines enqueue and return at
   * once. Jobs of one state run one after another, since they share its device memory: a caller
   * that changes the stream lets the new stream wait for the last job on the old one (an event).
   * Only the first job that needs something new allocates, such as regions, more of them, or sigmas
   * that vary. Device memory aligned to 16 bytes, with strides that are multiples of 16, takes the
   * fast kernels; other memory takes slower ones, whose samples differ by at most one code value.
   * After a failure the destination may hold anything, and enqueued work may still be in flight;
   * the state may run the next job, unless the error is CF_ERROR_DEVICE_LOST. */
  bool (*run)(void *state, const CfJob *job, CfStatus *status);

  /* The algorithm of the last update or run, for statistics: "fir-fixed", "sine-8", ... Needs no
   * context and does not wait. The text is valid until the next call with this state. */
  const char *(*algorithm)(const void *state);

  /* Frees everything; NULL is not allowed. cuda: the caller makes sure that no job of this state is
   * in flight. */
  void (*close)(void *state);

  bool regions; /* CfJob.regions may be set */

  /* Luma rows above and below its band that a job reads with the present parameters; -1: the whole
   * picture. NULL: the engine supports no bands. */
  int (*halo)(const void *state);

  /* Filters a packed 4:2:2 picture of format `video`, without unpacking it, with a state that was
   * opened for cf_planar_video(video). `done` is false where the engine cannot do so with this job:
   * the caller then unpacks and calls run(). NULL: the engine never can. */
  bool (*run_packed)(void *state, const CfVideo *video, const CfJob *job, bool *done,
                     CfStatus *status);

  bool regions_in_place; /* as in_place, but for jobs with regions only */
} CfEngine;

/* Whether source and destination of a job with these regions (NULL: without) may be the same
 * picture. */
static inline bool cf_engine_works_in_place(const CfEngine *engine, const CfRegions *regions)
{
  return engine->in_place || (regions && engine->regions_in_place);
}

/* A warning for a setting without effect, or with another than intended, beside the others. */
typedef struct {
  const char *name;                    /* of the setting, kebab-case; NULL ends the list */
  bool (*applies)(const void *params); /* whether the warning holds */
  const char *text;                    /* the sentence for the user */
} CfRemark;

/* An effect. Constant; all functions are pure and may be called from any thread. */
typedef struct {
  const char *name; /* "llf" */
  size_t params_size;
  const CfParam *params; /* ends with a NULL name */

  /* For effects that change the format: refuses (CF_ERROR_INVALID) destinations that the effect
   * cannot make of `video`. NULL: destinations have the source's format. */
  bool (*check_destination)(const CfVideo *video, const CfVideo *destination, CfStatus *status);

  /* Replaces automatic values by numbers. `masks` says whether regions are to be covered, as a
   * privacy mask does. Bit i of `set` says whether the user has chosen the value in row i of the
   * table: a value that is not the default, or one set after `automatic` was; a default set before
   * it, as by a program that restores all properties, is not a choice. NULL if nothing is
   * automatic. */
  void (*settle)(void *params, uint64_t set, bool masks);
  const char *automatic; /* name of the parameter whose default is "automatic"; NULL without
                            settle */

  /* Refuses (CF_ERROR_INVALID) combinations that ranges of single fields cannot; NULL if there are
   * none. */
  bool (*check)(const CfVideo *video, const void *params, CfStatus *status);

  /* Whether these parameters, after settle, hide what is in `regions` (NULL: regions are not known
   * yet); if not, `why` tells the user what to set instead. A face in a covered region can be
   * recognised by blocks below a sixth of the region's shorter side, and with a sigma below 0.15 of
   * it (tests/quality/masks.py). Where regions exclude (CfRegions.outside), and for the whole
   * picture, only a mask that changes nothing visible is too weak. NULL for effects that are no
   * masks. */
  bool (*hides)(const CfVideo *video, const void *params, const CfRegions *regions, CfStatus *why);

  /* Whether the output equals the input for every picture. */
  bool (*is_identity)(const void *params);

  /* NULL if there are none */
  const CfRemark *remarks;

  const CfEngine *const *engines; /* ends with NULL; "reference" first, "cuda" only if built */
} CfEffect;

/* Refuses (CF_ERROR_INVALID) what cf_video_check, the table's ranges or the effect's own check
 * refuse. Engines may be opened for, and updated with, everything that passes. */
bool cf_effect_check(const CfEffect *effect, const CfVideo *video, const void *params,
                     CfStatus *status);

/* Refuses (CF_ERROR_INVALID) a job that `engine`, opened for `video` and `destination` (NULL: as
 * `video`), must not run: missing planes; strides below a row's bytes, or negative or odd where the
 * engine takes none; source and destination that share only some planes, or that share all where
 * the engine does not filter in place; regions or bands that the engine does not support; bands
 * outside the picture. Does not detect other overlaps of planes. */
bool cf_job_check(const CfEngine *engine, const CfVideo *video, const CfVideo *destination,
                  const CfJob *job, CfStatus *status);

/* The engine row of that name, or NULL. */
const CfEngine *cf_effect_engine(const CfEffect *effect, const char *name);

/* The effect of that name ("llf", "gaussblur", "blockavg", "sepconv", "tonemap"), or NULL. */
const CfEffect *cf_effect(const char *name);
