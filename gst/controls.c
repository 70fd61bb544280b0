/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Prints controls.json, which tells the tuner how to show the properties of each element: their
 * order, and what GParamSpec does not have: group, usual range, scale, step and unit.
 */
#include <stdio.h>
#include <string.h>

#include "blockavg.h"
#include "gaussblur.h"
#include "llf.h"
#include "roi-settings.h"
#include "sepconv.h"
#include "tonemap.h"

typedef struct {
  const CfEffect *effect;
  const char *element;
  bool limits_memory; /* has max-device-memory */
} Element;

static const Element elements[] = {
    {&cf_llf, "cudallf", false},           {&cf_gaussblur, "cudagaussblur", true},
    {&cf_blockavg, "cudablockavg", false}, {&cf_sepconv, "cudasepconv", true},
    {&cf_tonemap, "cudatonemap", false},
};

/* A property that is not in a table of parameters. */
typedef struct {
  const char *name, *group, *unit; /* unit: ns, bytes or NULL */
  double soft_minimum, soft_maximum;
} Control;

static const Control map_controls[] = {{"map-location", "Map", NULL, 0.0, 0.0}, {0}};

static const Control region_controls[] = {
    {"regions", "Regions", NULL, 0.0, 0.0},
    {"roi-types", "Regions", NULL, 0.0, 0.0},
    {"roi-hold", "Regions", "ns", 0.0, 2e9},
    {0},
};

static const Control memory_controls[] = {
    {"max-device-memory", "Backend", "bytes", 0.0, 4294967296.0},
    {0},
};

static const Control backend_controls[] = {
    {"backend", "Backend", NULL, 0.0, 0.0},    {"cuda-device-id", "Backend", NULL, -1.0, 7.0},
    {"n-threads", "Backend", NULL, 0.0, 64.0}, {"active-backend", "Backend", NULL, 0.0, 0.0},
    {"stats", "Backend", NULL, 0.0, 0.0},      {0},
};

static const char *joint = "";

static void print_start(const char *name, const char *group)
{
  printf("%s\n      {\"name\": \"%s\", \"group\": \"%s\"", joint, name, group);
  joint = ",";
}

static void print_range(double minimum, double maximum)
{
  if (minimum < maximum)
    printf(", \"soft-minimum\": %.15g, \"soft-maximum\": %.15g", minimum, maximum);
}

static void print_table(const CfParam *table)
{
  static const char *const scales[] = {"linear", "log", "square"};
  const char *group = "";

  for (const CfParam *param = table; param->name; param++) {
    group = param->group ? param->group : group;
    print_start(param->name, group);
    print_range(param->soft_minimum, param->soft_maximum);
    if (param->scale != CF_SCALE_LINEAR)
      printf(", \"scale\": \"%s\"", scales[param->scale]);
    if (param->step != 0.0)
      printf(", \"step\": %.15g", param->step);
    printf("}");
  }
}

static void print_controls(const Control *controls)
{
  for (const Control *control = controls; control->name; control++) {
    print_start(control->name, control->group);
    print_range(control->soft_minimum, control->soft_maximum);
    if (control->unit)
      printf(", \"unit\": \"%s\"", control->unit);
    printf("}");
  }
}

static void print_element(const Element *element)
{
  printf("    \"%s\": [", element->element);
  joint = "";
  print_table(element->effect->params);
  if (element->effect == &cf_gaussblur)
    print_controls(map_controls);
  if (element->effect->engines[0]->regions) {
    print_table(gst_cuda_filters_roi_table);
    print_controls(region_controls);
  }
  if (element->limits_memory)
    print_controls(memory_controls);
  print_controls(backend_controls);
  printf("\n    ]");
}

int main(void)
{
  printf("{\n  \"version\": 1,\n  \"elements\": {\n");
  for (size_t i = 0; i < G_N_ELEMENTS(elements); i++) {
    if (i > 0)
      printf(",\n");
    print_element(&elements[i]);
  }
  printf("\n  }\n}\n");
  return ferror(stdout) || fflush(stdout) ? 1 : 0;
}
