/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Level 1 from the picture, on tensor cores. Where few intensities occur their components are a
 * table's rows, which are looked up; others are computed.
 */
#include "llf_tensor_down.cuh"

namespace llf
{
namespace
{

/* --- level 0 by table --- */

/* The table of codes, each row several times, so that the rows that a warp looks up lie in
 * different banks where there is room for it; and the tile of code values, which begins 16 samples
 * left of its first pair of coarse pixels, to keep the source's alignment. */
template <typename S, Key key> struct TableMemory {
  using Sample = typename KeyOf<key>::Sample;
  static constexpr int MARGIN = 16;
  static constexpr int ENTRIES = KeyOf<key>::ENTRIES, COPIES = KeyOf<key>::COPIES;
  static constexpr int TABLE = ENTRIES * COPIES * GROUP_BYTES; /* bytes a group */
  static constexpr int PITCH = 2 * S::COARSE_X + 2 * MARGIN;   /* samples */
  static constexpr int CODES = S::GROUPS * TABLE;
  static constexpr int TEAM = (S::FINE_Y * PITCH * (int)sizeof(Sample) + 127) / 128 * 128;

  __host__ __device__ static constexpr int bytes(int teams)
  {
    return CODES + teams * TEAM;
  }
};

/* Row `code` of table c: the components of harmonics first + 1.. as store_row() wants them. */
template <typename S, Key key>
__device__ void fill_table(uint8_t *memory, const Pixels &pixels, const Series &series, int first)
{
  using M = TableMemory<S, key>;

  for (int i = threadIdx.x; i < M::ENTRIES * S::GROUPS; i += blockDim.x) {
    const int code = i % M::ENTRIES, table = i / M::ENTRIES;
    const int step = S::GROUPS == 2 ? 2 : 1, start = first + (S::GROUPS == 2 ? table : 0);
    const float turns = series.turn * intensity_of_row<key>(pixels, (float)code);
    Rotation rotation((float)(start + 1) * turns, (float)step * turns);
    uint32_t words[4];

#pragma unroll
    for (int k = 0; k < 4; k++) {
      const float b = series.b[start + step * k];

      words[k] = cf_pack_halves(b * rotation.sine, b * rotation.cosine);
      rotation.advance();
    }
    uint4 *const row = reinterpret_cast<uint4 *>(memory + table * M::TABLE) + code * M::COPIES;
#pragma unroll
    for (int copy = 0; copy < M::COPIES; copy++)
      row[(copy + threadIdx.x) % M::COPIES] = make_uint4(words[0], words[1], words[2], words[3]);
  }
}

/* Code values of the tile, mirrored at the borders. Chunks of 16 bytes inside the picture are
 * copied as they are where the source is aligned. */
template <typename S, Key key>
__device__ void load_codes(typename KeyOf<key>::Sample *codes, const Pixels &pixels, int coarse_x,
                           int coarse_y, bool aligned, int thread)
{
  using M = TableMemory<S, key>;
  using Sample = typename M::Sample;
  constexpr int CHUNK = 16 / sizeof(Sample), CHUNKS = M::PITCH / CHUNK;
  const Channel &channel = pixels.channel[0];

  for (int i = thread; i < S::FINE_Y * CHUNKS; i += S::THREADS) {
    const int row = i / CHUNKS, column = i % CHUNKS * CHUNK;
    const int x = 2 * coarse_x - M::MARGIN + column;
    const int y = mirrored(2 * coarse_y - 2 + row, pixels.height);
    const uint8_t *const from = channel.from + y * channel.from_stride;
    Sample *const to = codes + row * M::PITCH + column;

    if (aligned && x >= 0 && x + CHUNK <= pixels.width) {
      start_copy(cf_shared_address(to), from + (ptrdiff_t)x * sizeof(Sample));
      continue;
    }
#pragma unroll
    for (int k = 0; k < CHUNK; k++) {
      if (x + k >= -2 && x + k < pixels.width + 2)
        to[k] = reinterpret_cast<const Sample *>(
            from)[(ptrdiff_t)mirrored(x + k, pixels.width) * pixels.step[0]];
      else
        to[k] = 0; /* any row of the table: its taps are 0 or its pixels outside */
    }
  }
  wait_copies();
}

/* Table rows of the tile's lumas. */
template <typename S>
__device__ void load_lumas(uint16_t *rows, const Pixels &pixels, const Packing &packing,
                           const LumaRow &luma_row, int coarse_x, int coarse_y, int thread)
{
  using M = TableMemory<S, Key::LUMA>;
  constexpr int READ = 2 * S::COARSE_X + 16; /* the last fragments end beyond the tile */
  constexpr int COLUMNS = (READ + 31) / 32;
  const int lane = thread % 32, first_x = 2 * coarse_x - 2 + lane;

#pragma unroll 4
  for (int row = thread / 32; row < S::FINE_Y; row += S::THREADS / 32) {
    const int y = mirrored(2 * coarse_y - 2 + row, pixels.height);
    uint16_t *const to = rows + row * M::PITCH + M::MARGIN - 2 + lane;

    uint32_t words[COLUMNS];

    if (packing.packed) {
      const uint32_t *const from = reinterpret_cast<const uint32_t *>(
          pixels.channel[0].from - packing.byte[0] + y * pixels.channel[0].from_stride);
#pragma unroll
      for (int k = 0; k < COLUMNS; k++)
        words[k] = from[mirrored(first_x + 32 * k, pixels.width)];
    } else {
#pragma unroll
      for (int k = 0; k < COLUMNS; k++)
        words[k] = load_channels(pixels, packing, mirrored(first_x + 32 * k, pixels.width), y);
    }
#pragma unroll
    for (int k = 0; k < COLUMNS; k++) {
      if (lane + 32 * k < READ)
        to[32 * k] = (uint16_t)luma_row.of(words[k]);
    }
  }
}

/* Codes from low to high, both twice, two at a time: there are no instructions for four bytes. */
__device__ __forceinline__ uint32_t clamped(uint32_t codes, uint32_t low, uint32_t high, uint8_t)
{
  const uint32_t even = __vminu2(__vmaxu2(codes & 0x00ff00ffu, low), high);
  const uint32_t odd = __vminu2(__vmaxu2(codes >> 8 & 0x00ff00ffu, low), high);
  return __byte_perm(even, odd, 0x6240);
}

__device__ __forceinline__ uint32_t clamped(uint32_t codes, uint32_t low, uint32_t high, uint16_t)
{
  return __vminu2(__vmaxu2(codes, low), high);
}

/* Foot and headroom count as black and white in the Gaussian pyramid; the table knows. */
template <typename S, Key key>
__device__ void clamp_codes(typename KeyOf<key>::Sample *codes, int first, int last, int thread)
{
  using M = TableMemory<S, key>;
  using Sample = typename M::Sample;
  const uint32_t low = first * 0x00010001u, high = last * 0x00010001u;

  for (int i = thread; i < S::FINE_Y * M::PITCH * (int)sizeof(Sample) / 16; i += S::THREADS) {
    uint4 *const chunk = reinterpret_cast<uint4 *>(codes) + i;
    const uint4 four = *chunk;

    *chunk = make_uint4(clamped(four.x, low, high, Sample()), clamped(four.y, low, high, Sample()),
                        clamped(four.z, low, high, Sample()), clamped(four.w, low, high, Sample()));
  }
}

/* Two neighbours of the coarse row, from the samples about them of a fine one; 20 times each tap,
 * so that they are integers. */
__device__ __forceinline__ void reduce_across(const uint8_t *first, uint32_t sums[2])
{
  const uint32_t *const words = reinterpret_cast<const uint32_t *>(first - 2);

  sums[0] = __dp4a(words[1], 0x00010508u, __dp4a(words[0], 0x05010000u, 0u));
  sums[1] = __dp4a(words[2], 0x00000001u, __dp4a(words[1], 0x05080501u, 0u));
}

__device__ __forceinline__ void reduce_across(const uint16_t *first, uint32_t sums[2])
{
  const uint32_t *const words = reinterpret_cast<const uint32_t *>(first);

  sums[0] =
      __dp2a_lo(words[2], 0x0001u, __dp2a_lo(words[1], 0x0508u, __dp2a_lo(words[0], 0x0501u, 0u)));
  sums[1] =
      __dp2a_lo(words[3], 0x0001u, __dp2a_lo(words[2], 0x0508u, __dp2a_lo(words[1], 0x0501u, 0u)));
}

/* The Gaussian's tile: a thread makes two columns of a few rows. */
template <typename S, typename Sample>
__device__ void reduce_codes(const Sample *codes, int pitch, float scale, float bias,
                             const Target &target, int coarse_x, int coarse_y, int thread)
{
  constexpr int PAIRS = S::COARSE_X / 2, ROWS = S::COARSE_Y * PAIRS / S::THREADS;
  const int column = thread % PAIRS * 2, first_row = thread / PAIRS * ROWS;
  const Sample *from = codes + 2 * first_row * pitch + 2 * column;
  const float factor = scale * (1.0f / 400.0f);
  uint32_t sums[2], before[2], middle[2];

  reduce_across(from, before);
  reduce_across(from + pitch, sums);
  reduce_across(from + 2 * pitch, middle);
#pragma unroll
  for (int k = 0; k < 2; k++)
    before[k] += 5 * sums[k];
#pragma unroll 4
  for (int row = 0; row < ROWS; row++) {
    uint32_t after[2], last[2];

    from += 2 * pitch;
    reduce_across(from + pitch, after);
    reduce_across(from + 2 * pitch, last);
#pragma unroll
    for (int k = 0; k < 2; k++) {
      const uint32_t sum = before[k] + 8 * middle[k] + 5 * after[k] + last[k];

      target.store_gauss(coarse_x + column + k, coarse_y + first_row + row,
                         fmaf((float)sum, factor, bias));
      before[k] = middle[k] + 5 * after[k];
      middle[k] = last[k];
    }
  }
}

/* The five fragments of a fine row, looked up. */
template <typename S, Key key>
__device__ __forceinline__ void look_up(uint32_t fine[5][2 * S::GROUPS], uint32_t table,
                                        const typename KeyOf<key>::Sample *codes, int shift,
                                        int lane)
{
  using M = TableMemory<S, key>;
  constexpr int ROW = M::COPIES * GROUP_BYTES;
  const uint32_t copy = table + (lane % M::COPIES) * GROUP_BYTES;

  if constexpr (S::GROUPS == 2) {
    const uint32_t base = copy + lane / 16 * M::TABLE;
#pragma unroll
    for (int j = 0; j < 5; j++)
      cf_load_matrix_transposed(fine[j],
                                base + (uint32_t)(codes[16 * j + lane % 16] >> shift) * ROW);
  } else {
    uint32_t pair[4];
#pragma unroll
    for (int j = 0; j < 4; j += 2) {
      cf_load_matrix_transposed(pair, copy + (uint32_t)(codes[16 * j + lane] >> shift) * ROW);
      fine[j][0] = pair[0];
      fine[j][1] = pair[1];
      fine[j + 1][0] = pair[2];
      fine[j + 1][1] = pair[3];
    }
    load_2_transposed(fine[4], copy + (uint32_t)(codes[64 + lane % 16] >> shift) * ROW);
  }
}

/* Teams of threads that share a block's table: one alone would wait most of the time. */
constexpr int MOST_TEAMS = 3;

/* Blocks stay for many tiles, since the table is dear. blockIdx.y counts blocks' groups. */
template <typename S, Key key>
__global__ void __launch_bounds__(MOST_TEAMS *S::THREADS, 1)
    analyse_table_kernel(const __grid_constant__ Pixels pixels,
                         const __grid_constant__ Series series, Target target, bool aligned,
                         int first_code, int last_code, Packing packing, LumaRow luma_row)
{
  using M = TableMemory<S, key>;
  using Sample = typename M::Sample;
  extern __shared__ __align__(128) uint8_t memory[];
  const int team = threadIdx.x / S::THREADS, thread = threadIdx.x % S::THREADS;
  const int teams = blockDim.x / S::THREADS;
  Sample *const codes = reinterpret_cast<Sample *>(memory + M::CODES + team * M::TEAM);
  const int lane = thread % 32, warp = thread / 32;
  const int strip_x = warp % S::ACROSS * 32, strip_y = warp / S::ACROSS * S::ROWS;
  const int tiles_x = (target.coarse.width + S::COARSE_X - 1) / S::COARSE_X;
  const int tiles = tiles_x * ((target.coarse.height + S::COARSE_Y - 1) / S::COARSE_Y);
  const int shift = key == Key::WORD ? pixels.shift : 0;
  const float scale = key == Key::LUMA   ? intensity_of_row<key>(pixels, 1.0f)
                      : key == Key::WORD ? ldexpf(pixels.weight[0], -shift)
                                         : pixels.weight[0];
  const Band band(lane);

  target.first_group = blockIdx.y * S::GROUPS;
  fill_table<S, key>(memory, pixels, series, 4 * target.first_group);
  await_previous();
  __syncthreads();

  for (int tile = blockIdx.x + team * gridDim.x; tile < tiles; tile += teams * gridDim.x) {
    const int x = tile % tiles_x * S::COARSE_X, y = tile / tiles_x * S::COARSE_Y;

    if constexpr (key == Key::LUMA)
      load_lumas<S>(codes, pixels, packing, luma_row, x, y, thread);
    else
      load_codes<S, key>(codes, pixels, x, y, aligned, thread);
    /* Threads clamp the chunks that they have loaded. */
    if constexpr (key != Key::LUMA) {
      if (first_code > 0 || last_code < (int)pixels.max_code)
        clamp_codes<S, key>(codes, first_code << shift, last_code << shift, thread);
    }
    await_team<MOST_TEAMS, S::THREADS>(team);
    if (y + strip_y < target.coarse.height) {
      const Sample *const strip = codes + 2 * strip_y * M::PITCH + M::MARGIN - 2 + 2 * strip_x;
      StripWriter<S::GROUPS, true> writer(target, x + strip_x, y + strip_y, lane);

      reduce_strip<S::GROUPS, S::ROWS>(
          [&](int row, Row<S::GROUPS> *filtered) {
            uint32_t fine[5][2 * S::GROUPS];
            look_up<S, key>(fine, cf_shared_address(memory), strip + row * M::PITCH, shift, lane);
            band.filter<S::GROUPS>(fine, filtered);
          },
          [&](const Row<S::GROUPS> &filtered) { writer.write(filtered); });
    }
    if (blockIdx.y == 0)
      reduce_codes<S>(codes + M::MARGIN - 2, M::PITCH, scale, key == Key::LUMA ? 0.0f : pixels.bias,
                      target, x, y, thread);
    await_team<MOST_TEAMS, S::THREADS>(team);
  }
}

/* --- level 0 computed --- */

template <typename S, typename Sample, Colour colour>
__device__ void compute_tile(uint8_t *memory, float *gauss, const Pixels &pixels,
                             const Series &series, const Packing &packing, const LumaRow &luma_row,
                             int first_group, int coarse_x, int coarse_y)
{
  using M = TileMemory<S>;

  for (int i = threadIdx.x; i < S::FINE_Y * S::FINE_X; i += S::THREADS) {
    const int row = i / S::FINE_X, x = i % S::FINE_X;
    const float intensity = rounded_intensity<Sample, colour>(
        pixels, packing, luma_row, mirrored(2 * coarse_x - 2 + x, pixels.width),
        mirrored(2 * coarse_y - 2 + row, pixels.height));
    Rotation rotation((float)(4 * first_group + 1) * series.turn * intensity,
                      series.turn * intensity);

    gauss[row * M::GAUSS_PITCH + x] = intensity;
#pragma unroll
    for (int c = 0; c < S::GROUPS; c++) {
      uint32_t words[4];
#pragma unroll
      for (int k = 0; k < 4; k++) {
        const float b = series.b[4 * (first_group + c) + k];
        words[k] = cf_pack_halves(b * rotation.sine, b * rotation.cosine);
        rotation.advance();
      }
      *reinterpret_cast<uint4 *>(memory + row * M::PITCH + M::at(x, c)) =
          make_uint4(words[0], words[1], words[2], words[3]);
    }
  }
}

template <typename S, typename Sample, Colour colour>
__global__ void __launch_bounds__(S::THREADS)
    analyse_computed_kernel(const __grid_constant__ Pixels pixels,
                            const __grid_constant__ Series series, Target target, Packing packing,
                            LumaRow luma_row)
{
  extern __shared__ __align__(128) uint8_t memory[];
  const int x = blockIdx.x * S::COARSE_X, y = blockIdx.y * S::COARSE_Y;

  target.first_group = blockIdx.z * S::GROUPS;
  await_previous();
  compute_tile<S, Sample, colour>(memory, reinterpret_cast<float *>(memory + TileMemory<S>::GAUSS),
                                  pixels, series, packing, luma_row, target.first_group, x, y);
  __syncthreads();
  reduce_tile<S>(memory, target, x, y);
}

/* --- launching --- */

constexpr long long LARGE_COARSE = 1000000; /* pixels */

template <typename S, Key key> int teams_of(const Gpu &gpu)
{
  int teams = MOST_TEAMS;

  while (teams > 1 && TableMemory<S, key>::bytes(teams) > gpu.shared_per_block)
    teams--;
  return teams;
}

template <typename S, Key key>
bool launch_table(Queue *queue, const Gpu &gpu, const Pixels &pixels, const Series &series,
                  const Target &target)
{
  using M = TableMemory<S, key>;
  const int tiles_x = blocks(target.coarse.width, S::COARSE_X);
  const int tiles = tiles_x * blocks(target.coarse.height, S::COARSE_Y);
  const int teams = tiles <= gpu.multiprocessors ? 1 : teams_of<S, key>(gpu);
  const Channel &channel = pixels.channel[0];
  const bool aligned =
      pixels.step[0] == 1 && cf_is_vector_aligned(channel.from, channel.from_stride);
  const float last = pixels.offset + pixels.scale;
  const Packing packing = packing_of(pixels);

  return launch(
      queue, "llf analyse", analyse_table_kernel<S, key>,
      dim3(tiles < gpu.multiprocessors ? tiles : gpu.multiprocessors, target.groups / S::GROUPS),
      dim3(teams * S::THREADS), M::bytes(teams), pixels, series, target, aligned,
      (int)pixels.offset, (int)last, packing, luma_row_of(pixels, packing));
}

template <int GROUPS, Key key>
bool launch_tables(Queue *queue, const Gpu &gpu, const Pixels &pixels, const Series &series,
                   const Target &target)
{
  return (long long)target.coarse.width * target.coarse.height > LARGE_COARSE
             ? launch_table<TallTable<GROUPS>, key>(queue, gpu, pixels, series, target)
             : launch_table<ShortTable<GROUPS>, key>(queue, gpu, pixels, series, target);
}

template <int GROUPS>
bool launch_analyse(Queue *queue, const Gpu &gpu, const Pixels &pixels, const Series &series,
                    const Target &target)
{
  using S = TileShape<GROUPS>;
  const Packing packing = packing_of(pixels);

  switch (key_of(pixels)) {
  case Key::BYTE:
    return launch_tables<GROUPS, Key::BYTE>(queue, gpu, pixels, series, target);
  case Key::WORD:
    return launch_tables<GROUPS, Key::WORD>(queue, gpu, pixels, series, target);
  case Key::LUMA:
    if (TableMemory<TallTable<GROUPS>, Key::LUMA>::bytes(1) <= gpu.shared_per_block)
      return launch_tables<GROUPS, Key::LUMA>(queue, gpu, pixels, series, target);
    break;
  default:
    break;
  }
  return with_pixel_types(pixels, [&](auto sample, auto colour) {
    return launch(
        queue, "llf analyse",
        analyse_computed_kernel<S, typename decltype(sample)::type, decltype(colour)::colour>,
        dim3(blocks(target.coarse.width, S::COARSE_X), blocks(target.coarse.height, S::COARSE_Y),
             target.groups / GROUPS),
        dim3(S::THREADS), TileMemory<S>::BYTES, pixels, series, target, packing,
        luma_row_of(pixels, packing));
  });
}

template <typename S, Key key> bool prepare_table(const Gpu &gpu, CfStatus *status)
{
  return allow_shared(gpu, analyse_table_kernel<S, key>,
                      TableMemory<S, key>::bytes(teams_of<S, key>(gpu)), status);
}

template <typename S> bool prepare_tables(const Gpu &gpu, CfStatus *status)
{
  return prepare_table<S, Key::BYTE>(gpu, status) && prepare_table<S, Key::WORD>(gpu, status) &&
         prepare_table<S, Key::LUMA>(gpu, status);
}

template <int GROUPS> bool prepare(const Gpu &gpu, CfStatus *status)
{
  using S = TileShape<GROUPS>;
  const int bytes = TileMemory<S>::BYTES;

  return prepare_tables<TallTable<GROUPS>>(gpu, status) &&
         prepare_tables<ShortTable<GROUPS>>(gpu, status) &&
         allow_shared(gpu, analyse_computed_kernel<S, uint8_t, Colour::SINGLE>, bytes, status) &&
         allow_shared(gpu, analyse_computed_kernel<S, uint8_t, Colour::CHROMA>, bytes, status) &&
         allow_shared(gpu, analyse_computed_kernel<S, uint8_t, Colour::RGB>, bytes, status) &&
         allow_shared(gpu, analyse_computed_kernel<S, uint16_t, Colour::SINGLE>, bytes, status) &&
         allow_shared(gpu, analyse_computed_kernel<S, uint16_t, Colour::CHROMA>, bytes, status) &&
         allow_shared(gpu, analyse_computed_kernel<S, uint16_t, Colour::RGB>, bytes, status);
}

} // namespace

bool tensor_prepare_analyse(const Gpu &gpu, CfStatus *status)
{
  return prepare<1>(gpu, status) && prepare<2>(gpu, status);
}

bool tensor_analyse(Queue *queue, const Gpu &gpu, const Pixels &pixels, const Series &series,
                    const Pyramid &pyramid, float top_gain)
{
  const Target target = target_of(pyramid, 1, top_gain);

  return pyramid.groups == 1 ? launch_analyse<1>(queue, gpu, pixels, series, target)
                             : launch_analyse<2>(queue, gpu, pixels, series, target);
}

} // namespace llf
