/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The way up the blur pyramid of bytes: the cubic B-spline along rows, then along columns.
 *
 * A warp makes tiles of 32 columns x 16 rows, one below the other. Both steps are products of
 * matrices of halves: weights (16 columns x 8 coarse columns) by coarse samples (8 x 8 coarse
 * rows), then weights (16 rows x 8 coarse rows) by the results, which the threads hold in the order
 * the second product wants. Coarse samples and weights are a half and what it leaves, so with sums
 * in single precision only the results of the first step are rounded to halves; with alpha they are
 * split too, since then colours are quotients.
 */
#include "pyramid_bytes.cuh"

namespace
{

/* What is added before rounding. The little more than nothing turns exact halves up in spite of
 * rounding errors: regular patterns have many. */
constexpr float kLittle = 1.0f / 2048;

/* In 1024 to 2048 halves are whole numbers. */
constexpr float kWhole = 1024.0f;

/* The cubic B-spline of a sample from a coarse one, D samples apart. */
__device__ inline float spline(int factor, int sample, int coarse)
{
  const float distance =
      fabsf((float)(2 * (sample - factor * coarse) - (factor - 1)) / (float)(2 * factor));
  const float rest = fmaxf(2.0f - distance, 0.0f);

  return distance < 1.0f
             ? (4.0f - 6.0f * distance * distance + 3.0f * distance * distance * distance) *
                   (1.0f / 6)
             : rest * rest * rest * (1.0f / 6);
}

/* Two weights as halves, and as halves what these leave. */
struct Weights {
  uint32_t half, rest;

  __device__ Weights()
  {
  }
  __device__ Weights(int factor, int sample, int coarse)
  {
    const float first = spline(factor, sample, coarse), second = spline(factor, sample, coarse + 1);
    __half2 halves;

    half = cf_pack_halves(first, second);
    memcpy(&halves, &half, sizeof halves);
    rest = cf_pack_halves(first - __low2float(halves), second - __high2float(halves));
  }
};

/* ---- geometry ---- */

/* A warp's columns, and the first and the last of its tiles. */
struct Stack {
  int x, first, end; /* rows of tiles, absolute */

  __device__ Stack(const CfBytesPlane &plane, int block)
  {
    const int across = (plane.width + kBytesTile * kBytesWarps - 1) / (kBytesTile * kBytesWarps);

    x = (block % across * kBytesWarps + (int)threadIdx.x / 32) * kBytesTile;
    first = plane.first / 16 + block / across * plane.tiles;
    end = min(first + plane.tiles, (plane.end + 15) / 16);
  }
};

/* The column of a tile that row `row` of product `part` stands for. Of the results of the last
 * product a thread has two columns of either half of these rows: so its four columns, or with
 * `wide` its eight of both parts, lie next to each other. */
__device__ inline int column_of(int part, int row, bool wide)
{
  const int n = row % 8, half = row / 8;

  return wide ? n / 2 * 8 + 4 * part + 2 * half + n % 2 : 16 * part + n / 2 * 4 + 2 * half + n % 2;
}

/* ---- rows ---- */

/* Weights along rows, and where the coarse samples are. */
struct AcrossRows {
  const uint16_t *from[2]; /* coarse columns of the parts for this thread */
  Weights weights[2][2];   /* of rows g and g + 8 */

  __device__ AcrossRows(const CfBytesPlane &plane, int x, bool wide)
  {
    const int lane = (int)threadIdx.x % 32, factor = plane.x.factor;

#pragma unroll
    for (int part = 0; part < 2; part++) {
      const int x0 = factor > 4 ? x : x + 16 * part;
      const int coarse = x0 / factor - 2 + lane % 4 * 2;

      from[part] = plane.coarse + (coarse - plane.x.coarse_first);
#pragma unroll
      for (int i = 0; i < 2; i++)
        weights[part][i] = Weights(factor, x + column_of(part, lane / 4 + 8 * i, wide), coarse);
    }
  }
};

/* ---- columns ---- */

struct AcrossColumns {
  uint32_t weights[4]; /* halves of rows g and g + 8, and what they leave */

