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

constexpr int THREADS = 512;
constexpr int QUAD = 4;
constexpr int BATCH = 2; // rows whose loads are under way at a time
constexpr int EIGHT = 8; // levels whose LUT entries are read together
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

struct alignas(EIGHT * sizeof(Sample)) Eight {
    Sample at[EIGHT];
};

__shared__ Quad levels[SHARED ? LEVELS : 1];

__device__ __forceinline__ Eight eight_at(const Sample *const lut, const int level) {
    return *reinterpret_cast<const Eight *>(lut + level);
}

__device__ __forceinline__ void load_luts(const Corners &corners) {
    for (int level = static_cast<int>(threadIdx.x) * EIGHT; level < LEVELS; level += THREADS * EIGHT) {
        const Eight a = eight_at(corners.upper_left, level), b = eight_at(corners.upper_right, level);
        const Eight c = eight_at(corners.lower_left, level), d = eight_at(corners.lower_right, level);
#pragma unroll
        for (int k = 0; k < EIGHT; ++k)
            levels[level + k] = {{a.at[k], b.at[k], c.at[k], d.at[k]}};
    }
    __syncthreads();
}

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

// Some rows of one quad of columns: where they are read and written, and the blend of each.
struct Rows {
    const u8 *from;
    i64 pitch;
    u8 *to;
    i64 to_pitch;
    const float2 *down;
    int step, count;
};

__device__ __forceinline__ void map_whole_rows(const Corners &corners, Rows rows,
                                               const float2 *const across) {
#pragma unroll 1
    for (; rows.count > 0; rows.count -= BATCH) {
        uint2 words[BATCH];
        float2 down[BATCH];
#pragma unroll
        for (int i = 0; i < BATCH; ++i)
            if (i < rows.count) {
                words[i] = *reinterpret_cast<const uint2 *>(rows.from);
                down[i] = *rows.down;
                rows.from += rows.pitch;
                rows.down += rows.step;
            }
#pragma unroll
        for (int i = 0; i < BATCH; ++i)
            if (i < rows.count) {
                const u32 pairs[] = {words[i].x, words[i].y};
                Quad quad;
#pragma unroll
                for (int k = 0; k < QUAD; ++k)
                    quad.at[k] = mapped(corners, half_of(pairs[k / 2], k % 2), across[k], down[i]);
                *reinterpret_cast<Quad *>(rows.to) = quad;
                rows.to += rows.to_pitch;
            }
    }
}

// Pixels first..last-1 of the quad, at any address.
__device__ __forceinline__ void map_some_rows(const Corners &corners, Rows rows, const float2 *const across,
                                              const int first, const int last) {
#pragma unroll 1
    for (; rows.count > 0; --rows.count) {
        Sample *const to = reinterpret_cast<Sample *>(rows.to);
#pragma unroll
        for (int k = 0; k < QUAD; ++k)
            if (k >= first && k < last)
                to[k] = mapped(corners, word_at(rows.from, k), across[k], *rows.down);
        rows.from += rows.pitch;
        rows.to += rows.to_pitch;
        rows.down += rows.step;
    }
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
    if constexpr (SHARED)
        load_luts(corners);

    const u8 *const origin = pixels + top * pitch + static_cast<i64>(left) * 2;
    const int start = left - (QUAD - lead_words<QUAD>(origin)) % QUAD;
    const int quads = min((right - start + QUAD - 1) / QUAD, THREADS);
    const int thread = static_cast<int>(threadIdx.x), row = thread / quads, step = THREADS / quads;
    if (row >= step)
        return;
    const int y = top + row, count = (bottom - y + step - 1) / step;
    for (int x = start + (thread - row * quads) * QUAD; x < right; x += quads * QUAD) {
        float2 across[QUAD];
#pragma unroll
        for (int k = 0; k < QUAD; ++k)
            across[k] = blend_x[min(max(x + k, 0), width - 1)];
        const Rows own = {pixels + y * pitch + static_cast<i64>(x) * 2,
                          step * pitch,
                          enhanced + y * enhanced_pitch + x * static_cast<i64>(sizeof(Sample)),
                          step * enhanced_pitch,
                          blend_y + y,
                          step,
                          count};
        const i64 out = reinterpret_cast<i64>(own.to) | enhanced_pitch;
        const bool aligned =
            (reinterpret_cast<i64>(own.from) | pitch) % 8 == 0 && out % static_cast<i64>(sizeof(Quad)) == 0;
        if (x >= left && x + QUAD <= right && aligned)
            map_whole_rows(corners, own, across);
        else
            map_some_rows(corners, own, across, left - x, right - x);
    }
}
