/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Tiles of blur maps on tensor cores: a block loads the cells around its tile, each warp makes from
 * them the levels that its own samples need, and blends.
 */
#include "blurmap_cells.cuh"
#include "blurmap_places.cuh"
#include "tensor_ops.cuh"

namespace
{

constexpr int kBlocks = 4;     /* products beside each other: 8 columns of a tile each */
constexpr int kMostDown = 3;   /* blocks of 16 cells that a strip's rows are made from */
constexpr int kMostAcross = 4; /* and a tile's columns */

/* Rows of cells that a strip is made from. */
__host__ __device__ constexpr int window_of(int log_y)
{
  return log_y == 0 ? 48 : 32;
}

/* Rows of cells start in different banks. */
__host__ __device__ constexpr int pitch_of(int log_x)
{
  return log_x == 0 ? 56 : 40;
}

__host__ __device__ constexpr int columns_of(int log_x)
{
  return log_x == 0 ? 56 : log_x == 1 ? 40 : 32;
}

template <int C> constexpr int kStrips = cf_cell_strips(C);

/* What a thread holds of a strip's four products, as the tensor cores leave it: `i` counts two
 * columns in row `lane / 4`, then two 8 rows below. */
typedef float Fragment[kBlocks][4];

/* ---- cells ---- */

template <int C> struct Cells {
  __half *shared; /* [channel][row][column], less `offset` */
  int pitch, rows;
  float offset[C]; /* about what they are: halves are the more accurate the smaller the numbers */
};

template <int C>
__device__ inline void load_frame(const CfMapJob &job, const CfMapPlane &plane, int x0, int y0,
                                  int columns, const Cells<C> &cells)
{
  const int pairs = columns / 2;

  for (int i = (int)threadIdx.x; i < pairs * cells.rows; i += kCellThreads) {
    const int row = i / pairs, column = i % pairs * 2;
    float value[2][C];

#pragma unroll
    for (int k = 0; k < 2; k++)
      cf_cell_values<C>(plane, cf_cell_pixel<C>(job, plane, x0 + column + k, y0 + row), value[k]);
#pragma unroll
    for (int c = 0; c < C; c++)
      *(uint32_t *)(cells.shared + (c * cells.rows + row) * cells.pitch + column) =
          cf_pack_halves(value[0][c], value[1][c]);
  }
}

__device__ inline int inside(int i, int first, int count)
{
  return min(max(i - first, 0), count - 1);
}

template <int C>
__device__ inline void load_image(const CfCellImage &image, const int16_t *from, int x0, int y0,
                                  int columns, const Cells<C> &cells)
{
  const int quads = columns / 4, left = x0 - image.first_x;
  const bool whole = left >= 0 && left + columns <= image.width && left % 4 == 0;

#pragma unroll
  for (int c = 0; c < C; c++) {
    const float offset = cells.offset[c];

    for (int i = (int)threadIdx.x; i < cells.rows * quads; i += kCellThreads) {
      const int row = i / quads, column = i % quads * 4;
      const uint16_t *source =
          (const uint16_t *)(from + image.at + c * image.channel +
                             (size_t)inside(y0 + row, image.first_y, image.height) *
                                 (size_t)image.pitch);
      uint2 four;
      float value[4];

      if (whole) {
        four = __ldg((const uint2 *)(source + left + column));
      } else {
        uint32_t cell[4];
#pragma unroll
        for (int k = 0; k < 4; k++)
          cell[k] = __ldg(source + inside(x0 + column + k, image.first_x, image.width));
        four = make_uint2(cell[0] | cell[1] << 16, cell[2] | cell[3] << 16);
      }
      cf_cell_unpack(four.x, &value[0], &value[1]);
      cf_cell_unpack(four.y, &value[2], &value[3]);
#pragma unroll
      for (int k = 0; k < 4; k++)
        value[k] = fmaf(value[k], kCellUnit, -offset);
      *(uint2 *)(cells.shared + (c * cells.rows + row) * cells.pitch + column) =
          make_uint2(cf_pack_halves(value[0], value[1]), cf_pack_halves(value[2], value[3]));
    }
  }
}

/* The cells around a tile. Products also read 16 bytes beyond the last one, times 0. */
template <int C>
__device__ inline Cells<C> load_cells(const CfCellJob &job, const CfMapPlane &plane,
                                      const CfCellImage &image, int x0, int y0, __half *shared)
{
  const int columns = columns_of(image.log_x);
  const int top = y0 >> image.log_y;
  const int last = (y0 + cf_cell_rows(C) - kCellStrip) >> image.log_y;
  Cells<C> cells = {shared, pitch_of(image.log_x), last - top + window_of(image.log_y), {}};
  const int left = (x0 >> image.log_x) - kCellReach;

  if (image.height == 0) {
    load_frame<C>(job.map, plane, left, top - kCellReach, columns, cells);
  } else {
    const int16_t *middle =
        job.cells + image.at +
        (size_t)inside(top + (last - top) / 2, image.first_y, image.height) * (size_t)image.pitch +
        (size_t)inside(left + columns / 2, image.first_x, image.width);

#pragma unroll
    for (int c = 0; c < C; c++)
      cells.offset[c] = kCellUnit * (float)middle[c * image.channel];
    load_image<C>(image, job.cells, left, top - kCellReach, columns, cells);
  }
  if (threadIdx.x < 4)
    ((uint32_t *)(shared + C * cells.rows * cells.pitch))[threadIdx.x] = 0;
  __syncthreads();
  return cells;
}

/* ---- a level ---- */

__device__ inline float share_of(int level, float position)
{
  return fmaxf(1.0f - fabsf(position - (float)level), 0.0f);
}

struct Matrices {
  uint4 down[kMostDown];
  const uint4 *across;

