// 8-bit pixels in memory: alignment for 16-byte loads, and the level of a colour pixel (docs/spec.md 9).
//
// Defines: CHANNELS 1 (gray8, luma plane), 2 (yuyv, uyvy), 3 (bgr24, rgb24) or 4 (bgra32); VALUE 1 (level is the
// largest channel) or 0 (luma); CHANNEL, the index of luma (2 channels) or of blue (3 or 4 channels).
#pragma once
#ifndef CHANNEL
#define CHANNEL 0
#endif

#include "types.cuh"

// 16 pixels whose first byte is aligned to 16 bytes are read with CHANNELS loads of 16 bytes.
constexpr int CHUNK = 16;

// Number of pixels before the first pixel aligned to `BYTES` (a power of two up to 16). With 3 bytes per pixel
// this is 5a, because a + 3 * 5a = 16a. Pixels of 2 and 4 bytes are aligned to their size.
template <int BYTES> __device__ __forceinline__ int lead_pixels(const u8 *const row) {
    const u32 address = static_cast<u32>(reinterpret_cast<u64>(row));
    return static_cast<int>(CHANNELS == 3 ? address * 5u % BYTES : (0u - address) % BYTES / CHANNELS);
}

__device__ __forceinline__ u32 byte_of(const u32 word, const int index) {
    return __byte_perm(word, 0, 0x4440 | index);
}

__device__ __forceinline__ u32 pack(const u32 b0, const u32 b1, const u32 b2, const u32 b3) {
    return __byte_perm(__byte_perm(b0, b1, 0x0040), __byte_perm(b2, b3, 0x0040), 0x5410);
}

__device__ __forceinline__ int saturate(const int level) { return min(max(level, 0), 255); }

__device__ __forceinline__ int luma_of(const int b, const int g, const int r) {
    return (4899 * r + 9617 * g + 1868 * b + 8192) >> 14;
}

// The level of a colour pixel that is counted and mapped: value or luma.
__device__ __forceinline__ int level_of_color(const int b, const int g, const int r) {
    return VALUE ? max(max(b, g), r) : luma_of(b, g, r);
}

// The same for a pixel in memory.
__device__ __forceinline__ int level_at(const u8 *const pixel) {
    return CHANNELS <= 2 ? pixel[CHANNEL] : level_of_color(pixel[CHANNEL], pixel[1], pixel[2 - CHANNEL]);
}

// The luma of four packed 4:2:2 pixels.
__device__ __forceinline__ u32 packed_lumas(const u32 first_two, const u32 last_two) {
    return __byte_perm(first_two, last_two, CHANNEL == 0 ? 0x6420 : 0x7531);
}
