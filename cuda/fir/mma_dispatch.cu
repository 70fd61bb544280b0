/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cuda/fir/fp16_error_bound.cuh"
#include "cuda/fir/mma_types.cuh"
#include "cuda/fir/mma_load.cuh"
#include "cuda/fir/mma_store.cuh"
#include "cuda/fir/mma_kernel_warp_specialized.cuh"
#include "cuda/fir/mma_filter.cuh"
#include "cuda/fir/mma_kernel_opaque.cuh"

#include <string.h>
#include <type_traits>

namespace
{

/* Down and out: 16 rows of the result. */
template <int C, int Tiles>
__device__ inline void finish_rows(
    const CfTensorJob &job, const CfFirWork &work, const CfTensorStrip &strip,
    const CfTensorMatricesOf<C, Tiles> &matrices, const CfTensorKept<C, Tiles> &kept,
    const uint4 (&newest)[CfTensorShape<C, Tiles>::kBlocks][CfTensorShape<C, Tiles>::kColours],
    const CfTensorAlpha (&newest_alpha)[CfTensorShape<C, Tiles>::kBlocks], bool weighted,
    CfTensorTarget target)
{
  if constexpr (C == 1) {
    constexpr int kBlocks = CfTensorShape<C, Tiles>::kBlocks;
    constexpr int kAtOnce = CfTensorShape<C, Tiles>::kHasRegisters ? kBlocks : 2;
    uint32_t codes[2][kBlocks];

#pragma unroll
    for (int b = 0; b < kBlocks; b += kAtOnce) {
      CfTensorSums sums[kAtOnce][1] = {};
      cf_tensor_filter_down<C, Tiles>(matrices, kept, newest, b, sums);
#pragma unroll
      for (int i = 0; i < kAtOnce; i++)
        cf_tensor_gray_codes(strip, sums[i], codes[0][b + i], codes[1][b + i]);
    }
    cf_tensor_store_gray(work, codes, target);
  } else {
    const int x0 = target.x0;
#pragma unroll
    for (int b = 0; b < CfTensorShape<C, Tiles>::kBlocks; b++) {
      CfTensorSums sums[1][CfTensorShape<C, Tiles>::kColours] = {};
      cf_tensor_filter_down<C, Tiles>(matrices, kept, newest, b, sums);
      target.x0 = x0 + 16 * b;
      if constexpr (C == 2) {
        cf_tensor_store_pair(work, strip, sums[0], target);
      } else {
        CfTensorSums alpha = {};
        if (weighted) {
          cf_tensor_filter_alpha_down<C, Tiles>(matrices, kept, newest_alpha[b], b, alpha);
          cf_tensor_store_colours<true, CfTensorShape<C, Tiles>::kWeightedAtOnce>(
              work, strip, job, sums[0], alpha, target);
        } else {
          cf_tensor_store_colours<false, 8>(work, strip, job, sums[0], alpha, target);
        }
      }
    }
  }
}

/* ---- the kernels ---- */

/* What filters opaque pixels only is faster: all warps alike up to so many tiles, and from so many
 * on a pipeline. With four channels that is all tiles, so that the host wants to know which
 * pictures are opaque; planar pictures always are. */
constexpr int kShortTiles = 4, kPlanarShortTiles = 3, kPlanarPipelineTiles = 6;

__host__ __device__ constexpr bool is_short(int tiles, bool planar)
{
  return tiles <= (planar ? kPlanarShortTiles : kShortTiles);
}

constexpr bool has_opaque_form(int tiles, bool planar)
{
  return !planar || is_short(tiles, planar) || tiles >= kPlanarPipelineTiles;
}

__device__ inline void report_picture(const CfTensorJob &job)
{
  if (threadIdx.x == 0 && blockIdx.x == 0)
    *(volatile uint32_t *)&job.sightings[0] = job.number;
}

__device__ inline void report_alpha(const CfTensorJob &job)
{
  if (threadIdx.x == 0)
    *(volatile uint32_t *)&job.sightings[1] = job.number;
}

template <int C, int Tiles, typename Shape = CfTensorShape<C, Tiles>>
__device__ inline void filter_strip(const CfTensorJob &job, const CfFirWork &work,
                                    const CfTensorStrip &strip, const CfTensorPlace &place,
                                    uint8_t *shared)
{
  constexpr int kSetBytes = Shape::kChannels * Shape::kPlaneBytes;
  const int x0 = place.column * Shape::kPixels, left = x0 - Shape::kHalo;
  const int top = cf_tensor_first_step(work) + place.first_row;
  const int end = min(top + place.rows, work.end), y0 = top - Shape::kRadius;
  const int steps = (end - top + kTensorStep - 1) / kTensorStep + Tiles - 1;
  const int warp_x0 = x0 + (threadIdx.x >> 5) % Shape::kWarps * Shape::kWarpPixels;
  const bool goes_down = Shape::kPaired && threadIdx.x >= Shape::kLanes;
  uint8_t *planes = shared + Shape::kStages * Shape::kStageBytes;
  uint4 *behind = (uint4 *)(planes + Shape::kPlaneSets * kSetBytes);
  volatile int *not_opaque = (volatile int *)(planes + Shape::kWords);
  const CfTensorCopier<Shape> copier(work, strip.colour, left, shared);
  const CfTensorConverter<Shape> converter(job, work, left, copier.needs_repair());

  CfTensorFetcher<Shape> fetcher(copier, work, left, y0, steps);

  copier.fill_rest(shared);
  for (int step = 0; step < Shape::kStages; step++)
    fetcher.fetch(step);

  uint32_t *taps = (uint32_t *)behind;
  for (int i = threadIdx.x; i < 2 * kTensorTapPairs; i += Shape::kThreads)
    taps[i] = job.taps[work.set][i / kTensorTapPairs][i % kTensorTapPairs];
  if (threadIdx.x < 4)
    not_opaque[threadIdx.x] = -1;
  Shape::synchronize();
  const CfTensorMatricesOf<C, Tiles> matrices(taps, taps + kTensorTapPairs, goes_down);
  CfTensorKept<C, Tiles> kept(behind);
  const CfTensorStrip held =
      Shape::kHasRegisters ? cf_tensor_hold_factors<Shape::kColours>(strip) : strip;
  unsigned history = 0; /* which of the last Tiles steps were not opaque, the newest lowest */

  Shape::synchronize();
  for (int step = 0; step < steps + Shape::kPaired; step++) {
    uint8_t *const set = planes + (Shape::kPlaneSets == 1 ? 0 : (step & 1) * kSetBytes);
    const int finished = step - Shape::kPaired; /* of the steps, by this one */
    const unsigned before = history;
    uint4 newest[Shape::kBlocks][Shape::kColours];
    CfTensorAlpha newest_alpha[Shape::kBlocks];

    cf::cp_async_wait<Shape::kStages - 1>();
    __syncwarp();
    if (step < steps &&
        !converter.convert(shared + step % Shape::kStages * Shape::kStageBytes, set))
      not_opaque[step & 1] = step;
    __syncwarp();
    fetcher.fetch(step + Shape::kStages);
    Shape::synchronize();
    if (Shape::kHasAlpha) {
      history = (history << 1 | (not_opaque[step & 1] == step)) & ((1u << Tiles) - 1);
      if (history && !before)
        report_alpha(job);
    }

    if constexpr (Shape::kPaired) {
      const int warp = threadIdx.x >> 5, parts = Shape::kWarps / Shape::kChannels;
      const int channel = warp / parts, block = warp % parts * Shape::kAcrossBlocks;

      if (!goes_down && step < steps) {
        const uint32_t plane = cf::smem_address(set) + channel * Shape::kPlaneBytes;

        if (history && !before)
          kept.fill_alpha(cf_tensor_opaque_across<Tiles>(matrices));
        if (channel < Shape::kColours) {
          uint4 across[Shape::kAcrossBlocks][1];
          cf_tensor_filter_across<C, Tiles>(matrices, plane, 16 * block, across);
          kept.put_channel(across, channel, block);
        } else if (history) {
          CfTensorAlpha across[Shape::kAcrossBlocks];
          cf_tensor_filter_alpha_across<C, Tiles>(matrices, plane, 16 * block, across);
          kept.put_channel(across, block);
        }
      }
    } else {
      cf_tensor_filter_across<C, Tiles>(matrices, cf::smem_address(set), warp_x0 - x0, newest);
      if constexpr (Shape::kHasAlpha) {
        if (history && !before)
          kept.fill_alpha(cf_tensor_opaque_across<Tiles>(matrices));
        if (history)
          cf_tensor_filter_alpha_across<C, Tiles>(
              matrices, cf::smem_address(set) + 3 * Shape::kPlaneBytes, warp_x0 - x0, newest_alpha);
      }
    }
    if (Shape::kPlaneSets == 1 && !Shape::kPaired)
      Shape::synchronize();

    if ((!Shape::kPaired || goes_down) && finished >= Tiles - 1) {
      CfTensorTarget target;
      target.y0 = top + (finished - Tiles + 1) * kTensorStep;
      target.end = end;
      target.x0 = warp_x0;
      target.inside = warp_x0 + Shape::kWarpPixels <= work.width && target.y0 >= work.first &&
                      target.y0 + kTensorStep <= end;
      finish_rows<C, Tiles>(job, work, held, matrices, kept, newest, newest_alpha,
                            (Shape::kPaired ? before : history) != 0, target);
    }
    if constexpr (!Shape::kPaired) {
      if constexpr (Shape::kHasAlpha) {
        if (history)
          kept.put_alpha(newest_alpha);
      }
      kept.put(newest);
    }
    kept.advance();
    if (Shape::kPaired)
      Shape::synchronize();
  }
}

/* Of an SM of sm_90, of which each block needs 1 KiB for itself. Others have less, and fewer
 * blocks. */
constexpr int kSharedMemory = 233472;

constexpr int largest(int a, int b)
{
  return a > b ? a : b;
}

/* The threads of a block, and how many blocks an SM is meant to have. */
template <int Tiles, bool Planar, bool Opaque> struct Launch {
  template <int C>
  using OpaqueShape = std::conditional_t<is_short(Tiles, Planar), CfTensorShort<C, Tiles>,
                                         CfTensorPipeline<C, Tiles>>;
  template <int C>
  using Shape = std::conditional_t<Opaque, OpaqueShape<C>, CfTensorShape<C, Tiles>>;
  static constexpr int kFirst = Planar ? 1 : 4;
  static constexpr int kThreads = Shape<kFirst>::kThreads;
  static constexpr int kBytes =
      Planar ? largest(Shape<1>::kBytes, Shape<2>::kBytes)
             : largest(Shape<4>::kBytes, CfTensorFirstThreads<Tiles, Opaque>::kBytes);
  static constexpr int kRegisters = Tiles <= 3 || (Opaque && is_short(Tiles, Planar)) ? 128
                                    : Planar && !Opaque                               ? 96
                                                                                      : 80;
  static constexpr int kFitting = kSharedMemory / (kBytes + 1024);
  static constexpr int kByRegisters = 65536 / kThreads / kRegisters;
  static constexpr int kResident = kFitting < kByRegisters ? kFitting : kByRegisters;
};

template <int C, int Tiles>
__device__ inline int filter_opaque(const CfTensorJob &job, const CfFirWork &work,
                                    const CfTensorStrip &strip, const CfTensorPlace &place,
                                    uint8_t *shared)
{
  if constexpr (is_short(Tiles, C != 4))
    return cf_tensor_filter_short<C, Tiles>(job, work, strip, place, shared);
  else
    return cf_tensor_filter_opaque<C, Tiles>(job, work, strip, place, shared);
}

/* Planar serves planes of one and of two channels, as 4:2:0 formats mix them. */
template <int Tiles, bool Planar, bool Opaque>
__global__ void __launch_bounds__(Launch<Tiles, Planar, Opaque>::kThreads,
                                  Launch<Tiles, Planar, Opaque>::kResident)
    filter_tensor(const __grid_constant__ CfTensorJob job)
{
#ifdef CF_HAVE_MMA
  extern __shared__ __align__(16) uint8_t shared[];
  int p = 0;

  while (Planar && p + 1 < job.planes && (int)blockIdx.x >= job.strip[p + 1].first_block)
    p++;
  const CfFirWork &work = job.plane[p];
  const CfTensorStrip &strip = job.strip[p];
  CfTensorPlace place(strip, (int)blockIdx.x - (Planar ? strip.first_block : 0));

  if constexpr (Planar && Opaque) {
    if (work.channels == 2)
      filter_opaque<2, Tiles>(job, work, strip, place, shared);
    else
      filter_opaque<1, Tiles>(job, work, strip, place, shared);
  } else if constexpr (Planar) {
    if (work.channels == 2)
      filter_strip<2, Tiles>(job, work, strip, place, shared);
    else
      filter_strip<1, Tiles>(job, work, strip, place, shared);
  } else {
    report_picture(job);
    if constexpr (Opaque)
      place.skip(filter_opaque<4, Tiles>(job, work, strip, place, shared));
    if (place.rows > 0 && (!Opaque || threadIdx.x < CfTensorShape<4, Tiles>::kThreads))
      filter_strip<4, Tiles, CfTensorFirstThreads<Tiles, Opaque>>(job, work, strip, place, shared);
  }
#endif
}

/* ---- the host's side ---- */

struct Form {
  void (*kernel)(CfTensorJob); /* NULL if there is none */
  int threads, bytes;
};

struct Variant {
  int tiles;
  int pixels[4];   /* of a strip, by the bytes of a pixel less 1 */
  Form form[2][2]; /* [planar][opaque] */
};

template <int Tiles, bool Planar, bool Opaque> constexpr Form form()
{
  typedef Launch<Tiles, Planar, Opaque> Launch;

  if constexpr (Opaque ? has_opaque_form(Tiles, Planar) : !(Planar && is_short(Tiles, Planar)))
    return {filter_tensor<Tiles, Planar, Opaque>, Launch::kThreads, Launch::kBytes};
  else
    return {nullptr, 0, 0};
}

template <int Tiles> constexpr Variant variant()
{
  return {Tiles,
          {CfTensorShape<1, Tiles>::kPixels, CfTensorShape<2, Tiles>::kPixels, 0,
           CfTensorShape<4, Tiles>::kPixels},
          {{form<Tiles, false, false>(), form<Tiles, false, true>()},
           {form<Tiles, true, false>(), form<Tiles, true, true>()}}};
}

/* Each serves kernels that reach 8 (tiles - 1) samples to either side. */
const Variant variants[] = {
    variant<2>(),
    variant<3>(),
    variant<4>(),
    variant<5>(),
    variant<6>(),
    variant<7>(),
    variant<kTensorMaxTiles>(),
};

int larger(int a, int b)
{
  return a > b ? a : b;
}

int reach(const CfTaps *taps)
{
  return larger(taps->anchor, taps->count - 1 - taps->anchor);
}

/* NULL if the kernels are too long. */
const Variant *choose_variant(const CfFirPicture *picture)
{
  int radius = 0;

  for (int p = 0; p < picture->planes; p++) {
    radius = larger(radius, reach(&picture->plan[p]->row));
    radius = larger(radius, reach(&picture->plan[p]->column));
  }
  for (size_t i = 0; i < sizeof variants / sizeof variants[0]; i++) {
    if (radius <= 8 * (variants[i].tiles - 1))
      return &variants[i];
  }
  return nullptr;
}

/* How much longer a step of an outer strip takes: pixels outside are copied one by one, but where
 * they are whole pieces of replicated ones. These cost long kernels of four channels still too much
 * for strips of equal height (93.6 instead of 89.1 us at 129 taps), and pipelines, of which few
 * warps load (57.7 instead of 50.6 at 81 taps), and what else filters four channels that are opaque
 * (41.7 instead of 39.8 at 41 taps). */
constexpr double kShortOuterCost = 1.2, kOuterCost = 1.4, kOpaqueOuterCost = 1.2;

double outer_cost(const CfFirWork *work, int tiles, bool opaque)
{
  const bool planar = work->channels != 4;
  const bool replicates_pieces =
      work->border == CF_BORDER_REPLICATE && work->width % (16 / work->channels) == 0;

  if (replicates_pieces && opaque && (!planar || tiles >= kPlanarPipelineTiles))
    return kOpaqueOuterCost;
  if (replicates_pieces && (planar || tiles <= 3))
    return 1.0;
  return tiles <= 3 || (opaque && is_short(tiles, planar)) ? kShortOuterCost : kOuterCost;
}

int divide_up(int a, int b)
{
  return (a + b - 1) / b;
}

/* Divides the planes so that no block takes longer than `steps` steps of an inner strip, if it can.
 * Returns how many blocks these are. */
int divide_planes(CfTensorJob *job, const Variant *variant, bool opaque, int steps)
{
  const int lead = variant->tiles - 1; /* steps of rows to filter before the first */
  int blocks = 0;

  for (int p = 0; p < job->planes; p++) {
    const CfFirWork *work = &job->plane[p];
    CfTensorStrip *strip = &job->strip[p];
    const int height = work->end - cf_tensor_first_step(*work);

    strip->across = divide_up(work->width, variant->pixels[work->channels - 1]);
    strip->rows = kTensorStep * larger(steps - lead, 1);
    strip->outer_rows =
        kTensorStep * larger((int)(steps / outer_cost(work, variant->tiles, opaque)) - lead, 1);
    strip->outer = cf_tensor_borders(strip->across) * divide_up(height, strip->outer_rows);
    strip->first_block = blocks;
    blocks += strip->outer +
              (strip->across - cf_tensor_borders(strip->across)) * divide_up(height, strip->rows);
  }
  return blocks;
}

/* One wave of resident blocks that take about the same time. Returns the blocks of the grid. */
int share_blocks(CfTensorJob *job, const Variant *variant, bool opaque, int slots)
{
  int most_steps = 0, steps = 0, blocks;

  for (int p = 0; p < job->planes; p++)
    most_steps = larger(most_steps, divide_up(job->plane[p].height, kTensorStep));
  most_steps = (int)(kOuterCost * (most_steps + variant->tiles));
  do
    blocks = divide_planes(job, variant, opaque, ++steps);
  while (blocks > slots && steps < most_steps);
  return blocks;
}

bool fits(const Form *form, const CfDevice *device)
{
  return form->kernel && form->bytes <= device->info.shared_per_block;
}

/* NULL if there is none that fits. */
const Form *choose_form(const Variant *variant, bool planar, bool opaque, const CfDevice *device)
{
  const Form(&forms)[2] = variant->form[planar];

  if (opaque && fits(&forms[true], device))
    return &forms[true];
  return fits(&forms[false], device) ? &forms[false] : nullptr;
}

/* Whether the last pictures that the device began were opaque, as far as it is known. */
bool seems_opaque(const CfFirSightings *sightings)
{
  const uint32_t begun = __atomic_load_n(&sightings->words[0], __ATOMIC_RELAXED);
  const uint32_t with_alpha = __atomic_load_n(&sightings->words[1], __ATOMIC_RELAXED);

  return with_alpha == 0 || (int32_t)(begun - with_alpha) > 1;
}

} // namespace

