// The heat map of a deep frame: the contrast of every tile (spec 7, 13).
//
// Launch: grid (tiles), 512 threads. Shared memory: 128 bytes.
//
//   tiles     (tiles, 2^BITS) u32, counts with the padding
//   pixels    of a tile
//   deviation (tiles) f64, in levels of 8 bits; distance (tiles) i64
//
// Defines: BITS. All sums are of integers.
#include "block.cuh"
#include "words.cuh"

constexpr int THREADS = 512;
using Whole = Block<THREADS>;

__shared__ i64 scratch[THREADS / WARP];

extern "C" __global__ void __launch_bounds__(THREADS, 2)
    words_heatmap(const u32 *const __restrict__ tiles, const u32 pixels, double *const __restrict__ deviation,
                  i64 *const __restrict__ distance) {
    const u32 *const counts = tiles + static_cast<i64>(blockIdx.x) * LEVELS;
    const i64 n = pixels;
    i64 first = 0, second = 0, apart = 0, before = 0;
    for (int start = 0; start < LEVELS; start += THREADS) {
        const int level = start + static_cast<int>(threadIdx.x);
        const i64 count = counts[level], shown = level >> (BITS - 8);
        first += count * shown;
        second += count * shown * shown;
        u32 all = 0;
        const i64 below = before + Whole::scan(static_cast<u32>(count), scratch, all);
        apart += llabs(LEVELS * below - n * (level + 1));
        before += all;
    }
    first = Whole::sum(first, scratch);
    second = Whole::sum(second, scratch);
    apart = Whole::sum(apart, scratch);
    if (threadIdx.x == 0) {
        const double s0 = static_cast<double>(n), s1 = static_cast<double>(first);
        const double variance = __dsub_rn(__dmul_rn(s0, static_cast<double>(second)), __dmul_rn(s1, s1));
        deviation[blockIdx.x] = __ddiv_rn(__dsqrt_rn(variance > 0.0 ? variance : 0.0), s0);
        distance[blockIdx.x] = apart / LEVELS * 65536 / (LEVELS * n);
    }
}
