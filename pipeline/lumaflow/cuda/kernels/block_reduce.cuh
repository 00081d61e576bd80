// Sum and inclusive prefix sum over a thread block of full warps, at most 32 warps.
#pragma once

template <int THREADS> struct Block {
    static constexpr int WARPS = THREADS / 32;

    // The sum of all values; `scratch` holds WARPS values.
    static __device__ __forceinline__ long long sum(long long value, long long *const scratch) {
        const unsigned lane = threadIdx.x % 32;
        value = warp_sum(value);
        if (lane == 0)
            scratch[threadIdx.x / 32] = value;
        __syncthreads();
        const long long all = warp_sum(lane < WARPS ? scratch[lane] : 0);
        __syncthreads();
        return all;
    }

    // The inclusive prefix sum; `all` receives the sum of all values.
    static __device__ __forceinline__ unsigned scan(const unsigned value, long long *const scratch,
                                                    unsigned &all) {
        const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
        const unsigned sum = warp_scan(value, lane);
        if (lane == 31)
            scratch[warp] = sum;
        __syncthreads();
        const unsigned sums = warp_scan(lane < WARPS ? static_cast<unsigned>(scratch[lane]) : 0, lane);
        const unsigned before = __shfl_sync(~0u, sums, static_cast<int>(warp) - 1 & 31);
        all = __shfl_sync(~0u, sums, WARPS - 1);
        __syncthreads();
        return sum + (warp > 0 ? before : 0);
    }

  private:
    static __device__ __forceinline__ long long warp_sum(long long value) {
        for (int step = 16; step > 0; step /= 2)
            value += __shfl_xor_sync(~0u, value, step);
        return value;
    }

    static __device__ __forceinline__ unsigned warp_scan(unsigned value, const unsigned lane) {
        for (unsigned step = 1; step < 32; step *= 2) {
            const unsigned before = __shfl_up_sync(~0u, value, step);
            value += lane >= step ? before : 0;
        }
        return value;
    }
};