bool cf_fir_tensor_prepare(const CfDevice *device, CfStatus *status)
{
  if (device->code < 80)
    return true;
  for (size_t i = 0; i < sizeof variants / sizeof variants[0]; i++) {
    for (int f = 0; f < 4; f++) {
      const Form *form = &variants[i].form[f / 2][f % 2];
      if (fits(form, device) &&
          !cf_fir_prepare_kernel((const void *)form->kernel, form->bytes, status))
        return false;
    }
  }
  return true;
}

bool cf_fir_tensor_serves(CfFirPicture *picture, const CfDevice *device)
{
  const Variant *variant = picture->planes ? choose_variant(picture) : nullptr;
  const bool planar = picture->plane[0].channels != 4;

  if (device->code < 80 || picture->sample_bytes != 1 || !variant ||
      picture->plane[0].channels == 3 || !choose_form(variant, planar, planar, device))
    return false;
  for (int p = 0; p < picture->planes; p++) {
    const CfFirWork *work = &picture->plane[p];
    const int alpha = picture->has_alpha ? (picture->first_colour ? 0 : 3) : -1;

    for (int c = 0; c < work->channels; c++) {
      if (work->tone[c].use == CF_FIR_COPY && c != alpha)
        return false;
    }
  }
  return cf_fir_round_taps(picture, variant->tiles);
}

