/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Params tables: defaults, text into values and back, what is refused.
 */
#include "harness.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LARGE = 3, SMALL = 7, FLAG_A = 1, FLAG_B = 2, FLAG_C = 8 };

typedef struct {
  double ratio;
  int count;
  bool on;
  int kind;
  int flags;
  uint32_t color;
  CfKernel kernel;
} Values;

static const CfChoice kinds[] = {{LARGE, "large", ""}, {SMALL, "small", ""}, {0, NULL, NULL}};
static const CfChoice flags[] = {
    {FLAG_A, "a", ""}, {FLAG_B, "bee", ""}, {FLAG_C, "c", ""}, {0, NULL, NULL}};

#define FIELD(name) offsetof(Values, name)
static const CfParam table[] = {
    {"ratio", "", "", CF_PARAM_DOUBLE, FIELD(ratio), -1.0, 250.0, 2.5, NULL, NULL},
    {"count", "", "", CF_PARAM_INT, FIELD(count), 1.0, 4096.0, 32.0, NULL, NULL},
    {"on", "", "", CF_PARAM_BOOL, FIELD(on), 0.0, 1.0, 1.0, NULL, NULL},
    {"kind", "", "", CF_PARAM_ENUM, FIELD(kind), 0.0, 0.0, SMALL, "Kind", kinds},
    {"flags", "", "", CF_PARAM_FLAGS, FIELD(flags), 0.0, 0.0, FLAG_A | FLAG_C, "Flags", flags},
    {"color", "", "", CF_PARAM_COLOR, FIELD(color), 0.0, 4294967295.0, 4278190080.0, NULL, NULL},
    {"kernel", "", "", CF_PARAM_KERNEL, FIELD(kernel), 0.0, 0.0, 1.0, NULL, NULL},
    {0},
};
#undef FIELD

static Values defaults(void)
{
  Values values;

  memset(&values, 0x55, sizeof values);
  cf_params_init(table, &values);
  return values;
}

static void params_start_at_their_defaults(CfTest *test)
{
  const Values values = defaults();

  CF_EXPECT(test, values.ratio == 2.5, "ratio %g", values.ratio);
  CF_EXPECT(test, values.count == 32, "count %d", values.count);
  CF_EXPECT(test, values.on, "on");
  CF_EXPECT(test, values.kind == SMALL, "kind %d", values.kind);
  CF_EXPECT(test, values.flags == (FLAG_A | FLAG_C), "flags %d", values.flags);
  CF_EXPECT(test, values.color == 0xff000000, "color 0x%08x", values.color);
  CF_EXPECT(test, values.kernel.taps == 1 && values.kernel.tap[0] == 1.0, "kernel of %d taps",
            values.kernel.taps);
  CF_EXPECT(test, cf_params_check(table, &values, NULL), "the defaults are refused");
}

static bool parses(Values *values, const char *name, const char *text, CfStatus *status)
{
  *status = (CfStatus){CF_OK, ""};
  return cf_params_parse(table, values, name, text, status);
}

static void expect_parsed(CfTest *test, const char *name, const char *text, Values *values)
{
  CfStatus status;

  *values = defaults();
  cf_test_context(test, "%s=%s", name, text);
  CF_EXPECT(test, parses(values, name, text, &status), "refused: %s", status.message);
}

static void text_becomes_values(CfTest *test)
{
  Values values;

  expect_parsed(test, "ratio", "-1", &values);
  CF_EXPECT(test, values.ratio == -1.0, "got %g", values.ratio);
  expect_parsed(test, "ratio", "2.5e2", &values);
  CF_EXPECT(test, values.ratio == 250.0, "got %g", values.ratio);
  expect_parsed(test, "count", "4096", &values);
  CF_EXPECT(test, values.count == 4096, "got %d", values.count);
  expect_parsed(test, "on", "false", &values);
  CF_EXPECT(test, !values.on, "it is on");
  expect_parsed(test, "on", "true", &values);
  CF_EXPECT(test, values.on, "it is off");
  expect_parsed(test, "kind", "large", &values);
  CF_EXPECT(test, values.kind == LARGE, "got %d", values.kind);
  expect_parsed(test, "flags", "bee", &values);
  CF_EXPECT(test, values.flags == FLAG_B, "got %d", values.flags);
  expect_parsed(test, "flags", "c+a", &values);
  CF_EXPECT(test, values.flags == (FLAG_A | FLAG_C), "got %d", values.flags);
  expect_parsed(test, "color", "0x80102030", &values);
  CF_EXPECT(test, values.color == 0x80102030, "got 0x%08x", values.color);
  expect_parsed(test, "color", "4294967295", &values);
  CF_EXPECT(test, values.color == 0xffffffff, "got 0x%08x", values.color);
}

