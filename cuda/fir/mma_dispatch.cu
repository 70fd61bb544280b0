/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The separable filter on tensor cores: the kernels, the frames that they support, and on the host
 * the choice of kernel and of strips. One launch for each frame.
 */
#include <string.h>
#include <type_traits>

#include "cuda/common/half2.cuh"
#include "cuda/common/launch.cuh"
#include "cuda/fir/force.h"
#include "cuda/fir/fp16_error_bound.h"
#include "cuda/fir/mma_kernel_alpha.cuh"
#include "cuda/fir/mma_kernel_uniform.cuh"
#include "cuda/fir/mma_kernel_warp_specialized.cuh"

namespace cf::fir
{
namespace
{

/* ---- the kernels ---- */

/* What a kernel filters: one plane of four channels; planes of one and two channels, as 4:2:0
 * formats mix them, of 8 or of 10 bits; packed 4:2:2. */
enum class Layout { kPixels, kPlanes, kWidePlanes, kMacropixels };
constexpr int kLayouts = 4;

/* For macropixels there is no kernel of 3 tap tiles, since that of 4 serves, nor of 9, which would
 * not fit shared memory. */
constexpr bool has_kernel(Layout layout, int tap_tiles)
{
  return layout != Layout::kMacropixels || (tap_tiles != 3 && tap_tiles <= 6);
}

constexpr int kMostCode = 1023; /* codes up to this, less 512, are exact in fp16 */

template <typename Pixel, int TapTiles>
using OpaqueShape = std::conditional_t<is_uniform(TapTiles), UniformShape<Pixel, TapTiles>,
                                       WarpSpecializedShape<Pixel, TapTiles, false>>;

/* Threads and shared memory of a CTA, for any of the pixels that a kernel may meet. */
template <int TapTiles, Layout L, bool Opaque> struct CtaSize {
  static constexpr int kSampleBytes = L == Layout::kWidePlanes ? 2 : 1;
  template <int C> using Shape = OpaqueShape<PixelType<C, kSampleBytes>, TapTiles>;
  static constexpr int kThreads = Shape<1>::kThreads;
  static constexpr int kBytes = larger(Shape<1>::kBytes, Shape<2>::kBytes);
};

template <int TapTiles> struct CtaSize<TapTiles, Layout::kPixels, true> {
  typedef OpaqueShape<FourBytes, TapTiles> Shape;
  static constexpr int kThreads = Shape::kThreads;
  static constexpr int kBytes = larger(Shape::kBytes, AlphaShape<TapTiles, true>::kBytes);
};

template <int TapTiles> struct CtaSize<TapTiles, Layout::kMacropixels, true> {
  typedef OpaqueShape<Macropixel, TapTiles> Shape;
  static constexpr int kThreads = Shape::kThreads, kBytes = Shape::kBytes;
};

template <int TapTiles> struct CtaSize<TapTiles, Layout::kPixels, false> {
  typedef std::conditional_t<TapTiles == kSpecializedAlphaTapTiles,
                             WarpSpecializedShape<FourBytes, TapTiles, true>,
                             AlphaShape<TapTiles, false>>
      Shape;
  static constexpr int kThreads = Shape::kThreads, kBytes = Shape::kBytes;
};

/* CtaSize, and the CTAs per SM for __launch_bounds__. */
template <int TapTiles, Layout L, bool Opaque> struct CtaShape : CtaSize<TapTiles, L, Opaque> {
  using CtaSize<TapTiles, L, Opaque>::kThreads;
  using CtaSize<TapTiles, L, Opaque>::kBytes;
  static constexpr int kRegisters = TapTiles <= kMaxFewTapTiles || (Opaque && is_uniform(TapTiles))
                                        ? kRegistersOfUniform
                                        : kRegistersOfOthers;
  static constexpr int kResident =
      smaller(kSmSharedBytes / (kBytes + kCtaReservedBytes), kSmRegisters / kThreads / kRegisters);
};

template <typename Pixel, int TapTiles>
__device__ inline int filter_strip_opaque(const MmaJob &job, const PlaneWork &work,
                                          const MmaStrips &strip, const StripPlace &place,
                                          uint8_t *shared)
{
  if constexpr (is_uniform(TapTiles))
    return filter_strip_uniform<Pixel, TapTiles>(job, work, strip, place, shared);
  else
    return filter_strip_warp_specialized<Pixel, TapTiles, false>(job, work, strip, place, shared);
}

/* Each CTA filters one strip. A kernel for opaque pixels of four channels that finds a pixel with
 * alpha filters the rest of the strip by filter_strip_alpha(), which is slower than in the kernel
 * for alpha. */
template <int TapTiles, Layout L, bool Opaque>
__global__ void __launch_bounds__(CtaShape<TapTiles, L, Opaque>::kThreads,
                                  CtaShape<TapTiles, L, Opaque>::kResident)
    filter_mma(const __grid_constant__ MmaJob job)
{
#ifdef CF_HAVE_MMA
  extern __shared__ __align__(16) uint8_t shared[];
  constexpr bool kPlanar = L == Layout::kPlanes || L == Layout::kWidePlanes;
  int p = 0;

  while (kPlanar && p + 1 < job.planes && (int)blockIdx.x >= job.strip[p + 1].first_block)
    p++;
  const PlaneWork &work = job.plane[p];
  const MmaStrips &strip = job.strip[p];
  StripPlace place(strip, (int)blockIdx.x - (kPlanar ? strip.first_block : 0));

  if constexpr (kPlanar) {
    constexpr int kSampleBytes = CtaShape<TapTiles, L, Opaque>::kSampleBytes;

    if (work.channels == 2)
      filter_strip_opaque<PixelType<2, kSampleBytes>, TapTiles>(job, work, strip, place, shared);
    else
      filter_strip_opaque<PixelType<1, kSampleBytes>, TapTiles>(job, work, strip, place, shared);
  } else if constexpr (L == Layout::kMacropixels) {
    filter_strip_opaque<Macropixel, TapTiles>(job, work, strip, place, shared);
  } else {
    if (threadIdx.x == 0 && blockIdx.x == 0)
      *(volatile uint32_t *)&job.feedback[0] = job.number;
    if constexpr (Opaque) {
      typedef AlphaShape<TapTiles, true> Rest;

      place.skip(filter_strip_opaque<FourBytes, TapTiles>(job, work, strip, place, shared));
      if (place.rows > 0 && threadIdx.x < Rest::kThreads)
        filter_strip_alpha<TapTiles, Rest>(job, work, strip, place, shared);
    } else if constexpr (TapTiles == kSpecializedAlphaTapTiles) {
      filter_strip_warp_specialized<FourBytes, TapTiles, true>(job, work, strip, place, shared);
    } else {
      filter_strip_alpha<TapTiles, AlphaShape<TapTiles, false>>(job, work, strip, place, shared);
    }
  }
#endif
}

/* ---- the table of kernels ---- */

struct KernelEntry {
  void (*kernel)(MmaJob); /* NULL if there is none */
  int threads, bytes;
};

struct SizeEntry {
  int tap_tiles;
  int strip_pixels[4];            /* the width of a strip, by channels less 1; Y, U, V: packed */
  KernelEntry entry[kLayouts][2]; /* [layout][opaque] */
};

template <int TapTiles, Layout L, bool Opaque> constexpr KernelEntry kernel_entry()
{
  if constexpr (!has_kernel(L, TapTiles)) {
    return {nullptr, 0, 0};
  } else {
    typedef CtaShape<TapTiles, L, Opaque> Shape;

    return {filter_mma<TapTiles, L, Opaque>, Shape::kThreads, Shape::kBytes};
  }
}

template <int TapTiles> constexpr SizeEntry size_entry()
{
  return {TapTiles,
          {StripShape<PixelType<1, 1>, TapTiles>::kPixels,
           StripShape<PixelType<2, 1>, TapTiles>::kPixels,
           StripShape<Macropixel, TapTiles>::kPixels, StripShape<FourBytes, TapTiles>::kPixels},
          {{kernel_entry<TapTiles, Layout::kPixels, false>(),
            kernel_entry<TapTiles, Layout::kPixels, true>()},
           {{nullptr, 0, 0}, kernel_entry<TapTiles, Layout::kPlanes, true>()},
           {{nullptr, 0, 0}, kernel_entry<TapTiles, Layout::kWidePlanes, true>()},
           {{nullptr, 0, 0}, kernel_entry<TapTiles, Layout::kMacropixels, true>()}}};
}

constexpr SizeEntry kSizes[] = {
    size_entry<kTapTiles[0]>(), size_entry<kTapTiles[1]>(), size_entry<kTapTiles[2]>(),
    size_entry<kTapTiles[3]>(), size_entry<kTapTiles[4]>(),
};
static_assert(sizeof kTapTiles / sizeof *kTapTiles == 5 && kTapTiles[4] == kMaxTapTiles,
              "all sizes");

Layout layout_of(const Picture *picture)
{
  return picture->packed                   ? Layout::kMacropixels
         : picture->sample_bytes == 2      ? Layout::kWidePlanes
         : picture->plane[0].channels != 4 ? Layout::kPlanes
                                           : Layout::kPixels;
}

bool fits(const KernelEntry *entry, const CfDevice *device)
{
  return entry->kernel && entry->bytes <= device->info.shared_per_block;
}

const KernelEntry *entry_of(const SizeEntry *size, Layout layout, bool opaque)
{
  return &size->entry[(int)layout][opaque];
}

/* ---- the choice of kernel ---- */

int reach(const CfTaps *taps)
{
  return larger(taps->anchor, taps->count - 1 - taps->anchor);
}

/* The smallest size for the taps of all planes; NULL if there is none. */
const SizeEntry *choose_size(const Picture *picture)
{
  int radius = 0;

  for (int p = 0; p < picture->planes; p++) {
    radius = larger(radius, reach(&picture->plan[p]->row));
    radius = larger(radius, reach(&picture->plan[p]->column));
  }
  for (const SizeEntry &size : kSizes) {
    if (radius <= 8 * (size.tap_tiles - 1) && has_kernel(layout_of(picture), size.tap_tiles))
      return &size;
  }
  return nullptr;
}

/* Whether the last two frames that kernels began were opaque, as far as the host knows. */
bool seems_opaque(const AlphaFeedback *feedback)
{
  const uint32_t begun = __atomic_load_n(&feedback->words[0], __ATOMIC_RELAXED);
  const uint32_t with_alpha = __atomic_load_n(&feedback->words[1], __ATOMIC_RELAXED);

  return with_alpha == 0 || (int32_t)(begun - with_alpha) > 1;
}

const KernelEntry *choose_kernel(const SizeEntry *size, Layout layout, const CfDevice *device,
                                 const AlphaFeedback *feedback, int force)
{
  const KernelEntry *opaque = entry_of(size, layout, true), *alpha = entry_of(size, layout, false);
  const bool wants_opaque = force == CF_FIR_MMA_OPAQUE  ? true
                            : force == CF_FIR_MMA_ALPHA ? false
                                                        : seems_opaque(feedback);

  return fits(opaque, device) && (wants_opaque || !fits(alpha, device)) ? opaque : alpha;
}

/* ---- the grid ---- */

/* Divides the planes into strips that take no longer than `steps` steps of an inner strip, if
 * possible. Returns the number of CTAs. */
int divide_planes(MmaJob *job, const SizeEntry *size, int steps)
{
  const int lead = size->tap_tiles - 1; /* steps of rows to filter before the first result */
  int ctas = 0;

  for (int p = 0; p < job->planes; p++) {
    const PlaneWork *work = &job->plane[p];
    MmaStrips *strip = &job->strip[p];
    const int height = work->end - first_step_row(*work);

    strip->across = div_up(work->width, size->strip_pixels[work->channels - 1]);
    strip->rows = kStepRows * larger(steps - lead, 1);
    strip->outer_rows = kStepRows * larger((int)(steps / kOuterCost) - lead, 1);
    strip->outer = outer_columns(strip->across) * div_up(height, strip->outer_rows);
    strip->first_block = ctas;
    ctas +=
        strip->outer + (strip->across - outer_columns(strip->across)) * div_up(height, strip->rows);
  }
  return ctas;
}

/* Divides the planes so that the grid is one wave, `slots` resident CTAs at most, whose CTAs take
 * about the same time. Returns the number of CTAs. */
int fill_one_wave(MmaJob *job, const SizeEntry *size, int slots)
{
  int most_steps = 0, steps = 0, ctas;

  for (int p = 0; p < job->planes; p++)
    most_steps = larger(most_steps, div_up(job->plane[p].height, kStepRows));
  most_steps = (int)(kOuterCost * (most_steps + size->tap_tiles));
  do
    ctas = divide_planes(job, size, ++steps);
  while (ctas > slots && steps < most_steps);
  return ctas;
}

/* Describes packed 4:2:2: strip[0] has the transforms of luma, strip[1] of both chromas, which are
 * the same. The column taps of luma and chroma are the same in 4:2:2. */
void describe_macropixels(MmaJob *job, const Picture *picture, int tap_tiles)
{
  PlaneWork *work = &job->plane[0];

  for (int p = 0; p < 2; p++) {
    MmaStrips *strip = &job->strip[p];

    describe_mma_plane(job, picture, p, tap_tiles);
    strip->factor[1] = strip->factor[0];
    strip->addend[1] = strip->addend[0];
    strip->inner_factor[1] = strip->inner_factor[0];
    strip->inner_addend[1] = strip->inner_addend[0];
    strip->absolute *= 3;
    strip->code_factor[1] = strip->code_factor[0];
    strip->code_addend[1] = strip->code_addend[0];
  }
  job->strip[0].colour = 0;
  for (int i = 0; i < 4; i++) {
    const int p = i % 2 == work->luma ? 0 : 1 + i / 2;
    job->strip[0].colour |= (uint32_t)picture->plan[p]->channel[0].border << 8 * i;
  }
  job->planes = 1;
  job->first_two = work->luma ? 0x6240 : 0x7351;
  job->third = work->luma ? 0x4341 : 0x4240;
  work->channels = 3;
  work->width /= 2;
}

void describe_job(MmaJob *job, const Picture *picture, int tap_tiles, AlphaFeedback *feedback)
{
  memset(job, 0, sizeof *job);
  job->planes = picture->planes;
  job->first_colour = picture->first_colour;
  job->exponents = kExponentsOf1024;
  job->first_two = picture->first_colour ? 0x6251 : 0x5140;
  job->third = picture->first_colour ? 0x4073 : 0x7362;
  job->feedback = feedback->words;
  job->number = ++feedback->number;
  if (picture->packed)
    describe_macropixels(job, picture, tap_tiles);
  else
    for (int p = 0; p < picture->planes; p++)
      describe_mma_plane(job, picture, p, tap_tiles);
}

} // namespace

bool mma_prepare(const CfDevice *device, CfStatus *status)
{
  if (device->code < 80)
    return true;
  for (const SizeEntry &size : kSizes) {
    for (int i = 0; i < 2 * kLayouts; i++) {
      const KernelEntry *entry = &size.entry[i / 2][i % 2];
      if (fits(entry, device) && !prepare_kernel((const void *)entry->kernel, entry->bytes, status))
        return false;
    }
  }
  return true;
}

bool mma_supports(Picture *picture, const CfDevice *device)
{
  const SizeEntry *size = picture->planes ? choose_size(picture) : nullptr;
  const Layout layout = layout_of(picture);

  if (device->code < 80 || !size || picture->plane[0].channels == 3 ||
      picture->plane[0].max_code > kMostCode ||
      !(fits(entry_of(size, layout, false), device) || fits(entry_of(size, layout, true), device)))
    return false;
  for (int p = 0; p < picture->planes; p++) {
    const PlaneWork *work = &picture->plane[p];
    const int alpha = picture->has_alpha ? (picture->first_colour ? 0 : 3) : -1;

    for (int c = 0; c < work->channels; c++) {
      if (work->transform[c].action == kCopy && c != alpha)
        return false;
    }
  }
  return round_taps_to_fp16(picture);
}

bool mma_supports_packed(const Picture *picture, const CfDevice *device)
{
  const SizeEntry *size = choose_size(picture);

  return picture->planes == 3 && size && fits(entry_of(size, Layout::kMacropixels, true), device);
}

bool mma_run(const Picture *picture, const CfDevice *device, AlphaFeedback *feedback, int force,
             void *stream, CfStatus *status)
{
  const SizeEntry *size = choose_size(picture);
  const KernelEntry *entry = choose_kernel(size, layout_of(picture), device, feedback, force);
  const size_t bytes = (size_t)entry->bytes;
  int resident = 0;
  MmaJob job;

  if (!cf_cuda_ok(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, entry->kernel,
                                                                entry->threads, bytes),
                  "preparing the tensor filter", status))
    return false;
  describe_job(&job, picture, size->tap_tiles, feedback);

  Launch how = {};
  how.grid =
      dim3((unsigned)fill_one_wave(&job, size, device->info.multiprocessors * larger(resident, 1)));
  how.block = dim3((unsigned)entry->threads);
  how.shared_bytes = bytes;
  how.stream = (cudaStream_t)stream;
  return launch(how, "filtering on tensor cores", status, entry->kernel, job);
}

} // namespace cf::fir
