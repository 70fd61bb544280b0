/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Laplacian coefficients on tensor cores. For a block of 4 x 4 pixels one product expands all
 * components of the coarser level, negated, with the level's own components as the addend. The
 * result is multiplied by the rotation of each pixel, and a second product, with a column of ones,
 * sums over the components in fp32. The columns of eight blocks side by side fill the accumulator
 * of a strip of 32 x 4 pixels.
 */
#pragma once

#include "cuda/llf/mma_common.cuh"

namespace cf::llf
{

/* A tile of kFineX x kFineY pixels, with the coarse pixels that expand to it in shared memory. */
template <int FineY, int FineX = 64> struct Tile {
  static constexpr int kFineX = FineX, kFineY = FineY;
  static constexpr int kCoarseX = kFineX / 2 + 2, kCoarseY = kFineY / 2 + 2;
  static constexpr int kWarps = 8, kThreads = 32 * kWarps;

  /* Bytes of a row of coarse components, and of all. ldmatrix reads 4 rows of 2 pixels, which must
   * lie in different banks: every other pair of rows has its two groups swapped. */
  static constexpr int kPitch = kCoarseX * kGroups * kGroupBytes;
  static constexpr int kBytes = kCoarseY * kPitch;
};

/* ---- The matrix of the expansion ---- */

/* Ten times the weight, along one axis, of the coarse sample `offset` from the one whose quad has
 * the pixel; `odd`: the pixel is the second of the quad. */
constexpr int tenths(int odd, int offset)
{
  if (odd)
    return offset == 0 || offset == 1 ? 5 : 0;
  return offset == 0 ? 8 : offset == 1 || offset == -1 ? 1 : 0;
}

/* A weight as a fp16 number; the numbers are rounded so that each pixel's sum to exactly 1. */
constexpr float half_weight(int hundredths)
{
  switch (hundredths) {
  case 64:
    return 1311.0f / 2048.0f;
  case 8:
    return 1310.0f / 16384.0f;
  case 1:
    return 1312.0f / 131072.0f;
  case 40:
    return 1638.0f / 4096.0f;
  case 5:
    return 1640.0f / 32768.0f;
  case 25:
    return 0.25f;
  default:
    return 0.0f;
  }
}

/* The 16 x 16 matrix of a block. Row p is pixel (p % 4, p / 4); column 8 h + 2 r + c is sample
 * (2 h + c, r) of the 4 x 4 coarse samples, of which (1, 1) has the block's first quad. Negative,
 * since the expansion is subtracted. */
constexpr Fragment<4> expansion_fragment()
{
  Fragment<4> minus = {};

  for (int lane = 0; lane < 32; lane++) {
    for (int q = 0; q < 4; q++) {
      const int pixel = lane / 4 + (q & 1) * 8, x = pixel % 4, y = pixel / 4;
      const int row = tenths(y & 1, lane % 4 - 1 - y / 2);
      const int left = row * tenths(x & 1, 2 * (q >> 1) - 1 - x / 2);
      const int right = row * tenths(x & 1, 2 * (q >> 1) - x / 2);

      minus.word[lane][q] = half_pair_bits(-half_weight(left), -half_weight(right));
    }
  }
  return minus;
}

static __device__ const Fragment<4> kExpansion = expansion_fragment();

struct Expansion {
  uint32_t minus[4];

