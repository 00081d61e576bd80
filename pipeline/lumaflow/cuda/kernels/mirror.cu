// Turns a plane whose rows stay rows (spec 12): upside down, left to right, or both. Exact moves.
//
// Launch: any number of blocks of 256 threads; a thread takes a word of pixels (moves.cuh) at a time.
// Shared memory: none.
//
//   source, out (height, width) pixels, rows `pitch` and `out_pitch` bytes apart; they share no memory
//   up, left: rows (columns) are counted from the last one
//
// Defines: PIXEL, bytes of one; EXCHANGE -1, or the place of the first of two lumas, which change places
// where a pixel is a pair of woven ones and `left` (PIXEL 4).
#include "moves.cuh"

__device__ __forceinline__ Word exchanged(const Word word) {
#if EXCHANGE == 0
    return __byte_perm(word, 0, 0x3012);
#elif EXCHANGE == 1
    return __byte_perm(word, 0, 0x1230);
#else
    return word;
#endif
}

extern "C" __global__ void __launch_bounds__(256)
    mirror(const u8 *const __restrict__ pixels, const i64 pitch, const int width, const int height,
           const int up, const int left, u8 *const __restrict__ turned, const i64 out_pitch) {
    const Plane source = {pixels, pitch, width, height};
    const Target out = {turned, out_pitch, width, left != 0};
    const int words = (width + PER - 1) / PER, stride = static_cast<int>(gridDim.x * blockDim.x);
    for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < words * height; i += stride) {
        const int y = i / words, x = (i - y * words) * PER;
        const Word word = source.word(y, x);
        out.put(up ? height - 1 - y : y, x, left ? exchanged(word) : word);
    }
}
