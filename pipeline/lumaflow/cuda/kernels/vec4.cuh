// Loads, maps and stores four adjacent pixels at once (docs/spec.md 9). Shared by apply_lut.cu and apply_clahe.cu.
//
// Defines, in addition to those of pixels.cuh: COPY 1 copies pixels; LUMA 1 also returns the enhanced luma.
#pragma once
#include "pixels.cuh"

constexpr int VEC = 4;

struct Vec4 {
    u32 words[CHANNELS];
};

// Round a float of 0..255 half to even, into the lowest byte; the other bytes are undefined.
__device__ __forceinline__ u32 round_half_even(const float value) {
    return __float_as_uint(__fadd_rn(value, 8388608.0f));
}

// The four pixels at `at`, which is aligned to 4 bytes.
__device__ __forceinline__ Vec4 load_vec4(const u8 *const at) {
    Vec4 vec;
#pragma unroll
    for (int i = 0; i < CHANNELS; ++i)
        vec.words[i] = reinterpret_cast<const u32 *>(at)[i];
    return vec;
}

// Pixels first..last-1 of the four at `at`; the others are 0.
__device__ __forceinline__ Vec4 load_partial(const u8 *const at, const int first, const int last) {
    Vec4 vec = {};
#pragma unroll
    for (int i = 0; i < VEC * CHANNELS; ++i)
        if (i / CHANNELS >= first && i / CHANNELS < last)
            vec.words[i / 4] |= static_cast<u32>(at[i]) << (i % 4 * 8);
    return vec;
}

// `words` holds four pixels of SAMPLES bytes each.
template <int SAMPLES> __device__ __forceinline__ void store_vec4(u8 *const at, const u32 *const words) {
#pragma unroll
    for (int i = 0; i < SAMPLES; ++i)
        reinterpret_cast<u32 *>(at)[i] = words[i];
}

template <int SAMPLES>
__device__ __forceinline__ void store_partial(u8 *const at, const u32 *const words, const int first,
                                              const int last) {
#pragma unroll
    for (int i = 0; i < VEC * SAMPLES; ++i)
        if (i / SAMPLES >= first && i / SAMPLES < last)
            at[i] = static_cast<u8>(byte_of(words[i / 4], i % 4));
}

// Change a colour pixel in place, given its mapped level (value or luma) before and after.
__device__ __forceinline__ void recolor(int *const bgr, const int before, const int after) {
    if constexpr (VALUE) {
        // c * after / before. One correction with the exact remainder makes ties exact; all other quotients
        // are at least 1/510 away from a tie.
        const float divisor = static_cast<float>(max(before, 1)), inverse = __fdividef(1.0f, divisor);
#pragma unroll
        for (int c = 0; c < 3; ++c) {
            const float product = static_cast<float>(bgr[c] * after);
            const float rough = __fmul_rn(product, inverse);
            const float exact = __fmaf_rn(__fmaf_rn(-rough, divisor, product), inverse, rough);
            bgr[c] = before == 0 ? after : static_cast<int>(round_half_even(exact) & 255u);
        }
    } else {
        const int cr = saturate((11682 * (bgr[2] - before) + (128 << 14) + 8192) >> 14) - 128;
        const int cb = saturate((9241 * (bgr[0] - before) + (128 << 14) + 8192) >> 14) - 128;
        bgr[0] = saturate(after + ((29049 * cb + 8192) >> 14));
        bgr[1] = saturate(after + ((-5636 * cb - 11698 * cr + 8192) >> 14));
        bgr[2] = saturate(after + ((22987 * cr + 8192) >> 14));
    }
}

template <class Map> __device__ __forceinline__ u32 map_gray(const u32 levels, const Map map) {
    u32 mapped[VEC];
#pragma unroll
    for (int k = 0; k < VEC; ++k)
        mapped[k] = map(k, byte_of(levels, k));
    return pack(mapped[0], mapped[1], mapped[2], mapped[3]);
}

// Packed 4:2:2: replaces the luma and keeps the chroma.
template <class Map>
__device__ __forceinline__ Vec4 map_packed422(const Vec4 &raw, const Map map, u32 &luma) {
    constexpr int LAST = CHANNELS - 1;
    luma = packed_lumas(raw.words[0], raw.words[LAST]);
    if constexpr (COPY)
        return raw;
    luma = map_gray(luma, map);
    Vec4 enhanced = raw;
    enhanced.words[0] = __byte_perm(luma, raw.words[0], CHANNEL == 0 ? 0x7150 : 0x1604);
    enhanced.words[LAST] = __byte_perm(luma, raw.words[LAST], CHANNEL == 0 ? 0x7352 : 0x3624);
    return enhanced;
}

// Byte index of channel c (0: blue) of pixel k.
__device__ __forceinline__ constexpr int byte_index(const int k, const int c) {
    return CHANNELS * k + (CHANNEL == 2 && c < 3 ? 2 - c : c);
}

template <class Map> __device__ __forceinline__ Vec4 map_color(const Vec4 &raw, const Map map, u32 &luma) {
    u32 bytes[VEC * CHANNELS], lumas[VEC];
#pragma unroll
    for (int k = 0; k < VEC; ++k) {
        int bgr[3];
#pragma unroll
        for (int c = 0; c < 3; ++c)
            bgr[c] = static_cast<int>(byte_of(raw.words[byte_index(k, c) / 4], byte_index(k, c) % 4));
        if constexpr (!COPY) {
            const int before = level_of_color(bgr[0], bgr[1], bgr[2]);
            recolor(bgr, before, static_cast<int>(map(k, static_cast<u32>(before)) & 255u));
        }
#pragma unroll
        for (int c = 0; c < 3; ++c)
            bytes[byte_index(k, c)] = static_cast<u32>(bgr[c]);
        if constexpr (CHANNELS == 4)
            bytes[byte_index(k, 3)] = raw.words[k] >> 24;
        lumas[k] = static_cast<u32>(luma_of(bgr[0], bgr[1], bgr[2]));
    }
    luma = pack(lumas[0], lumas[1], lumas[2], lumas[3]);
    Vec4 enhanced;
#pragma unroll
    for (int i = 0; i < CHANNELS; ++i)
        enhanced.words[i] = pack(bytes[4 * i], bytes[4 * i + 1], bytes[4 * i + 2], bytes[4 * i + 3]);
    return enhanced;
}

// `map(k, level)` returns the mapped level of pixel k in the lowest byte. `luma` receives the enhanced luma of
// colour and packed 4:2:2 pixels.
template <class Map> __device__ __forceinline__ Vec4 map_vec4(const Vec4 &raw, const Map map, u32 &luma) {
    if constexpr (CHANNELS >= 3)
        return map_color(raw, map, luma);
    else if constexpr (CHANNELS == 2)
        return map_packed422(raw, map, luma);
    else if constexpr (COPY)
        return raw;
    else
        return {{map_gray(raw.words[0], map)}};
}
