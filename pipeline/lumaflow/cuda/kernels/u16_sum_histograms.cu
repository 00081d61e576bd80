// Sums the partial histograms of a frame of 10 to 16 bits (docs/spec.md 1, 4.1).
//
// Launch: 2^BITS / 32 blocks of 1024 threads: each block handles 32 levels; its warps divide the tiles, or the
// parts of a single tile. Shared memory: 4096 bytes.
//
//   partials (tiles, all_parts, 2^BITS) u32; the first `parts` of a tile have no padding
//   bins     (2^BITS) u32, of the pixels without padding
//   tiles    (tiles, 2^BITS) u32, with the padding, if TILES
//   range_scratch (2) u32: if CHECK it is moved to `out_of_range` and cleared
//
// Defines: BITS; TILES 0 or 1; CHECK 0 or 1.
#include "u16.cuh"

constexpr int WARPS = 32;

__shared__ u32 sums[WARPS][WARP];

extern "C" __global__ void __launch_bounds__(WARPS *WARP)
    u16_sum_histograms(const u32 *const __restrict__ partials, const int tile_count, const int parts,
                       const int all_parts, u32 *const __restrict__ bins, u32 *const __restrict__ tiles,
                       u32 *const __restrict__ range_scratch, u32 *const __restrict__ out_of_range) {
    const int lane = static_cast<int>(threadIdx.x) % WARP, warp = static_cast<int>(threadIdx.x) / WARP;
    const int level = static_cast<int>(blockIdx.x) * WARP + lane;
    if (CHECK && blockIdx.x == 0 && threadIdx.x < 2) {
        out_of_range[threadIdx.x] = range_scratch[threadIdx.x];
        range_scratch[threadIdx.x] = 0;
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
