// Gradients and votes of one row of cells, shared by the two HOG kernels (docs/spec.md 10).
//
// A block of 128 threads covers 16 adjacent cells; each thread handles one row of 8 pixels of one cell and sums
// its votes in private words of shared memory, free of bank conflicts. HOG has a tolerance of 2e-6, so sums may
// be fused and in any order; the angle is rounded as docs/spec.md says.
#pragma once
#define CHANNELS 1
#define VALUE 1
#include "pixels.cuh"

constexpr int CELL = 8;
constexpr int CELLS = 16;
constexpr int THREADS = CELL * CELLS;
constexpr int BINS = 9;
constexpr int VECS_PER_ROW = 35; // one vec before the first cell, one after the last, and one of padding,
                                 // which spreads one vec of 8 rows over all 32 banks
constexpr int ITEMS = (CELL + 2) * VECS_PER_ROW;
constexpr int VECS_PER_THREAD = (ITEMS + THREADS - 1) / THREADS; // vecs that a thread loads

// Square roots of the levels of a row of cells and of one pixel row above and below. The array is padded to a
// multiple of the thread count, so stores need no bounds check.
__shared__ float4 sqrt_levels[VECS_PER_THREAD * THREADS];
__shared__ float sqrt_table[256];

__device__ __forceinline__ int cell_of_thread() { return static_cast<int>(threadIdx.x) / CELL; }

// Swaps rows 0..3 with rows 4..7 in every other group of four cells, so 16-byte reads of eight adjacent cells
// have no bank conflicts.
__device__ __forceinline__ int swizzle(const int cell) { return cell & 4; }

__device__ __forceinline__ int row_of_thread() {
    return static_cast<int>(threadIdx.x) % CELL ^ swizzle(cell_of_thread());
}

__device__ __forceinline__ void load_gamma(const float *const gamma) {
    for (u32 level = threadIdx.x; level < 256; level += THREADS)
        sqrt_table[level] = gamma[level];
}

// Reflect-101 by one pixel. Pixels further out belong to no cell; their value does not matter.
__device__ __forceinline__ int reflect(const int index, const int size) {
    const int back = index < 0 ? -index : index < size ? index : 2 * size - 2 - index;
    return min(max(back, 0), size - 1);
}

// The plane, and the pixels that this thread loads into `sqrt_levels`: the same columns for each row of cells.
struct Reader {
    const u8 *luma;
    int pitch, width, height;
    int row[VECS_PER_THREAD], x[VECS_PER_THREAD]; // row -1 and 8 lie above and below the cells
    bool full[VECS_PER_THREAD];                   // all four pixels lie in the frame and are aligned
};

__device__ __forceinline__ Reader reader_of(const u8 *const luma, const i64 pitch, const int width,
                                            const int height, const int left) {
    Reader reader = {luma, static_cast<int>(pitch), width, height, {}, {}, {}};
#pragma unroll
    for (int i = 0; i < VECS_PER_THREAD; ++i) {
        const int item = static_cast<int>(threadIdx.x) + i * THREADS, row = item / VECS_PER_ROW;
        const int x = left + (item - row * VECS_PER_ROW - 1) * 4;
        reader.row[i] = row - 1;
        reader.x[i] = x;
        reader.full[i] = x >= 0 && x + 4 <= width && is_aligned<4>(luma + x) && pitch % 4 == 0;
    }
    return reader;
}

struct Prefetched {
    u32 vecs[VECS_PER_THREAD];
};

// Load the pixels of the row of cells that begins at row `top`.
__device__ __forceinline__ Prefetched prefetch_pixels(const Reader &reader, const int top) {
    Prefetched prefetched;
#pragma unroll
    for (int i = 0; i < VECS_PER_THREAD; ++i) {
        const int x = reader.x[i], width = reader.width, y = reflect(top + reader.row[i], reader.height);
        const u8 *const row = reader.luma + static_cast<i64>(y) * reader.pitch;
        prefetched.vecs[i] = reader.full[i] ? *reinterpret_cast<const u32 *>(row + x)
                                            : pack(row[reflect(x, width)], row[reflect(x + 1, width)],
                                                   row[reflect(x + 2, width)], row[reflect(x + 3, width)]);
    }
    return prefetched;
}

