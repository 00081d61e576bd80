// CLAHE for frames of 10 to 16 bits: applies the grid of LUTs with bilinear interpolation (docs/spec.md 4.5, 8, 9).
//
// All pixels between four tile centres use the same four LUTs. Each block interleaves them in shared memory, so
// one lookup returns all four entries.
//
// Launch: grid (columns + 1, rows + 1, parts of a rectangle), 512 threads: each handles four
// adjacent columns (a vec) of every n-th row of a part.
// Shared memory: up to 12 bits the four LUTs, at most 32,768 bytes; LUTs of more bits are read from global memory.
//
//   pixels   (height, width) u16, rows `pitch` bytes apart
//   luts     (rows, columns, 2^BITS) u16, or u8 for 8-bit output
//   edges, blend, part_height: as in apply_clahe
//   enhanced (height, width) of the LUTs' type, rows `enhanced_pitch` bytes apart
//   decision (2) of scene_cut or null: nothing happens if the first is 0
//
// Defines: BITS, SHIFT (u16.cuh); OUT_BITS 8 or 16, the bits of an output sample; OUT_SHIFT, its left shift.
// Each operation is rounded separately, in the order of docs/spec.md: no fused multiply-add.
#include "u16.cuh"

constexpr int THREADS = 512;
constexpr int VEC = 4;
constexpr int BATCH = 2;   // rows loaded before the first one is used
constexpr int LUT_VEC = 8; // adjacent LUT entries per load
constexpr bool SHARED = BITS <= 12;

struct alignas(VEC * sizeof(OutSample)) Vec4 {
    OutSample
        at[VEC]; // four pixels, or the entries of four LUTs: upper left, upper right, lower left, lower right
};

struct Corners {
    const OutSample *upper_left, *upper_right, *lower_left, *lower_right;

    __device__ __forceinline__ Vec4 at(const u32 level) const {
        return {{upper_left[level], upper_right[level], lower_left[level], lower_right[level]}};
    }
};

struct alignas(LUT_VEC * sizeof(OutSample)) LutVec {
    OutSample at[LUT_VEC];
};

__shared__ Vec4 levels[SHARED ? LEVELS : 1];

__device__ __forceinline__ LutVec load_lut_vec(const OutSample *const lut, const int level) {
    return *reinterpret_cast<const LutVec *>(lut + level);
}

__device__ __forceinline__ void load_luts(const Corners &corners) {
    for (int level = static_cast<int>(threadIdx.x) * LUT_VEC; level < LEVELS; level += THREADS * LUT_VEC) {
        const LutVec a = load_lut_vec(corners.upper_left, level),
                     b = load_lut_vec(corners.upper_right, level);
        const LutVec c = load_lut_vec(corners.lower_left, level),
                     d = load_lut_vec(corners.lower_right, level);
#pragma unroll
        for (int k = 0; k < LUT_VEC; ++k)
            levels[level + k] = {{a.at[k], b.at[k], c.at[k], d.at[k]}};
    }
    __syncthreads();
}

__device__ __forceinline__ Corners corners_of(const OutSample *const luts, const int columns,
                                              const int rows) {
    const int column = static_cast<int>(blockIdx.x), row = static_cast<int>(blockIdx.y);
    const i64 left = max(column - 1, 0), right = min(column, columns - 1);
    const i64 upper = static_cast<i64>(max(row - 1, 0)) * columns;
    const i64 lower = static_cast<i64>(min(row, rows - 1)) * columns;
    return {luts + (upper + left) * LEVELS, luts + (upper + right) * LEVELS, luts + (lower + left) * LEVELS,
            luts + (lower + right) * LEVELS};
}

// Convert a level to float through the mantissa of 2^23 + level.
__device__ __forceinline__ float float_of(const u32 level) {
    return __fsub_rn(__uint_as_float(0x4b000000u | level), 8388608.0f);
}

__device__ __forceinline__ float blend(const float a, const float b, const float2 shares) {
    return __fadd_rn(__fmul_rn(a, shares.x), __fmul_rn(b, shares.y));
}

