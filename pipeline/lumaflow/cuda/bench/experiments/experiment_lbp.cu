// Histograms of local binary patterns (3x3 square) in cells of 16x16 pixels, one thread per pixel.
//
// Launch: grid (cells_x, rows of cells), block (16, 16): one block per cell.
// Shared memory: 236 bytes if COUNT_IN is 1: the counts of the cell.
//
//   luma   (height, width) u8
//   table  (256) u8: the label of each code
//   cells  (rows of cells, cells_x, 59) u32, zero before
//
// Defines: COUNT_IN 0 global memory, 1 shared memory.
using u8 = unsigned char;
using u32 = unsigned int;

constexpr u32 LABELS = 59;

__shared__ u32 counts[LABELS];

__device__ __forceinline__ u32 level_at(const u8 *const luma, const int width, const int height, const int x,
                                        const int y) {
    return x >= 0 && x < width && y >= 0 && y < height ? luma[y * width + x] : 0u;
}

__device__ __forceinline__ u32 code_at(const u8 *const luma, const int width, const int height, const int x,
                                       const int y) {
    const int across[8] = {1, 1, 0, -1, -1, -1, 0, 1}, down[8] = {0, -1, -1, -1, 0, 1, 1, 1};
    const u32 centre = level_at(luma, width, height, x, y);
    u32 code = 0;
#pragma unroll
    for (int k = 0; k < 8; ++k)
        code |= (level_at(luma, width, height, x + across[k], y + down[k]) >= centre ? 1u : 0u) << k;
    return code;
}

extern "C" __global__ void experiment_lbp(const u8 *const __restrict__ luma, const int width,
                                          const int height, const u8 *const __restrict__ table,
                                          u32 *const __restrict__ cells) {
    const int x = static_cast<int>(blockIdx.x * 16 + threadIdx.x);
    const int y = static_cast<int>(blockIdx.y * 16 + threadIdx.y);
    const u32 thread = threadIdx.y * 16 + threadIdx.x;
    u32 *const cell = cells + (blockIdx.y * gridDim.x + blockIdx.x) * LABELS;
    if constexpr (COUNT_IN == 1) {
        if (thread < LABELS)
            counts[thread] = 0;
        __syncthreads();
    }
    if (x < width && y < height)
        atomicAdd(COUNT_IN == 1 ? &counts[table[code_at(luma, width, height, x, y)]]
                                : &cell[table[code_at(luma, width, height, x, y)]],
                  1u);
    if constexpr (COUNT_IN == 1) {
        __syncthreads();
        if (thread < LABELS)
            cell[thread] = counts[thread];
    }
}
