/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cuda/regions/blend.cuh"
#include "cuda/regions/shape_list.cuh"

namespace
{

constexpr int kThreads = 256;
constexpr int kTileWidth = 64; /* samples */
constexpr int kTileHeight = 16;

struct Plane {
  const uint8_t *source, *filtered;
  uint8_t *destination;
  ptrdiff_t source_stride, filtered_stride, destination_stride;
  CfRect rect; /* what is looked at */
  int channels, shift_x, shift_y;
  int tiles_x, first_tile;
};

struct Job {
  Plane plane[CF_MAX_PLANES];
  int planes;
  int shift; /* of code values in 16-bit samples */
  int alpha; /* its channel, -1 without */
  bool in_place;
  CfShapeList list;
};

template <typename Sample>
__device__ inline void mix_pixel(const Job &job, const Plane &plane, int x, int y, int coverage)
{
  const int first = x * plane.channels;
  const Sample *source = (const Sample *)(plane.source + y * plane.source_stride) + first;
  const Sample *filtered = (const Sample *)(plane.filtered + y * plane.filtered_stride) + first;
  Sample *destination = (Sample *)(plane.destination + y * plane.destination_stride) + first;

  if (coverage == 0) {
    if (!job.in_place) {
      for (int k = 0; k < plane.channels; k++)
        destination[k] = source[k];
    }
  } else if (coverage == CF_COVERED) {
    for (int k = 0; k < plane.channels; k++)
      destination[k] = filtered[k];
  } else if (sizeof(Sample) == 1 && job.alpha >= 0) {
    cf_mix_weighted((uint8_t *)destination, (const uint8_t *)source, (const uint8_t *)filtered,
                    job.alpha, (uint32_t)coverage);
  } else {
    for (int k = 0; k < plane.channels; k++)
      destination[k] = (Sample)(cf_mix((uint32_t)source[k] >> job.shift,
                                       (uint32_t)filtered[k] >> job.shift, (uint32_t)coverage)
                                << job.shift);
  }
}

template <typename Sample>
__global__ void __launch_bounds__(kThreads) compose(const __grid_constant__ Job job)
{
  __shared__ CfTileShapes shapes;
  int p = 0;

  while (p + 1 < job.planes && (int)blockIdx.x >= job.plane[p + 1].first_tile)
    p++;
  const Plane &plane = job.plane[p];
  const int tile = (int)blockIdx.x - plane.first_tile, row = tile / plane.tiles_x;
  const int x0 = plane.rect.x0 + (tile - row * plane.tiles_x) * kTileWidth;
  const int y0 = plane.rect.y0 + row * kTileHeight;
  const CfRect luma = {x0 << plane.shift_x, y0 << plane.shift_y, (x0 + kTileWidth) << plane.shift_x,
                       (y0 + kTileHeight) << plane.shift_y};

  cf_find_shapes(job.list, luma, &shapes);
  const bool untouched = cf_is_untouched(job.list, shapes);
  if (untouched && job.in_place)
    return;
  for (int i = (int)threadIdx.x; i < kTileWidth * kTileHeight; i += kThreads) {
    const int x = x0 + i % kTileWidth, y = y0 + i / kTileWidth;

    if (x < plane.rect.x1 && y < plane.rect.y1)
      mix_pixel<Sample>(
          job, plane, x, y,
          untouched
              ? 0
              : cf_sample_coverage(job.list, shapes, x, y, plane.shift_x, plane.shift_y).coverage);
  }
}

} // namespace

bool cf_cuda_compose(CfDevice *device, const CfVideo *video, const CfRegions *regions,
                     const CfPicture *source, const CfPicture *filtered,
                     const CfPicture *destination, void *stream, CfStatus *status)
{
  const CfFormatInfo *format = cf_format_info(video->format);
  const bool in_place = source->data[0] == destination->data[0];
  const CfRect whole = {0, 0, video->width, video->height};
  const CfRect bounds = in_place ? cf_coverage_bounds(video, regions) : whole;
  Job job;
  void *scratch;
  int tiles = 0;

  if (cf_rect_is_empty(bounds))
    return true;
  job.planes = format->planes;
  job.shift = format->shift;
  job.alpha = cf_alpha_channel(&format->plane[0]);
  job.in_place = in_place;
  for (int p = 0; p < format->planes; p++) {
    Plane *plane = &job.plane[p];
    const CfRect rect = cf_plane_rect(video, p, bounds);

    *plane = {source->data[p],
              filtered->data[p],
              destination->data[p],
              source->stride[p],
              filtered->stride[p],
              destination->stride[p],
              rect,
              format->plane[p].channels,
              format->plane[p].subsampling_x,
              format->plane[p].subsampling_y,
              (rect.x1 - rect.x0 + kTileWidth - 1) / kTileWidth,
              tiles};
    tiles += plane->tiles_x * ((rect.y1 - rect.y0 + kTileHeight - 1) / kTileHeight);
  }
  if (!cf_shape_list_make(&job.list, device, video, regions, stream, &scratch, status))
    return false;
  if (cf_sample_bytes(format) == 2)
    compose<uint16_t><<<tiles, kThreads, 0, (cudaStream_t)stream>>>(job);
  else
    compose<uint8_t><<<tiles, kThreads, 0, (cudaStream_t)stream>>>(job);

  const bool good = cf_cuda_launched("composing regions", status);
  return (!scratch || cf_scratch_give(device, scratch, stream, good ? status : nullptr)) && good;
}
