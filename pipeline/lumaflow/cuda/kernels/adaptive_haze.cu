// The dark channel and the texture of the haze map, and the sums of it that the haze follows from
// (docs/spec.md 17.2 to 17.5).
//
// Launch: grid (columns / 32, rows / 32), rounded up, of 256 threads. Shared memory: about 24 KB.
//
//   maps (2 + parts, rows, columns) u16: of adaptive_haze_means
//   radius: of the window of the dark channel, at most 20
//   tile_rows, tile_columns: tile i begins at block floor(i * rows / tile_rows)
//   sums (HAZE_SUMS) u32, added to
//
// Defines: COMPONENTS (adaptive_haze.cuh).
#include "adaptive_haze.cuh"

constexpr int SIDE = 32, MAX_RADIUS = 20, REACH = SIDE + 2 * MAX_RADIUS, THREADS = 256;
constexpr int LUMA_RADIUS = 2, LUMA_SIDE = SIDE + 2 * LUMA_RADIUS;
constexpr int PARTS = COMPONENTS == 0 ? 1 : 3;

__shared__ u16 window[REACH][REACH], least_of_row[REACH][SIDE], lumas[LUMA_SIDE][LUMA_SIDE];
__shared__ u32 own_sums[HAZE_SUMS];

// Tile of block `at` along an axis.
__device__ __forceinline__ int tile_of(const int at, const int tiles, const int size) {
    return ((at + 1) * tiles - 1) / size;
}

// Load the window around the 32 x 32 blocks at (top, left); blocks outside the map become `outside`.
template <int ROW>
__device__ __forceinline__ void load(const u16 *const map, const int rows, const int columns, const int top,
                                     const int left, const int side, const u16 outside,
                                     u16 (*const out)[ROW]) {
    for (int i = static_cast<int>(threadIdx.x); i < side * side; i += THREADS) {
        const int y = top + i / side, x = left + i % side;
        const bool inside = y >= 0 && y < rows && x >= 0 && x < columns;
        out[i / side][i % side] = inside ? map[y * columns + x] : outside;
    }
}

// Greatest less least luma of the 5 x 5 blocks around (y, x) of the map, cut at its border.
__device__ __forceinline__ int spread_at(const int j, const int i, const int top, const int left,
                                         const int rows, const int columns) {
    int least = 0xffff, greatest = 0;
    for (int dy = 0; dy <= 2 * LUMA_RADIUS; ++dy)
        for (int dx = 0; dx <= 2 * LUMA_RADIUS; ++dx) {
            const int y = top + j + dy - LUMA_RADIUS, x = left + i + dx - LUMA_RADIUS;
            if (y >= 0 && y < rows && x >= 0 && x < columns) {
                least = min(least, static_cast<int>(lumas[j + dy][i + dx]));
                greatest = max(greatest, static_cast<int>(lumas[j + dy][i + dx]));
            }
        }
    return greatest - least;
}

extern "C" __global__ void __launch_bounds__(THREADS)
    adaptive_haze(const u16 *const __restrict__ maps, const int rows, const int columns, const int radius,
                  const int tile_rows, const int tile_columns, u32 *const __restrict__ sums) {
    const int top = static_cast<int>(blockIdx.y) * SIDE, left = static_cast<int>(blockIdx.x) * SIDE;
    const int size = rows * columns, reach = SIDE + 2 * radius, thread = static_cast<int>(threadIdx.x);
#pragma unroll 1
    for (int i = thread; i < HAZE_SUMS; i += THREADS)
        own_sums[i] = 0;
    load(maps + size, rows, columns, top - radius, left - radius, reach, 0xffff, window);
    load(maps, rows, columns, top - LUMA_RADIUS, left - LUMA_RADIUS, LUMA_SIDE, 0, lumas);
    __syncthreads();
    for (int i = thread; i < reach * SIDE; i += THREADS) {
        int least = 0xffff;
        for (int dx = 0; dx <= 2 * radius; ++dx)
            least = min(least, static_cast<int>(window[i / SIDE][i % SIDE + dx]));
        least_of_row[i / SIDE][i % SIDE] = static_cast<u16>(least);
    }
    __syncthreads();
    for (int n = thread; n < SIDE * SIDE; n += THREADS) {
        const int j = n / SIDE, i = n % SIDE, y = top + j, x = left + i;
        if (y >= rows || x >= columns)
            continue;
        int least = 0xffff;
        for (int dy = 0; dy <= 2 * radius; ++dy)
            least = min(least, static_cast<int>(least_of_row[j + dy][i]));
        const u32 dark = static_cast<u32>(least);
        const int spread = spread_at(j, i, top, left, rows, columns), block = y * columns + x;
        const bool textured = spread >= TEXTURED;
        const int tile = tile_of(y, tile_rows, rows) * tile_columns + tile_of(x, tile_columns, columns);
        u32 *const of_tile = own_sums + tile * TILE_SUMS, *const of_dark =
                                                              own_sums + DARK_SUMS + (dark >> 2) * 4;
        atomicAdd(&of_tile[0], 1u);
        atomicAdd(&of_tile[1], dark);
        atomicAdd(&of_tile[4], static_cast<u32>(min(max(spread - SMOOTH_RANGE, 0), TEXTURED - SMOOTH_RANGE)));
        if (textured) {
            atomicAdd(&of_tile[2], 1u);
            atomicAdd(&of_tile[3], dark);
            atomicAdd(&own_sums[TEXTURED_BLOCKS], 1u);
            atomicAdd(&own_sums[TEXTURED_DARK], dark);
        }
        if (window[j + radius][i + radius] >= WHITE_LEVEL)
            atomicAdd(&own_sums[WHITE_BLOCKS], 1u);
        atomicAdd(&own_sums[LUMA_COUNTS + (lumas[j + LUMA_RADIUS][i + LUMA_RADIUS] >> 2)], 1u);
        atomicAdd(&of_dark[0], 1u);
        for (int c = 0; c < PARTS; ++c)
            atomicAdd(&of_dark[1 + c], static_cast<u32>(maps[(2 + c) * size + block]));
    }
    __syncthreads();
#pragma unroll 1
    for (int i = thread; i < HAZE_SUMS; i += THREADS)
        if (own_sums[i] > 0)
            atomicAdd(&sums[i], own_sums[i]);
}
