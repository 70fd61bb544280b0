/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The first kernel of tone mapping: makes the plane that the local Laplacian filter smooths, and
 * the histogram of its codes.
 */
#include "cuda/tonemap/light.cuh"

namespace cf::tonemap
{
namespace
{

struct AnalyseJob {
  Source source;
  Tones tones;
  const Tables *tables;
  Plane plane;
  Peak *peak;
};

struct alignas(16) Shared {
  Line light[kLightLines];
  uint32_t histogram[CF_TONEMAP_BINS];
};

template <bool Halved>
__global__ void __launch_bounds__(kThreads, kResident)
    analyse_kernel(const __grid_constant__ AnalyseJob job)
{
  __shared__ Shared shared;

  copy_words<sizeof shared.light>(job.tables->light, shared.light);
  for (int i = (int)threadIdx.x; i < CF_TONEMAP_BINS; i += kThreads)
    shared.histogram[i] = 0;
  __syncthreads();

  const Table<Line> table(shared.light, job.source.whole_bits);
  for_tiles(job.source, [&](int x, int y) {
    const Source &source = job.source;
    Chroma<Halved> chroma;

#pragma unroll 1
    for (int line = y; line < min(y + kTileY, source.height); line++) {
      uint32_t luma[kTileX / 2], codes[kTileX];

      load_samples(source.luma + line * source.luma_stride, x, source.width, source.words, luma);
      if (line == y || !source.halved_rows)
        chroma.load(source, x, line);
#pragma unroll
      for (int i = 0; i < kTileX; i++) {
        const float v = stops_of(job.tones, light_of(source, job.tones, table, luma[i / 2], i % 2,
                                                     chroma_of(source, chroma.at(i))));

        codes[i] = floor_bits(fminf(fmaf(v, (float)(65535.0 / CF_TONEMAP_STOPS), 0.5f), 65535.0f));
        if (job.peak && x + i < source.width)
          atomicAdd(&shared.histogram[(codes[i] - kWholeBits) / CF_TONEMAP_CODES_OF_BIN], 1);
      }
      *(uint4 *)(job.plane.data + line * job.plane.stride + 2 * x) = make_uint4(
          __byte_perm(codes[0], codes[1], 0x5410), __byte_perm(codes[2], codes[3], 0x5410),
          __byte_perm(codes[4], codes[5], 0x5410), __byte_perm(codes[6], codes[7], 0x5410));
    }
  });

  if (!job.peak)
    return;
  __syncthreads();
  for (int i = (int)threadIdx.x; i < CF_TONEMAP_BINS; i += kThreads) {
    if (shared.histogram[i])
      atomicAdd(&job.peak->histogram[i], shared.histogram[i]);
  }
}

} // namespace

bool analyse(const Queue &queue, const Source &source, const Tones &tones, const Tables *tables,
             Plane plane, Peak *peak)
{
  return launch(launch_of(queue, source), "tone mapping analyse", queue.status,
                source.halved ? analyse_kernel<true> : analyse_kernel<false>,
                AnalyseJob{source, tones, tables, plane, peak});
}

} // namespace cf::tonemap
