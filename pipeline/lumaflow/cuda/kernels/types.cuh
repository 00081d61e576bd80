// Fixed-width integer types and an alignment check, for all kernels.
#pragma once

using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using i64 = long long;

template <int BYTES> __device__ __forceinline__ bool is_aligned(const void *const address) {
    return reinterpret_cast<u64>(address) % BYTES == 0;
}