static void text_becomes_kernels(CfTest *test)
{
  static const char *const spellings[] = {"<1,-4.5,6e1>", "< 1, -4.5, 6e1 >", "1 -4.5 6e1",
                                          "1,-4.5,6e1"};
  char longest[4 * CF_MAX_TAPS + 8] = "<";
  Values values;

  for (size_t i = 0; i < sizeof spellings / sizeof spellings[0]; i++) {
    expect_parsed(test, "kernel", spellings[i], &values);
    CF_EXPECT(test,
              values.kernel.taps == 3 && values.kernel.tap[0] == 1.0 &&
                  values.kernel.tap[1] == -4.5 && values.kernel.tap[2] == 60.0,
              "got %d taps", values.kernel.taps);
  }

  for (int i = 0; i < CF_MAX_TAPS; i++)
    strcat(longest, i ? ",1" : "1");
  strcat(longest, ">");
  expect_parsed(test, "kernel", longest, &values);
  CF_EXPECT(test, values.kernel.taps == CF_MAX_TAPS, "got %d taps", values.kernel.taps);
}

/* Refuses `text` with a message that contains `part`, and leaves the values alone. */
static void expect_refused(CfTest *test, const char *name, const char *text, const char *part)
{
  const Values before = defaults();
  Values values = before;
  CfStatus status;

  cf_test_context(test, "%s=%s", name, text);
  CF_EXPECT(test, !parses(&values, name, text, &status), "it is accepted");
  CF_EXPECT(test, status.code == CF_ERROR_INVALID, "code %d", status.code);
  CF_EXPECT(test, strstr(status.message, name) && strstr(status.message, part),
            "the message is: %s", status.message);
  CF_EXPECT(test, memcmp(&values, &before, sizeof values) == 0, "a value has changed");
}

static void bad_text_is_refused(CfTest *test)
{
  char too_long[4 * CF_MAX_TAPS] = "<1";

  expect_refused(test, "radius", "1", "no property");
  expect_refused(test, "ratio", "", "not a number");
  expect_refused(test, "ratio", "wide", "not a number");
  expect_refused(test, "ratio", "2.5px", "not a number");
  expect_refused(test, "ratio", "1e999", "ratio");
  expect_refused(test, "ratio", "nan", "ratio");
  expect_refused(test, "ratio", "inf", "ratio");
  expect_refused(test, "ratio", "250.001", "-1 to 250");
  expect_refused(test, "ratio", "-1.001", "-1 to 250");
  expect_refused(test, "count", "0", "1 to 4096");
  expect_refused(test, "count", "4097", "1 to 4096");
  expect_refused(test, "count", "2.5", "whole number");
  expect_refused(test, "count", "99999999999", "1 to 4096");
  expect_refused(test, "on", "maybe", "true nor false");
  expect_refused(test, "kind", "", "large, small");
  expect_refused(test, "kind", "larg", "large, small");
  expect_refused(test, "kind", "larger", "large, small");
  expect_refused(test, "kind", "large+small", "large, small");
  expect_refused(test, "flags", "a+d", "a, bee, c");
  expect_refused(test, "flags", "a+", "a, bee, c");
  expect_refused(test, "flags", "be", "a, bee, c");
  expect_refused(test, "color", "-1", "color");
  expect_refused(test, "color", "0x1ffffffff", "color");
  expect_refused(test, "color", "red", "not a number");
  expect_refused(test, "kernel", "", "kernel");
  expect_refused(test, "kernel", "<>", "kernel");
  expect_refused(test, "kernel", "<1,x>", "list of 1 to 255 numbers");
  expect_refused(test, "kernel", "<1,nan>", "finite");
  expect_refused(test, "kernel", "<1,2> 3", "kernel");
  for (int i = 1; i <= CF_MAX_TAPS; i++)
    strcat(too_long, ",1");
  expect_refused(test, "kernel", too_long, "1 to 255");
}

static void expect_check(CfTest *test, const Values *values, const char *part)
{
  CfStatus status = {CF_OK, ""};

  cf_test_context(test, "%s", part);
  CF_EXPECT(test, !cf_params_check(table, values, &status), "it is accepted");
  CF_EXPECT(test, status.code == CF_ERROR_INVALID && strstr(status.message, part),
            "the message is: %s", status.message);
  CF_EXPECT(test, !cf_params_check(table, values, NULL), "it is accepted without a status");
}

