// Levels of 10 to 16 bits in 16-bit words; shared by the kernels of deep frames (spec 8, 9).
//
// Defines: BITS, the depth; SHIFT, how far the valid bits lie above the low end of a word. Words beyond the
// depth, which only those at the low end can be, are read as the highest level.
#pragma once
#include "types.cuh"

#ifndef SHIFT
#define SHIFT 0
#endif

#ifdef SHOWN // bits of a shown sample and of a LUT's entry
#if SHOWN == 8
using Sample = u8;
#else
using Sample = u16;
#endif
#endif

constexpr int LEVELS = 1 << BITS;
constexpr u32 TOP = LEVELS - 1;
constexpr bool MAY_EXCEED = BITS + SHIFT < 16;
constexpr int WARP = 32;

// Words before the first one whose address is a multiple of 2 * WORDS bytes (a power of two).
template <int WORDS> __device__ __forceinline__ int lead_words(const u8 *const row) {
    return static_cast<int>((0u - static_cast<u32>(reinterpret_cast<u64>(row))) % (2 * WORDS) / 2);
}

__device__ __forceinline__ u32 level_of_word(const u32 word) {
    const u32 level = word >> SHIFT;
    return MAY_EXCEED ? min(level, TOP) : level;
}

__device__ __forceinline__ u32 word_at(const u8 *const row, const int x) {
    return reinterpret_cast<const u16 *>(row)[x];
}

__device__ __forceinline__ u32 half_of(const u32 word, const int index) {
    return index == 0 ? word & 0xffffu : word >> 16;
}