__device__ __forceinline__ void store_sqrt_levels(const Prefetched &prefetched) {
#pragma unroll
    for (int i = 0; i < VECS_PER_THREAD; ++i) {
        const u32 word = prefetched.vecs[i];
        sqrt_levels[threadIdx.x + i * THREADS] =
            make_float4(sqrt_table[byte_of(word, 0)], sqrt_table[byte_of(word, 1)],
                        sqrt_table[byte_of(word, 2)], sqrt_table[byte_of(word, 3)]);
    }
}

__device__ __forceinline__ void load_row(float *const values, const float4 *const cell) {
    const float4 a = cell[0], b = cell[1];
    values[0] = a.x, values[1] = a.y, values[2] = a.z, values[3] = a.w;
    values[4] = b.x, values[5] = b.y, values[6] = b.z, values[7] = b.w;
}

// sqrt(dx * dx + dy * dy), accurate to a few ULP; 0 for 0.
__device__ __forceinline__ float magnitude_of(const float dx, const float dy) {
    const float square = __fmaf_rn(dx, dx, dy * dy);
    return square * rsqrtf(square + 1e-30f);
}

// Orientation of a gradient in bins of 20 degrees over 180 degrees: -0.5 to 8.5.
__device__ __forceinline__ float position_of(const float dx, const float dy) {
    const float across = fabsf(dx), along = fabsf(dy), smaller = fminf(across, along);
    const float divisor = fmaxf(across, along) + 0x1p-52f, inverse = __fdividef(1.0f, divisor);
    const float rough = smaller * inverse;
    const float c = __fmaf_rn(__fmaf_rn(-rough, divisor, smaller), inverse, rough);
    const float c2 = c * c;
    float angle =
        (((-0x1.4515b2p+1f * c2 + 0x1.1d3f7ep+3f) * c2 + -0x1.2aaddcp+4f) * c2 + 0x1.ca44dep+5f) * c;
    angle = along > across ? 90.0f - angle : angle;
    angle = dx < 0.0f ? 180.0f - angle : angle;
    angle = dy < 0.0f ? 360.0f - angle : angle;
    const float position = angle * 0x1.1df46ap-6f * 0x1.6eb168p+1f - 0.5f;
    return position >= 8.5f ? position - 9.0f : position;
}

// Votes of one gradient for two adjacent bins.
struct Vote {
    int bin, next;
    float first, second;
};

__device__ __forceinline__ Vote vote_of(const float dx, const float dy) {
    // Adding 1.5 * 2^23 leaves an integer in the low bits. The rounding of ties does not matter here.
    constexpr float SHIFT = 12582912.0f;
    const float position = position_of(dx, dy), magnitude = magnitude_of(dx, dy);
    const float shifted = (position - 0.5f) + SHIFT;
    const float share = position - (shifted - SHIFT);
    const int below = static_cast<int>(__float_as_uint(shifted)) - 0x4b400000;
    const float second = magnitude * share;
    return {below < 0 ? BINS - 1 : below, below == BINS - 1 ? 0 : below + 1, magnitude - second, second};
}

// Call `take(pixel, vote)` for each of this thread's 8 pixels.
template <class Take> __device__ __forceinline__ void vote(const Take take) {
    const float4 *const centre =
        &sqrt_levels[(row_of_thread() + 1) * VECS_PER_ROW + cell_of_thread() * 2 + 1];
    float above[CELL], row[CELL + 2], below[CELL];
    load_row(above, centre - VECS_PER_ROW);
    load_row(row + 1, centre);
    load_row(below, centre + VECS_PER_ROW);
    row[0] = centre[-1].w;
    row[CELL + 1] = centre[2].x;
#pragma unroll
    for (int j = 0; j < CELL; ++j)
        take(j, vote_of(row[j + 2] - row[j], below[j] - above[j]));
}
