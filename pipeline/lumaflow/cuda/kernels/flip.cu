// Flips a plane vertically, horizontally, or both (docs/spec.md 12). Pixels are moved unchanged.
//
// Launch: any number of blocks of 256 threads; each thread moves one word of pixels (pixel_words.cuh) at a time.
// Shared memory: none.
//
//   pixels, out_pixels (height, width), rows `pitch` and `out_pitch` bytes apart; they must not overlap
//   flip_y, flip_x: reverse the order of rows, of columns
//
// Defines: PIXEL_BYTES, bytes per pixel; SWAP_LUMA -1, or for packed 4:2:2 (a pixel is then a pair, PIXEL_BYTES 4)
// the index of the first luma byte: flip_x swaps the two luma bytes of a pair.
#include "pixel_words.cuh"

__device__ __forceinline__ Word swap_lumas(const Word word) {
#if SWAP_LUMA == 0
    return __byte_perm(word, 0, 0x3012);
#elif SWAP_LUMA == 1
    return __byte_perm(word, 0, 0x1230);
#else
    return word;
#endif
}

extern "C" __global__ void __launch_bounds__(256)
    flip(const u8 *const __restrict__ pixels, const i64 pitch, const int width, const int height,
         const int flip_y, const int flip_x, u8 *const __restrict__ out_pixels, const i64 out_pitch) {
    const Plane source = {pixels, pitch, width, height};
    const Output out = {out_pixels, out_pitch, width, flip_x != 0};
    const int words = (width + PIXELS_PER_WORD - 1) / PIXELS_PER_WORD,
              stride = static_cast<int>(gridDim.x * blockDim.x);
    for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < words * height; i += stride) {
        const int y = i / words, x = (i - y * words) * PIXELS_PER_WORD;
        const Word word = source.word(y, x);
        out.store(flip_y ? height - 1 - y : y, x, flip_x ? swap_lumas(word) : word);
    }
}
