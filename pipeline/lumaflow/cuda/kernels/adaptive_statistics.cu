// Histograms of 16 x 16 cells of V, the sum of luma, and the noise histogram (docs/spec.md 16.2).
//
// Launch: 256 * parts blocks of 256 threads for the cells, then one for every 32 noise blocks. Shared memory:
// 8256 bytes.
//
//   pixels    (height, width) of the counted pixels, rows `pitch` bytes apart
//   cells     (256, parts, 256) u32
//   lumas     (256, parts) u32, the sum of luma of RGB pixels
//   totals    (REPLICAS, 256) u32, added to
//   energies  (16, 256) u32, added to: noise blocks by mean level and energy
//
// Defines: those of adaptive_samples.cuh.
#include "adaptive.cuh"
#include "adaptive_samples.cuh"

constexpr int WARP = 32, THREADS = 256, WARPS = THREADS / WARP, BATCH = COLORS == 3 ? 4 : 8;
constexpr int NOISE_ROWS = 8; // threads of a noise block, one a row

__shared__ u32 counts[WARPS][256];
__shared__ u32 warp_lumas[WARPS];

__device__ __forceinline__ void count_pixels(const u8 *const pixels, const i64 pitch, const int left,
                                             const int top, const int columns, const int rows, u32 &luma) {
    u32 *const own = counts[threadIdx.x / WARP];
    const int items = columns * rows;
    for (int first = static_cast<int>(threadIdx.x); first < items; first += BATCH * THREADS) {
        int levels[BATCH], lumas[BATCH];
#pragma unroll
        for (int k = 0; k < BATCH; ++k) {
            const int i = min(first + k * THREADS, items - 1), y = i / columns;
            const u8 *const row = pixels + (top + y) * pitch;
            const int x = left + i - y * columns;
            if constexpr (COLORS == 3) {
                const int b = level_at(row, x, 0), g = level_at(row, x, 1), r = level_at(row, x, 2);
                levels[k] = max(max(b, g), r);
                lumas[k] = luma_of(b, g, r);
            } else {
                levels[k] = level_at(row, x, 0);
            }
        }
#pragma unroll
        for (int k = 0; k < BATCH; ++k)
            if (first + k * THREADS < items) {
                atomicAdd(&own[levels[k]], 1u);
                if constexpr (COLORS == 3)
                    luma += static_cast<u32>(lumas[k]);
            }
    }
}

__device__ __forceinline__ void count_cell(const u8 *const pixels, const i64 pitch, const int width,
                                           const int height, const int cell, const int part, const int parts,
                                           u32 *const cells, u32 *const lumas, u32 *const totals) {
    const int row = cell / CELLS, column = cell % CELLS;
    const int left = column * width / CELLS, right = (column + 1) * width / CELLS;
    const int cell_top = row * height / CELLS, rows = (row + 1) * height / CELLS - cell_top;
    const int top = cell_top + rows * part / parts, bottom = cell_top + rows * (part + 1) / parts;
    for (int warp = 0; warp < WARPS; ++warp)
        counts[warp][threadIdx.x] = 0;
    __syncthreads();
    u32 luma = 0;
    count_pixels(pixels, pitch, left, top, right - left, bottom - top, luma);
    if constexpr (COLORS == 3) {
        for (int step = WARP / 2; step > 0; step /= 2)
            luma += __shfl_xor_sync(~0u, luma, step);
        if (threadIdx.x % WARP == 0)
            warp_lumas[threadIdx.x / WARP] = luma;
    }
    __syncthreads();
    u32 sum = 0;
    for (int warp = 0; warp < WARPS; ++warp)
        sum += counts[warp][threadIdx.x];
    const int index = cell * parts + part;
    cells[static_cast<i64>(index) * 256 + threadIdx.x] = sum;
    if (sum > 0)
        atomicAdd(&totals[index % REPLICAS * 256 + threadIdx.x], sum);
    if (COLORS == 3 && threadIdx.x == 0) {
        u32 all = 0;
        for (int warp = 0; warp < WARPS; ++warp)
            all += warp_lumas[warp];
        lumas[index] = all;
    }
}

// [1 -2 1] of the column x of three rows.
__device__ __forceinline__ int column_curvature(const u8 *const *const rows, const int x) {
    return value_at(rows[0], x) - 2 * value_at(rows[1], x) + value_at(rows[2], x);
}

// Eight threads measure a block of 8 x 8 pixels: the sum of the absolute Laplacian, and its mean level.
__device__ __forceinline__ void count_noise(const u8 *const pixels, const i64 pitch, const int columns,
                                            const int blocks, const int first, u32 *const energies) {
    const int block = first + static_cast<int>(threadIdx.x) / NOISE_ROWS;
    const bool present = block < blocks;
    int energy = 0, sum = 0;
    if (present) {
        const int y = block / columns * 16 + 4 + static_cast<int>(threadIdx.x) % NOISE_ROWS;
        const int x = block % columns * 16 + 4;
        const u8 *const rows[] = {pixels + (y - 1) * pitch, pixels + y * pitch, pixels + (y + 1) * pitch};
        int before = column_curvature(rows, x - 1), here = column_curvature(rows, x);
#pragma unroll 2
        for (int k = 0; k < 8; ++k) {
            const int after = column_curvature(rows, x + k + 1);
            energy += abs(before - 2 * here + after);
            sum += value_at(rows[1], x + k);
            before = here;
            here = after;
        }
    }
    for (int step = NOISE_ROWS / 2; step > 0; step /= 2) {
        energy += __shfl_xor_sync(~0u, energy, step);
        sum += __shfl_xor_sync(~0u, sum, step);
    }
    const int mean = sum >> 6;
    if (present && threadIdx.x % NOISE_ROWS == 0 && energy > 0 && mean >= 2 && mean < 240)
        atomicAdd(&energies[(mean >> 4) * 256 + min(energy >> 4, 255)], 1u);
}

extern "C" __global__ void __launch_bounds__(THREADS, 4)
    adaptive_statistics(const u8 *const __restrict__ pixels, const i64 pitch, const int width,
                        const int height, const int parts, u32 *const __restrict__ cells,
                        u32 *const __restrict__ lumas, u32 *const __restrict__ totals,
                        u32 *const __restrict__ energies) {
    const int index = static_cast<int>(blockIdx.x), cell_blocks = CELLS * CELLS * parts;
    if (index < cell_blocks) {
        count_cell(pixels, pitch, width, height, index / parts, index % parts, parts, cells, lumas, totals);
    } else {
        const int columns = (width - 13) / 16 + 1, rows = (height - 13) / 16 + 1;
        const int first = (index - cell_blocks) * (THREADS / NOISE_ROWS);
        count_noise(pixels, pitch, columns, columns * rows, first, energies);
    }
}
