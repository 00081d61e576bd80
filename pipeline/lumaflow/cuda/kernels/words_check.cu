// Counts the words of a frame that are beyond its depth, and finds the highest one (spec 8).
//
// Launch: any number of blocks of 256 threads; a thread takes 8 words of a row at a time. Shared memory: none.
//
//   pixels (height, width) u16, rows `pitch` bytes apart
//   beyond (2): how many, and the highest word (0 if none is beyond); added to what is there
//
// Defines: BITS, SHIFT 0.
#include "words.cuh"

constexpr int CHUNK = 8;

struct Found {
    u32 count, highest;
};

__device__ __forceinline__ void look_at(Found &found, const u32 word) {
    found.count += word > TOP;
    found.highest = max(found.highest, word);
}

extern "C" __global__ void __launch_bounds__(256)
    words_check(const u8 *const __restrict__ pixels, const i64 pitch, const int width, const int height,
                u32 *const __restrict__ beyond) {
    const int chunks = (width + 2 * CHUNK - 2) / CHUNK;
    const int stride = static_cast<int>(gridDim.x * blockDim.x);
    Found found = {0, 0};
    for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < chunks * height; i += stride) {
        const u8 *const row = pixels + i / chunks * pitch;
        const int x = i % chunks * CHUNK - (CHUNK - lead_words<CHUNK>(row)) % CHUNK;
        if (x >= 0 && x + CHUNK <= width) {
            const uint4 words = *reinterpret_cast<const uint4 *>(row + 2 * x);
            const u32 pairs[] = {words.x, words.y, words.z, words.w};
#pragma unroll
            for (int k = 0; k < CHUNK; ++k)
                look_at(found, half_of(pairs[k / 2], k % 2));
        } else {
            for (int k = max(x, 0); k < min(x + CHUNK, width); ++k)
                look_at(found, word_at(row, k));
        }
    }
    if (found.count > 0) {
        atomicAdd(&beyond[0], found.count);
        atomicMax(&beyond[1], found.highest);
    }
}
