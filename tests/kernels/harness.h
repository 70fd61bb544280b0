/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Runs the test cases of one effect and prints TAP. Modelled on dav1d's checkasm: every engine in
 * the effect's table runs the same cases.
 *
 * A suite is a table of cases, a function each, which may loop over sizes; main() hands the suite
 * to cf_test_main(). tests/kernels/blockavg.c shows one.
 *
 * Command line: [--list] [--verbose] [--cpu LEVEL] [--seed N] [PART-OF-A-NAME...]. With --cpu, the
 * instruction set is limited (cpu/common/level.h); everything is skipped where that is no limit.
 */
#pragma once

#include "compare.h"
#include "engine.h"
#include "filter.h"
#include "memory.h"
#include "patterns.h"
#include "picture.h"
#include "random.h"

/* The state of one line of TAP. */
typedef struct {
  const CfEffect *effect; /* the suite's */
  const CfEngine *engine; /* the engine under test; NULL for cases without CF_EACH_ENGINE and
                             CF_EACH_OTHER_ENGINE */
  CfFormat format;        /* the format under test, with CF_EACH_FORMAT; planar */
  CfFormat handed;        /* the same, or the packed format that rigs hand to the engine under
                             test */
  CfRandom random;        /* seeded by `seed` */
  uint64_t seed;          /* from the command line's seed and the case's name */

  /* Private to the harness. */
  const char *name;
  bool verbose;
  int failures;
  char context[256];
  char skipped[200];
} CfTest;

/* How often a case runs; lines are named ENGINE/CASE/FORMAT. */
enum {
  CF_ONCE = 0,
  CF_EACH_ENGINE = 1,       /* for every engine in the effect's table */
  CF_EACH_OTHER_ENGINE = 2, /* for every engine but "reference" */
  CF_EACH_FORMAT = 4,
};

typedef struct {
  const char *name; /* kebab-case; NULL ends the table */
  void (*run)(CfTest *test);
  unsigned each; /* any of the above, or-ed */
} CfTestCase;

typedef struct {
  const CfEffect *effect; /* NULL if no case needs one */
  const CfTestCase *cases;
} CfTestSuite;

/* Returns the exit status: 0 if nothing failed, 1 if something did, 2 for a bad command line.
 * Engines that work in device memory are skipped where there is no device. */
int cf_test_main(const CfTestSuite *suite, int argc, char **argv);

/* Describes what the case is about to try; printed with its failures. */
void cf_test_context(CfTest *test, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Marks the case as skipped, with the reason. The caller returns. */
void cf_test_skip(CfTest *test, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Fails the case unless `condition` holds; returns it. The message is printf's. */
#define CF_EXPECT(test, condition, ...)                                                            \
  cf_test_expect(test, condition, __FILE__, __LINE__, __VA_ARGS__)
bool cf_test_expect(CfTest *test, bool condition, const char *file, int line, const char *format,
                    ...) __attribute__((format(printf, 5, 6)));

/* Fails the case where a sample differs by more than `tolerance` code values (compare.h), or has
 * bits set below its code; prints the first such sample. */
bool cf_test_compare(CfTest *test, const CfTestPicture *got, const CfTestPicture *want,
                     double tolerance);

/* The same where a stored sample differs at all. */
bool cf_test_compare_exact(CfTest *test, const CfTestPicture *got, const CfTestPicture *want);

/* An engine opened for a case. Failures of the functions below fail the case. */
typedef struct CfRig CfRig;

/* Checks the params as an element would, and opens the engine; NULL on failure. */
CfRig *cf_rig_open(CfTest *test, const CfEngine *engine, const CfVideo *video, const void *params,
                   int threads);

/* The same for effects that change the format. */
CfRig *cf_rig_open_to(CfTest *test, const CfEngine *engine, const CfVideo *video,
                      const CfVideo *destination, const void *params, int threads);

bool cf_rig_update(CfRig *rig, const void *params);

/* Sets the regions of the following jobs; NULL, as at first: the whole picture. Borrowed. */
void cf_rig_set_regions(CfRig *rig, const CfRegions *regions);

/* Sets `seconds` and `fresh` of the following jobs; 0 and false at first. */
void cf_rig_set_pace(CfRig *rig, double seconds, bool fresh);

/* Runs one job on pictures in host memory, by way of mirrors for engines in device memory, and
 * waits. The destination is poisoned before; its guard bytes must be intact after, and the source
 * unchanged. With `source` NULL the destination is filtered in place. */
bool cf_rig_run(CfRig *rig, const CfTestPicture *source, CfTestPicture *destination);

const char *cf_rig_algorithm(const CfRig *rig);

/* NULL is allowed. */
void cf_rig_close(CfRig *rig);

/* Opens `engine` for the pictures' formats on `threads` threads, runs one job and closes. */
bool cf_test_filter(CfTest *test, const CfEngine *engine, const void *params, int threads,
                    const CfTestPicture *source, CfTestPicture *destination);

/* The reference engine's result, in a new picture with the source's layout; NULL on failure. */
CfTestPicture *cf_test_reference(CfTest *test, const void *params, const CfTestPicture *source);

/* Sizes that find mistakes: 1x1, thin, odd, around the lengths of vectors. Ends with {0, 0}. */
typedef struct {
  int width, height;
} CfSize;
extern const CfSize cf_test_sizes[];
