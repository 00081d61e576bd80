// HOG in OpenCV's layout: blocks of 2x2 cells with a stride of 8 pixels, L2-Hys (docs/spec.md 10).
//
// The weight of a pixel is separable: row weight times column weight. Each thread first computes four
// column-weighted histograms of its row of 8 pixels. Then the rows of each HOG block are summed with their row
// weights. A thread block walks down the rows of cells. It keeps the contribution of a row of cells to the upper
// half of a row of HOG blocks until the next row of cells completes these blocks.
//
// Launch: grid (groups of 15 adjacent HOG blocks, groups of rows of HOG blocks), 128 threads: one per cell row.
// Shared memory: 27,760 bytes: 36 floats per thread, square roots of the pixels, HOG blocks.
//
//   luma   (height, width) u8, rows `pitch` bytes apart
//   gamma  (256) f32: square root of each level
//   hog    (rows, columns, 36) f32, ordered (cell x, cell y, bin)
//
// Defines: HOG_WEIGHTS, 4 x 8 floats: row 2 * (cell in block) + (cell voted for) of `tables.hog_weights`.
#include "hog.cuh"

constexpr int COLUMNS = CELLS - 1;
constexpr int VALUES = 4 * BINS;
constexpr int HALF = 2 * BINS; // histograms of the two adjacent cells that a row of a block votes for
constexpr int TASKS = CELLS * HALF;
constexpr int TASKS_PER_THREAD = (TASKS + THREADS - 1) / THREADS;
constexpr int GROUP = 4; // threads that normalize one HOG block
constexpr int VECS_PER_BLOCK = VALUES / 4;
constexpr int VECS_PER_MEMBER =
    (VECS_PER_BLOCK + GROUP - 1) / GROUP; // vecs of 4 values that one thread of a group handles

__shared__ float4 sums[VALUES][THREADS / 4]; // of the row of every thread: 9 * (column weight) + bin
__shared__ float4 blocks[COLUMNS][VECS_PER_BLOCK];

// Column-weighted histograms of this thread's row, into `sums`.
__device__ __forceinline__ void sum_row() {
    constexpr float weights[4][CELL] = {HOG_WEIGHTS};
    float *const own = reinterpret_cast<float *>(sums) + threadIdx.x;
#pragma unroll
    for (int value = 0; value < VALUES; ++value)
        own[value * THREADS] = 0.0f;
    vote([&](const int j, const Vote &vote) {
        float *const first = own + vote.bin * THREADS, *const second = own + vote.next * THREADS;
        float firsts[4], seconds[4];
#pragma unroll
        for (int m = 0; m < 4; ++m) {
            firsts[m] = first[m * BINS * THREADS];
            seconds[m] = second[m * BINS * THREADS];
        }
#pragma unroll
        for (int m = 0; m < 4; ++m)
            if (weights[m][j] != 0.0f) { // a quarter are zero: half a cell votes for only one neighbour
                first[m * BINS * THREADS] = __fmaf_rn(weights[m][j], vote.first, firsts[m]);
                second[m * BINS * THREADS] = __fmaf_rn(weights[m][j], vote.second, seconds[m]);
            }
    });
}

// One value of a cell in rows 0..3, or in rows 4..7 if `lower` is 4.
__device__ __forceinline__ float4 four_rows(const int value, const int cell, const int lower) {
    return sums[value][(cell * CELL + (lower ^ swizzle(cell))) / 4];
}

