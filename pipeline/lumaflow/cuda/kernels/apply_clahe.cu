// CLAHE for 8-bit frames: applies the grid of LUTs with bilinear interpolation (docs/spec.md 4.5, 9).
//
// All pixels between four tile centres use the same four LUTs. Each block interleaves them in shared memory, so
// one lookup returns all four entries.
//
// Launch: grid (columns + 1, rows + 1, parts of a rectangle), 256 threads: each handles four
// adjacent columns (a vec) of every n-th row of a part.
// Shared memory: 2,048 bytes: the LUTs as bfloat16, which represents 0..255 exactly and is the upper half of a float.
//
//   pixels, enhanced (height, width[, CHANNELS]) u8, rows `pitch` and `enhanced_pitch` bytes apart
//   luts             (rows, columns, 256)
//   edges_x          (columns + 2): rectangle k covers columns edges_x[k] .. edges_x[k + 1] - 1
//   blend_x          (width): weights of the left LUT (x) and of the right LUT (y); likewise for rows
//   luma             (height, width) u8, the enhanced luma, if LUMA
//   decision (2) of scene_cut or null: nothing happens if the first is 0
//
// Defines: CHANNELS, VALUE, CHANNEL (pixels.cuh), COPY 0, LUMA (vec4.cuh).
// Each operation is rounded separately, in the order of docs/spec.md: no fused multiply-add.
#include "vec4.cuh"

constexpr int THREADS = 256;
constexpr int BATCH = CHANNELS == 1 ? 4 : 2; // rows loaded before the first one is used

__shared__ uint2 levels[256]; // x: upper left (low half) and right, y: lower left and right

__device__ __forceinline__ u32 pair(const u8 left, const u8 right) {
    return __byte_perm(__float_as_uint(left), __float_as_uint(right), 0x7632);
}

__device__ __forceinline__ void load_luts(const u8 *const luts, const int columns, const int rows) {
    const int column = static_cast<int>(blockIdx.x), row = static_cast<int>(blockIdx.y);
    const u8 *const left = luts + max(column - 1, 0) * 256 + threadIdx.x;
    const u8 *const right = luts + min(column, columns - 1) * 256 + threadIdx.x;
    const int upper = max(row - 1, 0) * columns * 256, lower = min(row, rows - 1) * columns * 256;
    levels[threadIdx.x] = make_uint2(pair(left[upper], right[upper]), pair(left[lower], right[lower]));
}

__device__ __forceinline__ float blend(const float a, const float b, const float2 weights) {
    return __fadd_rn(__fmul_rn(a, weights.x), __fmul_rn(b, weights.y));
}

__device__ __forceinline__ float blend(const u32 both, const float2 weights) {
    return blend(__uint_as_float(both << 16), __uint_as_float(both & 0xffff0000u), weights);
}

// Pointers to one vec of one row; Step holds the distances to the next row.
struct Cursor {
    const u8 *pixels;
    u8 *enhanced, *luma;
    const float2 *blend_y;
};

struct Step {
    int pixels, enhanced, luma, rows;
};

__device__ __forceinline__ Cursor after(const Cursor &cursor, const Step &step, const int steps) {
    return {cursor.pixels + steps * static_cast<i64>(step.pixels),
            cursor.enhanced + steps * static_cast<i64>(step.enhanced),
            cursor.luma + steps * static_cast<i64>(step.luma), cursor.blend_y + steps * step.rows};
}

