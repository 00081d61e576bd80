// Counts the samples of a frame that exceed its bit depth, and finds the highest of them (docs/spec.md 8).
//
// Launch: any number of blocks of 256 threads; each thread handles 8 adjacent samples of a row at a time.
// Shared memory: none.
//
//   pixels       (height, width) u16, rows `pitch` bytes apart
//   out_of_range (2) u32, accumulated: the number of samples above the depth, and the highest sample
//
// Defines: BITS (u16.cuh); SHIFT 0.
#include "u16.cuh"

constexpr int CHUNK = 8;

struct RangeCheck {
    u32 count, highest;
};

__device__ __forceinline__ void check(RangeCheck &result, const u32 sample) {
    result.count += sample > MAX_LEVEL;
    result.highest = max(result.highest, sample);
}

extern "C" __global__ void __launch_bounds__(256)
    u16_check_range(const u8 *const __restrict__ pixels, const i64 pitch, const int width, const int height,
                    u32 *const __restrict__ out_of_range) {
    const int chunks = (width + 2 * CHUNK - 2) / CHUNK;
    const int stride = static_cast<int>(gridDim.x * blockDim.x);
    RangeCheck result = {0, 0};
    for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < chunks * height; i += stride) {
        const u8 *const row = pixels + i / chunks * pitch;
        const int x = i % chunks * CHUNK - (CHUNK - lead_samples<CHUNK>(row)) % CHUNK;
        if (x >= 0 && x + CHUNK <= width) {
            const uint4 words = *reinterpret_cast<const uint4 *>(row + 2 * x);
            const u32 pairs[] = {words.x, words.y, words.z, words.w};
#pragma unroll
            for (int k = 0; k < CHUNK; ++k)
                check(result, u16_of(pairs[k / 2], k % 2));
        } else {
            for (int k = max(x, 0); k < min(x + CHUNK, width); ++k)
                check(result, sample_at(row, k));
        }
    }
    if (result.count > 0) {
        atomicAdd(&out_of_range[0], result.count);
        atomicMax(&out_of_range[1], result.highest);
    }
}
