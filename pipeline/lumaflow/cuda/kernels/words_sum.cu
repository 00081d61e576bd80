// Adds up the partial histograms of a deep frame (spec 1, 4.1).
//
// Launch: 2^BITS / 32 blocks of 1024 threads: a block takes 32 levels, its warps share out the tiles, or the
// parts of the one tile. Shared memory: 4096 bytes.
//
//   partials (tiles, all_parts, 2^BITS) u32; of a tile's, the first `parts` are of real pixels
//   bins     (2^BITS) u32, of the real pixels
//   tiles    (tiles, 2^BITS) u32, with the padding, if TILES
//   found    (2) scratch, zero after: it moves to `beyond`, if CHECK
//
// Defines: BITS; TILES 0 or 1; CHECK 0 or 1.
#include "words.cuh"

constexpr int WARPS = 32;

__shared__ u32 sums[WARPS][WARP];

extern "C" __global__ void __launch_bounds__(WARPS *WARP)
    words_sum(const u32 *const __restrict__ partials, const int tile_count, const int parts,
              const int all_parts, u32 *const __restrict__ bins, u32 *const __restrict__ tiles,
              u32 *const __restrict__ found, u32 *const __restrict__ beyond) {
    const int lane = static_cast<int>(threadIdx.x) % WARP, warp = static_cast<int>(threadIdx.x) / WARP;
    const int level = static_cast<int>(blockIdx.x) * WARP + lane;
    if (CHECK && blockIdx.x == 0 && threadIdx.x < 2) {
        beyond[threadIdx.x] = found[threadIdx.x];
        found[threadIdx.x] = 0;
    }
    u32 sum = 0;
    if constexpr (TILES) {
        for (int tile = warp; tile < tile_count; tile += WARPS) {
            const u32 *const own = partials + static_cast<i64>(tile) * all_parts * LEVELS + level;
            u32 real = 0, padding = 0;
            for (int part = 0; part < all_parts; ++part)
                (part < parts ? real : padding) += own[static_cast<i64>(part) * LEVELS];
            tiles[static_cast<i64>(tile) * LEVELS + level] = real + padding;
            sum += real;
        }
    } else {
        for (int part = warp; part < parts; part += WARPS)
            sum += partials[static_cast<i64>(part) * LEVELS + level];
    }
    sums[warp][lane] = sum;
    __syncthreads();
    if (warp == 0) {
        for (int other = 1; other < WARPS; ++other)
            sum += sums[other][lane];
        bins[level] = sum;
    }
}
