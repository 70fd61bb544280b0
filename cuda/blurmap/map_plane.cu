/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * With map_isolate: makes the map as a plane of fp16 for each plane of the picture.
 */
#include "cuda/blurmap/frame_types.cuh"
#include "cuda/blurmap/map_values.cuh"
#include "cuda/common/int_math.cuh"
#include "cuda/common/launch.cuh"

namespace cf::blurmap
{

namespace
{

template <typename Sample>
__global__ void __launch_bounds__(kThreads) read_map_kernel(const __grid_constant__ FrameJob job)
{
  __shared__ CfTileShapes no_shapes;
  const MapPlane &plane = job.map.plane[blockIdx.z];
  const int x = (int)(blockIdx.x * kThreads + threadIdx.x), y = (int)blockIdx.y;
  float m[1];

  if (x >= plane.width || y >= plane.height)
    return;
  map_rows<Sample>(job.map, plane, no_shapes, x, y, m);
  ((__half *)((uint8_t *)plane.map + (ptrdiff_t)y * plane.map_stride))[x] =
      __float2half(floorf(fmaf(m[0], (float)CF_MAP_ONE, 0.5f)) * (1.0f / CF_MAP_ONE));
}

} // namespace

bool read_maps(const FrameJob *job, void *stream, CfStatus *status)
{
  const MapPlane *first = &job->map.plane[0]; /* the largest */
  Launch how = {};

  how.grid = dim3((unsigned)div_up(first->width, kThreads), (unsigned)first->height,
                  (unsigned)job->map.planes);
  how.block = dim3(kThreads);
  how.stream = (cudaStream_t)stream;
  return launch(how, "reading a blur map", status,
                job->map.wide ? read_map_kernel<uint16_t> : read_map_kernel<uint8_t>, *job);
}

} // namespace cf::blurmap
