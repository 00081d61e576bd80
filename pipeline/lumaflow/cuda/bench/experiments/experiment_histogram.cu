// Histogram of a plane with atomics in global memory, in shared memory, or in shared memory per warp.
//
// Launch: any number of blocks of a multiple of 32 threads; grid-stride loop over the pixels.
// Shared memory: 1024 bytes per copy of the bins: none for COUNT_IN 0, one for 1, 16 for 2.
//
//   pixels (count) u8, aligned to 16 bytes
//   bins   (256) u32, zero before; (blocks, 256) if PER_BLOCK is 1
//
// Defines: COUNT_IN 0 global memory, 1 shared memory per block, 2 shared memory per warp; VECTOR 0 loads 1 byte at a
// time, 1 loads 16 bytes; PER_BLOCK 0 sums all blocks, 1 (not with COUNT_IN 0) writes one histogram per block.
using u8 = unsigned char;
using u32 = unsigned int;

constexpr u32 LEVELS = 256;
constexpr u32 WARP = 32;
constexpr u32 COPIES = COUNT_IN == 2 ? 16 : 1;

__shared__ u32 counts[COUNT_IN == 0 ? 1 : COPIES * LEVELS];

__device__ __forceinline__ void count(u32 *const bins, const u32 level) {
    if constexpr (COUNT_IN == 0)
        atomicAdd(&bins[level], 1u);
    else
        atomicAdd(&counts[threadIdx.x / WARP % COPIES * LEVELS + level], 1u);
}

__device__ __forceinline__ void count_word(u32 *const bins, const u32 word) {
    count(bins, word & 255u);
    count(bins, word >> 8 & 255u);
    count(bins, word >> 16 & 255u);
    count(bins, word >> 24);
}

extern "C" __global__ void experiment_histogram(const u8 *const __restrict__ pixels,
                                                const u32 count_of_pixels, u32 *const __restrict__ bins) {
    const u32 first = blockIdx.x * blockDim.x + threadIdx.x, step = gridDim.x * blockDim.x;
    if constexpr (COUNT_IN != 0) {
        for (u32 i = threadIdx.x; i < COPIES * LEVELS; i += blockDim.x)
            counts[i] = 0;
        __syncthreads();
    }
    u32 done = 0;
    if constexpr (VECTOR == 1) {
        done = count_of_pixels / 16 * 16;
        for (u32 i = first; i < count_of_pixels / 16; i += step) {
            const uint4 four = reinterpret_cast<const uint4 *>(pixels)[i];
            count_word(bins, four.x);
            count_word(bins, four.y);
            count_word(bins, four.z);
            count_word(bins, four.w);
        }
    }
    for (u32 i = done + first; i < count_of_pixels; i += step)
        count(bins, pixels[i]);
    if constexpr (COUNT_IN != 0) {
        __syncthreads();
        for (u32 level = threadIdx.x; level < LEVELS; level += blockDim.x) {
            u32 sum = 0;
            for (u32 copy = 0; copy < COPIES; ++copy)
                sum += counts[copy * LEVELS + level];
            if constexpr (PER_BLOCK == 1)
                bins[blockIdx.x * LEVELS + level] = sum;
            else if (sum > 0)
                atomicAdd(&bins[level], sum);
        }
    }
}
