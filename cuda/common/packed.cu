/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A thread converts four macropixels (16 packed bytes, 8 pixels), so that the accesses of a warp
 * are coalesced in the packed rows and in all planes. Where the 16 bytes are not aligned, or reach
 * beyond the row, they are accessed one by one.
 */
#include "cuda/common/packed.h"

#include "cuda/common/context.cuh"
#include "cuda/common/int_math.cuh"
#include "cuda/common/launch.cuh"

namespace cf::packed
{
namespace
{

constexpr int kMacropixels = 4; /* per thread */
constexpr int kThreads = 128;

struct Plane {
  uint8_t *data;
  ptrdiff_t stride;
};

struct Job {
  Plane source, destination; /* packed; unpacking has no destination: it is the source */
  Plane luma;
  Plane chroma_first, chroma_second; /* in the order of a macropixel's bytes */
  int first_row, width;              /* width in pixels */
  bool luma_first;                   /* YUYV and YVYU, not UYVY */
  bool aligned;                      /* packed rows start at multiples of 16 bytes */
};

/* Four macropixels as in memory, a little-endian word each. */
struct Macropixels {
  uint32_t word[kMacropixels];
};

/* Macropixels x .. x + count - 1 of row y: those of one thread. */
struct Span {
  int x, y, count;
};

__device__ uint8_t *row_of(const Plane &plane, int y)
{
  return plane.data + y * plane.stride;
}

__device__ Span span_of_thread(const Job &job)
{
  const int x = ((int)blockIdx.x * kThreads + (int)threadIdx.x) * kMacropixels;

  return {x, job.first_row + (int)blockIdx.y, min(kMacropixels, (job.width + 1) / 2 - x)};
}

__device__ Macropixels load(const Plane &plane, const Span &span, bool aligned)
{
  const uint8_t *const from = row_of(plane, span.y) + 4 * span.x;
  Macropixels result = {};

  if (aligned && span.count == kMacropixels) {
    const uint4 vector = *(const uint4 *)from;
    return {{vector.x, vector.y, vector.z, vector.w}};
  }
  for (int i = 0; i < kMacropixels; i++) {
    for (int byte = 0; i < span.count && byte < 4; byte++)
      result.word[i] |= (uint32_t)from[4 * i + byte] << 8 * byte;
  }
  return result;
}

/* Stores all macropixels as one vector or, where that is not possible, those whose bit is set in
 * `changed`. */
__device__ void store(const Plane &plane, const Span &span, bool aligned, const Macropixels &pixels,
                      uint32_t changed)
{
  uint8_t *const to = row_of(plane, span.y) + 4 * span.x;

  if (aligned && span.count == kMacropixels) {
    *(uint4 *)to = make_uint4(pixels.word[0], pixels.word[1], pixels.word[2], pixels.word[3]);
    return;
  }
  for (int i = 0; i < kMacropixels; i++) {
    for (int byte = 0; i < span.count && (changed >> i & 1) && byte < 4; byte++)
      to[4 * i + byte] = (uint8_t)(pixels.word[i] >> 8 * byte);
  }
}

__global__ void __launch_bounds__(kThreads) unpack_kernel(const __grid_constant__ Job job)
{
  const Span span = span_of_thread(job);

  if (span.count <= 0)
    return;
  const Macropixels pixels = load(job.source, span, job.aligned);
  const uint32_t *const word = pixels.word;
  const uint32_t luma = job.luma_first ? 0x6420 : 0x7531, chroma = job.luma_first ? 0x7531 : 0x6420;
  const uint32_t low = __byte_perm(word[0], word[1], chroma);
  const uint32_t high = __byte_perm(word[2], word[3], chroma);

  *(uint2 *)(row_of(job.luma, span.y) + 2 * span.x) =
      make_uint2(__byte_perm(word[0], word[1], luma), __byte_perm(word[2], word[3], luma));
  *(uint32_t *)(row_of(job.chroma_first, span.y) + span.x) = __byte_perm(low, high, 0x6420);
  *(uint32_t *)(row_of(job.chroma_second, span.y) + span.x) = __byte_perm(low, high, 0x7531);
}

/* The first `count` bytes at `from`, the others 0: planes have nothing defined behind a row's end.
 */
__device__ uint32_t load_bytes(const uint8_t *from, int count)
{
  uint32_t word = 0;

  if (count >= 4)
    return *(const uint32_t *)from;
  for (int i = 0; i < count; i++)
    word |= (uint32_t)from[i] << 8 * i;
  return word;
}

__device__ Macropixels pack_planes(const Job &job, const Span &span)
{
  const uint8_t *const lumas = row_of(job.luma, span.y) + 2 * span.x;
  const int samples = job.width - 2 * span.x;
  const uint2 luma = samples >= 2 * kMacropixels ? *(const uint2 *)lumas
                                                 : make_uint2(load_bytes(lumas, samples),
                                                              load_bytes(lumas + 4, samples - 4));
  const uint32_t first = load_bytes(row_of(job.chroma_first, span.y) + span.x, span.count);
  const uint32_t second = load_bytes(row_of(job.chroma_second, span.y) + span.x, span.count);
  const uint32_t low = __byte_perm(first, second, 0x5140);
  const uint32_t high = __byte_perm(first, second, 0x7362);
  const uint32_t even = job.luma_first ? 0x5140 : 0x1504, odd = job.luma_first ? 0x7362 : 0x3726;

  return {{__byte_perm(luma.x, low, even), __byte_perm(luma.x, low, odd),
           __byte_perm(luma.y, high, even), __byte_perm(luma.y, high, odd)}};
}

__global__ void __launch_bounds__(kThreads) pack_kernel(const __grid_constant__ Job job)
{
  const Span span = span_of_thread(job);
  const bool in_place = job.source.data == job.destination.data;
  /* With an odd width the row's last macropixel, number `last` of this thread, has one pixel; its
   * second luma is padding, and keeps the source's value. */
  const int last = job.width % 2 ? job.width / 2 - span.x : kMacropixels;
  const uint32_t padding = job.luma_first ? 0x00ff0000u : 0xff000000u;
  uint32_t changed = 0xf; /* a bit per macropixel */

  if (span.count <= 0)
    return;
  Macropixels pixels = pack_planes(job, span);
  if (in_place || last < kMacropixels) {
    const Macropixels before = load(job.source, span, job.aligned);

    for (int i = 0; i < kMacropixels; i++) {
      if (i == last)
        pixels.word[i] = (pixels.word[i] & ~padding) | (before.word[i] & padding);
      if (in_place && pixels.word[i] == before.word[i])
        changed &= ~(1u << i);
    }
    if (changed == 0)
      return;
  }
  store(job.destination, span, job.aligned, pixels, changed);
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
  job.chroma_first = plane_of(planes, blue_first ? 1 : 2);
  job.chroma_second = plane_of(planes, blue_first ? 2 : 1);
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
