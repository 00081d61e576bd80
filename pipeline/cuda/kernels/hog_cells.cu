// Plain histograms of oriented gradients of 8x8 cells (spec 10, compact).
//
// Launch: grid (16 cells side by side, runs of rows of cells), block (16, 8): a thread takes a row of a cell.
// Shared memory: 14,272 bytes.
//
//   luma   (height, width) u8, rows `pitch` bytes apart
//   gamma  (256): square roots
//   hog    (rows, columns, 9)
//   run    rows of cells that a block walks down
#include "hog.cuh"

__shared__ float sums[CELL][BINS][CELLS];

extern "C" __global__ void __launch_bounds__(THREADS)
    hog_cells(const u8 *const __restrict__ luma, const i64 pitch, const int width, const int height,
              const float *const __restrict__ gamma, const int columns, const int rows, const int run,
              float *const __restrict__ hog) {
    const int first = static_cast<int>(blockIdx.x) * CELLS, here = min(CELLS, columns - first);
    const int top = static_cast<int>(blockIdx.y) * run, bottom = min(top + run, rows);
    load_gamma(gamma);
    __syncthreads();
    for (int y = top; y < bottom; ++y) {
        load_roots(luma, pitch, width, height, first * CELL, y * CELL);
        __syncthreads();
        float bins[BINS] = {};
        vote([&](const int, const float position, const float magnitude) {
#pragma unroll
            for (int k = 0; k < BINS; ++k)
                bins[k] = __fmaf_rn(share_of(position, k), magnitude, bins[k]);
        });
#pragma unroll
        for (int k = 0; k < BINS; ++k)
            sums[threadIdx.y][k][threadIdx.x] = bins[k];
        __syncthreads();
        float *const out = hog + (static_cast<i64>(y) * columns + first) * BINS;
        for (int i = thread_index(); i < here * BINS; i += THREADS) {
            float sum = 0.0f;
            for (int row = 0; row < CELL; ++row)
                sum += sums[row][i % BINS][i / BINS];
            out[i] = sum;
        }
    }
}