__device__ __forceinline__ float4 operator+(const float4 a, const float4 b) {
    return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

// Contribution of a row of cells to bin `value` of HOG block `x`: as the upper row of the block (x: to the upper
// cell, y: to the lower cell) and as its lower row (z: upper cell, w: lower cell).
__device__ __forceinline__ float4 sum_column(const int x, const int value) {
    constexpr float weights[4][CELL] = {HOG_WEIGHTS};
    const float4 above = four_rows(value, x, 0) + four_rows(HALF + value, x + 1, 0);
    const float4 below = four_rows(value, x, 4) + four_rows(HALF + value, x + 1, 4);
    const float rows[CELL] = {above.x, above.y, above.z, above.w, below.x, below.y, below.z, below.w};
    float sum[4] = {};
#pragma unroll
    for (int row = 0; row < CELL; ++row)
#pragma unroll
        for (int m = 0; m < 4; ++m)
            if (weights[m][row] != 0.0f)
                sum[m] = __fmaf_rn(weights[m][row], rows[row], sum[m]);
    return make_float4(sum[0], sum[1], sum[2], sum[3]);
}

__device__ __forceinline__ float group_sum(float value) {
#pragma unroll
    for (int step = 1; step < GROUP; step *= 2)
        value += __shfl_xor_sync(~0u, value, step);
    return value;
}

__device__ __forceinline__ float energy_of(const float4 v) {
    return __fmaf_rn(v.x, v.x, __fmaf_rn(v.y, v.y, __fmaf_rn(v.z, v.z, v.w * v.w)));
}

// 1 / (sqrt(energy) + floor), accurate to a few ULP.
__device__ __forceinline__ float scale_of(const float energy, const float floor) {
    return __fdividef(1.0f, __fmaf_rn(energy, rsqrtf(fmaxf(energy, 1e-30f)), floor));
}

__device__ __forceinline__ float clip(const float value, const float scale) {
    return fminf(value * scale, 0.2f);
}

// L2-Hys of this group's HOG block, from shared memory to `out`. Groups with a null `out` only take part in the
// warp shuffles.
__device__ __forceinline__ void normalize(const float4 *const block, float4 *const out, const int rank) {
    float4 vecs[VECS_PER_MEMBER];
    float energy = 0.0f;
#pragma unroll
    for (int i = 0; i < VECS_PER_MEMBER; ++i) {
        const bool active = out != nullptr && i * GROUP + rank < VECS_PER_BLOCK;
        vecs[i] = active ? block[i * GROUP + rank] : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        energy += energy_of(vecs[i]);
    }
    const float scale = scale_of(group_sum(energy), 0x1.cccccep+1f);
    energy = 0.0f;
#pragma unroll
    for (int i = 0; i < VECS_PER_MEMBER; ++i) {
        float4 &v = vecs[i];
        v = make_float4(clip(v.x, scale), clip(v.y, scale), clip(v.z, scale), clip(v.w, scale));
        energy += energy_of(v);
    }
    const float second_scale = scale_of(group_sum(energy), 1e-3f);
#pragma unroll
    for (int i = 0; i < VECS_PER_MEMBER; ++i) {
        const float4 v = vecs[i];
        if (out != nullptr && i * GROUP + rank < VECS_PER_BLOCK)
            out[i * GROUP + rank] =
                make_float4(v.x * second_scale, v.y * second_scale, v.z * second_scale, v.w * second_scale);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 5)
    hog_blocks(const u8 *const __restrict__ luma, const i64 pitch, const int width, const int height,
               const float *const __restrict__ gamma, const int columns, const int rows,
               float4 *const __restrict__ hog) {
    const int first = static_cast<int>(blockIdx.x) * COLUMNS, here = min(COLUMNS, columns - first);
    const int runs = static_cast<int>(gridDim.y), run = static_cast<int>(blockIdx.y);
    const int top = run * rows / runs, bottom = (run + 1) * rows / runs;
    const int thread = static_cast<int>(threadIdx.x);
    const Reader reader = reader_of(luma, pitch, width, height, first * CELL);
    float2 upper[TASKS_PER_THREAD] = {};
    load_gamma(gamma);
    Prefetched prefetched = prefetch_pixels(reader, top * CELL);
    __syncthreads();
    // The write of a row of HOG blocks overlaps the votes of the next row of cells.
    const auto write = [&](const int y) {
        const int group = (THREADS - 1 - thread) / GROUP;
        if (group <= COLUMNS) {
            float4 *const out = hog + (static_cast<i64>(y) * columns + first + group) * VECS_PER_BLOCK;
            normalize(blocks[min(group, COLUMNS - 1)], group < here ? out : nullptr, thread % GROUP);
        }
    };
    for (int y = top; y <= bottom; ++y) { // rows of cells: one more than rows of HOG blocks
        store_sqrt_levels(prefetched);
        __syncthreads();
        if (y < bottom)
            prefetched = prefetch_pixels(reader, (y + 1) * CELL);
        if (y > top + 1)
            write(y - 2);
        sum_row();
        __syncthreads();
#pragma unroll
        for (int i = 0; i < TASKS_PER_THREAD; ++i) {
            const int task = i * THREADS + thread, value = task / CELLS, x = task % CELLS;
            if (task < TASKS && x < COLUMNS) {
                const float4 sum = sum_column(x, value);
                float *const block =
                    reinterpret_cast<float *>(blocks[x]) + value / BINS * HALF + value % BINS;
                block[0] = upper[i].x + sum.z;
                block[BINS] = upper[i].y + sum.w;
                upper[i] = make_float2(sum.x, sum.y);
            }
        }
    }
    __syncthreads();
    write(bottom - 1);
}