// Map pixels first..last-1 of a vec in `rows` rows that are one step apart. FULL: all four pixels are mapped
// and every address is a multiple of 4.
template <bool FULL>
__device__ __forceinline__ void map_rows(Cursor cursor, const Step &step, const int rows, const int first,
                                         const int last, const float2 *const weights) {
    for (int done = 0; done < rows; done += BATCH) {
        Vec4 raw[BATCH];
        float2 weights_y[BATCH];
#pragma unroll
        for (int i = 0; i < BATCH; ++i)
            if (done + i < rows) {
                const Cursor here = after(cursor, step, i);
                raw[i] = FULL ? load_vec4(here.pixels) : load_partial(here.pixels, first, last);
                weights_y[i] = *here.blend_y;
            }
#pragma unroll
        for (int i = 0; i < BATCH; ++i)
            if (done + i < rows) {
                const auto blended = [&](const int k, const u32 level) {
                    const uint2 both = levels[level];
                    return round_half_even(
                        blend(blend(both.x, weights[k]), blend(both.y, weights[k]), weights_y[i]));
                };
                u32 lumas = 0;
                const Vec4 vec = map_vec4(raw[i], blended, lumas);
                if constexpr (FULL) {
                    store_vec4<CHANNELS>(cursor.enhanced, vec.words);
                    if constexpr (LUMA)
                        store_vec4<1>(cursor.luma, &lumas);
                } else {
                    store_partial<CHANNELS>(cursor.enhanced, vec.words, first, last);
                    if constexpr (LUMA)
                        store_partial<1>(cursor.luma, &lumas, first, last);
                }
                cursor = after(cursor, step, 1);
            }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    apply_clahe(const u8 *const __restrict__ pixels, const i64 pitch, const int width, const int height,
                const u8 *const __restrict__ luts, const int *const __restrict__ edges_x,
                const float2 *const __restrict__ blend_x, const int *const __restrict__ edges_y,
                const float2 *const __restrict__ blend_y, const int columns, const int rows,
                const int part_height, u8 *const __restrict__ enhanced, const i64 enhanced_pitch,
                u8 *const __restrict__ luma, const i64 luma_pitch, const int *const __restrict__ decision) {
    if (decision != nullptr && !decision[0])
        return;
    load_luts(luts, columns, rows);
    const int left = edges_x[blockIdx.x], right = edges_x[blockIdx.x + 1];
    const int top = edges_y[blockIdx.y] + static_cast<int>(blockIdx.z) * part_height;
    const int bottom = min(top + part_height, edges_y[blockIdx.y + 1]);
    if (left >= right || top >= bottom)
        return;
    __syncthreads();

    const int lead = lead_pixels<VEC>(pixels + top * pitch + static_cast<i64>(left) * CHANNELS);
    const int start = left - (VEC - lead) % VEC, vecs = min((right - start + VEC - 1) / VEC, THREADS);
    const int thread = static_cast<int>(threadIdx.x), row = thread / vecs, height_of_step = THREADS / vecs;
    if (row >= height_of_step)
        return;
    const int y = top + row, count = (bottom - y + height_of_step - 1) / height_of_step;
    const Step step = {height_of_step * static_cast<int>(pitch),
                       height_of_step * static_cast<int>(enhanced_pitch),
                       height_of_step * static_cast<int>(luma_pitch), height_of_step};
    for (int x = start + (thread - row * vecs) * VEC; x < right; x += vecs * VEC) {
        const i64 offset = static_cast<i64>(x) * CHANNELS;
        const Cursor cursor = {pixels + y * pitch + offset, enhanced + y * enhanced_pitch + offset,
                               luma + y * luma_pitch + x, blend_y + y};
        const i64 all = reinterpret_cast<i64>(cursor.pixels) | reinterpret_cast<i64>(cursor.enhanced) |
                        pitch | enhanced_pitch | (LUMA ? reinterpret_cast<i64>(cursor.luma) | luma_pitch : 0);
        float2 weights[VEC];
#pragma unroll
        for (int k = 0; k < VEC; ++k)
            weights[k] = blend_x[min(max(x + k, 0), width - 1)];
        if (x >= left && x + VEC <= right && all % 4 == 0)
            map_rows<true>(cursor, step, count, 0, VEC, weights);
        else
            map_rows<false>(cursor, step, count, left - x, right - x, weights);
    }
}
