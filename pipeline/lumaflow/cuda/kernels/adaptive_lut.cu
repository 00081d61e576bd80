// The curve of the mapping in use: gray pixels under the mean of its gains (docs/spec.md 16.9).
//
// Launch: blocks of 256 threads, a thread a level at a time. Shared memory: 140 bytes.
//
//   gains (256, KNOTS), the mapping in use; decision, haze_gains (tiles): of adaptive_decide
//   lut   (2^BITS) u8, or u16 above 8 bits
//
// Defines: those of adaptive_levels.cuh.
#include "adaptive.cuh"
#include "adaptive_levels.cuh"

#if OUT_BITS == 8
using Out = u8;
#else
using Out = u16;
#endif

constexpr int THREADS = 256, LEVELS = 1 << BITS;

__shared__ u32 knots[KNOTS];
__shared__ u32 haze_sum;

extern "C" __global__ void __launch_bounds__(THREADS)
    adaptive_lut(const int *const __restrict__ gains, const Decision *const __restrict__ decision,
                 const float *const __restrict__ haze_gains, const int tiles, Out *const __restrict__ lut) {
    const Decision chosen = *decision;
    const int thread = static_cast<int>(threadIdx.x);
    if (thread < KNOTS)
        knots[thread] = 0;
    if (thread == 0)
        haze_sum = 0;
    __syncthreads();
#pragma unroll 4
    for (int i = thread; i < GAINS; i += THREADS)
        atomicAdd(&knots[i % KNOTS], static_cast<u32>(gains[i]));
    if (chosen.haze && thread < tiles)
        atomicAdd(&haze_sum, static_cast<u32>(__float2int_rn(haze_gains[thread] * 1024.0f)));
    __syncthreads();
    const float haze_gain = __uint2float_rn(haze_sum) / static_cast<float>(1024 * max(tiles, 1));
    for (int level = static_cast<int>(blockIdx.x) * THREADS + thread; level < LEVELS;
         level += static_cast<int>(gridDim.x) * THREADS) {
        int sample = sample_of(level);
        if (chosen.haze) {
            const float moved =
                (static_cast<float>(sample) - chosen.luma_airlight) * haze_gain + chosen.luma_airlight;
            sample = min(max(__float2int_rn(moved), 0), sample_of(MAX_CODE));
        }
        const int value = max(sample - chosen.offset, 0), knot = value >> 10, part = (value >> 3) & 127;
        const int low = static_cast<int>((knots[knot] + 128) >> 8);
        const int high = static_cast<int>((knots[knot + 1] + 128) >> 8);
        const int gain = (16 * low * (128 - part) + 16 * high * part + 1024) >> 11;
        int mapped = level_of<OUT_BITS, OUT_LIMITED>(value, gain);
        if constexpr (NATIVE)
            if (!chosen.haze)
                mapped = native_level(level, chosen.offset, gain);
        lut[level] = static_cast<Out>(mapped);
    }
}
