// Four pixels side by side, mapped together; shared by the two apply kernels (spec 9).
//
// Defines, besides those of pixels.cuh: COPY 1 passes pixels through; LUMA 1 also makes the enhanced luma.
#pragma once
#include "pixels.cuh"

constexpr int QUAD = 4;

struct Quad {
    u32 words[CHANNELS];
};

// A float of 0..255 rounded half to even, in the lowest byte; the others are garbage.
__device__ __forceinline__ u32 round_half_even(const float value) {
    return __float_as_uint(__fadd_rn(value, 8388608.0f));
}

// The four pixels at `at`, a multiple of 4.
__device__ __forceinline__ Quad load_quad(const u8 *const at) {
    Quad quad;
#pragma unroll
    for (int i = 0; i < CHANNELS; ++i)
        quad.words[i] = reinterpret_cast<const u32 *>(at)[i];
    return quad;
}

// The pixels first..last-1 of the four at `at`; the others are 0.
__device__ __forceinline__ Quad load_some(const u8 *const at, const int first, const int last) {
    Quad quad = {};
#pragma unroll
    for (int i = 0; i < QUAD * CHANNELS; ++i)
        if (i / CHANNELS >= first && i / CHANNELS < last)
            quad.words[i / 4] |= static_cast<u32>(at[i]) << (i % 4 * 8);
    return quad;
}

// `words` are four pixels of SAMPLES bytes each.
template <int SAMPLES> __device__ __forceinline__ void store_quad(u8 *const at, const u32 *const words) {
#pragma unroll
    for (int i = 0; i < SAMPLES; ++i)
        reinterpret_cast<u32 *>(at)[i] = words[i];
}

template <int SAMPLES>
__device__ __forceinline__ void store_some(u8 *const at, const u32 *const words, const int first,
                                           const int last) {
#pragma unroll
    for (int i = 0; i < QUAD * SAMPLES; ++i)
        if (i / SAMPLES >= first && i / SAMPLES < last)
            at[i] = static_cast<u8>(byte_of(words[i / 4], i % 4));
}

// A colour pixel whose plane went from `before` to `after`; `bgr` is changed in place.
__device__ __forceinline__ void recolor(int *const bgr, const int before, const int after) {
    if constexpr (VALUE) {
        // c * after / before: one correction by the exact remainder makes a tie exactly a tie, and nothing
        // else comes nearer to one than 1/510.
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
    u32 mapped[QUAD];
#pragma unroll
    for (int k = 0; k < QUAD; ++k)
        mapped[k] = map(k, byte_of(levels, k));
    return pack(mapped[0], mapped[1], mapped[2], mapped[3]);
}

// The luma of a woven quad is exchanged, its chroma stays.
template <class Map> __device__ __forceinline__ Quad map_woven(const Quad &raw, const Map map, u32 &luma) {
    constexpr int LAST = CHANNELS - 1;
    luma = woven_lumas(raw.words[0], raw.words[LAST]);
    if constexpr (COPY)
        return raw;
    luma = map_gray(luma, map);
    Quad enhanced = raw;
    enhanced.words[0] = __byte_perm(luma, raw.words[0], PLACE == 0 ? 0x7150 : 0x1604);
    enhanced.words[LAST] = __byte_perm(luma, raw.words[LAST], PLACE == 0 ? 0x7352 : 0x3624);
    return enhanced;
}

// Channel c of pixel k, c counted from blue on.
__device__ __forceinline__ constexpr int byte_at(const int k, const int c) {
    return CHANNELS * k + (PLACE == 2 && c < 3 ? 2 - c : c);
}

template <class Map> __device__ __forceinline__ Quad map_color(const Quad &raw, const Map map, u32 &luma) {
    u32 bytes[QUAD * CHANNELS], lumas[QUAD];
#pragma unroll
    for (int k = 0; k < QUAD; ++k) {
        int bgr[3];
#pragma unroll
        for (int c = 0; c < 3; ++c)
            bgr[c] = static_cast<int>(byte_of(raw.words[byte_at(k, c) / 4], byte_at(k, c) % 4));
        if constexpr (!COPY) {
            const int before = plane_of(bgr[0], bgr[1], bgr[2]);
            recolor(bgr, before, static_cast<int>(map(k, static_cast<u32>(before)) & 255u));
        }
#pragma unroll
        for (int c = 0; c < 3; ++c)
            bytes[byte_at(k, c)] = static_cast<u32>(bgr[c]);
        if constexpr (CHANNELS == 4)
            bytes[byte_at(k, 3)] = raw.words[k] >> 24;
        lumas[k] = static_cast<u32>(luma_of(bgr[0], bgr[1], bgr[2]));
    }
    luma = pack(lumas[0], lumas[1], lumas[2], lumas[3]);
    Quad enhanced;
#pragma unroll
    for (int i = 0; i < CHANNELS; ++i)
        enhanced.words[i] = pack(bytes[4 * i], bytes[4 * i + 1], bytes[4 * i + 2], bytes[4 * i + 3]);
    return enhanced;
}

// `map(k, level)` maps the level of pixel k, in the lowest byte. `luma`: the enhanced luma of a colour or
// woven quad.
template <class Map> __device__ __forceinline__ Quad map_quad(const Quad &raw, const Map map, u32 &luma) {
    if constexpr (CHANNELS >= 3)
        return map_color(raw, map, luma);
    else if constexpr (CHANNELS == 2)
        return map_woven(raw, map, luma);
    else if constexpr (COPY)
        return raw;
    else
        return {{map_gray(raw.words[0], map)}};
}
