/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Runs the test cases of one effect and prints TAP. After dav1d's checkasm: every engine row of the
 * effect's table walks through the same cases.
 *
 *   static void constant_stays(CfTest *test)           one function a case; it may loop over sizes
 *   static const CfTestCase cases[] = {{"constant-stays", constant_stays, CF_EACH_ENGINE}, {0}};
 *   static const CfTestSuite suite = {&cf_blockavg, cases};
 *   int main(int argc, char **argv) { return cf_test_main(&suite, argc, argv); }
 *
 * Of a packed format, cases see pictures of the planes that an engine makes of it.
 *
 * Command line: [--list] [--verbose] [--cpu LEVEL] [--seed N] [PART-OF-A-NAME...]
 * --cpu limits the instruction set (cpu/common/level.h), and skips all where that makes no
 * difference.
 */
#pragma once

#include "compare.h"
#include "engine.h"
#include "filter.h"
#include "memory.h"
#include "patterns.h"
#include "picture.h"
#include "random.h"

/* One line of TAP under way. */
typedef struct {
  const CfEffect *effect; /* the suite's */
  const CfEngine *engine; /* the row to test, NULL for cases without CF_EACH_ENGINE... */
  CfFormat format;        /* the format to test, for cases with CF_EACH_FORMAT */
  CfFormat handed;        /* the same, or packed: what rigs hand the engine under test */
  CfRandom random;        /* seeded by the command line's seed and the name of the case */
  uint64_t seed;          /* the same, as a number */

  /* The rest is the harness's. */
  const char *name;
  bool verbose;
  int failures;
  char context[256];
  char skipped[200];
} CfTest;

/* How a case multiplies; the names become ENGINE/CASE/FORMAT. */
enum {
  CF_ONCE = 0,
  CF_EACH_ENGINE = 1,       /* every row of the effect's engine table */
  CF_EACH_OTHER_ENGINE = 2, /* every row but "reference" */
  CF_EACH_FORMAT = 4,
};

typedef struct {
  const char *name; /* kebab-case; NULL ends the table */
  void (*run)(CfTest *test);
  unsigned each; /* union of the above */
} CfTestCase;

typedef struct {
  const CfEffect *effect; /* NULL if no case needs one */
  const CfTestCase *cases;
} CfTestSuite;

/* The exit status: 0 if nothing failed, 1 if something did, 2 for a bad command line. Rows whose
 * engine works in device memory are skipped where there is no device. */
int cf_test_main(const CfTestSuite *suite, int argc, char **argv);

/* Says what the case is about to try; printed with its failures. */
void cf_test_context(CfTest *test, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Skips the rest of the case, for a reason; the caller returns. */
void cf_test_skip(CfTest *test, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Fails the case unless `condition`; returns it. The message is printf's. */
#define CF_EXPECT(test, condition, ...)                                                            \
  cf_test_expect(test, condition, __FILE__, __LINE__, __VA_ARGS__)
bool cf_test_expect(CfTest *test, bool condition, const char *file, int line, const char *format,
                    ...) __attribute__((format(printf, 5, 6)));

/* Fails the case, printing the first offender, where a sample differs by more than `tolerance` code
 * values (compare.h says how they are compared), or has bits set below its code value. */
bool cf_test_compare(CfTest *test, const CfTestPicture *got, const CfTestPicture *want,
                     double tolerance);

/* As above where a stored sample differs at all. */
bool cf_test_compare_exact(CfTest *test, const CfTestPicture *got, const CfTestPicture *want);

/* An engine opened on behalf of a case. What fails in these functions fails the case. */
typedef struct CfRig CfRig;

/* Checks the params as an element would, then opens; NULL on failure. */
CfRig *cf_rig_open(CfTest *test, const CfEngine *engine, const CfVideo *video, const void *params,
                   int threads);

/* The same for effects that make other pictures of those of `video`. */
CfRig *cf_rig_open_to(CfTest *test, const CfEngine *engine, const CfVideo *video,
                      const CfVideo *destination, const void *params, int threads);

bool cf_rig_update(CfRig *rig, const void *params);

/* The jobs to come are given these regions; NULL, as at first, for the whole picture. Borrowed. */
void cf_rig_set_regions(CfRig *rig, const CfRegions *regions);

/* The jobs to come have these `seconds` and `fresh`; 0 and false at first. */
void cf_rig_set_pace(CfRig *rig, double seconds, bool fresh);

/* Runs on pictures in host memory, through mirrors on the device where the engine works there, and
 * waits. The destination is poisoned before; afterwards its guard bytes must be intact and the
 * source unchanged. With `source` NULL the destination is filtered in place. */
bool cf_rig_run(CfRig *rig, const CfTestPicture *source, CfTestPicture *destination);

const char *cf_rig_algorithm(const CfRig *rig);

/* NULL is allowed. */
void cf_rig_close(CfRig *rig);

/* Opens `engine` for the pictures' videos on `threads` threads, runs once and closes. */
bool cf_test_filter(CfTest *test, const CfEngine *engine, const void *params, int threads,
                    const CfTestPicture *source, CfTestPicture *destination);

/* The reference row's result in a new picture laid out as the source; NULL on failure. */
CfTestPicture *cf_test_reference(CfTest *test, const void *params, const CfTestPicture *source);

/* Sizes that find mistakes: 1x1, thin ones, odd ones, around vector lengths. Ends with {0, 0}. */
typedef struct {
  int width, height;
} CfSize;
extern const CfSize cf_test_sizes[];
