// One pass of the spatial noise filter; the last pass also filters in time (docs/spec.md 16.7).
//
// Launch: grid (columns, rows of tiles) of (SAMPLES, 4) threads. A tile has 32 rows and 64 pixels of gray, or 32 of
// RGB. Shared memory: about 20 KB. Nothing happens unless the decision asks for the filter.
//
//   pixels   (height, width) of the raw frame, rows `pitch` bytes apart, if PASS is 0
//   source   (height, samples) i16 of the pass before, if PASS is not 0
//   target   (height, samples) i16; row_samples: samples from a row to the next, of all three
//   history  (height, samples) i16, of the last frame, if PASS is 2
//   decision of adaptive_decide
//
// Defines: those of adaptive_samples.cuh; STILL_WEIGHT of lumaflow/adaptive.py; PASS 0, 1 or 2: neighbours lie 1, 2 or 4 pixels away.
#include "adaptive.cuh"
#include "adaptive_samples.cuh"

using i16 = short;

constexpr int DISTANCE = 1 << PASS, ROWS = 32, GROUPS = 4, PER_THREAD = ROWS / GROUPS, SIDE = 8;
constexpr int WIDTH = COLORS == 3 ? 32 : 64, SAMPLES = WIDTH * COLORS, THREADS = SAMPLES * GROUPS;
constexpr int TILE_ROWS = ROWS + 2 * DISTANCE, TILE_SAMPLES = (WIDTH + 2 * DISTANCE) * COLORS;
constexpr int BLOCKS_X = WIDTH / SIDE, BLOCKS_Y = ROWS / SIDE, BLOCKS = BLOCKS_X * BLOCKS_Y;

__shared__ float tile[TILE_ROWS][TILE_SAMPLES];
__shared__ int differences[BLOCKS_Y][GROUPS][SAMPLES], levels[BLOCKS_Y][GROUPS][SAMPLES];
__shared__ int motions[BLOCKS], limits[BLOCKS], scales[BLOCKS];

struct Area {
    int left, top, width, height; // of the tile; of the frame, in pixels
};

// Load the samples of the tile and of its border; outside the frame the border of the frame repeats.
__device__ __forceinline__ void load_tile(const u8 *const pixels, const i64 pitch, const i16 *const source,
                                          const i64 row_samples, const Area &area) {
    for (int at = static_cast<int>(threadIdx.x); at < TILE_SAMPLES; at += SAMPLES) {
        const int x = min(max(area.left + at / COLORS - DISTANCE, 0), area.width - 1), c = at % COLORS;
#pragma unroll
        for (int row = static_cast<int>(threadIdx.y); row < TILE_ROWS; row += GROUPS) {
            const int y = min(max(area.top + row - DISTANCE, 0), area.height - 1);
            int sample;
            if constexpr (PASS == 0)
                sample = sample_of(code_at(pixels + y * pitch, x, c));
            else
                sample = source[y * row_samples + x * COLORS + c];
            tile[row][at] = static_cast<float>(sample);
        }
    }
}

// Add the difference of a neighbour, at most the limit.
__device__ __forceinline__ void add_within(float &sum, const float neighbor, const float center,
                                           const float limit) {
    sum += fminf(fmaxf(neighbor - center, -limit), limit);
}

struct Row {
    float left, center, right;
};

__device__ __forceinline__ Row row_at(const int row) {
    const float *const at = &tile[row][threadIdx.x];
    return {at[0], at[DISTANCE * COLORS], at[2 * DISTANCE * COLORS]};
}

__device__ __forceinline__ int filtered(const Row &above, const Row &row, const Row &below, const int limit,
                                        const int slope) {
    const float center = row.center;
    const int sample = static_cast<int>(center);
    const float most = static_cast<float>(limit + ((sample * slope) >> 15));
    float corners = 0.0f, edges = 0.0f;
    add_within(corners, above.left, center, most);
    add_within(corners, above.right, center, most);
    add_within(corners, below.left, center, most);
    add_within(corners, below.right, center, most);
    add_within(edges, above.center, center, most);
    add_within(edges, row.left, center, most);
    add_within(edges, row.right, center, most);
    add_within(edges, below.center, center, most);
    return sample + ((static_cast<int>(corners + 2.0f * edges) + 8) >> 4);
}

#if PASS == 2
constexpr int WARP = 32;

