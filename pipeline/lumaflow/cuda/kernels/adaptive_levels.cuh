// Levels of the enhanced frame from working samples and gains; removal of haze (docs/spec.md 16.8, 17.8).
//
// Defines, in addition to those of adaptive_samples.cuh: OUT_BITS and OUT_LIMITED, depth and range of the output.
#pragma once
#include "adaptive_samples.cuh"

constexpr int MAX_OUT = (1 << OUT_BITS) - 1;
constexpr bool NATIVE = BITS == 16 && OUT_BITS == 16 && !LIMITED;

__device__ __forceinline__ int multiplied(const int value, const int gain, const int most) {
    return min((value * gain + 512) >> 10, most);
}

// Level of `bits` bits of a sample less black, times its gain.
template <int BITS_OUT, bool LIMITED_OUT>
__device__ __forceinline__ int level_of(const int value, const int gain) {
    if constexpr (LIMITED_OUT) {
        constexpr u32 FIRST = 16u << (BITS_OUT - 8), RANGE = 219u << (BITS_OUT - 8);
        const u32 sample = static_cast<u32>(multiplied(value, gain, 32640));
        return static_cast<int>(FIRST + (sample * RANGE + 16320u) / 32640u);
    } else if constexpr (BITS_OUT == 16) {
        const int sample = multiplied(value, gain, 32767);
        return sample == 32767 ? 65535 : 2 * sample;
    } else {
        constexpr int DOWN = 15 - BITS_OUT;
        return min((multiplied(value, gain, 32767) + (1 << DOWN >> 1)) >> DOWN, (1 << BITS_OUT) - 1);
    }
}

// 16-bit level of full range, without the loss of a bit in the working sample.
__device__ __forceinline__ int native_level(const int code, const int black, const int gain) {
    return min((max(code - 2 * black, 0) * gain + 512) >> 10, 65535);
}

__device__ __forceinline__ int hazeless(const int sample, const float airlight, const float gain,
                                        const float extra, const int most) {
    const float moved = (static_cast<float>(sample) - airlight) * gain + airlight + extra;
    return min(max(__float2int_rn(moved), 0), most);
}
