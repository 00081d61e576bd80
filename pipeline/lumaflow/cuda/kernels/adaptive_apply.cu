// Maps a frame: removes haze, multiplies by the gain of the place and the level, stores (docs/spec.md 16.8, 17.8).
//
// Launch: any number of blocks of 256 threads, a block a row at a time, a thread four pixels. Shared memory: 4 KB.
//
//   pixels     (height, width) of the raw frame that are mapped, rows `pitch` bytes apart
//   filtered, history (height, row_samples) i16, of adaptive_filter, where the decision has filtered the frame
//   decision   of adaptive_decide; gains (16, 16, KNOTS), the mapping in use; saturation (256)
//   cells_x, cells_y: of each column and row, padded to whole fours: left cell, and the weight of the next, of 256
//   haze_gains (tiles); haze_x, haze_y: of each column and row: first tile, second, and the weights of both
//   enhanced   (height, width), rows `enhanced_pitch` bytes apart
//   luma       (height, width) u8, rows `luma_pitch` bytes apart, if LUMA: the 8-bit luma of the enhanced frame
//   origin_x, origin_y: of `pixels` in the frame
//   chroma_gains, chroma_haze (chroma rows, chroma_columns) i16 and float: gain and haze gain of the chroma samples
//
// Defines: those of adaptive_levels.cuh; OUT_SHIFT; LUMA 0 or 1; CHROMA_ROWS, luma rows of a row of chroma, or 0.
#include "adaptive.cuh"
#include "adaptive_levels.cuh"
#include "adaptive_vec.cuh"

using i16 = short;

#if OUT_BITS == 8
using Out = u8;
#else
using Out = u16;
#endif

constexpr int THREADS = 256, PAIRS = 32;
constexpr int CHROMA_STEP = CHROMA_ROWS > 0 ? CHROMA_ROWS : 1;
constexpr bool KEEPS_RAW = CHANNELS == 2 || CHANNELS == 4; // samples that are not mapped

__shared__ u32 pairs[CELLS][PAIRS]; // gains of knots k and k + 1 of the row
__shared__ float row_haze[TILES];
__shared__ int factors[256];

// Interpolate the gains of two rows of cells.
__device__ __forceinline__ void make_row(const int *const gains, const uint2 axis, const bool haze,
                                         const float *const haze_gains, const int tile_columns,
                                         const uint4 haze_axis) {
    const int weight = static_cast<int>(axis.y);
    const int *const above = gains + static_cast<int>(axis.x) * CELLS * KNOTS;
    for (int i = static_cast<int>(threadIdx.x); i < CELLS * PAIRS; i += THREADS) {
        const int *const up = above + i / PAIRS * KNOTS + i % PAIRS, *const down = up + CELLS * KNOTS;
        const int low = (up[0] * (256 - weight) + down[0] * weight + 128) >> 8;
        const int high = (up[1] * (256 - weight) + down[1] * weight + 128) >> 8;
        pairs[i / PAIRS][i % PAIRS] = static_cast<u32>(low) | static_cast<u32>(high) << 16;
    }
    const int tile = static_cast<int>(threadIdx.x);
    if (haze && tile < tile_columns)
        row_haze[tile] =
            haze_gains[static_cast<int>(haze_axis.x) * tile_columns + tile] * __uint_as_float(haze_axis.z) +
            haze_gains[static_cast<int>(haze_axis.y) * tile_columns + tile] * __uint_as_float(haze_axis.w);
}

__device__ __forceinline__ int gain_of(const int value, const uint2 axis) {
    const int knot = value >> 10, part = (value >> 3) & 127, weight = static_cast<int>(axis.y);
    const u32 left = pairs[axis.x][knot], right = pairs[axis.x + 1][knot];
    const int low =
        static_cast<int>(left & 0xffffu) * (256 - weight) + static_cast<int>(right & 0xffffu) * weight;
    const int high = static_cast<int>(left >> 16) * (256 - weight) + static_cast<int>(right >> 16) * weight;
    return ((low >> 4) * (128 - part) + (high >> 4) * part + 1024) >> 11;
}

__device__ __forceinline__ float haze_gain_of(const uint4 axis) {
    return row_haze[axis.x] * __uint_as_float(axis.z) + row_haze[axis.y] * __uint_as_float(axis.w);
}

// Luma by the gain, differences from luma by at most 2.
__device__ __forceinline__ void remove_haze(int *const sample, const float gain, const Decision &chosen) {
    if constexpr (COLORS == 3) {
        const float luma = static_cast<float>(luma_of(sample[0], sample[1], sample[2]));
        const float color = fminf(gain, 2.0f), extra = (luma - chosen.luma_airlight) * (gain - color);
#pragma unroll
        for (int c = 0; c < 3; ++c)
            sample[c] = hazeless(sample[c], chosen.airlight[c], color, extra, 32640);
    } else {
        const float airlight = chosen.airlight[0];
        const float moved = (static_cast<float>(sample[0]) - airlight) * gain + airlight;
        sample[0] = min(max(__float2int_rn(moved), 0), sample_of(MAX_CODE));
    }
}

// A colour less black: saturation about the luma first, then the gain.
__device__ __forceinline__ int colored(const int value, const int luma, const int factor, const int gain) {
    const int level = ((luma + (((value - luma) * factor + 128) >> 8)) * gain + 512) >> 10;
    return (min(max(level, 0), 32640) + 64) >> 7;
}

