// Sums and running sums over a block of whole warps.
#pragma once

template <int THREADS> struct Block {
    static constexpr int WARPS = THREADS / 32;

    // The sum of all values; `scratch` holds WARPS of them.
    static __device__ __forceinline__ long long sum(long long value, long long *const scratch) {
        for (int step = 16; step > 0; step /= 2)
            value += __shfl_xor_sync(~0u, value, step);
        if (threadIdx.x % 32 == 0)
            scratch[threadIdx.x / 32] = value;
        __syncthreads();
        long long all = 0;
        for (int warp = 0; warp < WARPS; ++warp)
            all += scratch[warp];
        __syncthreads();
        return all;
    }

    // The sum of this thread's value and of those before it.
    static __device__ __forceinline__ unsigned scan(unsigned value, long long *const scratch) {
        const unsigned lane = threadIdx.x % 32;
        for (unsigned step = 1; step < 32; step *= 2) {
            const unsigned before = __shfl_up_sync(~0u, value, step);
            value += lane >= step ? before : 0;
        }
        if (lane == 31)
            scratch[threadIdx.x / 32] = value;
        __syncthreads();
        for (unsigned warp = 0; warp < WARPS; ++warp)
            value += warp < threadIdx.x / 32 ? static_cast<unsigned>(scratch[warp]) : 0;
        __syncthreads();
        return value;
    }
};
