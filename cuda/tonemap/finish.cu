/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The last kernel of tone mapping: makes the destination from the source, its plane, and the base.
 */
#include "cuda/common/pdl.cuh"
#include "cuda/tonemap/light.cuh"

namespace cf::tonemap
{
namespace
{

struct FinishJob {
  Source source;
  Tones tones;
  const Tables *tables;
  const Peak *peak;
  Plane plane, base;
  Destination destination;
};

constexpr float kKnee = (float)CF_TONEMAP_KNEE, kRoom = (float)(1.0 - CF_TONEMAP_KNEE);

/* --- a pixel --- */

/* The tables in shared memory, and Peak.most. */
struct LookUps {
  Table<Line> light, gain;
  Table<Tables::Rest> rest;
  float most;

  __device__ __forceinline__ LookUps(const Tables *tables, uint32_t whole_bits, float most)
      : light(tables->light, whole_bits), gain(tables->gain, whole_bits),
        rest(tables->rest, whole_bits), most(most)
  {
  }

  /* The index of the line of a 16-bit code, plus kWhole. Code 65535 has the last line. */
  __device__ __forceinline__ static float line_of(float code)
  {
    constexpr float kLines = (kToneLines - 0.01f) / 65535.0f;

    return __fmaf_rd(code, kLines, kWhole);
  }

