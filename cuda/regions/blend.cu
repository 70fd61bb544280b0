/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Blends a filtered picture, or one colour, into the source, in one launch for all planes. A CTA
 * blends a tile: it first lists the shapes that touch the tile, then asks only these.
 */
#include "cuda/regions/blend.cuh"

#include "cuda/common/int_math.cuh"
#include "cuda/common/launch.cuh"
#include "cuda/regions/shape_list.cuh"

namespace cf::regions
{
namespace
{

constexpr int kThreads = 256;
constexpr int kTileWidth = 64; /* pixels of the plane */
constexpr int kTileHeight = 16;
constexpr int kVectorBytes = 16; /* the widest access */

/* Pointers are to device memory, strides in bytes. */
struct Plane {
  uint16_t colour[CF_MAX_CHANNELS]; /* samples as stored, used where `filtered` is NULL */
  const uint8_t *source, *filtered;
  uint8_t *destination;
  ptrdiff_t source_stride, filtered_stride, destination_stride;
  CfRect rect; /* the part of the plane that the tiles cover */
  int channels, shift_x, shift_y;
  int tiles_x, first_cta;
  bool vector; /* rows of all pictures start at multiples of kVectorBytes */
};

struct Job {
  Plane plane[CF_MAX_PLANES];
  int planes;
  int shift;     /* a code is a 16-bit sample >> shift */
  int alpha;     /* the alpha channel of plane 0, or -1 */
  bool in_place; /* destination = source: uncovered samples are not written */
  CfShapeList list;
};

template <typename Sample>
__device__ inline void load_filtered(const Plane &plane, int x, int y,
                                     Sample (&pixel)[CF_MAX_CHANNELS])
{
  const Sample *from =
      (const Sample *)(plane.filtered + y * plane.filtered_stride) + x * plane.channels;

#pragma unroll
  for (int k = 0; k < CF_MAX_CHANNELS; k++) {
    if (k < plane.channels)
      pixel[k] = plane.filtered ? from[k] : (Sample)plane.colour[k];
  }
}

/* Writes one pixel; `coverage` 0 .. CF_COVERED. */
template <typename Sample>
__device__ inline void blend_pixel(const Job &job, const Plane &plane, int x, int y, int coverage)
{
  const int first = x * plane.channels;
  const Sample *source = (const Sample *)(plane.source + y * plane.source_stride) + first;
  Sample *destination = (Sample *)(plane.destination + y * plane.destination_stride) + first;
  Sample filtered[CF_MAX_CHANNELS];

  if (coverage > 0)
    load_filtered(plane, x, y, filtered);
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

/* Copies a tile from `from`: the source where nothing is covered, else the filtered picture. */
__device__ inline void copy_tile(const Plane &plane, const uint8_t *from, ptrdiff_t stride,
                                 int pixel_bytes, int x0, int y0)
{
  const int first = x0 * pixel_bytes, end = min(x0 + kTileWidth, plane.rect.x1) * pixel_bytes;
  const int vectors = kTileWidth * pixel_bytes / kVectorBytes; /* of a row */

  for (int i = (int)threadIdx.x; i < vectors * kTileHeight; i += kThreads) {
    const int y = y0 + i / vectors, at = first + i % vectors * kVectorBytes;
    const uint8_t *const piece = from + y * stride + at;
    uint8_t *const to = plane.destination + y * plane.destination_stride + at;

    if (y >= plane.rect.y1 || at >= end)
      continue;
    if (plane.vector && at % kVectorBytes == 0 && at + kVectorBytes <= end) {
      *(uint4 *)to = *(const uint4 *)piece;
      continue;
    }
    for (int k = 0; k < min(kVectorBytes, end - at); k++)
      to[k] = piece[k];
  }
}

template <typename Sample>
__global__ void __launch_bounds__(kThreads) blend_kernel(const __grid_constant__ Job job)
{
  __shared__ CfTileShapes shapes;
  int tile;
  const Plane &plane = plane_of_cta(job, &Plane::first_cta, &tile);
  const int row = tile / plane.tiles_x;
  const int x0 = plane.rect.x0 + (tile - row * plane.tiles_x) * kTileWidth;
  const int y0 = plane.rect.y0 + row * kTileHeight;
  const CfRect luma = {x0 << plane.shift_x, y0 << plane.shift_y, (x0 + kTileWidth) << plane.shift_x,
                       (y0 + kTileHeight) << plane.shift_y};

  cf_find_shapes(job.list, luma, &shapes);
  const bool untouched = cf_is_untouched(job.list, shapes);
  if (untouched && job.in_place)
    return;
  if (shapes.count == 0 && (untouched || plane.filtered)) {
    copy_tile(plane, untouched ? plane.source : plane.filtered,
              untouched ? plane.source_stride : plane.filtered_stride,
              plane.channels * (int)sizeof(Sample), x0, y0);
    return;
  }
  for (int i = (int)threadIdx.x; i < kTileWidth * kTileHeight; i += kThreads) {
    const int x = x0 + i % kTileWidth, y = y0 + i / kTileWidth;

    if (x < plane.rect.x1 && y < plane.rect.y1)
      blend_pixel<Sample>(
          job, plane, x, y,
          cf_sample_coverage(job.list, shapes, x, y, plane.shift_x, plane.shift_y).coverage);
  }
}

/* What is blended in: a picture or, where that is NULL, a colour. */
struct Filtered {
  const CfPicture *picture;
  uint32_t argb;
};

void describe_filtered(Plane *plane, const CfVideo *video, int p, const Filtered &filtered)
{
  const CfFormatInfo *format = cf_format_info(video->format);

  if (filtered.picture) {
    plane->filtered = filtered.picture->data[p];
    plane->filtered_stride = filtered.picture->stride[p];
    return;
  }
  for (int k = 0; k < plane->channels; k++)
    plane->colour[k] =
        (uint16_t)(cf_color_code(video, filtered.argb, format->plane[p].role[k]) << format->shift);
}

Plane describe_plane(const CfVideo *video, int p, CfRect bounds, const CfPicture *source,
                     const Filtered &filtered, const CfPicture *destination, int first_cta)
{
  const CfPlaneFormat &format = cf_format_info(video->format)->plane[p];
  const CfRect rect = cf_plane_rect(video, p, bounds);
  Plane plane = {};

  plane.source = source->data[p];
  plane.destination = destination->data[p];
  plane.source_stride = source->stride[p];
  plane.destination_stride = destination->stride[p];
  plane.rect = rect;
  plane.channels = format.channels;
  plane.shift_x = format.subsampling_x;
  plane.shift_y = format.subsampling_y;
  plane.tiles_x = div_up(rect.x1 - rect.x0, kTileWidth);
  plane.first_cta = first_cta;
  describe_filtered(&plane, video, p, filtered);
  plane.vector = cf_is_vector_aligned(plane.source, plane.source_stride) &&
                 cf_is_vector_aligned(plane.destination, plane.destination_stride) &&
                 cf_is_vector_aligned(plane.filtered, plane.filtered_stride);
  return plane;
}

bool blend(CfDevice *device, const CfVideo *video, const CfRegions *regions,
           const CfPicture *source, const Filtered &filtered, const CfPicture *destination,
           void *stream, CfStatus *status)
{
  const CfFormatInfo *const format = cf_format_info(video->format);
  const bool in_place = source->data[0] == destination->data[0];
  const CfRect whole = {0, 0, video->width, video->height};
  const CfRect bounds = in_place ? cf_coverage_bounds(video, regions) : whole;
  Job job = {};
  Launch how = {};
  int ctas = 0;

  if (cf_rect_is_empty(bounds))
    return true;
  job.planes = format->planes;
  job.shift = format->shift;
  job.alpha = cf_alpha_channel(&format->plane[0]);
  job.in_place = in_place;
  for (int p = 0; p < format->planes; p++) {
    Plane *const plane = &job.plane[p];

    *plane = describe_plane(video, p, bounds, source, filtered, destination, ctas);
    ctas += plane->tiles_x * div_up(plane->rect.y1 - plane->rect.y0, kTileHeight);
  }
  how.grid = dim3((unsigned)ctas);
  how.block = dim3(kThreads);
  how.stream = (cudaStream_t)stream;
  return cf_with_shapes(&job.list, device, video, regions, stream, status, [&] {
    return launch(how, "blending regions", status,
                  cf_sample_bytes(format) == 2 ? blend_kernel<uint16_t> : blend_kernel<uint8_t>,
                  job);
  });
}

/* ---- filling a picture with one colour ---- */

constexpr int kFillRows = 8; /* of a CTA, which is kThreads vectors wide */

/* Pixels have 1, 2, 3, 4 or 6 bytes, so the pattern repeats after three vectors. */
struct FillPlane {
  uint4 pattern[3];
  uint8_t *destination;
  ptrdiff_t stride;
  int row_bytes, rows;
  int ctas_x, first_cta;
  bool vector; /* rows start at multiples of 16 bytes */
};

struct FillJob {
  FillPlane plane[CF_MAX_PLANES];
  int planes;
};

__global__ void __launch_bounds__(kThreads) fill_kernel(const __grid_constant__ FillJob job)
{
  int cta;
  const FillPlane &plane = plane_of_cta(job, &FillPlane::first_cta, &cta);
  const int row = cta / plane.ctas_x * kFillRows;
  const int vector = cta % plane.ctas_x * kThreads + (int)threadIdx.x;
  const uint4 value = plane.pattern[vector % 3];
  const int at = vector * kVectorBytes, bytes = min(kVectorBytes, plane.row_bytes - at);

  for (int y = row; y < min(row + kFillRows, plane.rows); y++) {
    uint8_t *to = plane.destination + (ptrdiff_t)y * plane.stride + at;

    if (plane.vector && bytes == kVectorBytes) {
      *(uint4 *)to = value;
      continue;
    }
    for (int i = 0; i < bytes; i++)
      to[i] = ((const uint8_t *)&value)[i];
  }
}

bool fill_picture(const CfVideo *video, uint32_t argb, const CfPicture *destination, void *stream,
                  CfStatus *status)
{
  FillJob job = {};
  Launch how = {};
  int ctas = 0;

  job.planes = cf_format_info(video->format)->planes;
  for (int p = 0; p < job.planes; p++) {
    FillPlane *const plane = &job.plane[p];
    uint8_t pixel[2 * CF_MAX_CHANNELS];
    const size_t bytes = cf_color_pixel(video, argb, p, pixel);

    for (size_t i = 0; i < sizeof plane->pattern; i++)
      ((uint8_t *)plane->pattern)[i] = pixel[i % bytes];
    plane->destination = destination->data[p];
    plane->stride = destination->stride[p];
    plane->row_bytes = (int)cf_row_bytes(video, p);
    plane->rows = cf_plane_height(video, p);
    plane->ctas_x = div_up(div_up(plane->row_bytes, kVectorBytes), kThreads);
    plane->first_cta = ctas;
    plane->vector = cf_is_vector_aligned(plane->destination, plane->stride);
    ctas += plane->ctas_x * div_up(plane->rows, kFillRows);
  }
  how.grid = dim3((unsigned)ctas);
  how.block = dim3(kThreads);
  how.stream = (cudaStream_t)stream;
  return launch(how, "filling a picture", status, fill_kernel, job);
}

} // namespace
} // namespace cf::regions

bool cf_cuda_blend(CfDevice *device, const CfVideo *video, const CfRegions *regions,
                   const CfPicture *source, const CfPicture *filtered, const CfPicture *destination,
                   void *stream, CfStatus *status)
{
  return cf::regions::blend(device, video, regions, source, {filtered, 0}, destination, stream,
                            status);
}

bool cf_cuda_fill(CfDevice *device, const CfVideo *video, const CfRegions *regions,
                  const CfPicture *source, uint32_t argb, const CfPicture *destination,
                  void *stream, CfStatus *status)
{
  if (!regions)
    return cf::regions::fill_picture(video, argb, destination, stream, status);
  return cf::regions::blend(device, video, regions, source, {nullptr, argb}, destination, stream,
                            status);
}