__device__ __forceinline__ OutSample mapped(const Corners &corners, const u32 sample, const float2 across,
                                            const float2 down) {
    const u32 level = level_of_sample(sample);
    const Vec4 four = SHARED ? levels[level] : corners.at(level);
    const float upper = blend(float_of(four.at[0]), float_of(four.at[1]), across);
    const float lower = blend(float_of(four.at[2]), float_of(four.at[3]), across);
    // Adding 2^23 rounds half to even and leaves the level in the low bits.
    return static_cast<OutSample>(
        (__float_as_uint(__fadd_rn(blend(upper, lower, down), 8388608.0f)) & 0xffffu) << OUT_SHIFT);
}

// Every `step`-th row of one vec of columns: source, destination, and vertical weights.
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
                Vec4 vec;
#pragma unroll
                for (int k = 0; k < VEC; ++k)
                    vec.at[k] = mapped(corners, u16_of(pairs[k / 2], k % 2), across[k], down[i]);
                *reinterpret_cast<Vec4 *>(rows.to) = vec;
                rows.to += rows.to_pitch;
            }
    }
}

// Pixels first..last-1 of the vec, unaligned.
__device__ __forceinline__ void map_some_rows(const Corners &corners, Rows rows, const float2 *const across,
                                              const int first, const int last) {
#pragma unroll 1
    for (; rows.count > 0; --rows.count) {
        OutSample *const to = reinterpret_cast<OutSample *>(rows.to);
#pragma unroll
        for (int k = 0; k < VEC; ++k)
            if (k >= first && k < last)
                to[k] = mapped(corners, sample_at(rows.from, k), across[k], *rows.down);
        rows.from += rows.pitch;
        rows.to += rows.to_pitch;
        rows.down += rows.step;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 2)
    u16_apply_clahe(const u8 *const __restrict__ pixels, const i64 pitch, const int width, const int height,
                    const OutSample *const __restrict__ luts, const int *const __restrict__ edges_x,
                    const float2 *const __restrict__ blend_x, const int *const __restrict__ edges_y,
                    const float2 *const __restrict__ blend_y, const int columns, const int rows,
                    const int part_height, u8 *const __restrict__ enhanced, const i64 enhanced_pitch,
                    const int *const __restrict__ decision) {
    if (decision != nullptr && !decision[0])
        return;
    const int left = edges_x[blockIdx.x], right = edges_x[blockIdx.x + 1];
    const int top = edges_y[blockIdx.y] + static_cast<int>(blockIdx.z) * part_height;
    const int bottom = min(top + part_height, edges_y[blockIdx.y + 1]);
    if (left >= right || top >= bottom)
        return;
    const Corners corners = corners_of(luts, columns, rows);
    if constexpr (SHARED)
        load_luts(corners);

    const u8 *const origin = pixels + top * pitch + static_cast<i64>(left) * 2;
    const int start = left - (VEC - lead_samples<VEC>(origin)) % VEC;
    const int vecs = min((right - start + VEC - 1) / VEC, THREADS);
    const int thread = static_cast<int>(threadIdx.x), row = thread / vecs, step = THREADS / vecs;
    if (row >= step)
        return;
    const int y = top + row, count = (bottom - y + step - 1) / step;
    for (int x = start + (thread - row * vecs) * VEC; x < right; x += vecs * VEC) {
        float2 across[VEC];
#pragma unroll
        for (int k = 0; k < VEC; ++k)
            across[k] = blend_x[min(max(x + k, 0), width - 1)];
        const Rows own = {pixels + y * pitch + static_cast<i64>(x) * 2,
                          step * pitch,
                          enhanced + y * enhanced_pitch + x * static_cast<i64>(sizeof(OutSample)),
                          step * enhanced_pitch,
                          blend_y + y,
                          step,
                          count};
        const i64 out = reinterpret_cast<i64>(own.to) | enhanced_pitch;
        const bool aligned =
            (reinterpret_cast<i64>(own.from) | pitch) % 8 == 0 && out % static_cast<i64>(sizeof(Vec4)) == 0;
        if (x >= left && x + VEC <= right && aligned)
            map_whole_rows(corners, own, across);
        else
            map_some_rows(corners, own, across, left - x, right - x);
    }
}
