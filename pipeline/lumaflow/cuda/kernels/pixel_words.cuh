// Moves pixels unchanged, several per 32-bit word where they fit. Shared by flip.cu and transpose.cu.
//
// Defines: PIXEL_BYTES, bytes per pixel: 1, 2, 3, 4, 6 or 8.
#pragma once

#include "types.cuh"

#if PIXEL_BYTES == 1
using Pixel = u8;
#elif PIXEL_BYTES == 2
using Pixel = u16;
#elif PIXEL_BYTES == 4
using Pixel = u32;
#elif PIXEL_BYTES == 8
using Pixel = uint2;
#elif PIXEL_BYTES == 3
struct Pixel {
    u8 parts[3];
};
#else
struct Pixel {
    u16 parts[3];
};
#endif

#if PIXEL_BYTES <= 2
using Word = u32;
#else
using Word = Pixel;
#endif

constexpr int PIXELS_PER_WORD = sizeof(Word) / sizeof(Pixel);

union WordUnion {
    Word word;
    Pixel pixels[PIXELS_PER_WORD];
};

// The source plane. A word may cross the border; its pixels outside the plane are undefined.
struct Plane {
    const u8 *pixels;
    i64 pitch;
    int width, height;

    __device__ __forceinline__ const Pixel &pixel(const int y, const int x) const {
        return reinterpret_cast<const Pixel *>(pixels + y * pitch)[x];
    }

    __device__ __forceinline__ Word word(const int y, const int x) const {
        WordUnion parts = {};
        if (y < 0 || y >= height)
            return parts.word;
        const u8 *const at = pixels + y * pitch + static_cast<i64>(x) * PIXEL_BYTES;
        if (PIXELS_PER_WORD > 1 && x >= 0 && x + PIXELS_PER_WORD <= width &&
            reinterpret_cast<u64>(at) % sizeof(Word) == 0)
            return *reinterpret_cast<const Word *>(at);
#pragma unroll
        for (int k = 0; k < PIXELS_PER_WORD; ++k)
            if (x + k >= 0 && x + k < width)
                parts.pixels[k] = pixel(y, x + k);
        return parts.word;
    }
};

__device__ __forceinline__ Word reverse_word(const Word word) {
#if PIXEL_BYTES == 1
    return __byte_perm(word, 0, 0x0123);
#elif PIXEL_BYTES == 2
    return __byte_perm(word, 0, 0x1032);
#else
    return word;
#endif
}

// The destination plane: rows of `width` pixels, filled from right to left if `reversed`.
struct Output {
    u8 *pixels;
    i64 pitch;
    int width;
    bool reversed;

    __device__ __forceinline__ Pixel &pixel(const int y, const int x) const {
        return reinterpret_cast<Pixel *>(pixels + y * pitch)[x];
    }

    // Store the pixels of one word at column x of row y; pixels outside the row are skipped.
    __device__ __forceinline__ void store(const int y, const int x, const Word word) const {
        const int first = reversed ? width - PIXELS_PER_WORD - x : x;
        const WordUnion parts = {reversed ? reverse_word(word) : word};
        u8 *const at = pixels + y * pitch + static_cast<i64>(first) * PIXEL_BYTES;
        if (PIXELS_PER_WORD > 1 && first >= 0 && first + PIXELS_PER_WORD <= width &&
            reinterpret_cast<u64>(at) % sizeof(Word) == 0) {
            *reinterpret_cast<Word *>(at) = parts.word;
            return;
        }
#pragma unroll
        for (int k = 0; k < PIXELS_PER_WORD; ++k)
            if (first + k >= 0 && first + k < width)
                pixel(y, first + k) = parts.pixels[k];
    }
};
