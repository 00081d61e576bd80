// OpenCV's histograms of oriented gradients: blocks of 2x2 cells every 8 pixels, L2-Hys (spec 10).
//
// The weight of a pixel is a row weight times a column weight. Each thread first gives its row of 8 pixels
// four column-weighted histograms; then, for every HOG block, the rows of its cells are summed with their row
// weights. A block of threads walks down rows of cells: of each it keeps what the row adds as the upper row
// of one row of HOG blocks, until the next row of cells completes them.
//
// Launch: grid (15 HOG blocks side by side, runs of rows of them), block (16, 8): a thread a row of a cell.
// Shared memory: 30,256 bytes.
//
//   luma   (height, width) u8, rows `pitch` bytes apart
//   gamma  (256): square roots
//   hog    (rows, columns, 36): (cell x, cell y, bin)
//   run    rows of HOG blocks that a block of threads walks down
//
// Defines: HOG_WEIGHTS, 4 x 8 floats: row 2 * (cell in block) + (cell voted for) of `tables.hog_weights`.
#include "hog.cuh"

constexpr int COLUMNS = CELLS - 1;
constexpr int VALUES = 4 * BINS;
constexpr int HALF = 2 * BINS; // histograms of the two cells, side by side, that a row of a block votes for
constexpr int TASKS = COLUMNS * HALF;
constexpr int ROUNDS = (TASKS + THREADS - 1) / THREADS;
constexpr int TEAM = 8; // threads that normalise one HOG block

__shared__ float sums[CELL][VALUES][CELLS]; // of every row of every cell: 9 * (column weight) + bin
__shared__ float blocks[COLUMNS + 1][VALUES];

// Column-weighted histograms of this thread's row, into `sums`.
__device__ __forceinline__ void sum_row() {
    constexpr float weights[4][CELL] = {HOG_WEIGHTS};
    float bins[4][BINS] = {};
    vote([&](const int j, const float position, const float magnitude) {
        float weighted[4];
#pragma unroll
        for (int m = 0; m < 4; ++m)
            weighted[m] = weights[m][j] * magnitude;
#pragma unroll
        for (int k = 0; k < BINS; ++k) {
            const float share = share_of(position, k);
#pragma unroll
            for (int m = 0; m < 4; ++m)
                if (weights[m][j] != 0.0f) // a quarter of them: half a cell votes for one neighbour only
                    bins[m][k] = __fmaf_rn(weighted[m], share, bins[m][k]);
        }
    });
#pragma unroll
    for (int m = 0; m < 4; ++m)
#pragma unroll
        for (int k = 0; k < BINS; ++k)
            sums[threadIdx.y][m * BINS + k][threadIdx.x] = bins[m][k];
}

// What a row of cells adds to bin `value` of the upper and lower cell of HOG block `x`: as the block's upper
// row (x: upper cell, y: lower cell) and as its lower row (z, w).
__device__ __forceinline__ float4 sum_column(const int x, const int value) {
    constexpr float weights[4][CELL] = {HOG_WEIGHTS};
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
    for (int row = 0; row < CELL; ++row) {
        const float both = sums[row][value][x] + sums[row][HALF + value][x + 1];
        if (weights[0][row] != 0.0f)
            sum.x = __fmaf_rn(weights[0][row], both, sum.x);
        if (weights[1][row] != 0.0f)
            sum.y = __fmaf_rn(weights[1][row], both, sum.y);
        if (weights[2][row] != 0.0f)
            sum.z = __fmaf_rn(weights[2][row], both, sum.z);
        if (weights[3][row] != 0.0f)
            sum.w = __fmaf_rn(weights[3][row], both, sum.w);
    }
    return sum;
}

__device__ __forceinline__ float team_sum(float value) {
#pragma unroll
    for (int step = 1; step < TEAM; step *= 2)
        value += __shfl_xor_sync(~0u, value, step);
    return value;
}

// L2-Hys of this team's HOG block, from `blocks` to `out` (null: nowhere).
__device__ __forceinline__ void normalise(const float *const block, float *const out) {
    constexpr int MOST = (VALUES + TEAM - 1) / TEAM;
    const int member = thread_index() % TEAM;
    float values[MOST], energy = 0.0f;
#pragma unroll
    for (int i = 0; i < MOST; ++i) {
        const int value = i * TEAM + member;
        values[i] = value < VALUES ? block[value] : 0.0f;
        energy = __fmaf_rn(values[i], values[i], energy);
    }
    const float scale = __fdiv_rn(1.0f, __fsqrt_rn(team_sum(energy)) + 0x1.cccccep+1f);
    energy = 0.0f;
#pragma unroll
    for (int i = 0; i < MOST; ++i) {
        values[i] = fminf(values[i] * scale, 0.2f);
        energy = __fmaf_rn(values[i], values[i], energy);
    }
    const float again = __fdiv_rn(1.0f, __fsqrt_rn(team_sum(energy)) + 1e-3f);
#pragma unroll
    for (int i = 0; i < MOST; ++i)
        if (out != nullptr && i * TEAM + member < VALUES)
            out[i * TEAM + member] = values[i] * again;
}

extern "C" __global__ void __launch_bounds__(THREADS)
    hog_blocks(const u8 *const __restrict__ luma, const i64 pitch, const int width, const int height,
               const float *const __restrict__ gamma, const int columns, const int rows, const int run,
               float *const __restrict__ hog) {
    const int first = static_cast<int>(blockIdx.x) * COLUMNS, here = min(COLUMNS, columns - first);
    const int top = static_cast<int>(blockIdx.y) * run, bottom = min(top + run, rows);
    const int team = thread_index() / TEAM;
    float2 upper[ROUNDS];
    load_gamma(gamma);
    __syncthreads();
    for (int y = top; y <= bottom; ++y) { // rows of cells, one more than of HOG blocks
        load_roots(luma, pitch, width, height, first * CELL, y * CELL);
        __syncthreads();
        sum_row();
        __syncthreads();
#pragma unroll
        for (int round = 0; round < ROUNDS; ++round) {
            const int task = round * THREADS + thread_index(), value = task / COLUMNS, x = task % COLUMNS;
            if (task >= TASKS)
                break;
            const float4 sum = sum_column(x, value);
            if (y > top) {
                float *const block = &blocks[x][value / BINS * HALF + value % BINS];
                block[0] = upper[round].x + sum.z;
                block[BINS] = upper[round].y + sum.w;
            }
            upper[round] = make_float2(sum.x, sum.y);
        }
        __syncthreads();
        if (y > top) {
            float *const out = hog + (static_cast<i64>(y - 1) * columns + first + team) * VALUES;
            normalise(blocks[team], team < here ? out : nullptr);
        }
    }
}
