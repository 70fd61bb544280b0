/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Up the pyramid on tensor cores. For 4 x 4 pixels at a time a product expands all components of
 * the coarser level, with the level's own ones as the addend; times the rotation of each pixel; and
 * a second product, with a column of ones, sums over the components in fp32. The columns of eight
 * such products, side by side, fill one accumulator of 32 x 4 pixels.
 */
#pragma once

#include "cuda/llf/mma_common.cuh"

namespace cf::llf
{

/* A block makes a tile of kFineX x kFineY pixels. */
template <int FineY, int FineX = 64> struct Tile {
  static constexpr int kFineX = FineX, kFineY = FineY;
  static constexpr int kCoarseX = kFineX / 2 + 2, kCoarseY = kFineY / 2 + 2;
  static constexpr int kWarps = 8, kThreads = 32 * kWarps;

  /* Of shared memory: bytes of a row of coarse components, so that 4 rows of 2 pixels lie in
   * different banks; of two groups every other pair of rows is swapped instead. */
  static constexpr int kPitch = kCoarseX * kGroups * kGroupBytes;
  static constexpr int kBytes = kCoarseY * kPitch;
};

/* --- the expanding matrix --- */

/* Ten times the weight, on one axis, of a coarse sample `offset` from the one above a pixel. */
constexpr int tenths(int odd, int offset)
{
  if (odd)
    return offset == 0 || offset == 1 ? 5 : 0;
  return offset == 0 ? 8 : offset == 1 || offset == -1 ? 1 : 0;
}

/* The weight in fp16, rounded so that those of each pixel sum to exactly 1. */
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

/* Row p is pixel (p % 4, p / 4), column 8 h + 2 r + c the coarse sample (2 h + c, r) of the 4 x 4
 * whose second is above the first pixels. Components are subtracted. */
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

/* --- shared memory --- */

/* Loads the coarse level's components about tiles, repeated beyond its border: what thread `thread`
 * of a tile's does of it. For tiles inside the level all places are known beforehand: threads take
 * the first columns, a power of two of them, row by row, which leaves less than a group for each
 * thread. */
template <typename T> struct CoarseLoader {
  static constexpr int kColumns = T::kCoarseX * kGroups, kMain = T::kFineX / 2 * kGroups;
  static constexpr int kStep = T::kThreads / kMain, kSteps = T::kCoarseY / kStep;
  static constexpr int kRest = T::kCoarseY % kStep * kMain, kSide = kColumns - kMain;
  static_assert(kGroups <= 2, "32 bits number the groups of every level");
  static_assert(kRest + T::kCoarseY * kSide <= T::kThreads && kStep % 4 == 0,
                "threads have no more than a group left, and swap in all rows or none");

  int thread;
  uint32_t from, last_from; /* groups of the level: of 65536x65536's level 1 there are 2^31, */
  uint32_t to, last_to;     /* bytes of the tile */

  __device__ CoarseLoader(const Level &coarse, int thread) : thread(thread)
  {
    const int left = thread - kRest;
    const bool side = left >= 0;

    place(coarse, thread / kMain, thread % kMain, from, to);
    place(coarse, side ? left / kSide : kSteps * kStep + thread / kMain,
          side ? kMain + left % kSide : thread % kMain, last_from, last_to);
  }

  __device__ static void place(const Level &coarse, int row, int column, uint32_t &from,
                               uint32_t &to)
  {
    const int swap = row >> 1 & 1;

    from = keep_in_register(row * coarse.width * kGroups + column);
    to = keep_in_register(row * T::kPitch + (column ^ swap) * kGroupBytes);
  }

  /* Starts to. */
  __device__ __forceinline__ void load(uint8_t *memory, const Level &coarse, int tile_x,
                                       int tile_y) const
  {
    const int first_x = (tile_x >> 1) - 1, first_y = (tile_y >> 1) - 1;
    const uint32_t base = cf::smem_address(memory);
    const bool inside = first_x >= 0 && first_y >= 0 && first_x + T::kCoarseX <= coarse.width &&
                        first_y + T::kCoarseY <= coarse.height;

    if (inside) {
      const uint32_t first = (uint32_t)(first_y * coarse.width + first_x) * kGroups;
      const uint4 *next = coarse.groups + (first + from);

#pragma unroll
      for (int k = 0; k < kSteps; k++) {
        cp_async<16>(base + to + k * kStep * T::kPitch, next);
        next += (ptrdiff_t)coarse.width * (kStep * kGroups);
      }
      if (thread < kRest + T::kCoarseY * kSide)
        cp_async<16>(base + last_to, coarse.groups + (first + last_from));
      return;
    }
#pragma unroll 1
    for (int i = thread; i < kColumns * T::kCoarseY; i += T::kThreads) {
      const int row = i / kColumns, column = i % kColumns;
      const int swap = row >> 1 & 1;
      const int x = min(max(first_x + column / kGroups, 0), coarse.width - 1);
      const int y = min(max(first_y + row, 0), coarse.height - 1);

      cp_async<16>(base + row * T::kPitch + (column ^ swap) * kGroupBytes,
                   coarse.groups + ((size_t)y * coarse.width + x) * kGroups + column % kGroups);
    }
  }
};

/* --- a strip of 32 x 4 pixels --- */

/* The coarse samples of block j: words 2 c and 2 c + 1 are pairs j and j + 1 of the strip's
 * columns, of group c. What blocks have in common is loaded again: copies of registers would cost
 * more. */
template <typename T> struct Columns {
  static constexpr int kPairBytes = 2 * kGroups * kGroupBytes;

  uint32_t from; /* a lane's row of block 0's first matrices */

  /* The same strip `bytes` further on in shared memory. */
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

  /* For j = 0, 1, .. 7 in order. */
  __device__ __forceinline__ void load(uint32_t *words, int j)
  {
    uint32_t four[4];

    cf::ldmatrix_x4_trans(four, from + j * kPairBytes);
#pragma unroll
    for (int k = 0; k < 4; k++)
      words[k] = four[k];
  }
};

/* Adds to `sum` the components' products with their rotations; `ones` is all ones for the column of
 * this block of 4 x 4. Words 2 c and 2 c + 1 are group c of pixels p and p + 8. Groups are added in
 * fp16, each rounded once, as the products alone would be. */
__device__ __forceinline__ void add_rotated(float (&sum)[4], const uint32_t *components,
                                            const uint32_t *rotation, uint32_t ones)
{
  uint32_t product[2] = {hmul2_bits(components[0], rotation[0]),
                         hmul2_bits(components[1], rotation[1])};

#pragma unroll
  for (int c = 2; c < 2 * kGroups; c++)
    product[c % 2] = hfma2_bits(components[c], rotation[c], product[c % 2]);
  mma_f32_k8(sum, product, ones);
}

/* Minus the radians per full scale of lane t's harmonics 4 c + t + 1. */
struct HarmonicFrequencies {
  float radians[kGroups];

