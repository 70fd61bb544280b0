/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Level 0 on tensor cores: the terms of the pixels, whose rotations are looked up like their
 * components were, and the picture that comes of them, 4 x 2 pixels a thread.
 */
#include "llf_tensor_up.cuh"

namespace llf
{
namespace
{

/* --- a tile's rotations and pixels in shared memory --- */

/* Row i of table c: the rotations of harmonics 4 c + 1 .. 4 c + 4. */
template <typename T, Key key>
__device__ void fill_rotations(uint8_t *memory, const Pixels &pixels, const Series &series)
{
  constexpr int ENTRIES = KeyOf<key>::ENTRIES;
  uint4 *const table = reinterpret_cast<uint4 *>(memory + T::TABLE);

  for (int i = threadIdx.x; i < ENTRIES * T::GROUPS; i += T::THREADS) {
    const int row = i % ENTRIES, group = i / ENTRIES;
    const float turns = series.turn * intensity_of_row<key>(pixels, (float)row);
    uint32_t words[4];

#pragma unroll
    for (int k = 0; k < 4; k++) {
      float sine, cosine;
      sincos_turns((float)(4 * group + k + 1) * turns, &sine, &cosine);
      words[k] = cf_pack_halves(cosine, -sine);
    }
    table[i] = make_uint4(words[0], words[1], words[2], words[3]);
  }
}

/* What can be read and written four samples or pixels at a time. */
struct Access {
  bool fours; /* luma, or red, green and blue with what is beside them */
  bool pairs; /* two interleaved chroma channels of half the size */
  Packing packing;
};

/* The numbers of the tile's rows in the table, or its intensities as floats. */
template <typename T, typename Sample, Colour colour, Key key>
__device__ __forceinline__ void load_pixels(uint32_t *to, const Pixels &pixels,
                                            const Access &access, int tile_x, int tile_y)
{
  for (int i = threadIdx.x; i < T::FINE_Y * T::FINE_X / 4; i += T::THREADS) {
    const int column = i % (T::FINE_X / 4) * 4, row = i / (T::FINE_X / 4);
    const int x = tile_x + column, y = min(tile_y + row, pixels.height - 1);
    const uint8_t *const from = pixels.channel[0].from + y * pixels.channel[0].from_stride +
                                x * pixels.step[0] * (int)sizeof(Sample);
    uint32_t words[4];

    if (key != Key::NONE && access.fours && x + 4 <= pixels.width) {
      if constexpr (key == Key::LUMA) {
        const uint4 four = *reinterpret_cast<const uint4 *>(from - access.packing.byte[0]);
#pragma unroll
        for (int k = 0; k < 4; k++)
          words[k] = row_of_luma(luma_of_word(pixels, access.packing, word(four, k)));
      } else if constexpr (sizeof(Sample) == 1) {
        const uint32_t four = *reinterpret_cast<const uint32_t *>(from);
#pragma unroll
        for (int k = 0; k < 4; k++)
          words[k] = four >> 8 * k & 255;
      } else {
        const uint2 four = *reinterpret_cast<const uint2 *>(from);
        words[0] = (four.x & 65535) >> pixels.shift;
        words[1] = four.x >> 16 >> pixels.shift;
        words[2] = (four.y & 65535) >> pixels.shift;
        words[3] = four.y >> 16 >> pixels.shift;
      }
    } else {
#pragma unroll
      for (int k = 0; k < 4; k++) {
        const int pixel_x = min(x + k, pixels.width - 1);

        if (key == Key::BYTE || key == Key::WORD) {
          words[k] = load_code<Sample>(pixels.channel[0].from, pixels.channel[0].from_stride,
                                       pixels.step[0], pixel_x, y, pixels.shift);
        } else {
          const float luma = load_intensity<Sample, colour>(pixels, pixel_x, y);
          words[k] = key == Key::LUMA ? row_of_luma(luma) : __float_as_uint(__saturatef(luma));
        }
      }
    }
    *reinterpret_cast<uint4 *>(to + row * T::PIXEL_PITCH + column) =
        make_uint4(words[0], words[1], words[2], words[3]);
  }
}

/* --- terms --- */

/* Replaces a strip's words by what the filter adds to its pixels. */
template <typename T, Key key>
__device__ __forceinline__ void make_terms(uint8_t *memory, const Series &series,
                                           const Expansion &expansion, int strip_x, int strip_y,
                                           int lane)
{
  constexpr int TABLE_BYTES = key == Key::NONE ? 0 : KeyOf<key>::ENTRIES * GROUP_BYTES;
  uint32_t *const strip = reinterpret_cast<uint32_t *>(memory + T::PIXELS) +
                          4 * strip_y * T::PIXEL_PITCH + 32 * strip_x;
  float sum[4];

  expand_strip<T>(
      sum, memory, expansion, strip_x, strip_y, lane,
      [&](int, int, uint32_t *self) { self[0] = self[1] = 0; },
      [&](int j, uint32_t *rotation) {
        if constexpr (key == Key::NONE) {
          const uint32_t *const pixel = strip + lane / 16 * T::PIXEL_PITCH + 4 * j + lane / 4 % 4;
          rotate<T::GROUPS>(rotation, series.turn, __uint_as_float(pixel[0]),
                            __uint_as_float(pixel[2 * T::PIXEL_PITCH]), lane);
        } else {
          const uint32_t row =
              cf_shared_address(memory + T::TABLE) +
              strip[lane % 16 / 4 * T::PIXEL_PITCH + 4 * j + lane % 4] * GROUP_BYTES;

          if constexpr (T::GROUPS == 1) {
            load_2(rotation, row);
          } else {
#pragma unroll
            for (int c = 0; c < T::GROUPS; c += 2) {
              uint32_t words[4];
              cf_load_matrix(words, row + (c + lane / 16) * TABLE_BYTES);
#pragma unroll
              for (int k = 0; k < 4; k++)
                rotation[2 * c + k] = words[k];
            }
          }
        }
      });

  __syncwarp();
#pragma unroll
  for (int q = 0; q < 4; q++)
    strip[strip_pixel_y(lane, q) * T::PIXEL_PITCH + strip_pixel_x(lane, q)] =
        __float_as_uint(sum[q]);
}

/* --- the picture --- */

/* Four samples in registers. */
template <typename Sample> struct Four;

template <> struct Four<uint8_t> {
  uint32_t word;

  __device__ float code(int i, int) const
  {
    return (float)(word >> 8 * i & 255);
  }

  __device__ void set(const uint32_t code[4], int)
  {
    word = code[0] | code[1] << 8 | code[2] << 16 | code[3] << 24;
  }
};

template <> struct Four<uint16_t> {
  uint2 words;

  __device__ float code(int i, int shift) const
  {
    return (float)(((i < 2 ? words.x : words.y) >> 16 * (i & 1) & 65535) >> shift);
  }

  __device__ void set(const uint32_t code[4], int shift)
  {
    words = make_uint2((code[0] | code[1] << 16) << shift, (code[2] | code[3] << 16) << shift);
  }
};

__device__ __forceinline__ uint32_t rounded_code(float code, float max_code)
{
  return (uint32_t)(fminf(fmaxf(code, 0.0f), max_code) + 0.5f);
}

/* Four pixels of luma; `luma` and `filtered` are what chroma follows. */
template <typename Sample>
__device__ __forceinline__ void store_luma(const Pixels &pixels, float gain, int x, int y,
                                           const float terms[4], float luma[4], float filtered[4])
{
  const Channel &channel = pixels.channel[0];
  Four<Sample> four =
      reinterpret_cast<const Four<Sample> *>(channel.from + y * channel.from_stride)[x / 4];
  uint32_t code[4];

#pragma unroll
  for (int i = 0; i < 4; i++) {
    const float raw = fmaf(pixels.weight[0], four.code(i, pixels.shift), pixels.bias);

    luma[i] = __saturatef(raw);
    filtered[i] = fmaf(gain, luma[i], terms[i]);
    code[i] = rounded_code(fmaf(pixels.scale, filtered[i] + (raw - luma[i]), pixels.offset),
                           pixels.max_code);
  }
  four.set(code, pixels.shift);
  reinterpret_cast<Four<Sample> *>(channel.to + y * channel.to_stride)[x / 4] = four;
}

/* Two pairs of interleaved chroma, which follow alike. */
template <typename Sample>
__device__ __forceinline__ void store_pairs(const Pixels &pixels, int x, int y, int rows,
                                            const float luma[2][4], const float filtered[2][4])
{
  const Channel &channel = pixels.channel[pixels.channel[1].from < pixels.channel[2].from ? 1 : 2];
  const float below = rows == 2 ? 0.25f : 0.0f, above = 0.5f - below;
  Four<Sample> four =
      reinterpret_cast<const Four<Sample> *>(channel.from + y / 2 * channel.from_stride)[x / 4];
  uint32_t code[4];

#pragma unroll
  for (int i = 0; i < 4; i += 2) {
    const float gain =
        colour_gain(above * (luma[0][i] + luma[0][i + 1]) + below * (luma[1][i] + luma[1][i + 1]),
                    above * (filtered[0][i] + filtered[0][i + 1]) +
                        below * (filtered[1][i] + filtered[1][i + 1]));
#pragma unroll
    for (int k = i; k < i + 2; k++)
      code[k] = rounded_code(
          fmaf(gain, four.code(k, pixels.shift) - pixels.chroma_centre, pixels.chroma_centre),
          pixels.max_code);
  }
  four.set(code, pixels.shift);
  reinterpret_cast<Four<Sample> *>(channel.to + y / 2 * channel.to_stride)[x / 4] = four;
}

/* Four pixels of red, green and blue in words of four bytes; the fourth stays. */
__device__ __forceinline__ void store_packed(const Pixels &pixels, const Packing &packing,
                                             float gain, int x, int y, const float terms[4])
{
  const Channel &channel = pixels.channel[0];
  const int first = packing.byte[0];
  const uint4 four =
      reinterpret_cast<const uint4 *>(channel.from - first + y * channel.from_stride)[x / 4];
  uint32_t made[4];

#pragma unroll
  for (int i = 0; i < 4; i++) {
    const uint32_t pixel = word(four, i);
    const float luma = __saturatef(luma_of_word(pixels, packing, pixel));
    const float filtered = fmaf(gain, luma, terms[i]), ratio = colour_gain(luma, filtered);
    const float grey = pixels.scale * fmaf(-ratio, luma, filtered);

    made[i] = pixel;
#pragma unroll
    for (int c = 0; c < 3; c++) {
      const int shift = 8 * packing.byte[c];
      const uint32_t code =
          rounded_code(fmaf(ratio, (float)(pixel >> shift & 255), grey), pixels.max_code);
      made[i] = (made[i] & ~(255u << shift)) | code << shift;
    }
  }
  reinterpret_cast<uint4 *>(channel.to - first + y * channel.to_stride)[x / 4] =
      make_uint4(made[0], made[1], made[2], made[3]);
}

/* 4 x 2 pixels, of which the first are in the picture. */
template <typename Sample, Colour colour>
__device__ __forceinline__ void store_pixels(const Pixels &pixels, const Access &access, float gain,
                                             int x, int y, const float terms[2][4])
{
  const int rows = min(2, pixels.height - y);

  if (access.fours && x + 4 <= pixels.width) {
    if constexpr (colour == Colour::RGB) {
      store_packed(pixels, access.packing, gain, x, y, terms[0]);
      if (rows == 2)
        store_packed(pixels, access.packing, gain, x, y + 1, terms[1]);
      return;
    } else if (colour == Colour::SINGLE || access.pairs) {
      float luma[2][4] = {}, filtered[2][4] = {};

      store_luma<Sample>(pixels, gain, x, y, terms[0], luma[0], filtered[0]);
      if (rows == 2)
        store_luma<Sample>(pixels, gain, x, y + 1, terms[1], luma[1], filtered[1]);
      if (colour == Colour::CHROMA)
        store_pairs<Sample>(pixels, x, y, rows, luma, filtered);
      return;
    }
  }

#pragma unroll
  for (int i = 0; i < 4; i += 2) {
    float raw[4], filtered[4];

    if (x + i >= pixels.width)
      continue;
    load_quad<Sample, colour>(pixels, x + i, y, raw);
#pragma unroll
    for (int k = 0; k < 4; k++)
      filtered[k] = fmaf(gain, __saturatef(raw[k]), terms[k >> 1][i + (k & 1)]);
    store_quad<Sample, colour>(pixels, x + i, y, raw, filtered);
  }
}

/* Blocks stay for many tiles, since the table is dear; tiles go from the last to the first, since
 * expanding level 1 went the other way and left its end in the cache. */
template <typename T, typename Sample, Colour colour, Key key>
__global__ void __launch_bounds__(T::THREADS, RESIDENT<T::GROUPS, colour>)
    finish_tile_kernel(const __grid_constant__ Pixels pixels, const __grid_constant__ Series series,
                       Level coarse, const __grid_constant__ Access access)
{
  extern __shared__ __align__(128) uint8_t memory[];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int tiles_x = (pixels.width + T::FINE_X - 1) / T::FINE_X;
  const int tiles = tiles_x * ((pixels.height + T::FINE_Y - 1) / T::FINE_Y);
  const float gain = 1.0f + series.linear;
  const Expansion expansion(lane);

  if constexpr (key != Key::NONE)
    fill_rotations<T, key>(memory, pixels, series);
  await_previous();

  for (int tile = tiles - 1 - (int)blockIdx.x; tile >= 0; tile -= (int)gridDim.x) {
    const int tile_x = tile % tiles_x * T::FINE_X, tile_y = tile / tiles_x * T::FINE_Y;

    load_coarse<T>(memory, coarse, tile_x, tile_y);
    load_pixels<T, Sample, colour, key>(reinterpret_cast<uint32_t *>(memory + T::PIXELS), pixels,
                                        access, tile_x, tile_y);
    wait_copies();
    __syncthreads();
    for (int strip = warp; strip < T::FINE_Y / 2; strip += T::WARPS) {
      if (tile_x + 32 * (strip % 2) < pixels.width && tile_y + 4 * (strip / 2) < pixels.height)
        make_terms<T, key>(memory, series, expansion, strip % 2, strip / 2, lane);
    }
    __syncthreads();

    for (int i = threadIdx.x; i < T::FINE_Y * T::FINE_X / 8; i += T::THREADS) {
      const int column = i % (T::FINE_X / 4) * 4, row = i / (T::FINE_X / 4) * 2;
      const float *const from =
          reinterpret_cast<const float *>(memory + T::PIXELS) + row * T::PIXEL_PITCH + column;
      const float4 above = *reinterpret_cast<const float4 *>(from);
      const float4 below = *reinterpret_cast<const float4 *>(from + T::PIXEL_PITCH);
      const float terms[2][4] = {{above.x, above.y, above.z, above.w},
                                 {below.x, below.y, below.z, below.w}};

      if (tile_x + column < pixels.width && tile_y + row < pixels.height)
        store_pixels<Sample, colour>(pixels, access, gain, tile_x + column, tile_y + row, terms);
    }
    __syncthreads();
  }
}

/* --- launching --- */

template <int GROUPS> using BaseTile = Tile<GROUPS, 32>;

/* Large tables of four groups would not leave room for two blocks. */
template <int GROUPS, Key key>
constexpr bool FITS = key != Key::NONE && (GROUPS < 4 || key == Key::BYTE);

template <typename T, Key key> constexpr int finish_bytes()
{
  return T::TABLE + (key == Key::NONE ? 0 : T::GROUPS * KeyOf<key>::ENTRIES * GROUP_BYTES);
}

bool are_aligned(const Channel &channel, int offset, int bytes)
{
  const uintptr_t bits = ((uintptr_t)channel.from - offset) | ((uintptr_t)channel.to - offset) |
                         (uintptr_t)channel.from_stride | (uintptr_t)channel.to_stride;
  return bits % bytes == 0;
}

/* Chroma of half the size both ways whose two channels lie side by side. */
bool has_pairs(const Pixels &pixels)
{
  const ptrdiff_t sample = pixels.wide ? 2 : 1;
  const Channel &blue = pixels.channel[1], &red = pixels.channel[2];
  const ptrdiff_t distance = red.from - blue.from;

  return pixels.colour == Colour::CHROMA && pixels.subsampling_x && pixels.subsampling_y &&
         pixels.step[1] == 2 && pixels.step[2] == 2 &&
         (distance == sample || distance == -sample) && red.to - blue.to == distance &&
         are_aligned(distance > 0 ? blue : red, 0, 4 * (int)sample);
}

/* The fourth byte of a pixel goes along. */
bool has_words(const Pixels &pixels, const Packing &packing)
{
  const Channel &first = pixels.channel[0];
  auto lies_alike = [&](const Channel &channel) {
    return channel.to - first.to == channel.from - first.from;
  };

  return packing.packed && are_aligned(first, packing.byte[0], 16) &&
         lies_alike(pixels.channel[1]) && lies_alike(pixels.channel[2]) &&
         (!pixels.extra.from || lies_alike(pixels.extra));
}

Access access_of(const Pixels &pixels)
{
  Access access = {false, false, packing_of(pixels)};

  if (pixels.colour == Colour::RGB)
    access.fours = has_words(pixels, access.packing);
  else
    access.fours = pixels.step[0] == 1 && !pixels.extra.from &&
                   are_aligned(pixels.channel[0], 0, pixels.wide ? 8 : 4);
  access.pairs = has_pairs(pixels);
  return access;
}

template <typename T, typename Sample, Colour colour, Key key>
bool launch_finish(Queue *queue, const Gpu &gpu, const Pixels &pixels, const Series &series,
                   const Pyramid &pyramid)
{
  constexpr int BYTES = finish_bytes<T, key>(), RESERVED = 1024;
  const int tiles = blocks(pixels.width, T::FINE_X) * blocks(pixels.height, T::FINE_Y);
  const int fitting = gpu.shared_per_multiprocessor / (BYTES + RESERVED);
  const int most = RESIDENT<T::GROUPS, colour>;
  const int resident = gpu.multiprocessors * (fitting < 1 ? 1 : fitting < most ? fitting : most);

  return launch(queue, "llf finish", finish_tile_kernel<T, Sample, colour, key>,
                dim3(tiles < resident ? tiles : resident), dim3(T::THREADS), BYTES, pixels, series,
                pyramid.level[1], access_of(pixels));
}

/* Calls `function` with the sample type, the colour and the key as types. */
template <Key value> struct KeyConstant {
  static constexpr Key key = value;
};

template <int GROUPS, typename Function>
bool with_finish_types(const Pixels &pixels, Function function)
{
  return with_pixel_types(pixels, [&](auto sample, auto colour) {
    constexpr bool WIDE = sizeof(typename decltype(sample)::type) == 2;
    constexpr bool RGB = decltype(colour)::colour == Colour::RGB;
    constexpr Key KEY = RGB ? (WIDE ? Key::NONE : Key::LUMA) : WIDE ? Key::WORD : Key::BYTE;

    if constexpr (FITS<GROUPS, KEY>) {
      if (key_of(pixels) == KEY)
        return function(sample, colour, KeyConstant<KEY>());
    }
    return function(sample, colour, KeyConstant<Key::NONE>());
  });
}

template <int GROUPS>
bool launch_finish(Queue *queue, const Gpu &gpu, const Pixels &pixels, const Series &series,
                   const Pyramid &pyramid)
{
  return with_finish_types<GROUPS>(pixels, [&](auto sample, auto colour, auto key) {
    return launch_finish<BaseTile<GROUPS>, typename decltype(sample)::type,
                         decltype(colour)::colour, decltype(key)::key>(queue, gpu, pixels, series,
                                                                       pyramid);
  });
}

template <int GROUPS, typename Sample, Colour colour, Key key> bool allow(CfStatus *status)
{
  using T = BaseTile<GROUPS>;

  if constexpr (FITS<GROUPS, key>) {
    if (!allow_shared(finish_tile_kernel<T, Sample, colour, key>, finish_bytes<T, key>(), status))
      return false;
  }
  return allow_shared(finish_tile_kernel<T, Sample, colour, Key::NONE>,
                      finish_bytes<T, Key::NONE>(), status);
}

template <int GROUPS> bool prepare(CfStatus *status)
{
  return allow<GROUPS, uint8_t, Colour::SINGLE, Key::BYTE>(status) &&
         allow<GROUPS, uint8_t, Colour::CHROMA, Key::BYTE>(status) &&
         allow<GROUPS, uint8_t, Colour::RGB, Key::LUMA>(status) &&
         allow<GROUPS, uint16_t, Colour::SINGLE, Key::WORD>(status) &&
         allow<GROUPS, uint16_t, Colour::CHROMA, Key::WORD>(status) &&
         allow<GROUPS, uint16_t, Colour::RGB, Key::NONE>(status);
}

} // namespace

bool tensor_prepare_finish(CfStatus *status)
{
  return prepare<1>(status) && prepare<2>(status) && prepare<4>(status);
}

bool tensor_finish(Queue *queue, const Gpu &gpu, const Pixels &pixels, const Series &series,
                   const Pyramid &pyramid)
{
  return pyramid.groups == 1   ? launch_finish<1>(queue, gpu, pixels, series, pyramid)
         : pyramid.groups == 2 ? launch_finish<2>(queue, gpu, pixels, series, pyramid)
                               : launch_finish<4>(queue, gpu, pixels, series, pyramid);
}

} // namespace llf
