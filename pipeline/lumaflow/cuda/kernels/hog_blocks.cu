// OpenCV's histograms of oriented gradients: blocks of 2x2 cells every 8 pixels, L2-Hys (spec 10).
//
// The weight of a pixel is a row weight times a column weight. Each thread first gives its row of 8 pixels
// four column-weighted histograms; then, for every HOG block, the rows of its cells are summed with their row
// weights. A block of threads walks down rows of cells: of each it keeps what the row adds as the upper row
// of one row of HOG blocks, until the next row of cells completes them.
//
// Launch: grid (15 HOG blocks side by side, runs of rows of them), 128 threads: a thread a row of a cell.
// Shared memory: 27,760 bytes: 36 words a thread, pixels, HOG blocks.
//
//   luma   (height, width) u8, rows `pitch` bytes apart
//   gamma  (256): square roots
//   hog    (rows, columns, 36): (cell x, cell y, bin)
//
// Defines: HOG_WEIGHTS, 4 x 8 floats: row 2 * (cell in block) + (cell voted for) of `tables.hog_weights`.
#include "hog.cuh"

constexpr int COLUMNS = CELLS - 1;
constexpr int VALUES = 4 * BINS;
constexpr int HALF = 2 * BINS; // histograms of the two cells, side by side, that a row of a block votes for
constexpr int TASKS = CELLS * HALF;
constexpr int ROUNDS = (TASKS + THREADS - 1) / THREADS;
constexpr int TEAM = 4; // threads that normalise one HOG block
constexpr int PIECES = VALUES / 4;
constexpr int MOST = (PIECES + TEAM - 1) / TEAM; // pieces of 4 values that a thread of a team takes

__shared__ float4 sums[VALUES][THREADS / 4]; // of the row of every thread: 9 * (column weight) + bin
__shared__ float4 blocks[COLUMNS][PIECES];

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
            if (weights[m][j] != 0.0f) { // a quarter are: half a cell votes for one neighbour only
                first[m * BINS * THREADS] = __fmaf_rn(weights[m][j], vote.first, firsts[m]);
                second[m * BINS * THREADS] = __fmaf_rn(weights[m][j], vote.second, seconds[m]);
            }
    });
}

// Rows 0..3 (or 4..7, if `lower` is 4) of one value of a cell.
__device__ __forceinline__ float4 four_rows(const int value, const int cell, const int lower) {
    return sums[value][(cell * CELL + (lower ^ swizzle(cell))) / 4];
}

__device__ __forceinline__ float4 operator+(const float4 a, const float4 b) {
    return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

// What a row of cells adds to bin `value` of the upper and lower cell of HOG block `x`: as the block's upper
// row (x: upper cell, y: lower cell) and as its lower row (z, w).
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

__device__ __forceinline__ float team_sum(float value) {
#pragma unroll
    for (int step = 1; step < TEAM; step *= 2)
        value += __shfl_xor_sync(~0u, value, step);
    return value;
}

__device__ __forceinline__ float energy_of(const float4 v) {
    return __fmaf_rn(v.x, v.x, __fmaf_rn(v.y, v.y, __fmaf_rn(v.z, v.z, v.w * v.w)));
}

// 1 / (sqrt(energy) + floor), good to a few units in the last place.
__device__ __forceinline__ float scale_of(const float energy, const float floor) {
    return __fdividef(1.0f, __fmaf_rn(energy, rsqrtf(fmaxf(energy, 1e-30f)), floor));
}

__device__ __forceinline__ float clip(const float value, const float scale) {
    return fminf(value * scale, 0.2f);
}

// L2-Hys of this team's HOG block, from shared memory to `out`; a null `out` only keeps its team in step.
__device__ __forceinline__ void normalise(const float4 *const block, float4 *const out, const int member) {
    float4 pieces[MOST];
    float energy = 0.0f;
#pragma unroll
    for (int i = 0; i < MOST; ++i) {
        const bool mine = out != nullptr && i * TEAM + member < PIECES;
        pieces[i] = mine ? block[i * TEAM + member] : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        energy += energy_of(pieces[i]);
    }
    const float scale = scale_of(team_sum(energy), 0x1.cccccep+1f);
    energy = 0.0f;
#pragma unroll
    for (int i = 0; i < MOST; ++i) {
        float4 &v = pieces[i];
        v = make_float4(clip(v.x, scale), clip(v.y, scale), clip(v.z, scale), clip(v.w, scale));
        energy += energy_of(v);
    }
    const float again = scale_of(team_sum(energy), 1e-3f);
#pragma unroll
    for (int i = 0; i < MOST; ++i) {
        const float4 v = pieces[i];
        if (out != nullptr && i * TEAM + member < PIECES)
            out[i * TEAM + member] = make_float4(v.x * again, v.y * again, v.z * again, v.w * again);
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
    float2 upper[ROUNDS] = {};
    load_gamma(gamma);
    Ahead ahead = read_pixels(reader, top * CELL);
    __syncthreads();
    // A row of HOG blocks is written while the votes of the next row of cells are counted.
    const auto write = [&](const int y) {
        const int team = (THREADS - 1 - thread) / TEAM;
        if (team <= COLUMNS) {
            float4 *const out = hog + (static_cast<i64>(y) * columns + first + team) * PIECES;
            normalise(blocks[min(team, COLUMNS - 1)], team < here ? out : nullptr, thread % TEAM);
        }
    };
    for (int y = top; y <= bottom; ++y) { // rows of cells, one more than of HOG blocks
        store_roots(ahead);
        __syncthreads();
        if (y < bottom)
            ahead = read_pixels(reader, (y + 1) * CELL);
        if (y > top + 1)
            write(y - 2);
        sum_row();
        __syncthreads();
#pragma unroll
        for (int round = 0; round < ROUNDS; ++round) {
            const int task = round * THREADS + thread, value = task / CELLS, x = task % CELLS;
            if (task < TASKS && x < COLUMNS) {
                const float4 sum = sum_column(x, value);
                float *const block =
                    reinterpret_cast<float *>(blocks[x]) + value / BINS * HALF + value % BINS;
                block[0] = upper[round].x + sum.z;
                block[BINS] = upper[round].y + sum.w;
                upper[round] = make_float2(sum.x, sum.y);
            }
        }
    }
    __syncthreads();
    write(bottom - 1);
}
