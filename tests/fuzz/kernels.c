/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Fuzzes values of properties as text: what gst-launch makes of a kernel and cudasepconv takes, and
 * what engines' parameters are parsed from. An input's first byte chooses one; the text follows.
 */
#include <gst/gst.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

#include "driver.h"
#include "engine.h"

static const char *const effects[] = {"llf", "gaussblur", "blockavg", "sepconv", "tonemap"};

const char *const fuzz_words[] = {"<",     ">",     ",",        " ",      "1",          "-",
                                  ".5",    "1e308", "1e39",     "nan",    "inf",        "1/3",
                                  "(int)", "true",  "(double)", "\"",     "{",          "}",
                                  "[",     "0x1p",  "(string)", "custom", "luma+alpha", NULL};

static void check_kernel(const CfKernel *kernel)
{
  FUZZ_REQUIRE(kernel->taps >= 1 && kernel->taps <= CF_MAX_TAPS);
  for (int i = 0; i < kernel->taps; i++)
    FUZZ_REQUIRE(isfinite(kernel->tap[i]));
}

/* Each property of each effect: what is taken passes the check of all, what is not says why. */
static void parse_as_engines(int choice, const char *text)
{
  const CfEffect *effect = cf_effect(effects[choice % G_N_ELEMENTS(effects)]);
  const CfParam *param = effect->params;
  void *values = g_malloc0(effect->params_size), *before = g_malloc0(effect->params_size);
  CfStatus status = {CF_OK, ""};
  int count = 0;

  while (effect->params[count].name)
    count++;
  param += choice / (int)G_N_ELEMENTS(effects) % count;
  cf_params_init(effect->params, values);
  memcpy(before, values, effect->params_size);
  if (cf_params_parse(effect->params, values, param->name, text, &status)) {
    FUZZ_REQUIRE(cf_params_check(effect->params, values, &status));
  } else {
    FUZZ_REQUIRE(status.code == CF_ERROR_INVALID && status.message[0]);
    FUZZ_REQUIRE(memcmp(values, before, effect->params_size) == 0);
  }
  g_free(values);
  g_free(before);
}

static GstElement *element_with_kernels(void)
{
  static GstElement *element;

  if (!element) {
    gst_init(NULL, NULL);
    element = gst_element_factory_make("cudasepconv", NULL);
  }
  FUZZ_REQUIRE(element != NULL);
  return element;
}

/* GStreamer (1.22) never frees the first elements of a nested array whose rest it cannot read. */
static gboolean deserialize(GValue *value, const char *text, GParamSpec *spec)
{
  gboolean good;

#ifdef __SANITIZE_ADDRESS__
  __lsan_disable();
#endif
  good = gst_value_deserialize_with_pspec(value, text, spec);
#ifdef __SANITIZE_ADDRESS__
  __lsan_enable();
#endif
  return good;
}

/* As gst-launch does it. Whatever was set, the property reads as a kernel. */
static void set_on_element(const char *text)
{
  GstElement *element = element_with_kernels();
  GParamSpec *spec = g_object_class_find_property(G_OBJECT_GET_CLASS(element), "row-kernel");
  GValue parsed = G_VALUE_INIT, kernel = G_VALUE_INIT;

  g_value_init(&parsed, spec->value_type);
  if (deserialize(&parsed, text, spec))
    g_object_set_property(G_OBJECT(element), "row-kernel", &parsed);
  g_value_unset(&parsed);
  g_value_init(&kernel, spec->value_type);
  g_object_get_property(G_OBJECT(element), "row-kernel", &kernel);
  CfKernel taps = {.taps = (int)gst_value_array_get_size(&kernel)};
  for (int i = 0; i < taps.taps && i < CF_MAX_TAPS; i++)
    taps.tap[i] = g_value_get_double(gst_value_array_get_value(&kernel, (guint)i));
  check_kernel(&taps);
  g_value_unset(&kernel);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  char *text;

  if (size < 1)
    return 0;
  text = g_strndup((const char *)data + 1, size - 1);
  if (data[0] & 0x80)
    set_on_element(text);
  else
    parse_as_engines(data[0], text);
  g_free(text);
  return 0;
}

static const char *const texts[] = {
    "<1,4,6,4,1>",  "<0.5>",     "<-1, 0, 1>", "<>",     "1,2,1",   "<1e308,1e308>", "<nan>",
    "<1/2,(int)3>", "3",         "-0.25",      "true",   "false",   "box",           "luma+chroma",
    "4278190080",   "replicate", "1e-3",       "0x1p-3", "<<1>,2>",
};

size_t fuzz_example(int index, uint8_t *data)
{
  const int count = sizeof texts / sizeof texts[0];
  const char *text = texts[index % count];

  if (index >= 12 * count)
    return 0;
  data[0] = (uint8_t)(index / count >= 8 ? 0x80 : 8 * (index / count) + index % 5 + 3);
  memcpy(data + 1, text, strlen(text));
  return 1 + strlen(text);
}