// The weight of motion of a block, the limit of its samples and its reciprocal, by the first warp of each.
__device__ void weigh_blocks(const Area &area, const Decision &chosen) {
    const int thread = static_cast<int>(threadIdx.y) * SAMPLES + static_cast<int>(threadIdx.x);
    const int lane = thread % WARP;
    for (int block = thread / WARP; block < BLOCKS; block += THREADS / WARP) {
        const int row = block / BLOCKS_X, column = block % BLOCKS_X;
        int difference = 0, level = 0;
        for (int i = lane; i < GROUPS * SIDE * COLORS; i += WARP) {
            const int group = i / (SIDE * COLORS), at = column * SIDE * COLORS + i % (SIDE * COLORS);
            difference += differences[row][group][at];
            level += levels[row][group][at];
        }
        for (int step = WARP / 2; step > 0; step /= 2) {
            difference += __shfl_xor_sync(~0u, difference, step);
            level += __shfl_xor_sync(~0u, level, step);
        }
        const int rows = min(area.height - (area.top + row * SIDE), SIDE);
        const int columns = min(area.width - (area.left + column * SIDE), SIDE);
        if (lane == 0 && rows > 0 && columns > 0) {
            const int count = rows * columns * COLORS, mean = abs(difference) / count;
            const int sigma = chosen.sigma + ((level / count * chosen.sigma_slope) >> 15);
            const int block_limit = (3 * sigma >> 3) + 24;
            const int limit = ((sigma * (1024 - chosen.strength)) >> 8) + 64;
            motions[block] = min(max((mean - block_limit) * (65536 / block_limit) >> 8, 0), 256);
            limits[block] = limit;
            scales[block] = 65536 / limit;
        }
    }
}

__device__ __forceinline__ int moved(const int sample, const int old, const int block) {
    const int difference = sample - old;
    int weight = (abs(difference) - limits[block]) * scales[block] >> 8;
    weight = min(max(weight, motions[block]), 256);
    weight = STILL_WEIGHT + ((256 - STILL_WEIGHT) * weight >> 8);
    return static_cast<i16>(old + ((difference * weight + 128) >> 8));
}
#endif

extern "C" __global__ void __launch_bounds__(THREADS)
    adaptive_filter(const u8 *const __restrict__ pixels, const i64 pitch, const int width, const int height,
                    const i16 *const __restrict__ source, i16 *const __restrict__ target,
                    const i64 row_samples, i16 *const __restrict__ history,
                    const Decision *const __restrict__ decision) {
    const Decision chosen = *decision;
    if (!chosen.spatial)
        return;
    constexpr int FACTOR = PASS == 0 ? 1 : PASS == 1 ? 3 : 9;
    const int limit = chosen.limit * FACTOR >> 2 * PASS, slope = chosen.limit_slope * FACTOR >> 2 * PASS;
    const Area area = {static_cast<int>(blockIdx.x) * WIDTH, static_cast<int>(blockIdx.y) * ROWS, width,
                       height};
    const int group = static_cast<int>(threadIdx.y), at = static_cast<int>(threadIdx.x);
    const int first = group / DISTANCE * PER_THREAD * DISTANCE + group % DISTANCE;
    const i64 column = area.left * COLORS + at;
    const bool inside = area.left + at / COLORS < width;
#if PASS == 2
    int olds[PER_THREAD]; // loaded first, because the loads take long
#pragma unroll
    for (int k = 0; k < PER_THREAD; ++k) {
        const int y = area.top + first + k * DISTANCE;
        olds[k] = chosen.temporal == 2 && inside && y < height ? history[y * row_samples + column] : 0;
    }
#endif
    load_tile(pixels, pitch, source, row_samples, area);
    __syncthreads();
    int samples[PER_THREAD];
    Row above = row_at(first), row = row_at(first + DISTANCE);
#pragma unroll
    for (int k = 0; k < PER_THREAD; ++k) {
        const Row below = row_at(first + (k + 2) * DISTANCE);
        samples[k] = filtered(above, row, below, limit, slope);
        above = row;
        row = below;
    }
#if PASS == 2
    if (chosen.temporal == 2) {
        // Rows first, first + 4, ...: two of each block of 8 rows.
#pragma unroll
        for (int k = 0; k < PER_THREAD; k += 2) {
            int difference = 0, level = 0;
#pragma unroll
            for (int m = k; m < k + 2; ++m) {
                const int y = area.top + first + m * DISTANCE;
                const bool present = inside && y < height;
                difference += present ? samples[m] - olds[m] : 0;
                level += present ? samples[m] : 0;
            }
            differences[k / 2][group][at] = difference;
            levels[k / 2][group][at] = level;
        }
        __syncthreads();
        weigh_blocks(area, chosen);
        __syncthreads();
#pragma unroll
        for (int k = 0; k < PER_THREAD; ++k)
            samples[k] = moved(samples[k], olds[k], k / 2 * BLOCKS_X + at / (SIDE * COLORS));
    }
    i16 *const out = chosen.temporal ? history : target;
#else
    i16 *const out = target;
#endif
#pragma unroll
    for (int k = 0; k < PER_THREAD; ++k) {
        const int y = area.top + first + k * DISTANCE;
        if (inside && y < height)
            out[y * row_samples + column] = static_cast<i16>(samples[k]);
    }
}
