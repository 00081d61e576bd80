// Gradients of one row of cells and their votes, shared by the two HOG kernels (spec 10).
//
// A block of 128 threads covers 16 cells side by side: a thread takes one row of 8 pixels of one cell.
// Every thread adds its votes up in words of its own in shared memory, where lanes never meet in a bank. HOG
// has a tolerance (2e-6), so sums may be fused and in any order; the angle is rounded as the spec says.
#pragma once
#define CHANNELS 1
#define VALUE 1
#include "pixels.cuh"

constexpr int CELL = 8;
constexpr int CELLS = 16;
constexpr int THREADS = CELL * CELLS;
constexpr int BINS = 9;
constexpr int LINE = 35; // quads of a row of pixels: one before the first cell, one after the last, and one
                         // more, for then the same quad of 8 rows lies in all 32 banks
constexpr int ITEMS = (CELL + 2) * LINE;
constexpr int LOADS = (ITEMS + THREADS - 1) / THREADS; // quads that a thread reads

// Square roots of the levels of a row of cells, and of one row more above and below; as many as the threads
// bring, a few more than are needed, so that they need not ask.
__shared__ float4 roots[LOADS * THREADS];
__shared__ float gamma_of[256];

__device__ __forceinline__ int cell_of_thread() { return static_cast<int>(threadIdx.x) / CELL; }

// Rows 0..3 and 4..7 change places in every second four cells: 16-byte reads of eight neighbouring cells then
// meet in no bank.
__device__ __forceinline__ int swizzle(const int cell) { return cell & 4; }

__device__ __forceinline__ int row_of_thread() {
    return static_cast<int>(threadIdx.x) % CELL ^ swizzle(cell_of_thread());
}

__device__ __forceinline__ void load_gamma(const float *const gamma) {
    for (u32 level = threadIdx.x; level < 256; level += THREADS)
        gamma_of[level] = gamma[level];
}

// Reflect-101 by one pixel; farther out any pixel will do, for no cell lies there.
__device__ __forceinline__ int reflect(const int index, const int size) {
    const int back = index < 0 ? -index : index < size ? index : 2 * size - 2 - index;
    return min(max(back, 0), size - 1);
}

// The plane, and which of its pixels this thread brings to `roots`: the same columns of every row of cells.
struct Reader {
    const u8 *luma;
    int pitch, width, height;
    int row[LOADS], x[LOADS]; // row -1 and 8 lie above and below the cells
    bool whole[LOADS];        // all four pixels lie in the frame, at a multiple of 4
};

__device__ __forceinline__ Reader reader_of(const u8 *const luma, const i64 pitch, const int width,
                                            const int height, const int left) {
    Reader reader = {luma, static_cast<int>(pitch), width, height, {}, {}, {}};
#pragma unroll
    for (int i = 0; i < LOADS; ++i) {
        const int item = static_cast<int>(threadIdx.x) + i * THREADS, row = item / LINE;
        const int x = left + (item - row * LINE - 1) * 4;
        reader.row[i] = row - 1;
        reader.x[i] = x;
        reader.whole[i] = x >= 0 && x + 4 <= width && is_aligned<4>(luma + x) && pitch % 4 == 0;
    }
    return reader;
}

struct Ahead {
    u32 quads[LOADS];
};

// Read the pixels of the row of cells that begins at row `top`.
__device__ __forceinline__ Ahead read_pixels(const Reader &reader, const int top) {
    Ahead ahead;
#pragma unroll
    for (int i = 0; i < LOADS; ++i) {
        const int x = reader.x[i], width = reader.width, y = reflect(top + reader.row[i], reader.height);
        const u8 *const row = reader.luma + static_cast<i64>(y) * reader.pitch;
        ahead.quads[i] = reader.whole[i] ? *reinterpret_cast<const u32 *>(row + x)
                                         : pack(row[reflect(x, width)], row[reflect(x + 1, width)],
                                                row[reflect(x + 2, width)], row[reflect(x + 3, width)]);
    }
    return ahead;
}

__device__ __forceinline__ void store_roots(const Ahead &ahead) {
#pragma unroll
    for (int i = 0; i < LOADS; ++i) {
        const u32 word = ahead.quads[i];
        roots[threadIdx.x + i * THREADS] =
            make_float4(gamma_of[byte_of(word, 0)], gamma_of[byte_of(word, 1)], gamma_of[byte_of(word, 2)],
                        gamma_of[byte_of(word, 3)]);
    }
}

__device__ __forceinline__ void load_eight(float *const values, const float4 *const cell) {
    const float4 a = cell[0], b = cell[1];
    values[0] = a.x, values[1] = a.y, values[2] = a.z, values[3] = a.w;
    values[4] = b.x, values[5] = b.y, values[6] = b.z, values[7] = b.w;
}

// sqrt(dx * dx + dy * dy) to a few units in the last place; 0 for 0.
__device__ __forceinline__ float magnitude_of(const float dx, const float dy) {
    const float square = __fmaf_rn(dx, dx, dy * dy);
    return square * rsqrtf(square + 1e-30f);
}

// Where among the bins 0..8 of a half turn a gradient points: -0.5 to 8.5.
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

// A gradient's votes for two neighbouring bins.
struct Vote {
    int bin, next;
    float first, second;
};

__device__ __forceinline__ Vote vote_of(const float dx, const float dy) {
    // Adding 1.5 * 2^23 leaves an integer in the low bits; which one of two at a tie makes no difference.
    constexpr float SHIFT = 12582912.0f;
    const float position = position_of(dx, dy), magnitude = magnitude_of(dx, dy);
    const float shifted = (position - 0.5f) + SHIFT;
    const float share = position - (shifted - SHIFT);
    const int below = static_cast<int>(__float_as_uint(shifted)) - 0x4b400000;
    const float second = magnitude * share;
    return {below < 0 ? BINS - 1 : below, below == BINS - 1 ? 0 : below + 1, magnitude - second, second};
}

// Hand the votes of this thread's 8 pixels to `take(pixel, vote)`.
template <class Take> __device__ __forceinline__ void vote(const Take take) {
    const float4 *const centre = &roots[(row_of_thread() + 1) * LINE + cell_of_thread() * 2 + 1];
    float above[CELL], row[CELL + 2], below[CELL];
    load_eight(above, centre - LINE);
    load_eight(row + 1, centre);
    load_eight(below, centre + LINE);
    row[0] = centre[-1].w;
    row[CELL + 1] = centre[2].x;
#pragma unroll
    for (int j = 0; j < CELL; ++j)
        take(j, vote_of(row[j + 2] - row[j], below[j] - above[j]));
}
