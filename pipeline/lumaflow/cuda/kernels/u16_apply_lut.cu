// Applies one LUT to a frame of 10 to 16 bits (docs/spec.md 2, 3, 8, 9).
//
// Launch: any number of blocks of 512 threads; each thread handles 8 adjacent samples of a row at a time.
// Shared memory: up to 14 bits the LUT, at most 32,768 bytes; a LUT of more bits is read from global memory.
//
//   pixels   (height, width) u16, rows `pitch` bytes apart
//   lut      (2^BITS) u16, or u8 for 8-bit output
//   enhanced (height, width) of the LUT's type, rows `enhanced_pitch` bytes apart
//   decision (2) of scene_cut or null: nothing happens if the first is 0
//
// Defines: BITS, SHIFT (u16.cuh); OUT_BITS 8 or 16, the bits of an output sample; OUT_SHIFT, its left shift.
#include "u16.cuh"

constexpr int THREADS = 512;
constexpr int CHUNK = 8;
constexpr bool SHARED = BITS <= 14;

struct alignas(CHUNK * sizeof(OutSample)) Chunk {
    OutSample samples[CHUNK];
};

__shared__ OutSample levels[SHARED ? LEVELS : 1];

__device__ __forceinline__ OutSample mapped(const OutSample *const lut, const u32 sample) {
    const u32 level = level_of_sample(sample);
    return static_cast<OutSample>((SHARED ? levels[level] : lut[level]) << OUT_SHIFT);
}

extern "C" __global__ void __launch_bounds__(THREADS, 2)
    u16_apply_lut(const u8 *const __restrict__ pixels, const i64 pitch, const int width, const int height,
                  const OutSample *const __restrict__ lut, u8 *const __restrict__ enhanced,
                  const i64 enhanced_pitch, const int *const __restrict__ decision) {
    if (decision != nullptr && !decision[0])
        return;
    if constexpr (SHARED) {
        for (int level = static_cast<int>(threadIdx.x); level < LEVELS; level += THREADS)
            levels[level] = lut[level];
        __syncthreads();
    }
    const int chunks = (width + 2 * CHUNK - 2) / CHUNK;
    const int stride = static_cast<int>(gridDim.x * blockDim.x);
    for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < chunks * height; i += stride) {
        const int y = i / chunks;
        const u8 *const from = pixels + y * pitch;
        OutSample *const to = reinterpret_cast<OutSample *>(enhanced + y * enhanced_pitch);
        const int x = (i - y * chunks) * CHUNK - (CHUNK - lead_samples<CHUNK>(from)) % CHUNK;
        if (x >= 0 && x + CHUNK <= width && is_aligned<sizeof(Chunk)>(to + x)) {
            const uint4 words = *reinterpret_cast<const uint4 *>(from + 2 * x);
            const u32 pairs[] = {words.x, words.y, words.z, words.w};
            Chunk chunk;
#pragma unroll
            for (int k = 0; k < CHUNK; ++k)
                chunk.samples[k] = mapped(lut, u16_of(pairs[k / 2], k % 2));
            *reinterpret_cast<Chunk *>(to + x) = chunk;
        } else {
            for (int k = max(x, 0); k < min(x + CHUNK, width); ++k)
                to[k] = mapped(lut, sample_at(from, k));
        }
    }
}