  __device__ Matrices(const CfCellLevel &level, const uint4 *all, int x0, int y0)
  {
    const int lane = (int)threadIdx.x % 32;
    const int variant_down = (int)((unsigned)y0 / kCellStrip & level.variants_down);
    const int variant_across = (int)((unsigned)x0 / kCellColumns & level.variants_across);
    const uint4 *from = all + level.down + variant_down * level.blocks_down * 32 + lane;

#pragma unroll
    for (int k = 0; k < kMostDown; k++)
      down[k] = k < level.blocks_down ? __ldg(from + 32 * k) : make_uint4(0, 0, 0, 0);
    across = all + level.across + variant_across * kBlocks * level.pairs_across * 32 + lane;
  }
};

/* A strip's rows of 16 columns of cells, as a left side of the products that follow. */
__device__ inline void multiply_down(const CfCellLevel &level, const Matrices &matrices,
                                     uint32_t from, int pitch, uint32_t (&left)[4])
{
  float low[4] = {}, high[4] = {};

#pragma unroll
  for (int k = 0; k < kMostDown; k++) {
    if (k < level.blocks_down) {
      const uint32_t taps[4] = {matrices.down[k].x, matrices.down[k].y, matrices.down[k].z,
                                matrices.down[k].w};
      uint32_t cells[4];

      cf_load_matrix_transposed(cells, from + (uint32_t)(k * 16 * pitch) * 2);
      cf_mma(low, taps, cells[0], cells[1]);
      cf_mma(high, taps, cells[2], cells[3]);
    }
  }
  left[0] = cf_pack_halves(low[0], low[1]);
  left[1] = cf_pack_halves(low[2], low[3]);
  left[2] = cf_pack_halves(high[0], high[1]);
  left[3] = cf_pack_halves(high[2], high[3]);
}

/* One channel of a strip. `from` is where the thread loads the first of its matrices of cells. */
__device__ inline void make_level(const CfCellLevel &level, const Matrices &matrices, uint32_t from,
                                  int pitch, Fragment &sum)
{
  uint32_t left[kMostAcross][4];

#pragma unroll
  for (int k = 0; k < kMostAcross; k++) {
    if (level.blocks_across >> k & 1)
      multiply_down(level, matrices, from + 32 * k, pitch, left[k]);
    else
      left[k][0] = left[k][1] = left[k][2] = left[k][3] = 0;
  }
#pragma unroll
  for (int block = 0; block < kBlocks; block++) {
#pragma unroll
    for (int i = 0; i < 4; i++)
      sum[block][i] = 0.0f;
#pragma unroll
    for (int pair = 0; pair < kMostAcross / 2; pair++) {
      if (pair < level.pairs_across) {
        const uint4 taps = __ldg(matrices.across + (block * level.pairs_across + pair) * 32);
        cf_mma(sum[block], left[2 * pair], taps.x, taps.y);
        cf_mma(sum[block], left[2 * pair + 1], taps.z, taps.w);
      }
    }
  }
}

/* ---- a warp's samples ---- */

template <int C> struct Samples {
  int x0, y0; /* of the tile's columns and the warp's rows */
  Fragment position[kStrips<C>];
  Fragment result[kStrips<C>][C];
  int first, last; /* levels */

  __device__ int x(int block, int i) const
  {
    const int t = (int)threadIdx.x % 4;

    return x0 + cf_cell_column(C, block, 2 * t) + i % 2;
  }

  __device__ int y(int strip, int i) const
  {
    return y0 + strip * kCellStrip + (int)threadIdx.x % 32 / 4 + i / 2 * 8;
  }

  /* Adds a level by its share, where any sample has one. */
  __device__ void add(const CfCellJob &job, const CfCellImage &image, const CfCellLevel &level,
                      int number, const Cells<C> &cells, int top)
  {
    const int lane = (int)threadIdx.x % 32;

#pragma unroll
    for (int s = 0; s < kStrips<C>; s++) {
      float share[kBlocks][4];
      bool any = false;

#pragma unroll
      for (int block = 0; block < kBlocks; block++) {
#pragma unroll
        for (int i = 0; i < 4; i++) {
          share[block][i] = share_of(number, position[s][block][i]);
          any = any || share[block][i] > 0.0f;
        }
      }
      if (!__any_sync(0xffffffffu, any))
        continue;

      const int strip = y0 + s * kCellStrip;
      const Matrices matrices(level, job.matrices, x0, strip);
      const int row = (strip >> image.log_y) - (top >> image.log_y) + level.first_row + (lane & 7) +
                      (lane >> 3 & 1) * 8;
      const __half *from = cells.shared + row * cells.pitch + level.first_column + (lane >> 4) * 8;
#pragma unroll
      for (int c = 0; c < C; c++) {
        Fragment sum;

        make_level(level, matrices, cf_shared_address(from + c * cells.rows * cells.pitch),
                   cells.pitch, sum);
#pragma unroll
        for (int block = 0; block < kBlocks; block++) {
#pragma unroll
          for (int i = 0; i < 4; i++)
            result[s][c][block][i] =
                fmaf(share[block][i], sum[block][i] + cells.offset[c], result[s][c][block][i]);
        }
      }
    }
  }
};

/* Maps but for the most usual ones. Inlined, they would be most of the kernel. */
__device__ __noinline__ float other_map_at(const CfMapJob &job, const CfMapPlane &plane,
                                           const CfTileShapes &shapes, int x, int y)
{
  return map_at<uint8_t>(job, plane, shapes, x, y);
}

template <int C>
__device__ inline void find_positions(const CfMapJob &job, const CfMapPlane &plane,
                                      const CfTileShapes &shapes, Samples<C> *samples)
{
  const bool analytic = job.mode == CF_MAP_RADIAL || job.mode == CF_MAP_LINEAR;
  int first = CF_BLUR_LEVELS, last = -1;

#pragma unroll
  for (int s = 0; s < kStrips<C>; s++) {
#pragma unroll
    for (int block = 0; block < kBlocks; block++) {
#pragma unroll
      for (int i = 0; i < 4; i++) {
        const int x = samples->x(block, i), y = samples->y(s, i);
        float position = -1.0f;

        if (x < plane.width && y >= plane.first && y < plane.end)
          position = position_of(plane.table, analytic ? cf_map_analytic(&plane.shape, x, y)
                                                       : other_map_at(job, plane, shapes, x, y));
        if (position >= 0.0f && position != (float)plane.copy) {
          first = min(first, (int)position);
          last = max(last, (int)ceilf(position));
        }
        samples->position[s][block][i] = position;
      }
    }
  }
#pragma unroll
  for (int other = 16; other > 0; other /= 2) {
    first = min(first, __shfl_xor_sync(0xffffffffu, first, other));
    last = max(last, __shfl_xor_sync(0xffffffffu, last, other));
  }
  samples->first = first;
  samples->last = last;
}

/* ---- results ---- */

/* What is added before rounding down. Regular patterns have many exact halves, which matrices of
 * halves miss by about this much; they are to be rounded up all the same. */
constexpr float kHalf = 0.5f + 1.0f / 512;

__device__ inline uint32_t to_code(float value)
{
  return (uint32_t)fminf(fmaxf(value + kHalf, 0.0f), 255.0f);
}

/* A sample's bytes. */
template <int C>
__device__ inline uint32_t finish(const CfMapJob &job, const CfMapPlane &plane,
                                  const float (&sum)[C], float position, int x, int y)
{
  uint32_t bytes = 0;

  if (position == (float)plane.copy)
    return cf_cell_pixel<C>(job, plane, x, y);
  if (C == 4 && plane.alpha >= 0) {
    const float alpha = (plane.alpha == 0 ? sum[0] : sum[C - 1]) + 255.0f;
    const float opaque = 1.0f / fmaxf(cf_weight(alpha), 1.0f / 512);
#pragma unroll
    for (int c = 0; c < C; c++) {
      const float colour = alpha < 0.5f ? plane.blank[c] : fmaf(sum[c], opaque, plane.centre[c]);
      bytes |= to_code(c == plane.alpha ? alpha : colour) << 8 * c;
    }
    return bytes;
  }
#pragma unroll
  for (int c = 0; c < C; c++)
    bytes |= to_code(sum[c] + plane.centre[c]) << 8 * c;
  return bytes;
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

#pragma unroll
    for (int i = 0; i < N * C; i++)
      words[i / 4] |= (sample[i / C] >> 8 * (i % C) & 255) << 8 * (i % 4);
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
__device__ inline void store_samples(const CfMapJob &job, const CfMapPlane &plane,
                                     const Samples<C> &samples)
{
  constexpr int kTogether = C < 4 ? kBlocks : 1; /* products whose columns lie side by side */

#pragma unroll
  for (int s = 0; s < kStrips<C>; s++) {
#pragma unroll
    for (int half = 0; half < 2; half++) {
#pragma unroll
      for (int first = 0; first < kBlocks; first += kTogether) {
        const int x = samples.x(first, 0), y = samples.y(s, 2 * half);
        uint32_t sample[2 * kTogether];
        bool valid[2 * kTogether];

#pragma unroll
        for (int n = 0; n < 2 * kTogether; n++) {
          const int block = first + n / 2, i = 2 * half + n % 2;
          const float position = samples.position[s][block][i];
          float sum[C];

#pragma unroll
          for (int c = 0; c < C; c++)
            sum[c] = samples.result[s][c][block][i];
          valid[n] = position >= 0.0f;
          sample[n] = valid[n] ? finish<C>(job, plane, sum, position, x + n, y) : 0;
        }
        store<C, 2 * kTogether>(plane, x, y, sample, valid);
      }
    }
  }
}

/* ---- tiles ---- */

template <int C>
__device__ inline void make_tile(const CfCellJob &job, const CfMapPlane &plane,
                                 const CfCellPlan &plan, __half *shared, CfTileShapes *shapes)
{
  const int tile = (int)blockIdx.x - plane.first_tile;
  const int x0 = tile % plane.tiles_x * kCellColumns;
  const int y0 = plane.first / kCellStrip * kCellStrip + tile / plane.tiles_x * cf_cell_rows(C);
  Samples<C> samples = {};

  samples.x0 = x0;
  samples.y0 = y0 + (int)threadIdx.x / 32 * kStrips<C> * kCellStrip;
  if (job.map.mode == CF_MAP_NONE)
    cf_find_shapes(job.map.list,
                   {x0 << plane.shift_x, y0 << plane.shift_y, (x0 + kCellColumns) << plane.shift_x,
                    (y0 + cf_cell_rows(C)) << plane.shift_y},
                   shapes);
  find_positions<C>(job.map, plane, *shapes, &samples);

  for (int i = 0; i < plan.groups; i++) {
    const CfCellGroup &group = plan.group[i];
    const int first = max(samples.first, group.first), end = min(samples.last + 1, group.end);

    if (!__syncthreads_or(first < end))
      continue;
    const Cells<C> cells = load_cells<C>(job, plane, group.image, x0, y0, shared);
    for (int level = first; level < end; level++)
      samples.add(job, group.image, plan.level[level], level, cells, y0);
  }
  store_samples<C>(job.map, plane, samples);
}

/* Planes have `A` or `B` channels. */
template <int A, int B>
__global__ void __launch_bounds__(kCellThreads, 3)
    tiles_kernel(const __grid_constant__ CfCellJob job)
{
#ifdef CF_TENSOR_OPS
  extern __shared__ __align__(16) __half shared[];
  __shared__ CfTileShapes shapes;
  int p = 0;

  while (p + 1 < job.map.planes && (int)blockIdx.x >= job.map.plane[p + 1].first_tile)
    p++;
  const CfMapPlane &plane = job.map.plane[p];
  if (A == B || plane.channels == A)
    make_tile<A>(job, plane, job.plan[p], shared, &shapes);
  else
    make_tile<B>(job, plane, job.plan[p], shared, &shapes);
#endif
}

constexpr int shared_bytes(int channels)
{
  const int steps = cf_cell_rows(channels) - kCellStrip;

  /* Least of it is needed where cells are larger than samples. */
  return 2 * (steps + window_of(0)) * channels * pitch_of(0) + 16;
}

template <int A, int B> bool launch(const CfCellJob *job, int tiles, void *stream, CfStatus *status)
{
  const int bytes = shared_bytes(A) > shared_bytes(B) ? shared_bytes(A) : shared_bytes(B);

  tiles_kernel<A, B><<<tiles, kCellThreads, bytes, (cudaStream_t)stream>>>(*job);
  return cf_cuda_launched("blurring by a map", status);
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
