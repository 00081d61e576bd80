// Maps a deep frame through CLAHE's grid of LUTs, blended between tile centres (spec 4.5, 8, 9).
//
// Between four tile centres the four LUTs are the same for every pixel: they are put side by side, so that
// one look-up finds all four.
//
// Launch: grid (columns + 1, rows + 1, parts of a rectangle), 512 threads: each takes four columns (a quad)
// and every so many rows of a part. Shared memory: the four LUTs, up to 12 bits: at most 32,768 bytes.
// Deeper ones are read where they lie.
//
//   pixels   (height, width) u16, rows `pitch` bytes apart
//   luts     (rows, columns, 2^BITS) u16, or u8 for a display
//   edges, blend, part_height: as in apply_clahe
//   enhanced (height, width) of the LUTs' type, rows `enhanced_pitch` bytes apart
//
// Defines: BITS, SHIFT (words.cuh); SHOWN 8 or 16, the bits of a shown sample; RAISE, how far it is shifted up.
// Every operation is rounded on its own, in the order of the spec; no fused multiply-add.
#include "words.cuh"

#if SHOWN == 8
using Sample = u8;
#else
using Sample = u16;
#endif

constexpr int THREADS = 512;
constexpr int QUAD = 4;
constexpr bool SHARED = BITS <= 12;

struct alignas(QUAD * sizeof(Sample)) Quad {
    Sample
        at[QUAD]; // pixels, or what four LUTs make of one: upper left, upper right, lower left, lower right
};

struct Corners {
    const Sample *upper_left, *upper_right, *lower_left, *lower_right;

    __device__ __forceinline__ Quad at(const u32 level) const {
        return {{upper_left[level], upper_right[level], lower_left[level], lower_right[level]}};
    }
};

__shared__ Quad levels[SHARED ? LEVELS : 1];

__device__ __forceinline__ Corners corners_of(const Sample *const luts, const int columns, const int rows) {
    const int column = static_cast<int>(blockIdx.x), row = static_cast<int>(blockIdx.y);
    const i64 left = max(column - 1, 0), right = min(column, columns - 1);
    const i64 upper = static_cast<i64>(max(row - 1, 0)) * columns;
    const i64 lower = static_cast<i64>(min(row, rows - 1)) * columns;
    return {luts + (upper + left) * LEVELS, luts + (upper + right) * LEVELS, luts + (lower + left) * LEVELS,
            luts + (lower + right) * LEVELS};
}

// A level as a float: the mantissa of 2^23 + level.
__device__ __forceinline__ float float_of(const u32 level) {
    return __fsub_rn(__uint_as_float(0x4b000000u | level), 8388608.0f);
}

__device__ __forceinline__ float blend(const float a, const float b, const float2 shares) {
    return __fadd_rn(__fmul_rn(a, shares.x), __fmul_rn(b, shares.y));
}

__device__ __forceinline__ Sample mapped(const Corners &corners, const u32 word, const float2 across,
                                         const float2 down) {
    const u32 level = level_of_word(word);
    const Quad four = SHARED ? levels[level] : corners.at(level);
    const float upper = blend(float_of(four.at[0]), float_of(four.at[1]), across);
    const float lower = blend(float_of(four.at[2]), float_of(four.at[3]), across);
    // Adding 2^23 rounds half to even and leaves the level in the low bits.
    return static_cast<Sample>((__float_as_uint(__fadd_rn(blend(upper, lower, down), 8388608.0f)) & 0xffffu)
                               << RAISE);
}

extern "C" __global__ void __launch_bounds__(THREADS, 2)
    words_clahe(const u8 *const __restrict__ pixels, const i64 pitch, const int width, const int height,
                const Sample *const __restrict__ luts, const int *const __restrict__ edges_x,
                const float2 *const __restrict__ blend_x, const int *const __restrict__ edges_y,
                const float2 *const __restrict__ blend_y, const int columns, const int rows,
                const int part_height, u8 *const __restrict__ enhanced, const i64 enhanced_pitch) {
    const int left = edges_x[blockIdx.x], right = edges_x[blockIdx.x + 1];
    const int top = edges_y[blockIdx.y] + static_cast<int>(blockIdx.z) * part_height;
    const int bottom = min(top + part_height, edges_y[blockIdx.y + 1]);
    if (left >= right || top >= bottom)
        return;
    const Corners corners = corners_of(luts, columns, rows);
    if constexpr (SHARED) {
        for (int level = static_cast<int>(threadIdx.x); level < LEVELS; level += THREADS)
            levels[level] = corners.at(static_cast<u32>(level));
        __syncthreads();
    }

    const u8 *const origin = pixels + top * pitch + static_cast<i64>(left) * 2;
    const int start = left - (QUAD - lead_words<QUAD>(origin)) % QUAD;
    const int quads = min((right - start + QUAD - 1) / QUAD, THREADS);
    const int thread = static_cast<int>(threadIdx.x), row = thread / quads, step = THREADS / quads;
    if (row >= step)
        return;
    for (int x = start + (thread - row * quads) * QUAD; x < right; x += quads * QUAD) {
        float2 across[QUAD];
#pragma unroll
        for (int k = 0; k < QUAD; ++k)
            across[k] = blend_x[min(max(x + k, 0), width - 1)];
#pragma unroll 1
        for (int y = top + row; y < bottom; y += step) {
            const u8 *const from = pixels + y * pitch;
            Sample *const to = reinterpret_cast<Sample *>(enhanced + y * enhanced_pitch);
            const float2 down = blend_y[y];
            if (x >= left && x + QUAD <= right && is_aligned<8>(from + 2 * x) &&
                is_aligned<sizeof(Quad)>(to + x)) {
                const uint2 words = *reinterpret_cast<const uint2 *>(from + 2 * x);
                const u32 pairs[] = {words.x, words.y};
                Quad quad;
#pragma unroll
                for (int k = 0; k < QUAD; ++k)
                    quad.at[k] = mapped(corners, half_of(pairs[k / 2], k % 2), across[k], down);
                *reinterpret_cast<Quad *>(to + x) = quad;
            } else {
#pragma unroll
                for (int k = 0; k < QUAD; ++k)
                    if (x + k >= left && x + k < right)
                        to[x + k] = mapped(corners, word_at(from, x + k), across[k], down);
            }
        }
    }
}