  __device__ __forceinline__ Expansion(int lane)
  {
    const uint4 words = *reinterpret_cast<const uint4 *>(kExpansion.word[lane]);

    minus[0] = words.x;
    minus[1] = words.y;
    minus[2] = words.z;
    minus[3] = words.w;
  }
};

/* ---- Shared memory ---- */

/* Loads the coarse components of tiles, with the level's border replicated: the part of thread
 * `thread`. The threads load the first kMain groups of kStep rows at a time, and then at most one
 * of the remaining groups each. */
template <typename T> struct CoarseLoader {
  static constexpr int kColumns = T::kCoarseX * kGroups, kMain = T::kFineX / 2 * kGroups;
  static constexpr int kStep = T::kThreads / kMain, kSteps = T::kCoarseY / kStep;
  static constexpr int kRest = T::kCoarseY % kStep * kMain, kSide = kColumns - kMain;
  static_assert(kGroups <= 2, "32 bits number the groups of every level");
  static_assert(kRest + T::kCoarseY * kSide <= T::kThreads && kStep % 4 == 0,
                "threads have no more than a group left, and swap in all rows or none");

  int thread;
  int last_row, last_column;
  uint32_t to, last_to; /* shared memory addresses */

  /* `memory`: of the tile. */
  __device__ CoarseLoader(const uint8_t *memory, int thread) : thread(thread)
  {
    const int left = thread - kRest;
    const bool side = left >= 0;

    last_row = keep_in_register(side ? left / kSide : kSteps * kStep + thread / kMain);
    last_column = keep_in_register(side ? kMain + left % kSide : thread % kMain);
    to = place(memory, thread / kMain, thread % kMain);
    last_to = place(memory, last_row, last_column);
  }

  __device__ static uint32_t place(const uint8_t *memory, int row, int column)
  {
    const int swap = row >> 1 & 1;

    return keep_in_register(cf::smem_address(memory) + row * T::kPitch +
                            (column ^ swap) * kGroupBytes);
  }

  /* Starts the copies of the tile whose first fine pixel is (tile_x, tile_y), to `bytes` behind the
   * tile's memory; does not wait. */
  __device__ __forceinline__ void load(int bytes, const Level &coarse, int tile_x, int tile_y) const
  {
    const int first_x = (tile_x >> 1) - 1, first_y = (tile_y >> 1) - 1;
    const uint32_t pitch = coarse.width * kGroups * kGroupBytes;
    auto column_of = [&](int column) {
      const int x = min(max(first_x + column / kGroups, 0), coarse.width - 1);
      return reinterpret_cast<const uint8_t *>(coarse.groups + (x * kGroups + column % kGroups));
    };
    auto row_of = [&](int y) { return (uint64_t)pitch * (uint32_t)min(y, coarse.height - 1); };
    const uint8_t *const from = column_of(thread % kMain);

#pragma unroll
    for (int k = 0; k < kSteps; k++) {
      const int y = first_y + thread / kMain + k * kStep;
      cp_async<16>(to + bytes + k * kStep * T::kPitch, from + row_of(k > 0 ? y : max(y, 0)));
    }
    if (thread < kRest + T::kCoarseY * kSide)
      cp_async<16>(last_to + bytes, column_of(last_column) + row_of(max(first_y + last_row, 0)));
  }
};

/* ---- A strip of 32 x 4 pixels: eight blocks ---- */

/* The coarse samples of a strip, as B fragments. Block j needs the pairs of columns j and j + 1:
 * words 2 c and 2 c + 1, for group c. The pair that two blocks share is loaded twice, which costs
 * less than copies of registers. */
template <typename T> struct Columns {
  static constexpr int kPairBytes = 2 * kGroups * kGroupBytes;

  uint32_t from; /* the shared memory address of the row that the lane names to ldmatrix, block 0 */

  /* The strip whose coarse samples lie `bytes` further on in shared memory. */
  __device__ __forceinline__ Columns shifted(int bytes) const
  {
    Columns columns = *this;
    columns.from += bytes;
    return columns;
  }

  __device__ __forceinline__ Columns(const uint8_t *memory, int strip_x, int strip_y, int lane)
  {
    const int row = 2 * strip_y + (lane % 8 >> 1), column = 16 * strip_x + (lane & 1);
    const int swap = row >> 1 & 1, matrix = lane / 8;

    from = cf::smem_address(memory) + row * T::kPitch + column * kGroups * kGroupBytes;
    from += (matrix & 1) * kPairBytes + ((matrix >> 1) ^ swap) * kGroupBytes;
  }

  /* The fragments of block j. */
  __device__ __forceinline__ void load(uint32_t *words, int j)
  {
    uint32_t four[4];

    cf::ldmatrix_x4_trans(four, from + j * kPairBytes);
#pragma unroll
    for (int k = 0; k < 4; k++)
      words[k] = four[k];
  }
};

/* The products of components and rotations, summed over the components, of one block after the
 * other. Words 2 c and 2 c + 1 of both operands are group c of pixels p and p + 8. The groups are
 * added in fp16, with one rounding each, as the products alone would have. */
struct RotatedSums {
  float (&sums)[4]; /* of all blocks */
  uint32_t products[4];