  __device__ __forceinline__ float gain_of(float code) const
  {
    return on_line(load_line(gain.of(line_of(code))), code);
  }
};

/* cf_tonemap_local() for `difference`, plane less base in codes, and `gains`, the gain of the base
 * less that of the plane. */
__device__ __forceinline__ float local(const Tones &tones, float difference, float gains,
                                       float room)
{
  constexpr float kNoRoom = 1e-18f; /* squared; is divided by */
  float added = gains;

  if (tones.detail != 0.0f) {
    const float stops = (float)(CF_TONEMAP_STOPS / 65535.0) * difference;
    const float t = tones.per_noise_floor > 0.0f
                        ? __saturatef(fmaf(fabsf(stops), tones.per_noise_floor, -1.0f))
                        : 1.0f;

    added = fmaf(tones.detail * stops, t * t * fmaf(-2.0f, t, 3.0f), added);
  }
  const float raised = fmaxf(added, 0.0f);
  const float length = rsqrt_approx(fmaf(raised, raised, fmaf(room, room, kNoRoom)));

  return fmaf(raised * room, length, fminf(added, 0.0f));
}

/* The factor of light whose norm is `norm`: the norm after roll-off, divided by the norm. */
__device__ __forceinline__ float roll_off(float norm, float most)
{
  constexpr float kTiny = 1e-30f; /* norms of 0 are divided by it */
  const float beyond = fmaxf(norm - kKnee, 0.0f);
  const float divisor = fmaf(beyond, (most - 1.0f) * (1.0f / kRoom), most);

  return fmaf(norm - beyond, divisor, beyond * most) *
         reciprocal_approx(fmaf(divisor, norm, kTiny));
}

__device__ __forceinline__ float power_4(float x)
{
  return x * x * (x * x);
}

/* cf_tonemap_shares() for one component: its share of white is `pale`, less by up to `hue` the
 * more `leader` exceeds the others. */
__device__ __forceinline__ float share(float pale, float hue, float leader, float green,
                                       float component)
{
  const float lead = fmaxf(leader - fmaxf(0.5f * green, component), 0.0f);

  return fmaf(fmaf(pale, pale, -pale), hue * power_4(lead), pale);
}

__device__ __forceinline__ float encode(float light)
{
  return exp2_approx((float)(1.0 / CF_TONEMAP_GAMMA) * log2_approx(light));
}

/* The tone mapped R'G'B' of BT.709 of a pixel; `plane` and `base` are its 16-bit codes. */
__device__ __forceinline__ Colour finished(const Tones &tones, const LookUps &tables,
                                           const Colour &light, float plane, float base)
{
  const float from_red = light.red - light.green, from_blue = light.blue - light.green;
  const auto mixed = [&](const float(&weights)[2], float more) {
    return fmaf(weights[0], from_red, fmaf(weights[1], from_blue, more));
  };
  const float luminance = mixed(tones.luminance_709, light.green);
  /* The components of BT.709 less luminance. */
  const Colour difference = {mixed(tones.to_709[0], 0.0f), mixed(tones.to_709[1], 0.0f),
                             mixed(tones.to_709[2], 0.0f)};
  const float above = fmaxf(fmaxf(difference.red, difference.green), difference.blue);
  const float below = fminf(fminf(difference.red, difference.green), difference.blue);
  const float own = tables.gain_of(plane);

  const float4 rest = ld_shared_float4(tables.rest.of(LookUps::line_of(plane)));
  const Line room = {rest.x, rest.y}, saturation = {rest.z, rest.w}; /* as Tables::Rest has them */
  float gain = exp2_approx(
      own + local(tones, plane - base, tables.gain_of(base) - own, on_line(room, plane)));
  gain *= roll_off(gain * fmaf((float)CF_TONEMAP_BRIGHTEST, above, luminance), tables.most);

  /* `away`: the saturation, limited so that no component is below 0 but by rounding. A division by
   * 0 gives NaN, which fma_saturate() turns into 0. */
  const float grey = gain * luminance, colour = gain * on_line(saturation, plane);
  const float away = colour * fma_saturate(grey, reciprocal_approx(colour * fabsf(below)), 1e-6f);

  const float most = fmaxf(fmaf(away, above, grey), 1.0f), beyond = most - 1.0f;
  const float rate = (float)CF_TONEMAP_PALING * beyond;
  const float dark = power_4(power_4(fma_saturate(-away, below, 1.0f - grey)));
  const float divisor = fmaf(rate, fabsf(most - grey), grey * dark);
  const float pale = __saturatef(rate * beyond * grey * reciprocal_approx(divisor));
  const float kept = reciprocal_approx(most), reach = away * kept;
  const float red = fma_saturate(difference.red, reach, grey * kept);
  const float green = fma_saturate(difference.green, reach, grey * kept);
  const float blue = fma_saturate(difference.blue, reach, grey * kept);
  const float share_of_red = share(pale, (float)CF_TONEMAP_BLUE_HUE, blue, green, red);
  const float share_of_blue = share(pale, (float)CF_TONEMAP_RED_HUE, red, green, blue);

  return {encode(fma_saturate(share_of_red, 1.0f - red, red)),
          encode(fma_saturate(pale, 1.0f - green, green)),
          encode(fma_saturate(share_of_blue, 1.0f - blue, blue))};
}

/* --- codes --- */

/* The code in the low bits of a word; the upper bits are those of kWholeBits. */
__device__ __forceinline__ uint32_t code_of(const Destination &to, float scale, float value,
                                            float offset)
{
  return floor_bits(fminf(fmaf(scale, value, offset), to.most));
}

__device__ __forceinline__ uint32_t pack_halves(uint32_t low, uint32_t high)
{
  return __byte_perm(low, high, 0x5410);
}

/* Four bytes from four 16-bit numbers below 256. */
__device__ __forceinline__ uint32_t pack_bytes(uint32_t low, uint32_t high)
{
  return __byte_perm(low, high, 0x6420);
}

__device__ __forceinline__ uint32_t pixel_of(const Destination &to, const Colour &signal,
                                             float offset)
{
  const uint32_t red = code_of(to, to.luma_scale, signal.red, offset);
  const uint32_t green = code_of(to, to.luma_scale, signal.green, offset);
  const uint32_t blue = code_of(to, to.luma_scale, signal.blue, offset);

  return pack_bytes(pack_halves(to.reversed ? blue : red, green),
                    pack_halves(to.reversed ? red : blue, 255));
}

/* --- stores --- */

/* Stores `words` at offset `byte` of row y of a plane: all of them, or only the first `count`
 * Items in them. */
template <typename Item, int Words>
__device__ __forceinline__ void store_row(const Destination &to, int plane, int byte, int y,
                                          bool all, int count, const uint32_t (&words)[Words])
{
  uint8_t *const address = to.plane[plane] + y * to.stride[plane] + byte;
  constexpr int kItems = 4 / (int)sizeof(Item); /* in a word */

  if (all) {
    if constexpr (Words == 1)
      *(uint32_t *)address = words[0];
    else if constexpr (Words == 2)
      *(uint2 *)address = make_uint2(words[0], words[1]);
    else
      for (int i = 0; i < Words; i += 4)
        *(uint4 *)(address + 4 * i) =
            make_uint4(words[i], words[i + 1], words[i + 2], words[i + 3]);
    return;
  }
#pragma unroll
  for (int i = 0; i < Words * kItems; i++) {
    if (i < count)
      ((Item *)address)[i] = (Item)(words[i / kItems] >> 8 * (int)sizeof(Item) * (i % kItems));
  }
}

/* Stores a tile's row of luma, two codes in a word. */
template <Kind kind>
__device__ __forceinline__ void store_luma(const Destination &to, int x, int y, bool all,
                                           int columns, const uint32_t (&luma)[kTileX / 2])
{
  if constexpr (kind == Kind::kYuv8) {
    const uint32_t bytes[] = {pack_bytes(luma[0], luma[1]), pack_bytes(luma[2], luma[3])};

    store_row<uint8_t>(to, 0, x, y, all, columns, bytes);
  } else {
    store_row<uint16_t>(to, 0, 2 * x, y, all, columns, luma);
  }
}

/* Stores a tile's row of chroma, a word of Cb and Cr for each sample. */
template <Kind kind>
__device__ __forceinline__ void store_chroma(const Destination &to, int x, int y, bool all,
                                             int columns, const uint32_t (&chroma)[kTileX / 2])
{
  if constexpr (kind == Kind::kYuv16) {
    store_row<uint16_t>(to, 1, 4 * x, y, all, 2 * columns, chroma);
    return;
  }
  const uint32_t bytes[] = {pack_bytes(chroma[0], chroma[1]), pack_bytes(chroma[2], chroma[3])};

  if (to.pairs) {
    store_row<uint8_t>(to, 1, 2 * x, y, all, 2 * columns, bytes);
  } else {
    const uint32_t blue[] = {__byte_perm(bytes[0], bytes[1], 0x6420)};
    const uint32_t red[] = {__byte_perm(bytes[0], bytes[1], 0x7531)};

    store_row<uint8_t>(to, 1, x, y, all, columns, blue);
    store_row<uint8_t>(to, 2, x, y, all, columns, red);
  }
}

/* --- the kernel --- */

/* A row of a thread's tile: samples of luma, plane and base, two in a word. */
struct Row {
  uint32_t luma[kTileX / 2], plane[kTileX / 2], base[kTileX / 2];

