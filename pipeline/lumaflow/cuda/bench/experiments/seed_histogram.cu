// Histogram of a plane, in the ways that one tries first.
//
// Launch: any number of blocks, a multiple of 32 threads in each; a thread takes every so many pixels.
// Shared memory: 1024 bytes a copy of the bins: WHERE 0 none, 1 one a block, 2 one a warp (up to 16).
//
//   pixels (count) u8, at a multiple of 16
//   bins   (256) u32, zero before; PARTS 1: (blocks, 256)
//
// Defines: WHERE 0 counts in global memory, 1 in the block's shared memory, 2 in the warp's; WIDE 0 reads a byte
// at a time, 1 reads 16; PARTS 0 adds all blocks up, 1 (not with WHERE 0) leaves each block's histogram.
using u8 = unsigned char;
using u32 = unsigned int;

constexpr u32 LEVELS = 256;
constexpr u32 WARP = 32;
constexpr u32 COPIES = WHERE == 2 ? 16 : 1;

__shared__ u32 counts[WHERE == 0 ? 1 : COPIES * LEVELS];

__device__ __forceinline__ void count(u32 *const bins, const u32 level) {
    if constexpr (WHERE == 0)
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

extern "C" __global__ void seed_histogram(const u8 *const __restrict__ pixels, const u32 count_of_pixels,
                                          u32 *const __restrict__ bins) {
    const u32 first = blockIdx.x * blockDim.x + threadIdx.x, step = gridDim.x * blockDim.x;
    if constexpr (WHERE != 0) {
        for (u32 i = threadIdx.x; i < COPIES * LEVELS; i += blockDim.x)
            counts[i] = 0;
        __syncthreads();
    }
    u32 done = 0;
    if constexpr (WIDE == 1) {
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
    if constexpr (WHERE != 0) {
        __syncthreads();
        for (u32 level = threadIdx.x; level < LEVELS; level += blockDim.x) {
            u32 sum = 0;
            for (u32 copy = 0; copy < COPIES; ++copy)
                sum += counts[copy * LEVELS + level];
            if constexpr (PARTS == 1)
                bins[blockIdx.x * LEVELS + level] = sum;
            else if (sum > 0)
                atomicAdd(&bins[level], sum);
        }
    }
}
