/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Blur maps that are the picture's luma or alpha, on the host: what kernels need to find positions
 * from codes.
 */
#include "cuda/blurmap/mip_types.cuh"

#include <math.h>

namespace
{

/* Weights are rounded so that m of gray pixels is exact. */
CfPixelMap pixel_map_of(const CfMapMixer *mixer)
{
  constexpr int kWhole = 32768;
  CfPixelMap map = {};
  float sum = 0.0f;
  int left = kWhole;

  for (int i = 0; i < mixer->terms; i++)
    sum += mixer->term[i].weight;
  for (int i = 0; i < mixer->terms; i++) {
    const int nearest = (int)(mixer->term[i].weight / sum * kWhole + 0.5f);
    const int weight = i + 1 < mixer->terms ? nearest : left;
    const int shift = 8 * mixer->term[i].channel;

    left -= weight;
    map.low |= (uint32_t)(weight & 255) << shift;
    map.high |= (uint32_t)(weight >> 8) << shift;
  }
  map.scale = sum / kWhole;
  map.zero = mixer->offset - 8388608.0f * map.scale;
  return map;
}

} // namespace

bool cf_cell_by_codes(const CfMapJob *map, CfPixelMap *pixel_map)
{
  const CfMapMixer *mixer = &map->mixer;
  const int channels = map->of_mixer[0].channels;

  if ((map->mode != CF_MAP_LUMA && map->mode != CF_MAP_ALPHA) || mixer->terms == 0)
    return false;
  if (channels == 4)
    *pixel_map = pixel_map_of(mixer);
  return channels == 4 || (channels == 1 && mixer->terms == 1);
}

void cf_cell_list_positions(CfMapTable *table, int copy, const CfMapMixer *mixer)
{
  for (int i = 0; i <= 4 * 255; i++) {
    const float m = mixer->offset + mixer->term[0].weight * (float)i * 0.25f;
    const float scaled = fminf(fmaxf(m, 0.0f), 1.0f) * CF_BLUR_TABLE;
    const float *entry = &table->position[(int)scaled];
    const float among = entry[0] + (scaled - floorf(scaled)) * (entry[1] - entry[0]);
    const float position = floorf(among / kCellPosition + 0.5f) * kCellPosition;

    table->by_sum[i] = copy >= 0 && position == (float)copy ? -1.0f : position;
  }
}
