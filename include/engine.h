/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The contract between an effect and those who run it: elements, tests and the benchmark.
 * An effect is a params struct, a table of descriptions of its fields, and a table of engines.
 */
#pragma once

#include "image.h"
#include "params.h"
#include "regions.h"
#include "status.h"

/* Resources of one GPU context shared by all engines on it (scratch pool, limits); NULL on the CPU.
 */
typedef struct CfDevice CfDevice;

typedef struct {
  int threads;      /* CPU threads, 0 = all */
  CfDevice *device; /* cuda engines only: borrowed, outlives the engine's state */
} CfOpenOptions;

/* One frame's work. `source` and `destination` never overlap, unless the engine says `in_place`,
 * and then they are the same planes. */
typedef struct {
  CfPicture source; /* read only */
  CfPicture destination;
  void *stream; /* cuda engines: the CUstream to enqueue on; NULL on the CPU */

  /* Engines with `regions` filter only there, and every byte outside equals the source's; NULL for
   * the whole picture. */
  const CfRegions *regions;

  /* Engines with `halo` make only the luma rows first_row..first_row + rows - 1; rows = 0 for all.
   * Both are even, but for the last rows of a picture. The pictures' pointers are those of row 0,
   * but only these rows of the destination need to be in memory, and of the source those and
   * halo(state) more to either side that lie in the picture. */
  int first_row, rows;
} CfJob;

/* One row of an effect's engine table. A state belongs to one caller at a time; different states
 * run concurrently. `params` points to the effect's params struct, already checked. */
typedef struct {
  const char *name;   /* "reference", "cpu", "cuda" */
  bool device_memory; /* pictures are in device memory */
  bool in_place;      /* source and destination may be the same picture */

  /* Prepares for a geometry and format: the only call that may allocate. NULL on failure. */
  void *(*open)(const CfVideo *video, const void *params, const CfOpenOptions *options,
                CfStatus *status);

  /* Takes new parameters over: host-side preparation only, no reallocation unless the parameter
   * itself needs more scratch (a longer kernel); never waits for the device. On failure the state
   * keeps its old parameters. */
  bool (*update)(void *state, const void *params, CfStatus *status);

  /* Filters one picture. CPU engines return when it is done; cuda engines enqueue on the stream and
   * return at once, and the caller keeps both pictures alive until the stream has passed. */
  bool (*run)(void *state, const CfJob *job, CfStatus *status);

  /* The algorithm now in use, for statistics: "fir-fixed", "sine-8", ... Valid until close. */
  const char *(*algorithm)(const void *state);

  /* Frees everything. cuda: the caller has made sure that no job of this state is under way. */
  void (*close)(void *state);

  bool regions; /* heeds CfJob.regions */

  /* Luma rows above and below its band that a job reads with the present parameters, or -1 where
   * it needs the whole picture. NULL: the engine knows no bands. */
  int (*halo)(const void *state);
} CfEngine;

/* A setting that makes no difference, or not the one it is there for, with the others as they are.
 */
typedef struct {
  const char *name;                    /* of the setting; NULL ends the list */
  bool (*applies)(const void *params); /* whether that is so */
  const char *text;                    /* what a user is told */
} CfRemark;

typedef struct {
  const char *name; /* "llf" */
  size_t params_size;
  const CfParam *params; /* ends with a NULL name */

  /* Refuses combinations that the single ranges cannot; NULL if there are none. */
  bool (*check)(const CfVideo *video, const void *params, CfStatus *status);

  /* False, with what to set instead in `why`, where what these parameters make of `regions` hides
   * nothing of what is in them; NULL for the regions: of any. NULL if the effect knows none. */
  bool (*hides)(const CfVideo *video, const void *params, const CfRegions *regions, CfStatus *why);

  /* True where the output equals the input for every picture. */
  bool (*is_identity)(const void *params);

  /* For those who have set something else than a default; NULL if there are none. */
  const CfRemark *remarks;

  const CfEngine *const *engines; /* ends with NULL; "reference" first, "cuda" only if built */
} CfEffect;

/* Refuses what the ranges or the effect's own check refuse. */
bool cf_effect_check(const CfEffect *effect, const CfVideo *video, const void *params,
                     CfStatus *status);

/* The engine row of that name, or NULL. */
const CfEngine *cf_effect_engine(const CfEffect *effect, const char *name);

/* The effect of that name ("llf", "gaussblur", "blockavg", "sepconv"), or NULL. */
const CfEffect *cf_effect(const char *name);
