/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/llf_axis.h"

#include <stdlib.h>

#include "border.h"
#include "plan/int_math.h"

static void operator_free(CfLlfOperator *op)
{
  free(op->first);
  free(op->weight);
  *op = (CfLlfOperator){0};
}

static bool operator_alloc(CfLlfOperator *op, int inputs, int outputs, int width)
{
  op->inputs = inputs;
  op->outputs = outputs;
  op->width = cf_min(width, inputs);
  op->first = malloc((size_t)outputs * sizeof *op->first);
  op->weight = calloc((size_t)outputs * (size_t)op->width, sizeof *op->weight);
  return op->first && op->weight;
}

/* Starts the band of output `i` at input `first`, or earlier where it would leave the inputs. */
static void operator_place(CfLlfOperator *op, int i, int first)
{
  const int last_start = op->inputs - op->width;

  op->first[i] = first < 0 ? 0 : first > last_start ? last_start : first;
}

static int mirrored(int i, int size)
{
  return cf_border_index(CF_BORDER_REFLECT, i, size);
}

static bool operator_identity(CfLlfOperator *op, int size)
{
  if (!operator_alloc(op, size, size, 1))
    return false;
  for (int i = 0; i < size; i++) {
    operator_place(op, i, i);
    *cf_llf_weight(op, i, i) = 1.0;
  }
  return true;
}

static bool operator_reduce(CfLlfOperator *op, int fine)
{
  static const double tap[5] = {CF_LLF_TAP_EDGE, CF_LLF_TAP_SIDE, CF_LLF_TAP_CENTRE,
                                CF_LLF_TAP_SIDE, CF_LLF_TAP_EDGE};

  if (!operator_alloc(op, fine, (fine + 1) / 2, 5))
    return false;
  for (int i = 0; i < op->outputs; i++) {
    operator_place(op, i, 2 * i - 2);
    for (int k = 0; k < 5; k++)
      *cf_llf_weight(op, i, mirrored(2 * i + k - 2, fine)) += tap[k];
  }
  return true;
}

static bool operator_expand(CfLlfOperator *op, int fine)
{
  const int coarse = (fine + 1) / 2;

  if (!operator_alloc(op, coarse, fine, 3))
    return false;
  for (int i = 0; i < fine; i++) {
    const int here = i / 2, after = mirrored(here + 1, coarse);

    operator_place(op, i, here - 1);
    if (i % 2 == 0) {
      *cf_llf_weight(op, i, mirrored(here - 1, coarse)) += 2.0 * CF_LLF_TAP_EDGE;
      *cf_llf_weight(op, i, here) += 2.0 * CF_LLF_TAP_CENTRE;
      *cf_llf_weight(op, i, after) += 2.0 * CF_LLF_TAP_EDGE;
    } else {
      *cf_llf_weight(op, i, here) += 2.0 * CF_LLF_TAP_SIDE;
      *cf_llf_weight(op, i, after) += 2.0 * CF_LLF_TAP_SIDE;
    }
  }
  return true;
}

/* op = outer * inner. */
static bool operator_product(CfLlfOperator *op, const CfLlfOperator *outer,
                             const CfLlfOperator *inner)
{
  int width = 1;

  for (int i = 0; i < outer->outputs; i++) {
    const int from = outer->first[i], to = from + outer->width - 1;
    const int reach = inner->first[to] + inner->width - inner->first[from];
    width = cf_max(reach, width);
  }
  if (!operator_alloc(op, inner->inputs, outer->outputs, width))
    return false;
  for (int i = 0; i < op->outputs; i++) {
    operator_place(op, i, inner->first[outer->first[i]]);
    for (int k = 0; k < outer->width; k++) {
      const int middle = outer->first[i] + k;
      for (int j = 0; j < inner->width; j++) {
        const int input = inner->first[middle] + j;
        *cf_llf_weight(op, i, input) +=
            *cf_llf_weight(outer, i, middle) * *cf_llf_weight(inner, middle, input);
      }
    }
  }
  return true;
}

void cf_llf_axis_free(CfLlfAxis *axis)
{
  for (int l = 0; l < CF_LLF_MAX_IMAGES; l++) {
    operator_free(&axis->reduced[l]);
    operator_free(&axis->expanded[l]);
    operator_free(&axis->expand[l]);
  }
}

bool cf_llf_axis_open(CfLlfAxis *axis, const int size[CF_LLF_MAX_IMAGES], int images)
{
  bool good = operator_identity(&axis->reduced[0], size[0]);

  for (int l = 0; good && l + 1 < images; l++) {
    CfLlfOperator reduce = {0};

    good = operator_reduce(&reduce, size[l]) &&
           operator_product(&axis->reduced[l + 1], &reduce, &axis->reduced[l]) &&
           operator_expand(&axis->expand[l], size[l]) &&
           operator_product(&axis->expanded[l], &axis->expand[l], &axis->reduced[l + 1]);
    operator_free(&reduce);
  }
  return good;
}