bool cf_fir_tensor_run(const CfFirPicture *picture, const CfDevice *device,
                       CfFirSightings *sightings, void *stream, CfStatus *status)
{
  const Variant *variant = choose_variant(picture);
  const bool planar = picture->plane[0].channels != 4;
  const Form *form = choose_form(variant, planar, planar || seems_opaque(sightings), device);
  const bool opaque = form == &variant->form[planar][true];
  int resident = 0;
  CfTensorJob job;

  if (!cf_cuda_ok(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, form->kernel,
                                                                form->threads, (size_t)form->bytes),
                  "preparing the tensor filter", status))
    return false;

  memset(&job, 0, sizeof job);
  job.planes = picture->planes;
  job.first_colour = picture->first_colour;
  job.exponents = cf::kExponentsOf1024;
  job.first_two = picture->first_colour ? 0x6251 : 0x5140;
  job.third = picture->first_colour ? 0x4073 : 0x7362;
  job.sightings = sightings->words;
  job.number = ++sightings->number;
  for (int p = 0; p < picture->planes; p++)
    cf_fir_place_plane(&job, picture, p, variant->tiles);

  const int blocks =
      share_blocks(&job, variant, opaque, device->info.multiprocessors * larger(resident, 1));
  form->kernel<<<blocks, form->threads, (size_t)form->bytes, (cudaStream_t)stream>>>(job);
  return cf_cuda_launched("filtering on tensor cores", status);
}
