// Maps a deep frame through one LUT (spec 2, 3, 8, 9).
//
// Launch: any number of blocks of 512 threads; a thread takes 8 words of a row at a time.
// Shared memory: the LUT, up to 14 bits: at most 32,768 bytes. A deeper one is read where it lies.
//
//   pixels   (height, width) u16, rows `pitch` bytes apart
//   lut      (2^BITS) u16, or u8 for a display
//   enhanced (height, width) of the LUT's type, rows `enhanced_pitch` bytes apart
//
// Defines: BITS, SHIFT (words.cuh); SHOWN 8 or 16, the bits of a shown sample; RAISE, how far it is shifted up.
#include "words.cuh"

constexpr int THREADS = 512;
constexpr int CHUNK = 8;
constexpr bool SHARED = BITS <= 14;

struct alignas(CHUNK * sizeof(Sample)) Chunk {
    Sample samples[CHUNK];
};

__shared__ Sample levels[SHARED ? LEVELS : 1];

__device__ __forceinline__ Sample mapped(const Sample *const lut, const u32 word) {
    const u32 level = level_of_word(word);
    return static_cast<Sample>((SHARED ? levels[level] : lut[level]) << RAISE);
}

extern "C" __global__ void __launch_bounds__(THREADS, 2)
    words_apply(const u8 *const __restrict__ pixels, const i64 pitch, const int width, const int height,
                const Sample *const __restrict__ lut, u8 *const __restrict__ enhanced,
                const i64 enhanced_pitch) {
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
        Sample *const to = reinterpret_cast<Sample *>(enhanced + y * enhanced_pitch);
        const int x = (i - y * chunks) * CHUNK - (CHUNK - lead_words<CHUNK>(from)) % CHUNK;
        if (x >= 0 && x + CHUNK <= width && is_aligned<sizeof(Chunk)>(to + x)) {
            const uint4 words = *reinterpret_cast<const uint4 *>(from + 2 * x);
            const u32 pairs[] = {words.x, words.y, words.z, words.w};
            Chunk chunk;
#pragma unroll
            for (int k = 0; k < CHUNK; ++k)
                chunk.samples[k] = mapped(lut, half_of(pairs[k / 2], k % 2));
            *reinterpret_cast<Chunk *>(to + x) = chunk;
        } else {
            for (int k = max(x, 0); k < min(x + CHUNK, width); ++k)
                to[k] = mapped(lut, word_at(from, k));
        }
    }
}
