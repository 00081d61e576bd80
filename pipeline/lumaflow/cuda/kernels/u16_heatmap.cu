// The heat map of a frame of 10 to 16 bits: the contrast of each tile (docs/spec.md 7, 13).
//
// Launch: grid (tiles), 512 threads. Shared memory: 128 bytes.
//
//   tiles     (tiles, 2^BITS) u32: histograms with the padding
//   pixels    number of pixels of a tile
//   deviation (tiles) f64, in 8-bit levels; distance (tiles) i64
//
// Defines: BITS. All sums are sums of integers.
#include "block_reduce.cuh"
#include "u16.cuh"

constexpr int THREADS = 512;
using BlockOp = Block<THREADS>;

__shared__ i64 scratch[THREADS / WARP];

extern "C" __global__ void __launch_bounds__(THREADS, 2)
    u16_heatmap(const u32 *const __restrict__ tiles, const u32 pixels, double *const __restrict__ deviation,
                i64 *const __restrict__ distance) {
    const u32 *const counts = tiles + static_cast<i64>(blockIdx.x) * LEVELS;
    const i64 n = pixels;
    i64 first = 0, second = 0, distance_sum = 0, before = 0;
    for (int start = 0; start < LEVELS; start += THREADS) {
        const int level = start + static_cast<int>(threadIdx.x);
        const i64 count = counts[level], level8 = level >> (BITS - 8);
        first += count * level8;
        second += count * level8 * level8;
        u32 all = 0;
        const i64 below = before + BlockOp::scan(static_cast<u32>(count), scratch, all);
        distance_sum += llabs(LEVELS * below - n * (level + 1));
        before += all;
    }
    first = BlockOp::sum(first, scratch);
    second = BlockOp::sum(second, scratch);
    distance_sum = BlockOp::sum(distance_sum, scratch);
    if (threadIdx.x == 0) {
        const double s0 = static_cast<double>(n), s1 = static_cast<double>(first);
        const double variance = __dsub_rn(__dmul_rn(s0, static_cast<double>(second)), __dmul_rn(s1, s1));
        deviation[blockIdx.x] = __ddiv_rn(__dsqrt_rn(variance > 0.0 ? variance : 0.0), s0);
        distance[blockIdx.x] = distance_sum / LEVELS * 65536 / (LEVELS * n);
    }
}