  __device__ HarmonicFrequencies(const Series &series, int lane)
  {
#pragma unroll
    for (int c = 0; c < kGroups; c++)
      radians[c] = -6.283185307f * series.turn * (float)(4 * c + lane % 4 + 1);
  }
};

/* cos and -sin of lane t's harmonics at two intensities, as add_rotated() wants them. The hardware
 * sine is good to 2^-20 of the few turns there are. */
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

/* All ones for the column of block j. */
__device__ __forceinline__ uint32_t one_hot(int lane, int j)
{
  return lane / 4 == j ? 0x3c003c00u : 0u;
}

/* Those of all blocks, which a kernel of many strips keeps: they are told not to
 * be made again. */
struct OneHotColumns {
  uint32_t word[8];

  __device__ __forceinline__ explicit OneHotColumns(int lane)
  {
#pragma unroll
    for (int j = 0; j < 8; j++)
      word[j] = keep_in_register(one_hot(lane, j));
  }

  __device__ __forceinline__ uint32_t of(int j) const
  {
    return word[j];
  }
};

/* Those of one half of the blocks. */
struct HalfOneHotColumns {
  const OneHotColumns &ones;
  bool second;

  __device__ __forceinline__ uint32_t of(int j) const
  {
    return second ? ones.word[j + 4] : ones.word[j];
  }
};

/* A level's own pixels in a lane's two rows of a strip: the lane's words of their components, and
 * their Gaussian. The strip's first is in `column`; what is beyond the border is the level's last:
 * a product spreads it, times zero, and what is no number would stay one. */
struct OwnRows {
  const uint32_t *words; /* the lane's of pixel 0 */
  const float *gauss;
  uint32_t first[2]; /* pixel of the rows; of 65536x65536's level 1 there are 2^30 */
  int column, width;

  __device__ __forceinline__ uint32_t at(int row, int j) const
  {
    return first[row] + (uint32_t)min(column + 4 * j, width - 1);
  }

  __device__ __forceinline__ uint32_t word(int row, int j, int group) const
  {
    return (words + (size_t)at(row, j) * (4 * kGroups))[4 * group];
  }
};

/* The strip's values: q of pixel (strip_pixel_x (q), strip_pixel_y (q)). For block j,
 * `coarse_of (j, words)` gives the samples of the coarser level that a product expands, group by
 * group. */
template <typename CoarseOf>
__device__ __forceinline__ void expand_strip(float (&sum)[4], const Expansion &expansion,
                                             const HarmonicFrequencies &turn, int lane,
                                             const OwnRows &own, CoarseOf coarse_of)
{
#pragma unroll
  for (int q = 0; q < 4; q++)
    sum[q] = 0.0f;
#pragma unroll
  for (int j = 0; j < 8; j++) {
    uint32_t coarse[2 * kGroups], components[2 * kGroups], rotation[2 * kGroups];

    coarse_of(j, coarse);
    rotate(rotation, turn, own.gauss[own.at(0, j)], own.gauss[own.at(1, j)]);
#pragma unroll
    for (int c = 0; c < kGroups; c++)
      mma_f16(components + 2 * c, expansion.minus, coarse[2 * c], coarse[2 * c + 1],
              own.word(0, j, c), own.word(1, j, c));
    add_rotated(sum, components, rotation, one_hot(lane, j));
  }
}

/* Components and rotations of the first BLOCKS blocks of `columns`, which `add (j, components,
 * rotation)` takes. Matrices that two blocks have in common are loaded once. */
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

/* Where a lane's four sums lie in the strip. */
__device__ __forceinline__ int strip_pixel_x(int lane, int q)
{
  return 8 * (lane % 4) + 4 * (q & 1) + lane / 4 % 4;
}

__device__ __forceinline__ int strip_pixel_y(int lane, int q)
{
  return lane / 16 + 2 * (q >> 1);
}

} // namespace cf::llf
