// Half precision for the shim: the part of CUDA's cuda_fp16.h that the kernels use.
#pragma once

struct __half {
    _Float16 value;
};
struct alignas(4) __half2 {
    __half x, y;
};
inline __half __float2half_rn(float value) { return {static_cast<_Float16>(value)}; }
inline __half2 __floats2half2_rn(float x, float y) { return {__float2half_rn(x), __float2half_rn(y)}; }
inline float2 __half22float2(__half2 pair) {
    return {static_cast<float>(pair.x.value), static_cast<float>(pair.y.value)};
}
