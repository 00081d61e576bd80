// Strength of the gate, from the histogram of a frame (docs/spec.md 7).
//
// Launch: one block of 1024 threads, or of 2^BITS if that is less. Shared memory: 256 bytes.
//
//   bins      (2^BITS) u32 of the pixels that are counted
//   strength  (1) i32, 0 to 65536
//
// Defines: BITS; LOW, HIGH: levels outside count as the nearest of them.
#include "block_reduce.cuh"
#include "types.cuh"

constexpr int LEVELS = 1 << BITS, THREADS = LEVELS < 1024 ? LEVELS : 1024, PER_THREAD = LEVELS / THREADS;
constexpr i64 USED = HIGH - LOW + 1;
using Whole = Block<THREADS>;

__shared__ i64 scratch[THREADS / 32];

extern "C" __global__ void __launch_bounds__(THREADS)
    gate_strength(const u32 *const __restrict__ bins, int *const __restrict__ strength) {
    const int first = static_cast<int>(threadIdx.x) * PER_THREAD;
    u32 count = 0, all;
    for (int k = 0; k < PER_THREAD; ++k)
        count += bins[first + k];
    i64 below = Whole::scan(count, scratch, all) - count;
    const i64 pixels = all;
    i64 distance = 0;
    for (int k = 0; k < PER_THREAD; ++k) {
        const int level = first + k;
        below += bins[level];
        if (level >= LOW && level <= HIGH)
            distance += llabs(USED * (level == HIGH ? pixels : below) - pixels * (level - LOW + 1));
    }
    const i64 total = Whole::sum(distance, scratch);
    if (threadIdx.x == 0) {
        const i64 excess = (total / USED * 65536 / (USED * pixels) - 1966) * 65536;
        strength[0] = static_cast<int>(min(max(excess / 4588, 0ll), 65536ll));
    }
}
