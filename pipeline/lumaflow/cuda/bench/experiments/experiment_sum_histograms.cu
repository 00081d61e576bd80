// Sums the histograms of all blocks, one warp per level.
//
// Launch: 256 blocks of 32 threads. Shared memory: none.
//
//   parts (rows, 256) u32
//   bins  (256) u32
using u32 = unsigned int;

constexpr u32 LEVELS = 256;
constexpr u32 WARP = 32;

extern "C" __global__ void experiment_sum_histograms(const u32 *const __restrict__ parts, const u32 rows,
                                                     u32 *const __restrict__ bins) {
    u32 sum = 0;
    for (u32 row = threadIdx.x; row < rows; row += WARP)
        sum += parts[row * LEVELS + blockIdx.x];
    for (int step = WARP / 2; step > 0; step /= 2)
        sum += __shfl_xor_sync(~0u, sum, step);
    if (threadIdx.x == 0)
        bins[blockIdx.x] = sum;
}
