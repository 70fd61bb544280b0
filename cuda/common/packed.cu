/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A thread copies four macropixels, 16 bytes: a warp reads and writes whole lines of the packed
 * rows and of all planes. Where these bytes are not aligned or not all in the row it copies them
 * one by one.
 */
#include "cuda/common/packed.h"

#include "cuda/common/context.cuh"
#include "cuda/common/int_math.cuh"
#include "cuda/common/launch.cuh"

namespace cf::packed
{
namespace
{

constexpr int kMacropixels = 4; /* of a thread */
constexpr int kThreads = 128;

struct Plane {
  uint8_t *data;
  ptrdiff_t stride;
};

struct Job {
  Plane source, destination; /* packed; one of them where planes are the other */
  Plane luma, first, second; /* chroma in the order of memory */
  int first_row, width;
  bool luma_first; /* in memory */
  bool aligned;    /* packed rows, to 16 bytes */
};

/* Four macropixels as they are, as words of little endian. */
struct Macropixels {
  uint32_t word[kMacropixels];
};

/* What is a thread's: macropixels `x` .. x + count - 1 of a row. */
struct Share {
  int x, y, count;
};

__device__ uint8_t *row_of(const Plane &plane, int y)
{
  return plane.data + y * plane.stride;
}

__device__ Share share_of(const Job &job)
{
  const int x = ((int)blockIdx.x * kThreads + (int)threadIdx.x) * kMacropixels;

  return {x, job.first_row + (int)blockIdx.y, min(kMacropixels, (job.width + 1) / 2 - x)};
}

__device__ Macropixels load(const Plane &plane, const Share &share, bool aligned)
{
  const uint8_t *const from = row_of(plane, share.y) + 4 * share.x;
  Macropixels result = {};

  if (aligned && share.count == kMacropixels) {
    const uint4 vector = *(const uint4 *)from;
    return {{vector.x, vector.y, vector.z, vector.w}};
  }
  for (int i = 0; i < kMacropixels; i++) {
    for (int byte = 0; i < share.count && byte < 4; byte++)
      result.word[i] |= (uint32_t)from[4 * i + byte] << 8 * byte;
  }
  return result;
}

/* Of what is not stored as a vector, those macropixels whose bit is set. */
__device__ void store(const Plane &plane, const Share &share, bool aligned,
                      const Macropixels &pixels, uint32_t changed)
{
  uint8_t *const to = row_of(plane, share.y) + 4 * share.x;

  if (aligned && share.count == kMacropixels) {
    *(uint4 *)to = make_uint4(pixels.word[0], pixels.word[1], pixels.word[2], pixels.word[3]);
    return;
  }
  for (int i = 0; i < kMacropixels; i++) {
    for (int byte = 0; i < share.count && (changed >> i & 1) && byte < 4; byte++)
      to[4 * i + byte] = (uint8_t)(pixels.word[i] >> 8 * byte);
  }
}

__global__ void __launch_bounds__(kThreads) unpack_kernel(const __grid_constant__ Job job)
{
  const Share share = share_of(job);

  if (share.count <= 0)
    return;
  const Macropixels pixels = load(job.source, share, job.aligned);
  const uint32_t *const word = pixels.word;
  const uint32_t luma = job.luma_first ? 0x6420 : 0x7531, chroma = job.luma_first ? 0x7531 : 0x6420;
  const uint32_t low = __byte_perm(word[0], word[1], chroma);
  const uint32_t high = __byte_perm(word[2], word[3], chroma);

  *(uint2 *)(row_of(job.luma, share.y) + 2 * share.x) =
      make_uint2(__byte_perm(word[0], word[1], luma), __byte_perm(word[2], word[3], luma));
  *(uint32_t *)(row_of(job.first, share.y) + share.x) = __byte_perm(low, high, 0x6420);
  *(uint32_t *)(row_of(job.second, share.y) + share.x) = __byte_perm(low, high, 0x7531);
}

/* The first `count` of four bytes, behind them zeros: engines write nothing beyond a row's end. */
__device__ uint32_t load_bytes(const uint8_t *from, int count)
{
  uint32_t word = 0;

  if (count >= 4)
    return *(const uint32_t *)from;
  for (int i = 0; i < count; i++)
    word |= (uint32_t)from[i] << 8 * i;
  return word;
}

__device__ Macropixels packed_of(const Job &job, const Share &share)
{
  const uint8_t *const lumas = row_of(job.luma, share.y) + 2 * share.x;
  const int samples = job.width - 2 * share.x;
  const uint2 luma = samples >= 2 * kMacropixels ? *(const uint2 *)lumas
                                                 : make_uint2(load_bytes(lumas, samples),
                                                              load_bytes(lumas + 4, samples - 4));
  const uint32_t first = load_bytes(row_of(job.first, share.y) + share.x, share.count);
  const uint32_t second = load_bytes(row_of(job.second, share.y) + share.x, share.count);
  const uint32_t low = __byte_perm(first, second, 0x5140);
  const uint32_t high = __byte_perm(first, second, 0x7362);
  const uint32_t even = job.luma_first ? 0x5140 : 0x1504, odd = job.luma_first ? 0x7362 : 0x3726;

  return {{__byte_perm(luma.x, low, even), __byte_perm(luma.x, low, odd),
           __byte_perm(luma.y, high, even), __byte_perm(luma.y, high, odd)}};
}

__global__ void __launch_bounds__(kThreads) pack_kernel(const __grid_constant__ Job job)
{
  const Share share = share_of(job);
  const bool in_place = job.source.data == job.destination.data;
  const int last = job.width % 2 ? job.width / 2 - share.x : kMacropixels; /* has one pixel */
  const uint32_t no_pixel = job.luma_first ? 0x00ff0000u : 0xff000000u;
  uint32_t changed = 0xf; /* macropixels, a bit each */

  if (share.count <= 0)
    return;
  Macropixels pixels = packed_of(job, share);
  if (in_place || last < kMacropixels) {
    const Macropixels before = load(job.source, share, job.aligned);

    for (int i = 0; i < kMacropixels; i++) {
      if (i == last)
        pixels.word[i] = (pixels.word[i] & ~no_pixel) | (before.word[i] & no_pixel);
      if (in_place && pixels.word[i] == before.word[i])
        changed &= ~(1u << i);
    }
    if (changed == 0)
      return;
  }
  store(job.destination, share, job.aligned, pixels, changed);
}

Plane plane_of(const CfPicture *picture, int p)
{
  return {picture->data[p], picture->stride[p]};
}

Job describe(const CfVideo *video, const CfPicture *source, const CfPicture *destination,
             const CfPicture *planes, CfPlaneRows rows)
{
  const CfRole *const role = cf_format_info(video->format)->plane[0].role;
  Job job = {};

  job.source = plane_of(source, 0);
  job.destination = plane_of(destination, 0);
  job.first_row = rows.first;
  job.width = video->width;
  job.luma_first = role[0] == CF_ROLE_LUMA;
  const bool blue_first = role[job.luma_first ? 1 : 0] == CF_ROLE_CHROMA_BLUE;
  job.luma = plane_of(planes, 0);
  job.first = plane_of(planes, blue_first ? 1 : 2);
  job.second = plane_of(planes, blue_first ? 2 : 1);
  job.aligned = cf_is_vector_aligned(job.source.data, job.source.stride) &&
                cf_is_vector_aligned(job.destination.data, job.destination.stride);
  return job;
}

bool run(void (*kernel)(Job), const Job &job, CfPlaneRows rows, void *stream, const char *doing,
         CfStatus *status)
{
  const int macropixels = (job.width + 1) / 2;
  cf::Launch how = {};

  how.grid = dim3((unsigned)div_up(macropixels, kThreads * kMacropixels),
                  (unsigned)(rows.end - rows.first));
  how.block = dim3(kThreads);
  how.stream = (cudaStream_t)stream;
  return launch(how, doing, status, kernel, job);
}

} // namespace
} // namespace cf::packed

bool cf_cuda_unpack(const CfVideo *video, const CfPicture *packed, const CfPicture *planes,
                    CfPlaneRows rows, void *stream, CfStatus *status)
{
  using namespace cf::packed;

  return run(unpack_kernel, describe(video, packed, packed, planes, rows), rows, stream,
             "unpacking 4:2:2", status);
}

bool cf_cuda_pack(const CfVideo *video, const CfPicture *planes, const CfPicture *source,
                  const CfPicture *destination, CfPlaneRows rows, void *stream, CfStatus *status)
{
  using namespace cf::packed;

  return run(pack_kernel, describe(video, source, destination, planes, rows), rows, stream,
             "packing 4:2:2", status);
}
