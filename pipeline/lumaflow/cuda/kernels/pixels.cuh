// Pixels in memory, shared by the kernels that read frames: 16-byte pieces where the address allows it,
// single bytes elsewhere, and the plane that is mapped in a colour frame (spec 9).
//
// Defines: CHANNELS 1 (gray8, luma beside its chroma), 2 (yuyv, uyvy), 3 (bgr24, rgb24) or 4 (bgra32); VALUE 1
// (the largest channel) or 0 (luma); PLACE, the channel of the luma of 2, and of blue of 3 or 4.
#pragma once
#ifndef PLACE
#define PLACE 0
#endif

#include "types.cuh"

// A run of 16 pixels whose first byte lies on a multiple of 16 can be read in CHANNELS loads of 16 bytes.
constexpr int CHUNK = 16;

// Pixels before the first one whose address is a multiple of `BYTES` (a power of two up to 16). With 3 bytes
// a pixel that is 5a of them, for a + 3 * 5a = 16a. Pixels of 2 and of 4 bytes lie at multiples of their size.
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

// The level of a colour that is counted and mapped.
__device__ __forceinline__ int plane_of(const int b, const int g, const int r) {
    return VALUE ? max(max(b, g), r) : luma_of(b, g, r);
}

// The same of a pixel in memory.
__device__ __forceinline__ int plane_at(const u8 *const pixel) {
    return CHANNELS <= 2 ? pixel[PLACE] : plane_of(pixel[PLACE], pixel[1], pixel[2 - PLACE]);
}

// The lumas of four woven pixels, side by side.
__device__ __forceinline__ u32 woven_lumas(const u32 first_two, const u32 last_two) {
    return __byte_perm(first_two, last_two, PLACE == 0 ? 0x6420 : 0x7531);
}
