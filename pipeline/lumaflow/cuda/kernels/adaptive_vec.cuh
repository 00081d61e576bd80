// Four pixels of a row at a time, in the formats of adaptive_samples.cuh.
#pragma once
#include "adaptive_samples.cuh"

constexpr int VEC = 4;

// Four pixels of T samples, side by side.
template <class T> struct Vec {
    static constexpr int COUNT = VEC * CHANNELS, PER = 4 / sizeof(T), WORDS = COUNT / PER;
    u32 words[WORDS];

    __device__ __forceinline__ int get(const int index) const {
        return static_cast<int>(words[index / PER] >> (index % PER * 8 * sizeof(T)) &
                                (sizeof(T) == 1 ? 255u : 65535u));
    }

    __device__ __forceinline__ void add(const int index, const int value) {
        words[index / PER] |= static_cast<u32>(value) << (index % PER * 8 * sizeof(T));
    }
};

template <class T> __device__ __forceinline__ Vec<T> load(const T *const at, const int pixels) {
    Vec<T> vec = {};
    if (pixels >= VEC && is_aligned<4>(at)) {
#pragma unroll
        for (int i = 0; i < Vec<T>::WORDS; ++i)
            vec.words[i] = reinterpret_cast<const u32 *>(at)[i];
    } else {
#pragma unroll
        for (int i = 0; i < Vec<T>::COUNT; ++i)
            if (i < pixels * CHANNELS)
                vec.add(i, at[i]);
    }
    return vec;
}

template <class T> __device__ __forceinline__ void store(T *const at, const Vec<T> &vec, const int pixels) {
    if (pixels >= VEC && is_aligned<4>(at)) {
#pragma unroll
        for (int i = 0; i < Vec<T>::WORDS; ++i)
            reinterpret_cast<u32 *>(at)[i] = vec.words[i];
    } else {
#pragma unroll
        for (int i = 0; i < Vec<T>::COUNT; ++i)
            if (i < pixels * CHANNELS)
                at[i] = static_cast<T>(vec.get(i));
    }
}

// Index of component c of pixel k.
__device__ __forceinline__ constexpr int index_of(const int k, const int c) {
    return CHANNELS * k + (CHANNELS >= 3 && CHANNEL == 2 ? 2 - c : CHANNELS == 2 ? CHANNEL : c);
}
