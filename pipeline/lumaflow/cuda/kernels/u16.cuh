// Samples of 10 to 16 bits in u16, shared by the kernels for high bit depth (docs/spec.md 8, 9).
//
// Defines: BITS, the bit depth; SHIFT, the left shift of the valid bits in a sample. Samples above the depth are
// only possible with low-aligned bits; they are clamped to the highest level.
#pragma once
#include "types.cuh"

#ifndef SHIFT
#define SHIFT 0
#endif

#ifdef OUT_BITS // bits of an output sample and of a LUT entry
#if OUT_BITS == 8
using OutSample = u8;
#else
using OutSample = u16;
#endif
#endif

constexpr int LEVELS = 1 << BITS;
constexpr u32 MAX_LEVEL = LEVELS - 1;
constexpr bool CAN_EXCEED_DEPTH = BITS + SHIFT < 16;
constexpr int WARP = 32;

// Number of samples before the first one aligned to SAMPLES samples (a power of two).
template <int SAMPLES> __device__ __forceinline__ int lead_samples(const u8 *const row) {
    return static_cast<int>((0u - static_cast<u32>(reinterpret_cast<u64>(row))) % (2 * SAMPLES) / 2);
}

__device__ __forceinline__ u32 level_of_sample(const u32 sample) {
    const u32 level = sample >> SHIFT;
    return CAN_EXCEED_DEPTH ? min(level, MAX_LEVEL) : level;
}

__device__ __forceinline__ u32 sample_at(const u8 *const row, const int x) {
    return reinterpret_cast<const u16 *>(row)[x];
}

__device__ __forceinline__ u32 u16_of(const u32 sample, const int index) {
    return index == 0 ? sample & 0xffffu : sample >> 16;
}
