/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The tables of engine=exact: the weights of every sample of every level, for each axis. They
 * depend on the picture's size only.
 */
#include "cuda/common/int_math.cuh"
#include "cuda/llf/exact.cuh"

#include <stdlib.h>
#include <string.h>

extern "C" {
#include "plan/llf_axis.h"
}

namespace cf::llf
{
namespace
{

/* Packs all tables into one allocation, in two passes: the first, without `host`, adds up the bytes
 * only; the second writes to host memory of that size, at the same offsets. */
struct Packer {
  size_t used;
  uint8_t *host;
};

size_t reserve(Packer *packer, size_t bytes)
{
  const size_t offset = packer->used;

  packer->used += cf::scratch_bytes(bytes);
  return offset;
}

/* A range of samples of level 0. */
struct Taps {
  int first, count;
};

/* The samples whose weights in sample i of a level, or of the next one expanded, are not all 0. */
Taps needed_taps(const CfLlfOperator &reduced, const CfLlfOperator &expanded, int i)
{
  int begin = expanded.first[i], end = begin + expanded.width - 1;
  auto is_zero = [&](int input) {
    return cf_llf_weight_or_zero(&reduced, i, input) == 0.0 &&
           cf_llf_weight_or_zero(&expanded, i, input) == 0.0;
  };

  while (begin < end && is_zero(begin))
    begin++;
  while (begin < end && is_zero(end))
    end--;
  return Taps{begin, end - begin + 1};
}

/* Packs one axis of one level. All even samples get as many taps as the one that needs most, and so
 * do all odd ones; near the far border the ranges of some begin earlier to make this possible.
 * `tile` is the number of samples of a CTA's tile. The pointers of `to` become offsets, which
 * locate() turns into device addresses. */
void pack_level(Packer *packer, const CfLlfOperator &reduced, const CfLlfOperator &expanded,
                bool by_tap, int tile, AxisLevel *to)
{
  const int size = expanded.outputs, most_taps = expanded.width, even = (size + 1) / 2;
  const size_t first = reserve(packer, (size_t)size * sizeof(int));
  const size_t weight = reserve(packer, (size_t)size * most_taps * sizeof(float2));

  to->size = size;
  to->most_taps = most_taps;
  to->taps[0] = to->taps[1] = 0;
  to->first = (const int *)first;
  to->weight = (const float2 *)weight;
  if (!packer->host)
    return;
  int *const firsts = (int *)(packer->host + first);
  float2 *const packed = (float2 *)(packer->host + weight);
  for (int i = 0; i < size; i++) {
    const Taps taps = needed_taps(reduced, expanded, i);

    firsts[i] = taps.first;
    to->taps[i % 2] = taps.count > to->taps[i % 2] ? taps.count : to->taps[i % 2];
  }
  for (int i = 0; i < size; i++) {
    const int last = expanded.inputs - to->taps[i % 2];

    firsts[i] = firsts[i] < last ? firsts[i] : last;
    for (int k = 0; k < most_taps; k++) {
      const int input = firsts[i] + k;

      packed[by_tap ? (size_t)k * size + i % 2 * even + i / 2 : (size_t)i * most_taps + k] =
          make_float2((float)cf_llf_weight_or_zero(&reduced, i, input),
                      (float)cf_llf_weight_or_zero(&expanded, i, input));
    }
  }
  to->span = 0;
  for (int i = 0; i < size; i += tile) {
    int begin = firsts[i], end = 0;

    for (int k = i; k < size && k < i + tile; k++) {
      begin = firsts[k] < begin ? firsts[k] : begin;
      end = firsts[k] + to->taps[k % 2] > end ? firsts[k] + to->taps[k % 2] : end;
    }
    to->span = end - begin > to->span ? end - begin : to->span;
  }
}

void pack_tables(Packer *packer, const CfLlfAxis &x, const CfLlfAxis &y, int images,
                 ExactTables *tables)
{
  for (int level = 0; level + 1 < images; level++) {
    pack_level(packer, x.reduced[level], x.expanded[level], level < kWarpGatherLevel, kTileX,
               &tables->x[level]);
    pack_level(packer, y.reduced[level], y.expanded[level], false, kTileY, &tables->y[level]);
  }
}

/* Turns offsets into addresses in `memory`. */
void locate(AxisLevel *level, uint8_t *memory)
{
  level->first = (const int *)(memory + (size_t)level->first);
  level->weight = (const float2 *)(memory + (size_t)level->weight);
}

bool upload_tables(const CfLlfAxis &x, const CfLlfAxis &y, int images, ExactTables *tables,
                   CfStatus *status)
{
  Packer packer = {};

  pack_tables(&packer, x, y, images, tables);
  const size_t bytes = packer.used;
  if (bytes == 0)
    return true;
  packer.used = 0;
  packer.host = (uint8_t *)malloc(bytes);
  if (!packer.host)
    return cf_fail(status, CF_ERROR_NO_MEMORY, "out of host memory");
  pack_tables(&packer, x, y, images, tables);

  tables->memory = cf_device_alloc(bytes, status);
  const bool uploaded = tables->memory && cf_cuda_ok(cudaMemcpy(tables->memory, packer.host, bytes,
                                                                cudaMemcpyHostToDevice),
                                                     "uploading the filter's weights", status);
  free(packer.host);
  for (int level = 0; level + 1 < images; level++) {
    locate(&tables->x[level], (uint8_t *)tables->memory);
    locate(&tables->y[level], (uint8_t *)tables->memory);
  }
  return uploaded;
}

} // namespace

bool exact_open(int width, int height, ExactTables *tables, CfStatus *status)
{
  const CfLlfPyramid shape = cf_llf_full_pyramid(width, height);
  CfLlfAxis *const axes = (CfLlfAxis *)cf_zeroed(2 * sizeof *axes, status);

  *tables = ExactTables{};
  if (!axes)
    return false;
  const bool built = cf_llf_axis_open(&axes[0], shape.width, shape.images) &&
                     cf_llf_axis_open(&axes[1], shape.height, shape.images);
  const bool ready = built ? upload_tables(axes[0], axes[1], shape.images, tables, status)
                           : cf_fail(status, CF_ERROR_NO_MEMORY, "out of host memory");
  cf_llf_axis_free(&axes[0]);
  cf_llf_axis_free(&axes[1]);
  free(axes);
  return ready;
}

void exact_close(ExactTables *tables)
{
  cf_device_free(tables->memory);
  tables->memory = nullptr;
}

} // namespace cf::llf
