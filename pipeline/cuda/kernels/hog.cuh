// Gradients of one row of cells and their votes, shared by the two HOG kernels (spec 10).
//
// A block of 16 x 8 threads covers 16 cells side by side: a thread takes one row of 8 pixels of one cell.
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
constexpr int SPAN = 12; // floats from cell to cell in a row: 8 and a gap that keeps 16-byte loads off each
                         // other's banks
constexpr int QUADS = CELLS * 2 + 2;

// Square roots of the levels of a row of cells, one cell more on both sides and one row more above and below.
__shared__ float4 roots[CELL + 2][(CELLS + 2) * SPAN / 4];
__shared__ float gamma_of[256];

__device__ __forceinline__ int thread_index() {
    return static_cast<int>(threadIdx.y) * CELLS + static_cast<int>(threadIdx.x);
}

__device__ __forceinline__ void load_gamma(const float *const gamma) {
    for (int level = thread_index(); level < 256; level += THREADS)
        gamma_of[level] = gamma[level];
}

// Reflect-101 by one pixel; farther out any pixel will do, for no cell lies there.
__device__ __forceinline__ int reflect(const int index, const int size) {
    const int back = index < 0 ? -index : index < size ? index : 2 * size - 2 - index;
    return min(max(back, 0), size - 1);
}

__device__ __forceinline__ u32 load_four(const u8 *const row, const int x, const int width) {
    if (x >= 0 && x + 4 <= width && is_aligned<4>(row + x))
        return *reinterpret_cast<const u32 *>(row + x);
    return pack(row[reflect(x, width)], row[reflect(x + 1, width)], row[reflect(x + 2, width)],
                row[reflect(x + 3, width)]);
}

// The pixels of this thread that go to `roots`: up to LOADS quads, read ahead of their use.
constexpr int LOADS = ((CELL + 2) * QUADS + THREADS - 1) / THREADS;

struct Ahead {
    u32 quads[LOADS];
};

// Read the pixels of the cells whose first pixel is (left, top).
__device__ __forceinline__ Ahead read_pixels(const u8 *const luma, const i64 pitch, const int width,
                                             const int height, const int left, const int top) {
    Ahead ahead;
#pragma unroll
    for (int i = 0; i < LOADS; ++i) {
        const int item = thread_index() + i * THREADS, row = item / QUADS, quad = item - row * QUADS;
        if (row < CELL + 2)
            ahead.quads[i] =
                load_four(luma + reflect(top + row - 1, height) * pitch, left + (quad - 1) * 4, width);
    }
    return ahead;
}

__device__ __forceinline__ void store_roots(const Ahead &ahead) {
#pragma unroll
    for (int i = 0; i < LOADS; ++i) {
        const int item = thread_index() + i * THREADS, row = item / QUADS;
        const int half = item - row * QUADS + 1; // half 0 would be the first one of cell -1
        const u32 word = ahead.quads[i];
        if (row < CELL + 2)
            roots[row][half / 2 * (SPAN / 4) + half % 2] =
                make_float4(gamma_of[byte_of(word, 0)], gamma_of[byte_of(word, 1)],
                            gamma_of[byte_of(word, 2)], gamma_of[byte_of(word, 3)]);
    }
}

__device__ __forceinline__ void load_eight(float *const values, const float4 *const cell) {
    const float4 a = cell[0], b = cell[1];
    values[0] = a.x, values[1] = a.y, values[2] = a.z, values[3] = a.w;
    values[4] = b.x, values[5] = b.y, values[6] = b.z, values[7] = b.w;
}

// sqrt(dx * dx + dy * dy) within half a unit in the last place or so.
__device__ __forceinline__ float magnitude_of(const float dx, const float dy) {
    const float square = __fmaf_rn(dx, dx, __fmul_rn(dy, dy));
    const float inverse = rsqrtf(fmaxf(square, 1e-30f));
    const float root = square * inverse;
    return __fmaf_rn(__fmaf_rn(-root, root, square), 0.5f * inverse, root);
}

// A gradient's votes for two neighbouring bins.
struct Vote {
    int bin, next;
    float first, second;
};

// Where among the bins 0..8 of a half turn a gradient points: -0.5 to 8.5.
__device__ __forceinline__ float position_of(const float dx, const float dy) {
    const float across = fabsf(dx), along = fabsf(dy);
    const float divisor = fmaxf(across, along) + 0x1p-52f, inverse = __fdividef(1.0f, divisor);
    const float rough = fminf(across, along) * inverse;
    const float c = __fmaf_rn(__fmaf_rn(-rough, divisor, fminf(across, along)), inverse, rough);
    const float c2 = c * c;
    float angle =
        (((-0x1.4515b2p+1f * c2 + 0x1.1d3f7ep+3f) * c2 + -0x1.2aaddcp+4f) * c2 + 0x1.ca44dep+5f) * c;
    angle = along > across ? 90.0f - angle : angle;
    angle = dx < 0.0f ? 180.0f - angle : angle;
    angle = dy < 0.0f ? 360.0f - angle : angle;
    const float position = angle * 0x1.1df46ap-6f * 0x1.6eb168p+1f - 0.5f;
    return position >= 8.5f ? position - 9.0f : position;
}

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
    const float4 *const centre = &roots[threadIdx.y + 1][(threadIdx.x + 1) * (SPAN / 4)];
    constexpr int LINE = (CELLS + 2) * SPAN / 4;
    float above[CELL], row[CELL + 2], below[CELL];
    load_eight(above, centre - LINE);
    load_eight(row + 1, centre);
    load_eight(below, centre + LINE);
    row[0] = reinterpret_cast<const float *>(centre)[-SPAN + CELL - 1];
    row[CELL + 1] = reinterpret_cast<const float *>(centre)[SPAN];
#pragma unroll
    for (int j = 0; j < CELL; ++j)
        take(j, vote_of(row[j + 2] - row[j], below[j] - above[j]));
}