  __device__ __forceinline__ explicit RotatedSums(float (&sums)[4]) : sums(sums)
  {
    sums[0] = sums[1] = sums[2] = sums[3] = 0.0f;
  }

  /* Adds block j. One product of matrices adds up two blocks, of which j is even and odd; `ones`
   * are the fragments of their matrices, with ones in the block's column. */
  __device__ __forceinline__ void add(int j, const uint32_t *components, const uint32_t *rotation,
                                      const uint32_t *ones)
  {
    uint32_t *const product = products + j % 2 * 2;

    product[0] = hmul2_bits(components[0], rotation[0]);
    product[1] = hmul2_bits(components[1], rotation[1]);
#pragma unroll
    for (int c = 2; c < 2 * kGroups; c++)
      product[c % 2] = hfma2_bits(components[c], rotation[c], product[c % 2]);
    if (j % 2 == 1)
      mma_f32(sums, products, ones);
  }
};

/* Minus the angular frequencies, in radians per full scale, of the lane's harmonics: those numbered
 * 4 c + lane % 4 + 1. */
struct HarmonicFrequencies {
  float radians[kGroups];

  __device__ HarmonicFrequencies(const Series &series, int lane)
  {
#pragma unroll
    for (int c = 0; c < kGroups; c++)
      radians[c] = -6.283185307f * series.turn * (float)(4 * c + lane % 4 + 1);
  }
};

/* cos and -sin of the lane's harmonics at two intensities, as add_rotated() reads them. Angles are
 * a few turns at most, for which the hardware's sine has an error of 2^-20. */
__device__ __forceinline__ void rotate(uint32_t *rotation, const HarmonicFrequencies &turn,
                                       float first, float second)
{
#pragma unroll
  for (int c = 0; c < kGroups; c++) {
    float sine, cosine;

    __sincosf(turn.radians[c] * first, &sine, &cosine);
    rotation[2 * c] = cf::pack_half2(cosine, sine);
    __sincosf(turn.radians[c] * second, &sine, &cosine);
    rotation[2 * c + 1] = cf::pack_half2(cosine, sine);
  }
}

/* The fragment of a matrix with ones in column j, and 0 elsewhere. */
__device__ __forceinline__ uint32_t one_hot(int lane, int j)
{
  return lane / 4 == j ? 0x3c003c00u : 0u;
}

/* The fragments for all eight blocks. Kept in registers: the compiler would compute them again for
 * every strip. */
struct OneHotColumns {
  uint32_t word[8];

  __device__ __forceinline__ explicit OneHotColumns(int lane)
  {
#pragma unroll
    for (int j = 0; j < 8; j++)
      word[j] = keep_in_register(one_hot(lane, j));
  }

  /* Those of block j and its neighbour, of which one is even and one is odd. */
  __device__ __forceinline__ const uint32_t *pair_of(int j) const
  {
    return word + (j & ~1);
  }
};

/* A level's own components and Gaussian at a lane's two pixels of a block; words as in mma_f16().
 */
struct OwnBlock {
  uint32_t words[2 * kGroups];
  float gauss[2];
};

/* The same for the blocks of a strip. Beyond the border a pixel is the row's last one: products
 * there are multiplied by 0, but a NaN from outside the image would remain. */
struct OwnRows {
  const uint32_t *words[2]; /* the lane's word of its pixel of block 0 */
  const float *gauss[2];
  int last; /* from this pixel to the row's last one */

