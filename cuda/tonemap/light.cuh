/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * From a source's samples to linear light, and the tiles of 8 x 2 pixels that threads work on.
 */
#pragma once

#include "cuda/common/ptx_async.cuh"
#include "cuda/common/ptx_math.cuh"
#include "cuda/tonemap/types.cuh"

namespace cf::tonemap
{

constexpr int kTileX = 8, kTileY = 2;        /* pixels of a tile */
constexpr int kThreads = 512, kResident = 2; /* of a CTA; CTAs on an SM */

/* --- tiles --- */

inline __host__ __device__ int tiles_across(const Source &source)
{
  return div_up(source.width, kTileX);
}

inline __host__ __device__ int tiles_of(const Source &source)
{
  return tiles_across(source) * div_up(source.height, kTileY);
}

/* A grid of one wave of resident CTAs, or fewer if there are fewer tiles. */
inline Launch launch_of(const Queue &queue, const Source &source)
{
  Launch how = {};

  how.grid = dim3(
      (unsigned)smaller(div_up(tiles_of(source), kThreads), kResident * queue.multiprocessors));
  how.block = dim3(kThreads);
  how.stream = queue.stream;
  return how;
}

#ifdef __CUDACC__

/* Calls work(x, y) for each of the thread's tiles, with its first pixel. */
template <typename Work> __device__ __forceinline__ void for_tiles(const Source &source, Work work)
{
  const unsigned across = (unsigned)tiles_across(source), all = (unsigned)tiles_of(source);

  for (unsigned tile = blockIdx.x * kThreads + threadIdx.x; tile < all;
       tile += gridDim.x * kThreads) {
    const unsigned row = tile / across;

    work((int)(tile - row * across) * kTileX, (int)row * kTileY);
  }
}

/* Copies `Bytes` of global memory to shared memory, by all threads; both are aligned to 16 bytes.
 */
template <int Bytes> __device__ __forceinline__ void copy_words(const void *from, void *to)
{
  static_assert(Bytes % (16 * kThreads) == 0);
#pragma unroll
  for (int i = 0; i < Bytes / 16; i += kThreads)
    ((uint4 *)to)[i + threadIdx.x] = ((const uint4 *)from)[i + threadIdx.x];
}

/* kWhole plus sample `i` of a word of two. */
__device__ __forceinline__ float whole_of(uint32_t word, int i)
{
  return __uint_as_float(__byte_perm(word, kWholeBits, i ? 0x7432 : 0x7410));
}

/* kWholeBits plus `number`, at least 0, rounded down. */
__device__ __forceinline__ uint32_t floor_bits(float number)
{
  return __float_as_uint(__fadd_rd(number, kWhole));
}

/* Loads samples x .. x + 2 Words - 1 of a row, two in a word; samples beyond the row's `width`
 * repeat the last. */
template <int Words>
__device__ __forceinline__ void load_samples(const uint8_t *row, int x, int width, bool words,
                                             uint32_t (&to)[Words])
{
  if (words && x + 2 * Words <= width) {
    if constexpr (Words == 4) {
      const uint4 all = *(const uint4 *)(row + 2 * x);

      to[0] = all.x, to[1] = all.y, to[2] = all.z, to[3] = all.w;
    } else {
      const uint2 all = *(const uint2 *)(row + 2 * x);

      to[0] = all.x, to[1] = all.y;
    }
    return;
  }
  const uint16_t *const samples = (const uint16_t *)row;
#pragma unroll
  for (int i = 0; i < Words; i++)
    to[i] = samples[min(x + 2 * i, width - 1)] | (uint32_t)samples[min(x + 2 * i + 1, width - 1)]
                                                     << 16;
}

/* The chroma of a row of a tile: a word of Cb (low) and Cr for each two columns (`Halved`), or for
 * each pixel. Samples beyond the picture repeat the last. */
template <bool Halved> struct Chroma {
  static constexpr int kCount = Halved ? kTileX / 2 : kTileX;
  uint32_t word[kCount];

  __device__ __forceinline__ uint32_t at(int i) const
  {
    return word[Halved ? i / 2 : i];
  }

  /* Loads the chroma of pixels from x on in row y of the picture. */
  __device__ __forceinline__ void load(const Source &source, int x, int y)
  {
    const int first = Halved ? x / 2 : x, row = source.halved_rows ? y / 2 : y;
    const int width = Halved ? (source.width + 1) / 2 : source.width;
    const uint8_t *const blue_row = source.blue + row * source.blue_stride;

    if (source.pairs && source.words && first + kCount <= width) {
#pragma unroll
      for (int i = 0; i < kCount; i += 4) {
        const uint4 four = *(const uint4 *)(blue_row + 4 * (first + i));

        word[i] = four.x, word[i + 1] = four.y, word[i + 2] = four.z, word[i + 3] = four.w;
      }
    } else if (source.pairs) {
#pragma unroll
      for (int i = 0; i < kCount; i++) {
        const uint16_t *const pair = (const uint16_t *)blue_row + 2 * min(first + i, width - 1);

        word[i] = pair[0] | (uint32_t)pair[1] << 16;
      }
    } else {
      uint32_t blue[kCount / 2], red[kCount / 2];

      load_samples(blue_row, first, width, source.words, blue);
      load_samples(source.red + row * source.red_stride, first, width, source.words, red);
#pragma unroll
      for (int i = 0; i < kCount / 2; i++) {
        word[2 * i] = __byte_perm(blue[i], red[i], 0x5410);
        word[2 * i + 1] = __byte_perm(blue[i], red[i], 0x7632);
      }
    }
  }
};

/* --- light --- */

struct Colour {
  float red, green, blue;
};

/* A table in shared memory, looked up by an index plus kWhole: the address is corrected for
 * kWholeBits. */
template <typename Entry> struct Table {
  uint32_t address;

  /* `whole_bits` is kWholeBits as a kernel parameter: if the compiler knew its value, it would
   * correct each index instead of the address. */
  __device__ __forceinline__ Table(const Entry *entries, uint32_t whole_bits)
      : address(smem_address(entries) - whole_bits * (uint32_t)sizeof(Entry))
  {
  }

  /* The address of an entry; `whole` is the index plus kWhole, rounded down. */
  __device__ __forceinline__ uint32_t of(float whole) const
  {
    return address + __float_as_uint(whole) * (uint32_t)sizeof(Entry);
  }
};

__device__ __forceinline__ Line load_line(uint32_t address)
{
  const float2 line = ld_shared_float2(address);

  return {line.x, line.y};
}

__device__ __forceinline__ float on_line(const Line &line, float x)
{
  return fmaf(line.slope, x, line.offset);
}

/* The mean of the components with these weights of red and blue; exact if all three are equal. */
__device__ __forceinline__ float weigh(const Colour &colour, float red, float blue)
{
  return fmaf(red, colour.red - colour.green, fmaf(blue, colour.blue - colour.green, colour.green));
}

/* Light of a signal 0 .. 1; the signal 1 has the last line. */
__device__ __forceinline__ float look_up_light(const Table<Line> &table, float signal)
{
  constexpr float kLines = kLightLines - 0.01f;

  return on_line(load_line(table.of(__fmaf_rd(signal, kLines, kWhole))), signal);
}

/* R'G'B' less luma, from a word of chroma. */
__device__ __forceinline__ Colour chroma_of(const Source &source, uint32_t word)
{
  const float blue = whole_of(word & source.significant, 0) - source.chroma_centre;
  const float red = whole_of(word & source.significant, 1) - source.chroma_centre;

  return {source.red_from * red, fmaf(-source.green_from_blue, blue, -source.green_from_red * red),
          source.blue_from * blue};
}

/* Linear light in nits of a pixel: its luma is sample `i` of `word`, `chroma` is chroma_of(). */
__device__ __forceinline__ Colour light_of(const Source &source, const Tones &tones,
                                           const Table<Line> &table, uint32_t word, int i,
                                           const Colour &chroma)
{
  const float luma =
      source.luma_gain * (whole_of(word & source.significant, i) - source.luma_offset);
  Colour light = {look_up_light(table, __saturatef(luma + chroma.red)),
                  look_up_light(table, __saturatef(luma + chroma.green)),
                  look_up_light(table, __saturatef(luma + chroma.blue))};

  if (source.hlg) {
    const float luminance = weigh(light, tones.red_luminance, tones.blue_luminance);
    const float gain = (float)CF_TONEMAP_HLG_PEAK *
                       exp2_approx((float)(CF_TONEMAP_HLG_GAMMA - 1.0) * log2_approx(luminance));

    light.red *= gain;
    light.green *= gain;
    light.blue *= gain;
  }
  return light;
}

/* The luminance of light in stops above black. */
__device__ __forceinline__ float stops_of(const Tones &tones, const Colour &light)
{
  const float luminance = weigh(light, tones.red_luminance, tones.blue_luminance);

  return log2_approx(fmaf((float)(1.0 / CF_TONEMAP_BLACK), luminance, 1.0f));
}

#endif

} // namespace cf::tonemap
