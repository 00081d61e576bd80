// Compact HOG: one histogram of 9 bins per cell of 8x8 pixels, without blocks (docs/spec.md 10).
//
// Launch: grid (groups of 16 adjacent cells, groups of rows of cells), 128 threads: one per cell row.
// Shared memory: 11,776 bytes: 9 floats per thread, square roots of the pixels.
//
//   luma   (height, width) u8, rows `pitch` bytes apart
//   gamma  (256) f32: square root of each level
//   hog    (rows, columns, 9) f32
#include "hog.cuh"

__shared__ float sums[BINS][THREADS];

extern "C" __global__ void __launch_bounds__(THREADS, 5)
    hog_cells(const u8 *const __restrict__ luma, const i64 pitch, const int width, const int height,
              const float *const __restrict__ gamma, const int columns, const int rows,
              float *const __restrict__ hog) {
    const int first = static_cast<int>(blockIdx.x) * CELLS, here = min(CELLS, columns - first);
    const int runs = static_cast<int>(gridDim.y), run = static_cast<int>(blockIdx.y);
    const int top = run * rows / runs, bottom = (run + 1) * rows / runs;
    const u32 thread = threadIdx.x;
    const Reader reader = reader_of(luma, pitch, width, height, first * CELL);
    load_gamma(gamma);
    Prefetched prefetched = prefetch_pixels(reader, top * CELL);
    __syncthreads();
    for (int y = top; y < bottom; ++y) {
        store_sqrt_levels(prefetched);
        __syncthreads();
        if (y + 1 < bottom)
            prefetched = prefetch_pixels(reader, (y + 1) * CELL);
#pragma unroll
        for (int k = 0; k < BINS; ++k)
            sums[k][thread] = 0.0f;
        vote([&](const int, const Vote &vote) {
            sums[vote.bin][thread] += vote.first;
            sums[vote.next][thread] += vote.second;
        });
        __syncthreads();
        float *const out = hog + (static_cast<i64>(y) * columns + first) * BINS;
        for (int i = static_cast<int>(thread); i < here * BINS; i += THREADS) {
            float sum = 0.0f;
            for (int row = 0; row < CELL; ++row)
                sum += sums[i % BINS][i / BINS * CELL + (row ^ swizzle(i / BINS))];
            out[i] = sum;
        }
    }
}