  __device__ __forceinline__ OwnBlock block(int j) const
  {
    const int to = min(4 * j, last);
    OwnBlock own;

#pragma unroll
    for (int k = 0; k < 2; k++) {
#pragma unroll
      for (int c = 0; c < kGroups; c++)
        own.words[2 * c + k] = words[k][(ptrdiff_t)to * (4 * kGroups) + 4 * c];
      own.gauss[k] = gauss[k][to];
    }
    return own;
  }
};

/* The coefficients of a strip: sum[q] is that of pixel (strip_pixel_x (lane, q),
 * strip_pixel_y (lane, q)). own_of (j) is OwnRows::block(), and coarse_of (j, words) loads
 * the coarse samples of block j, as Columns::load() does. */
template <typename OwnOf, typename CoarseOf>
__device__ __forceinline__ void strip_coefficients(float (&sum)[4], const Expansion &expansion,
                                                   const HarmonicFrequencies &turn, int lane,
                                                   OwnOf own_of, CoarseOf coarse_of)
{
  RotatedSums sums(sum);

#pragma unroll
  for (int j = 0; j < 8; j++) {
    const uint32_t ones[2] = {one_hot(lane, j & ~1), one_hot(lane, j | 1)};
    uint32_t coarse[2 * kGroups], components[2 * kGroups], rotation[2 * kGroups];

    const OwnBlock own = own_of(j);

    coarse_of(j, coarse);
    rotate(rotation, turn, own.gauss[0], own.gauss[1]);
#pragma unroll
    for (int c = 0; c < kGroups; c++)
      mma_f16(components + 2 * c, expansion.minus, coarse[2 * c], coarse[2 * c + 1],
              own.words[2 * c], own.words[2 * c + 1]);
    sums.add(j, components, rotation, ones);
  }
}

/* Computes the components, own - expanded, of the first Blocks blocks of `columns`, and passes them
 * with the rotations to add (j, components, rotation). own (j, c, words) gives the addend of group
 * c. Of the inner blocks only every other one is loaded: one in between has each of its pairs of
 * columns in common with a neighbour. */
template <typename T, int Blocks, typename Own, typename RotationOf, typename Add>
__device__ __forceinline__ void expand_pairs(const Expansion &expansion, Columns<T> columns,
                                             Own own, RotationOf rotation_of, Add add)
{
  uint32_t coarse[Blocks][2 * kGroups];

  columns.load(coarse[0], 0);
#pragma unroll
  for (int j = 0; j < Blocks; j++) {
    const bool shares = j % 2 == 1 && j < Blocks - 1;
    uint32_t components[2 * kGroups], rotation[2 * kGroups];

    if (j + 1 < Blocks && (j % 2 == 1 || j + 2 == Blocks))
      columns.load(coarse[j + 1], j + 1);
    rotation_of(j, rotation);
#pragma unroll
    for (int c = 0; c < kGroups; c++) {
      uint32_t *const sums = components + 2 * c;
      uint32_t self[2];

      own(j, c, self);
      if (shares) {
        mma_f16_k8(sums, expansion.minus[0], expansion.minus[1], coarse[j - 1][2 * c + 1], self[0],
                   self[1]);
        mma_f16_k8(sums, expansion.minus[2], expansion.minus[3], coarse[j + 1][2 * c], sums[0],
                   sums[1]);
      } else {
        mma_f16(sums, expansion.minus, coarse[j][2 * c], coarse[j][2 * c + 1], self[0], self[1]);
      }
    }
    add(j, components, rotation);
  }
}

/* The pixel of the strip that a lane's sum q belongs to. */
__device__ __forceinline__ int strip_pixel_x(int lane, int q)
{
  return 8 * (lane % 4) + 4 * (q & 1) + lane / 4 % 4;
}

__device__ __forceinline__ int strip_pixel_y(int lane, int q)
{
  return lane / 16 + 2 * (q >> 1);
}

} // namespace cf::llf