static void bad_values_are_refused(CfTest *test)
{
  static const double bad_ratios[] = {NAN, INFINITY, -INFINITY, 251.0, -1.5};
  Values values;

  for (size_t i = 0; i < sizeof bad_ratios / sizeof bad_ratios[0]; i++) {
    values = defaults();
    values.ratio = bad_ratios[i];
    expect_check(test, &values, "ratio");
  }
  values = defaults();
  values.count = 0;
  expect_check(test, &values, "count is 0, allowed is 1 to 4096");
  values = defaults();
  values.kind = 4; /* between two choices */
  expect_check(test, &values, "kind");
  values = defaults();
  values.flags = FLAG_A | 4;
  expect_check(test, &values, "flags");
  values = defaults();
  values.kernel.taps = 0;
  expect_check(test, &values, "kernel has 0 taps");
  values.kernel.taps = CF_MAX_TAPS + 1;
  expect_check(test, &values, "kernel has 256 taps");
  values.kernel.taps = 2;
  values.kernel.tap[1] = NAN;
  expect_check(test, &values, "kernel: tap 1");
}

static void expect_text(CfTest *test, const Values *values, const char *name, const char *text)
{
  char printed[40];

  cf_params_print(cf_params_find(table, name), values, printed, sizeof printed);
  CF_EXPECT(test, strcmp(printed, text) == 0, "%s is printed as %s", name, printed);
}

static void params_are_printed_as_users_write_them(CfTest *test)
{
  Values values = defaults();

  expect_text(test, &values, "ratio", "2.5");
  expect_text(test, &values, "count", "32");
  expect_text(test, &values, "on", "true");
  expect_text(test, &values, "flags", "a+c");
  expect_text(test, &values, "color", "0xff000000");
  expect_text(test, &values, "kernel", "<1>");
  values.flags = 0;
  expect_text(test, &values, "flags", "0");
  values.kernel = (CfKernel){3, {1.0, -2.5, 1e9}};
  expect_text(test, &values, "kernel", "<1,-2.5,1e+09>");
  values.kernel.taps = 200;
  expect_text(test, &values, "kernel", "<1,-2.5,1e+09,0,0,0,0,0,... 200 taps>");
  values.kernel.tap[3] = 1.0 / 3.0; /* printed as cut off */
  expect_text(test, &values, "kernel", "<1,-2.5,1e+09,0.333333,0,0,0,0,... 200 ");
}

static void params_are_copied_one_by_one(CfTest *test)
{
  Values from = {0}, to = defaults();

  CF_EXPECT(test, cf_params_count(table) == 7, "%u rows", cf_params_count(table));
  for (const CfParam *param = table; param->name; param++) {
    CF_EXPECT(test, cf_params_is_default(param, &to), "%s is no default", param->name);
    CF_EXPECT(test, !cf_params_is_default(param, &from), "%s is a default", param->name);
    cf_params_copy(param, &to, &from);
    CF_EXPECT(test, !cf_params_is_default(param, &to), "%s is not copied", param->name);
    for (const CfParam *next = param + 1; next->name; next++)
      CF_EXPECT(test, cf_params_is_default(next, &to), "%s is copied too", next->name);
  }
}

static void params_are_found_by_name(CfTest *test)
{
  CF_EXPECT(test, cf_params_find(table, "ratio") == &table[0], "the first");
  CF_EXPECT(test, cf_params_find(table, "kernel") == &table[6], "the last");
  CF_EXPECT(test, !cf_params_find(table, "rati"), "a part of a name");
}

static const CfTestCase cases[] = {
    {"params-start-at-their-defaults", params_start_at_their_defaults, CF_ONCE},
    {"text-becomes-values", text_becomes_values, CF_ONCE},
    {"text-becomes-kernels", text_becomes_kernels, CF_ONCE},
    {"bad-text-is-refused", bad_text_is_refused, CF_ONCE},
    {"bad-values-are-refused", bad_values_are_refused, CF_ONCE},
    {"params-are-printed-as-users-write-them", params_are_printed_as_users_write_them, CF_ONCE},
    {"params-are-copied-one-by-one", params_are_copied_one_by_one, CF_ONCE},
    {"params-are-found-by-name", params_are_found_by_name, CF_ONCE},
    {0},
};

int main(int argc, char **argv)
{
  const CfTestSuite suite = {NULL, cases};

  return cf_test_main(&suite, argc, argv);
}
