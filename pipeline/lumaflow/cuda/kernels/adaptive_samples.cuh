// Pixels of all formats as working samples of 15 bits, 1/128 of an 8-bit level (docs/spec.md 16.1).
//
// Defines: CHANNELS 1 (gray, luma plane), 2 (yuyv, uyvy), 3 (bgr24, rgb24) or 4 (bgra32); CHANNEL, the index of luma
// (2 channels) or of blue (3 or 4 channels); BITS and SHIFT, depth and left shift of a sample; LIMITED 1 for levels
// 16..235 (times 2^(BITS - 8)).
#pragma once
#include "types.cuh"

#if BITS == 8
using Raw = u8;
#else
using Raw = u16;
#endif

constexpr int COLORS = CHANNELS >= 3 ? 3 : 1; // working samples of a pixel: blue, green, red, or luma
constexpr int MAX_CODE = (1 << BITS) - 1;
constexpr int LOW = LIMITED ? 16 << (BITS - 8) : 0;
constexpr int SPAN = LIMITED ? 219 << (BITS - 8) : MAX_CODE;
constexpr int MAX_SAMPLE = LIMITED ? 32640 : 32767;

// The level of a stored sample; a level above the depth becomes the highest one.
__device__ __forceinline__ int code_of(const Raw stored) {
    const int code = stored >> SHIFT;
    return BITS + SHIFT < 16 && BITS > 8 ? min(code, MAX_CODE) : code;
}

__device__ __forceinline__ int sample_of(const int code) {
    if constexpr (LIMITED)
        return static_cast<int>(
            (static_cast<u32>(min(max(code - LOW, 0), SPAN)) * 32640u + static_cast<u32>(SPAN / 2)) /
            static_cast<u32>(SPAN));
    else
        return BITS <= 15 ? code << (15 - BITS) : code >> 1;
}

// Code of component c of pixel x of a row.
__device__ __forceinline__ int code_at(const u8 *const row, const int x, const int c) {
    const int index = CHANNELS >= 3 && CHANNEL == 2 ? 2 - c : CHANNELS == 2 ? CHANNEL : c;
    return code_of(reinterpret_cast<const Raw *>(row)[CHANNELS * x + index]);
}

__device__ __forceinline__ int luma_of(const int b, const int g, const int r) {
    return (4899 * r + 9617 * g + 1868 * b + 8192) >> 14;
}

// 8-bit level of component c of a pixel, as the statistics use it.
__device__ __forceinline__ int level_at(const u8 *const row, const int x, const int c) {
    return sample_of(code_at(row, x, c)) >> 7;
}

// 8-bit V of a pixel: its largest component.
__device__ __forceinline__ int value_at(const u8 *const row, const int x) {
    if constexpr (COLORS == 3)
        return max(max(level_at(row, x, 0), level_at(row, x, 1)), level_at(row, x, 2));
    else
        return level_at(row, x, 0);
}