extern "C" __global__ void __launch_bounds__(THREADS, 4)
    adaptive_apply(const u8 *const __restrict__ pixels, const i64 pitch, const int width, const int height,
                   const i16 *const __restrict__ filtered, const i16 *const __restrict__ history,
                   const i64 row_samples, const Decision *const __restrict__ decision,
                   const int *const __restrict__ gains, const int *const __restrict__ saturation,
                   const uint2 *const __restrict__ cells_x, const uint2 *const __restrict__ cells_y,
                   const float *const __restrict__ haze_gains, const int tile_columns,
                   const uint4 *const __restrict__ haze_x, const uint4 *const __restrict__ haze_y,
                   u8 *const __restrict__ enhanced, const i64 enhanced_pitch, u8 *const __restrict__ luma,
                   const i64 luma_pitch, const int origin_x, const int origin_y,
                   i16 *const __restrict__ chroma_gains, float *const __restrict__ chroma_haze,
                   const int chroma_columns) {
    const Decision chosen = *decision;
    const i16 *const source = chosen.temporal ? history : chosen.spatial ? filtered : nullptr;
    factors[threadIdx.x] = saturation[threadIdx.x];
    for (int y = static_cast<int>(blockIdx.x); y < height; y += static_cast<int>(gridDim.x)) {
        __syncthreads();
        make_row(gains, cells_y[y], chosen.haze, haze_gains, tile_columns,
                 chosen.haze ? haze_y[y] : make_uint4(0, 0, 0, 0));
        __syncthreads();
        const Raw *const from = reinterpret_cast<const Raw *>(pixels + y * pitch);
        Out *const to = reinterpret_cast<Out *>(enhanced + y * enhanced_pitch);
        for (int x = static_cast<int>(threadIdx.x) * VEC; x < width; x += THREADS * VEC) {
            const int count = min(width - x, VEC);
            Vec<Raw> raw = {};
            if (KEEPS_RAW || source == nullptr)
                raw = load(from + x * CHANNELS, count);
            u32 words[VEC * COLORS / 2] = {};
            if (source != nullptr) {
                const uint2 *const at =
                    reinterpret_cast<const uint2 *>(source + y * row_samples + x * COLORS);
#pragma unroll
                for (int i = 0; i < COLORS; ++i) {
                    const uint2 word = at[i];
                    words[2 * i] = word.x;
                    words[2 * i + 1] = word.y;
                }
            }
            const uint4 *const cells = reinterpret_cast<const uint4 *>(cells_x + x);
            const uint4 cell_pairs[] = {cells[0], cells[1]};
            Vec<Out> out = {};
#pragma unroll
            for (int k = 0; k < VEC; ++k) {
                int sample[COLORS];
#pragma unroll
                for (int c = 0; c < COLORS; ++c) {
                    const int i = k * COLORS + c;
                    sample[c] = source != nullptr
                                    ? static_cast<int>(words[i / 2] >> (i % 2 * 16) & 0xffffu)
                                    : sample_of(code_of(static_cast<Raw>(raw.get(index_of(k, c)))));
                }
                float haze_gain = 1.0f;
                if (chosen.haze) {
                    haze_gain = haze_gain_of(haze_x[x + k]);
                    remove_haze(sample, haze_gain, chosen);
                }
                int value = sample[0];
                if constexpr (COLORS == 3)
                    value = max(value, max(sample[1], sample[2]));
                value = max(value - chosen.offset, 0);
                const uint4 two = cell_pairs[k / 2];
                const int gain = gain_of(value, k % 2 ? make_uint2(two.z, two.w) : make_uint2(two.x, two.y));
                if constexpr (COLORS == 3) {
                    const int b = max(sample[0] - chosen.offset, 0), g = max(sample[1] - chosen.offset, 0);
                    const int r = max(sample[2] - chosen.offset, 0), factor = factors[value >> 7];
                    const int own = luma_of(b, g, r);
                    const int levels[] = {colored(b, own, factor, gain), colored(g, own, factor, gain),
                                          colored(r, own, factor, gain)};
#pragma unroll
                    for (int c = 0; c < 3; ++c)
                        out.add(index_of(k, c), levels[c]);
                    if constexpr (CHANNELS == 4)
                        out.add(CHANNELS * k + 3, raw.get(CHANNELS * k + 3));
                    if (LUMA && k < count)
                        luma[y * luma_pitch + x + k] =
                            static_cast<u8>(luma_of(levels[0], levels[1], levels[2]));
                } else {
                    int level = level_of<OUT_BITS, OUT_LIMITED>(value, gain);
                    if constexpr (NATIVE)
                        if (chosen.native)
                            level = native_level(raw.get(k), chosen.offset, gain);
                    out.add(index_of(k, 0), level << OUT_SHIFT);
                    if constexpr (CHANNELS == 2)
                        out.add(CHANNELS * k + 1 - CHANNEL, raw.get(CHANNELS * k + 1 - CHANNEL));
                    if (LUMA && k < count)
                        luma[y * luma_pitch + x + k] = static_cast<u8>(level_of<8, OUT_LIMITED>(value, gain));
                }
                if constexpr (CHROMA_ROWS > 0)
                    if ((y + origin_y) % CHROMA_STEP == 0 && (x + k + origin_x) % 2 == 0 && k < count) {
                        const i64 at = static_cast<i64>((y + origin_y) / CHROMA_STEP) * chroma_columns +
                                       (x + k + origin_x) / 2;
                        chroma_gains[at] =
                            static_cast<i16>(min((gain * factors[value >> 7] + 128) >> 8, 4096));
                        if (chosen.haze)
                            chroma_haze[at] = fminf(haze_gain, 2.0f);
                    }
            }
            store(to + x * CHANNELS, out, count);
        }
    }
}
