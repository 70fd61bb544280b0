/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Tiles of blur maps on tensor cores: a block loads the cells around its tile, each warp makes from
 * them the levels that its own samples need, and blends.
 */
#include "blurmap_input.cuh"

namespace
{

constexpr int kBlocks = 4; /* products beside each other: 8 columns of a tile each */

/* What a thread holds of a strip's four products, as the tensor cores leave it. */
typedef float Fragment[kBlocks][4];

/* ---- levels ---- */

/* The first product of a sum. */
__device__ inline void multiply(float (&sum)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1)
{
#pragma unroll
  for (int i = 0; i < 4; i++)
    sum[i] = 0.0f;
  cf_mma(sum, a, b0, b1);
}

__device__ inline void unpack(const uint4 &from, uint32_t (&to)[4])
{
  to[0] = from.x;
  to[1] = from.y;
  to[2] = from.z;
  to[3] = from.w;
}

/* A level's matrices for a strip, `Down` and `Across` blocks of cells. */
template <int Down, int Across> struct Matrices {
  static constexpr int kPairs = (Across + 1) / 2;
  uint32_t down[Down][4];
  uint4 across[kBlocks][kPairs];

  __device__ Matrices(const CfCellLevel &level, const uint4 *all, int x0, int y0)
  {
    const int lane = (int)threadIdx.x % 32;
    const int variant_down = (int)((unsigned)y0 / kCellStrip & level.variants_down);
    const int variant_across = (int)((unsigned)x0 / kCellColumns & level.variants_across);
    const uint4 *from = all + level.down + variant_down * Down * 32 + lane;

#pragma unroll
    for (int k = 0; k < Down; k++)
      unpack(__ldg(from + 32 * k), down[k]);
    from = all + level.across + variant_across * kBlocks * kPairs * 32 + lane;
#pragma unroll
    for (int block = 0; block < kBlocks; block++) {
#pragma unroll
      for (int pair = 0; pair < kPairs; pair++)
        across[block][pair] = __ldg(from + (block * kPairs + pair) * 32);
    }
  }

  /* One channel of a strip. `from` is where the thread loads the first of its matrices of cells. */
  __device__ void apply(uint32_t from, int pitch, Fragment &sum) const
  {
    uint32_t left[Across][4];

#pragma unroll
    for (int k = 0; k < Across; k++) {
      float low[4], high[4];

#pragma unroll
      for (int j = 0; j < Down; j++) {
        uint32_t cells[4];

        cf_load_matrix_transposed(cells, from + (uint32_t)(32 * k + 32 * j * pitch));
        if (j == 0) {
          multiply(low, down[j], cells[0], cells[1]);
          multiply(high, down[j], cells[2], cells[3]);
        } else {
          cf_mma(low, down[j], cells[0], cells[1]);
          cf_mma(high, down[j], cells[2], cells[3]);
        }
      }
      left[k][0] = cf_pack_halves(low[0], low[1]);
      left[k][1] = cf_pack_halves(low[2], low[3]);
      left[k][2] = cf_pack_halves(high[0], high[1]);
      left[k][3] = cf_pack_halves(high[2], high[3]);
    }
#pragma unroll
    for (int block = 0; block < kBlocks; block++) {
#pragma unroll
      for (int k = 0; k < Across; k++) {
        const uint4 &taps = across[block][k / 2];

        if (k == 0)
          multiply(sum[block], left[k], taps.x, taps.y);
        else
          cf_mma(sum[block], left[k], k % 2 ? taps.z : taps.x, k % 2 ? taps.w : taps.y);
      }
    }
  }
};

/* ---- a warp's samples ---- */

/* Of four channels the one that is alpha or padding comes last. */
template <int C> constexpr int kColours = C == 4 ? 3 : C;

template <int C> struct Samples {
  int x0, y0;                    /* of the tile's columns and the warp's rows */
  unsigned skipped;              /* bits of channels */
  int first;                     /* colour */
  uint32_t position[kBlocks][2]; /* two each */
  Fragment result[C];

  __device__ unsigned position_of(int block, int i) const
  {
    const uint32_t pair = position[block][i / 2];

    return i % 2 ? pair >> 16 : pair & 0xffff;
  }

  /* Adds a level by its share. */
  template <int Down, int Across>
  __device__ void add_level(const CfCellJob &job, const CfCellImage &image,
                            const CfCellLevel &level, int number, const Cells &cells, int top)
  {
    const int lane = (int)threadIdx.x % 32;
    const float zero = 8388608.0f + (float)number * (1 / kCellPosition);

    const Matrices<Down, Across> matrices(level, job.matrices, x0, y0);
    const int row = (y0 >> image.log_y) - (top >> image.log_y) + level.first_row + (lane & 7) +
                    (lane >> 3 & 1) * 8;
    const uint32_t from =
        cf_shared_address(cells.shared + row * cells.pitch + level.first_column + (lane >> 4) * 8);
    float share[kBlocks][4];

#pragma unroll
    for (int block = 0; block < kBlocks; block++) {
#pragma unroll
      for (int i = 0; i < 4; i++) {
        const float among = __uint_as_float(
            __byte_perm(position[block][i / 2], 0x4b000000u, i % 2 ? 0x7632 : 0x7610));
        share[block][i] = __saturatef(fmaf(-kCellPosition, fabsf(among - zero), 1.0f));
      }
    }
    const uint32_t step = (uint32_t)(2 * cells.rows * cells.pitch);

#pragma unroll
    for (int c = 0; c < kColours<C>; c++)
      add_channel(matrices, from + (uint32_t)(first + c) * step, cells.pitch, share, result[c]);
    if (C == 4 && !(skipped >> (first ? 0 : 3) & 1))
      add_channel(matrices, from + (first ? 0 : 3) * step, cells.pitch, share, result[C - 1]);
  }

  template <int Down, int Across>
  __device__ static void add_channel(const Matrices<Down, Across> &matrices, uint32_t from,
                                     int pitch, const float (&share)[kBlocks][4], Fragment &result)
  {
    Fragment sum;

    matrices.apply(from, pitch, sum);
#pragma unroll
    for (int block = 0; block < kBlocks; block++) {
#pragma unroll
      for (int i = 0; i < 4; i++)
        result[block][i] = fmaf(share[block][i], sum[block][i], result[block][i]);
    }
  }

  __device__ void add(const CfCellJob &job, const CfCellImage &image, const CfCellLevel &all,
                      int number, const Cells &cells, int top)
  {
    const CfCellLevel level = all;

    switch (4 * (level.blocks_down - 2) + level.blocks_across) {
    case 2:
      add_level<2, 2>(job, image, level, number, cells, top);
      break;
    case 3:
      add_level<2, 3>(job, image, level, number, cells, top);
      break;
    case 4:
      add_level<2, 4>(job, image, level, number, cells, top);
      break;
    case 6: /* rows are halved, columns are not */
      add_level<3, 2>(job, image, level, number, cells, top);
      break;
    case 7:
      add_level<3, 3>(job, image, level, number, cells, top);
      break;
    default:
      add_level<3, 4>(job, image, level, number, cells, top);
      break;
    }
  }
};

/* ---- results ---- */

/* What is added before rounding down. Regular patterns have many exact halves, which matrices of
 * halves may miss; they are to be rounded up all the same. */
constexpr float kHalf = 0.5f + 1.0f / 512;

/* A code of 0..255 in the lowest byte. */
__device__ inline uint32_t to_code(float value)
{
  const float share = __saturatef(value * (1.0f / 255));

  return __float_as_uint(fmaf(share, 255.0f, 8388608.0f + (kHalf - 0.5f)));
}

/* A sample's bytes. */
template <int C>
__device__ inline uint32_t finish(const CfMapPlane &plane, const float (&sum)[C], int first,
                                  bool weighted)
{
  uint32_t code[C];

  if (C == 4 && weighted) {
    const float alpha = sum[C - 1] + 255.0f;
    const float opaque = __fdividef(255.0f, fmaxf(alpha, 0.5f));

#pragma unroll
    for (int c = 0; c < kColours<C>; c++)
      code[c] = to_code(alpha < 0.5f ? plane.blank[first + c]
                                     : fmaf(sum[c], opaque, plane.centre[first + c]));
    code[C - 1] = to_code(alpha);
  } else {
#pragma unroll
    for (int c = 0; c < kColours<C>; c++)
      code[c] = to_code(sum[c] + plane.centre[first + c]);
    if (C == 4)
      code[C - 1] = 255;
  }
  const uint32_t low =
      C > 1 ? __byte_perm(code[0], code[C > 1 ? 1 : 0], 0x0040) & 0xffff : code[0] & 255;
  if (C <= 2)
    return low;
  const uint32_t all =
      __byte_perm(low, __byte_perm(code[C > 2 ? 2 : 0], code[C > 3 ? 3 : 0], 0x0040), 0x5410);
  return C == 4 && first ? __funnelshift_l(all, all, 8) : all;
}

/* Samples side by side. */
template <int C, int N>
__device__ inline void store(const CfMapPlane &plane, int x, int y, const uint32_t (&sample)[N],
                             const bool (&valid)[N])
{
  uint8_t *to = plane.destination + (ptrdiff_t)y * plane.destination_stride + (ptrdiff_t)x * C;
  bool all = plane.vector;

#pragma unroll
  for (int i = 0; i < N; i++)
    all = all && valid[i];
  if (all) {
    uint32_t words[N * C / 4] = {};

    if (C == 4) {
#pragma unroll
      for (int i = 0; i < N; i++)
        words[C == 4 ? i : 0] = sample[i];
    } else {
#pragma unroll
      for (int i = 0; i < N * C; i++)
        words[i / 4] |= (sample[i / C] >> 8 * (i % C) & 255) << 8 * (i % 4);
    }
#pragma unroll
    for (int i = 0; i < N * C / 8; i++)
      ((uint2 *)to)[i] = make_uint2(words[2 * i], words[2 * i + 1]);
    return;
  }
#pragma unroll
  for (int i = 0; i < N; i++) {
#pragma unroll
    for (int c = 0; c < C; c++) {
      if (valid[i])
        to[i * C + c] = (uint8_t)(sample[i] >> 8 * c);
    }
  }
}

template <int C>
__device__ inline void store_samples(const CfMapPlane &plane, const Samples<C> &samples)
{
  constexpr int kTogether = C < 4 ? kBlocks : 1; /* products whose columns lie side by side */
  const unsigned copied = (unsigned)plane.copy * (unsigned)(1 / kCellPosition);
  const bool weighted = plane.alpha >= 0 && !(samples.skipped >> plane.alpha & 1);

#pragma unroll
  for (int half = 0; half < 2; half++) {
#pragma unroll
    for (int first = 0; first < kBlocks; first += kTogether) {
      const int x = samples.x0 + cf_cell_sample_x<C>(first, 0);
      const int y = samples.y0 + cf_cell_sample_y(2 * half);
      uint32_t sample[2 * kTogether];
      bool valid[2 * kTogether];

#pragma unroll
      for (int n = 0; n < 2 * kTogether; n++) {
        const int block = first + n / 2, i = 2 * half + n % 2;
        const unsigned position = samples.position_of(block, i);
        float sum[C];

#pragma unroll
        for (int c = 0; c < C; c++)
          sum[c] = samples.result[c][block][i];
        valid[n] = position != kCellOutside;
        sample[n] = finish<C>(plane, sum, samples.first, weighted);
        if (plane.copy >= 0 && position == copied)
          sample[n] = cf_cell_inner_pixel<C>(plane, x + n, y);
      }
      store<C, 2 * kTogether>(plane, x, y, sample, valid);
    }
  }
}

/* ---- tiles ---- */

__device__ inline bool is_used(const uint4 &levels, int level)
{
  const unsigned word = level < 64   ? level < 32 ? levels.x : levels.y
                        : level < 96 ? levels.z
                                     : levels.w;

  return word >> level % 32 & 1;
}

/* Channels that need no work: padding, and alpha of opaque frames. */
__device__ inline unsigned skipped_channels(const CfCellJob &job, const CfMapPlane &plane)
{
  const bool opaque = !job.always_transparent && *job.transparent != job.frame;

  return plane.padding | (plane.alpha >= 0 && opaque ? 1u << plane.alpha : 0);
}

template <int C>
__device__ inline void make_tile(const CfCellJob &job, const CfMapPlane &plane,
                                 const CfCellPlan &plan, __half *shared)
{
  const int tile = (int)blockIdx.x - plane.first_tile, warp = (int)threadIdx.x / 32;
  const int x0 = cf_cell_tile_x(plane, tile), y0 = cf_cell_tile_y(plane, tile);
  const uint4 levels = __ldg(&job.levels[blockIdx.x * (kCellThreads / 32) + warp]);
  Samples<C> samples = {};

  samples.x0 = x0;
  samples.y0 = y0 + warp * kCellStrip;
  samples.skipped = skipped_channels(job, plane);
  samples.first = C == 4 && (plane.alpha == 0 || (plane.padding & 1));

#pragma unroll
  for (int half = 0; half < 2; half++) {
    const uint4 eight = __ldg(&job.positions[cf_cell_positions_of_thread() + 32 * half]);

    samples.position[2 * half][0] = eight.x;
    samples.position[2 * half][1] = eight.y;
    samples.position[2 * half + 1][0] = eight.z;
    samples.position[2 * half + 1][1] = eight.w;
  }

  for (int i = 0; i < plan.groups; i++) {
    const CfCellGroup group = plan.group[i];
    bool needed = false;

    for (int level = group.first; level < group.end; level++)
      needed = needed || is_used(levels, level);
    if (!__syncthreads_or(needed))
      continue;
    const Cells cells = load_cells<C>(job, plane, group.image, x0, y0, samples.skipped, shared);
#pragma unroll 1
    for (int level = group.first; level < group.end; level++) {
      if (is_used(levels, level))
        samples.add(job, group.image, plan.level[level], level, cells, y0);
    }
  }
  store_samples<C>(plane, samples);
}

/* Blocks on an SM: the more, the fewer registers for each thread. */
constexpr int blocks_of(int channels)
{
  return channels == 1 ? 5 : 3;
}

/* Planes have `A` or `B` channels. */
template <int A, int B>
__global__ void __launch_bounds__(kCellThreads, blocks_of(B))
    tiles_kernel(const __grid_constant__ CfCellJob job)
{
#ifdef CF_TENSOR_OPS
  extern __shared__ __align__(16) __half shared[];
  const int p = cf_cell_plane(job.map);
  const CfMapPlane &plane = job.map.plane[p];

  cf_wait_for_previous_kernel();
  if (A == B || plane.channels == A)
    make_tile<A>(job, plane, job.plan[p], shared);
  else
    make_tile<B>(job, plane, job.plan[p], shared);
#endif
}

constexpr int shared_bytes(int channels)
{
  const int steps = kCellRows - kCellStrip;

  /* Least of it is needed where cells are larger than samples. */
  return 2 * (steps + window_of(0)) * channels * pitch_of(0) + 16;
}

template <int A, int B> bool launch(const CfCellJob *job, int tiles, void *stream, CfStatus *status)
{
  const int bytes = shared_bytes(A) > shared_bytes(B) ? shared_bytes(A) : shared_bytes(B);

  return cf_cell_launch(tiles_kernel<A, B>, job, tiles, bytes, stream, "blurring by a map", status);
}

} // namespace

bool cf_cell_tiles(const CfCellJob *job, int tiles, void *stream, CfStatus *status)
{
  const int first = job->map.plane[0].channels;

  if (first == 4)
    return launch<4, 4>(job, tiles, stream, status);
  if (first == 3)
    return launch<3, 3>(job, tiles, stream, status);
  if (job->map.planes > 1 && job->map.plane[1].channels == 2)
    return launch<1, 2>(job, tiles, stream, status);
  return launch<1, 1>(job, tiles, stream, status);
}