  __device__ __forceinline__ Row(const FinishJob &job, int x, int y)
  {
    const Source &source = job.source;

    load_samples(source.luma + y * source.luma_stride, x, source.width, source.words, luma);
    load_samples(job.plane.data + y * job.plane.stride, x, source.width, true, plane);
    load_samples(job.base.data + y * job.base.stride, x, source.width, true, base);
  }

  __device__ __forceinline__ Colour signal(const FinishJob &job, const LookUps &tables, int i,
                                           uint32_t chroma) const
  {
    const Colour light = light_of(job.source, job.tones, tables.light, luma[i / 2], i % 2,
                                  chroma_of(job.source, chroma));

    return finished(job.tones, tables, light, whole_of(plane[i / 2], i % 2) - kWhole,
                    whole_of(base[i / 2], i % 2) - kWhole);
  }
};

template <bool Halved, Kind kind>
__device__ __forceinline__ void make_tile(const FinishJob &job, const LookUps &tables, int x, int y)
{
  const Destination &to = job.destination;
  const int columns = min(job.source.width - x, kTileX);
  const bool all = to.words && columns == kTileX;
  float blue[kTileX / 2] = {}, red[kTileX / 2] = {}; /* sums of B' - Y', R' - Y' of 2 x 2 pixels */
  Chroma<Halved> chroma;

#pragma unroll 1
  for (int row = 0; row < kTileY; row++) {
    const bool inside = y + row < job.source.height;
    const int line = inside ? y + row : y;
    const float *const offset = to.luma_offset[line & 7];
    const Row pixels(job, x, line);

    if (row == 0 || !job.source.halved_rows)
      chroma.load(job.source, x, line);
    if constexpr (kind == Kind::kRgb) {
      uint32_t codes[kTileX];

#pragma unroll
      for (int i = 0; i < kTileX; i++)
        codes[i] = pixel_of(to, pixels.signal(job, tables, i, chroma.at(i)), offset[i]);
      if (inside)
        store_row<uint8_t>(to, 0, 4 * x, line, all, 4 * columns, codes);
    } else {
      uint32_t luma[kTileX / 2];

#pragma unroll
      for (int i = 0; i < kTileX / 2; i++) {
        uint32_t pair[2];

#pragma unroll
        for (int k = 0; k < 2; k++) {
          const Colour signal = pixels.signal(job, tables, 2 * i + k, chroma.at(2 * i + k));
          const float own = weigh(signal, to.weight_red, to.weight_blue);

          pair[k] = code_of(to, to.luma_scale, own, offset[2 * i + k]);
          blue[i] += signal.blue - own;
          red[i] += signal.red - own;
        }
        luma[i] = pack_halves(pair[0], pair[1]) << to.shift;
      }
      if (inside)
        store_luma<kind>(to, x, line, all, columns, luma);
    }
  }
  if constexpr (kind != Kind::kRgb) {
    const float *const offset = to.chroma_offset[y / 2 & 7] + (x / 2 & 7);
    const float blue_scale = 0.25f * to.chroma_scale * to.blue_gain;
    const float red_scale = 0.25f * to.chroma_scale * to.red_gain;
    uint32_t codes[kTileX / 2];

#pragma unroll
    for (int i = 0; i < kTileX / 2; i++)
      codes[i] = pack_halves(code_of(to, blue_scale, blue[i], offset[i]),
                             code_of(to, red_scale, red[i], offset[i]))
                 << to.shift;
    store_chroma<kind>(to, x / 2, y / 2, all, (columns + 1) / 2, codes);
  }
}

template <bool Halved, Kind kind>
__global__ void __launch_bounds__(kThreads, kResident)
    finish_kernel(const __grid_constant__ FinishJob job)
{
  __shared__ Tables memory;
  const LookUps tables(&memory, job.source.whole_bits, job.peak->most);

  copy_words<sizeof memory>(job.tables, &memory);
  pdl_wait();
  __syncthreads();
  for_tiles(job.source, [&](int x, int y) { make_tile<Halved, kind>(job, tables, x, y); });
}

template <Kind kind> auto kernel_of(bool halved)
{
  return halved ? finish_kernel<true, kind> : finish_kernel<false, kind>;
}

auto kernel_of(bool halved, Kind kind)
{
  switch (kind) {
  case Kind::kYuv8:
    return kernel_of<Kind::kYuv8>(halved);
  case Kind::kYuv16:
    return kernel_of<Kind::kYuv16>(halved);
  default:
    return kernel_of<Kind::kRgb>(halved);
  }
}

} // namespace

bool finish(const Queue &queue, const Source &source, const Tones &tones, const Tables *tables,
            const Peak *peak, Plane plane, Plane base, const Destination &destination)
{
  Launch how = launch_of(queue, source);

  how.dependent = queue.overlaps;
  return launch(how, "tone mapping finish", queue.status,
                kernel_of(source.halved, destination.kind),
                FinishJob{source, tones, tables, peak, plane, base, destination});
}

} // namespace cf::tonemap
