// Pixels that are moved as they are, several in a word where they fit; shared by the kernels that turn planes.
//
// Defines: PIXEL, bytes of one: 1, 2, 3, 4, 6 or 8.
#pragma once

#include "types.cuh"

#if PIXEL == 1
using Pixel = u8;
#elif PIXEL == 2
using Pixel = u16;
#elif PIXEL == 4
using Pixel = u32;
#elif PIXEL == 8
using Pixel = uint2;
#elif PIXEL == 3
struct Pixel {
    u8 parts[3];
};
#else
struct Pixel {
    u16 parts[3];
};
#endif

#if PIXEL <= 2
using Word = u32;
#else
using Word = Pixel;
#endif

constexpr int PER = sizeof(Word) / sizeof(Pixel); // pixels of a word

union Parts {
    Word word;
    Pixel pixels[PER];
};

// What is read. A word may lie across the border: what is beyond is garbage.
struct Plane {
    const u8 *pixels;
    i64 pitch;
    int width, height;

    __device__ __forceinline__ const Pixel &pixel(const int y, const int x) const {
        return reinterpret_cast<const Pixel *>(pixels + y * pitch)[x];
    }

    __device__ __forceinline__ Word word(const int y, const int x) const {
        Parts parts = {};
        if (y < 0 || y >= height)
            return parts.word;
        const u8 *const at = pixels + y * pitch + static_cast<i64>(x) * PIXEL;
        if (PER > 1 && x >= 0 && x + PER <= width && reinterpret_cast<u64>(at) % sizeof(Word) == 0)
            return *reinterpret_cast<const Word *>(at);
#pragma unroll
        for (int k = 0; k < PER; ++k)
            if (x + k >= 0 && x + k < width)
                parts.pixels[k] = pixel(y, x + k);
        return parts.word;
    }
};

__device__ __forceinline__ Word reversed(const Word word) {
#if PIXEL == 1
    return __byte_perm(word, 0, 0x0123);
#elif PIXEL == 2
    return __byte_perm(word, 0, 0x1032);
#else
    return word;
#endif
}

// What is written: rows of `width` pixels, filled from their far end if `backwards`.
struct Target {
    u8 *pixels;
    i64 pitch;
    int width;
    bool backwards;

    __device__ __forceinline__ Pixel &pixel(const int y, const int x) const {
        return reinterpret_cast<Pixel *>(pixels + y * pitch)[x];
    }

    // Put the pixels of one word, of which those from `width` on do not exist, at x of row y.
    __device__ __forceinline__ void put(const int y, const int x, const Word word) const {
        const int first = backwards ? width - PER - x : x;
        const Parts parts = {backwards ? reversed(word) : word};
        u8 *const at = pixels + y * pitch + static_cast<i64>(first) * PIXEL;
        if (PER > 1 && first >= 0 && first + PER <= width && reinterpret_cast<u64>(at) % sizeof(Word) == 0) {
            *reinterpret_cast<Word *>(at) = parts.word;
            return;
        }
#pragma unroll
        for (int k = 0; k < PER; ++k)
            if (first + k >= 0 && first + k < width)
                pixel(y, first + k) = parts.pixels[k];
    }
};