  __device__ AcrossColumns(const CfBytesPlane &plane)
  {
    const int lane = (int)threadIdx.x % 32, factor = plane.y.factor;

    /* The same in all tiles, whose 16 rows are whole cells. */
#pragma unroll
    for (int i = 0; i < 2; i++) {
      const Weights two(factor, lane / 4 + 8 * i, lane % 4 * 2 - 2);

      weights[i] = two.half;
      weights[2 + i] = two.rest;
    }
  }
};

/* ---- a tile ---- */

/* Results of the first product: 16 columns, as the right matrix of the second. */
struct Middle {
  uint32_t half[2], rest[2];
};

template <bool Exact>
__device__ inline void expand_row(const CfBytesPlane &plane, const AcrossRows &across, int part,
                                  size_t offset, Middle &middle)
{
  const uint32_t half = *(const uint32_t *)(across.from[part] + offset);
  const uint32_t rest = *(const uint32_t *)(across.from[part] + offset + plane.coarse_rest);
  const Weights(&weights)[2] = across.weights[part];
  const uint32_t main[4] = {weights[0].half, weights[1].half, weights[0].half, weights[1].half};
  const uint32_t left[4] = {weights[0].rest, weights[1].rest, weights[0].rest, weights[1].rest};
  float sum[4] = {};

  cf_mma(sum, main, half, rest);
  cf_mma(sum, left, half, rest);
#pragma unroll
  for (int i = 0; i < 2; i++) {
    middle.half[i] = cf_pack_halves(sum[2 * i], sum[2 * i + 1]);
    if (Exact) {
      __half2 halves;

      memcpy(&halves, &middle.half[i], sizeof halves);
      middle.rest[i] =
          cf_pack_halves(sum[2 * i] - __low2float(halves), sum[2 * i + 1] - __high2float(halves));
    }
  }
}

/* 16 rows x 8 columns. */
template <bool Exact>
__device__ inline void expand_columns(const AcrossColumns &across, const Middle &middle, int i,
                                      float (&sum)[4])
{
  cf_mma(sum, across.weights, middle.half[i], middle.half[i]);
  if (Exact)
    cf_mma(sum, across.weights, middle.rest[i], middle.rest[i]);
}

/* Four sums, to which kWhole was added, as codes. */
__device__ inline uint32_t to_bytes(float a, float b, float c, float d)
{
  return __byte_perm(cf_pack_halves(a, b), cf_pack_halves(c, d), 0x6420);
}

/* A pixel of which alpha weighs the colours. */
__device__ inline uint32_t unweigh(const CfBytesPlane &plane, const float (&sum)[4])
{
  const float alpha = (plane.alpha == 0 ? sum[0] : sum[3]) + 255.0f;
  const bool colours = alpha >= 0.5f;
  const float divide = 255.0f / alpha;
  float value[4];

#pragma unroll
  for (int c = 0; c < 4; c++) {
    value[c] = c == plane.alpha ? alpha : colours ? fmaf(sum[c], divide, 128.0f) : plane.blank[c];
    value[c] = floorf(fminf(fmaxf(value[c], 0.0f), 255.0f) + 0.5f) + kWhole;
  }
  return to_bytes(value[0], value[1], value[2], value[3]);
}

/* ---- storing ---- */

/* Bytes of a row from column `x` on, up to the end of the row. */
template <int N>
__device__ inline void store(const CfBytesPlane &plane, int x, int y, const uint32_t (&word)[N])
{
  const int columns = 4 * N / plane.channels;

  if (y < plane.first || y >= plane.end || x >= plane.width)
    return;
  uint8_t *to =
      plane.destination + (ptrdiff_t)y * plane.destination_stride + (ptrdiff_t)x * plane.channels;
  if (plane.destination_vector && x + columns <= plane.width) {
    if constexpr (N == 1)
      *(uint32_t *)to = word[0];
    else if constexpr (N == 2)
      *(uint2 *)to = make_uint2(word[0], word[1]);
    else
      *(uint4 *)to = make_uint4(word[0], word[1], word[2], word[3]);
    return;
  }
  const int count = min(4 * N, (plane.width - x) * plane.channels);
#pragma unroll
  for (int i = 0; i < 4 * N; i++) {
    if (i < count)
      to[i] = (uint8_t)(word[i / 4] >> 8 * (i % 4));
  }
}

template <int C> struct Tile {
  const CfBytesPlane &plane;
  const int x, y;
  const bool wide;
  const AcrossRows &rows;
  const AcrossColumns &columns;
  size_t offset;  /* of this thread's coarse row in the first channel */
  size_t channel; /* elements from a channel to the next */

  __device__ Tile(const CfBytesPlane &plane, const Stack &stack, int row, bool wide,
                  const AcrossRows &rows, const AcrossColumns &columns)
      : plane(plane), x(stack.x), y(16 * row), wide(wide), rows(rows), columns(columns)
  {
    const int lane = (int)threadIdx.x % 32;
    const int coarse = y / plane.y.factor - 2 + lane / 4;
    const int inside = min(max(coarse, plane.coarse_first), plane.coarse_end - 1);

    offset = (size_t)(inside - plane.coarse_first) * plane.columns;
    channel = (size_t)(plane.coarse_end - plane.coarse_first) * plane.columns;
  }

  __device__ int row(int i) const
  {
    return y + (int)threadIdx.x % 32 / 4 + 8 * i;
  }

  /* Whether all alpha here is 255, for which the sums are 0. Only rows with a share count: a band
   * of a picture does not have the others. */
  __device__ bool is_opaque() const
  {
    const bool used = (int)threadIdx.x % 32 / 4 < 16 / plane.y.factor + 4;
    const uint16_t *from = rows.from[0] + offset + channel * (plane.alpha == 0 ? 0 : 3);
    const uint16_t *other = rows.from[1] + offset + channel * (plane.alpha == 0 ? 0 : 3);
    const uint32_t some = *(const uint32_t *)from | *(const uint32_t *)(from + plane.coarse_rest) |
                          *(const uint32_t *)other | *(const uint32_t *)(other + plane.coarse_rest);

    return __all_sync(0xffffffffu, !used || (some & 0x7fff7fffu) == 0);
  }

  /* Without weighing: sums of a part's 16 columns, as bytes. */
  __device__ void make_words(int part, uint32_t (&word)[2][C]) const
  {
    float sum[C][2][4];

#pragma unroll
    for (int c = 0; c < C; c++) {
      const float start = kWhole + kLittle + cf_bytes_centre(plane, c);
      Middle middle;

      expand_row<false>(plane, rows, part, offset + c * channel, middle);
#pragma unroll
      for (int i = 0; i < 2; i++) {
#pragma unroll
        for (int j = 0; j < 4; j++)
          sum[c][i][j] = start;
        expand_columns<false>(columns, middle, i, sum[c][i]);
      }
    }
    /* Column k of the four is in half k / 2 of the products. */
#pragma unroll
    for (int r = 0; r < 2; r++) {
#pragma unroll
      for (int w = 0; w < C; w++) {
        float value[4];
#pragma unroll
        for (int b = 0; b < 4; b++) {
          const int k = (4 * w + b) / C, c = (4 * w + b) % C;
          value[b] = sum[c][k / 2][2 * r + k % 2];
        }
        word[r][w] = to_bytes(value[0], value[1], value[2], value[3]);
      }
    }
  }

  __device__ void make_weighted_words(int part, uint32_t (&word)[2][C]) const
  {
    Middle middle[C];

#pragma unroll
    for (int c = 0; c < C; c++)
      expand_row<true>(plane, rows, part, offset + c * channel, middle[c]);
#pragma unroll
    for (int i = 0; i < 2; i++) {
      float sum[C][4] = {};

#pragma unroll
      for (int c = 0; c < C; c++)
        expand_columns<true>(columns, middle[c], i, sum[c]);
#pragma unroll
      for (int j = 0; j < 4; j++) {
        const float pixel[4] = {sum[0][j], sum[1][j], sum[2][j], sum[3][j]};
        word[j / 2][2 * i + j % 2] = unweigh(plane, pixel);
      }
    }
  }

  __device__ void store_parts(const uint32_t (&word)[2][2][C]) const
  {
    const int at = (int)threadIdx.x % 4;

#pragma unroll
    for (int r = 0; r < 2; r++) {
      if (C == 1 && wide) {
        const uint32_t both[2] = {word[0][r][0], word[1][r][0]};
        store(plane, x + 8 * at, row(r), both);
      } else {
        store(plane, x + 4 * at, row(r), word[0][r]);
        store(plane, x + 16 + 4 * at, row(r), word[1][r]);
      }
    }
  }
};

template <int C, bool Alpha> __device__ inline void go_up(const CfBytesPlane &plane, int block)
{
  const Stack stack(plane, block);
  const bool wide = C == 1 && plane.x.factor > 4;
  const AcrossRows rows(plane, stack.x, wide);
  const AcrossColumns columns(plane);

  cf_wait_for_previous_kernel();
  if (stack.x >= plane.width)
    return;
  for (int row = stack.first; row < stack.end; row++) {
    const Tile<C> tile(plane, stack, row, wide, rows, columns);
    uint32_t word[2][2][C];

    if constexpr (Alpha) {
      if (!tile.is_opaque()) {
        tile.make_weighted_words(0, word[0]);
        tile.make_weighted_words(1, word[1]);
        tile.store_parts(word);
        continue;
      }
    }
    tile.make_words(0, word[0]);
    tile.make_words(1, word[1]);
    tile.store_parts(word);
  }
}

template <bool Alpha>
__global__ void __launch_bounds__(kBytesThreads)
    pixels_up_kernel(const __grid_constant__ CfBytesJob job)
{
  go_up<4, Alpha>(job.plane[0], (int)blockIdx.x);
}

__global__ void __launch_bounds__(kBytesThreads)
    planes_up_kernel(const __grid_constant__ CfBytesJob job)
{
  int block;
  const CfBytesPlane &plane = cf_bytes_plane(job, &CfBytesPlane::up_blocks, &block);

  if (plane.channels == 1)
    go_up<1, false>(plane, block);
  else
    go_up<2, false>(plane, block);
}

} // namespace

bool cf_bytes_up(const CfBytesJob *job, int blocks, void *stream, CfStatus *status)
{
  void (*kernel)(CfBytesJob) = planes_up_kernel;

  if (job->plane[0].channels == 4)
    kernel = job->plane[0].alpha >= 0 ? pixels_up_kernel<true> : pixels_up_kernel<false>;
  return cf_bytes_launch(kernel, job, blocks, 0, stream, "enlarging a blur", status);
}
