// Partial histograms of a frame of 10 to 16 bits: one per part of each tile (docs/spec.md 1, 4.1, 8).
//
// A block counts at max_rows 16,384 levels; frames with more levels are read once per range of 16,384. The counters
// have 16 bits: after 65,535 pixels the block adds them to its partial histogram and clears them. The padding of
// a tile is counted separately, as the last part, so the sum of the other parts has no padding.
//
// Launch: grid (parts * RANGES, plus RANGES if there is padding, tile columns, tile rows), 512 threads.
// Shared memory: 32,768 bytes: as many copies of the counters as fit; adjacent lanes use different copies.
//
//   pixels   (height, width) u16, rows `pitch` bytes apart
//   source_x (columns * tile_width), source_y (rows * tile_height): source column and row of each padded pixel
//   parts    number of parts without padding, of part_height rows each
//   partials (rows, columns, parts of the grid, 2^BITS) u32, completely written
//   out_of_range (2) u32, accumulated if CHECK: number of samples above the depth, and the highest sample
//
// Defines: BITS, SHIFT (u16.cuh); CHECK 1 to check the range here (the whole frame is counted), else
// u16_check_range.cu does.
#include "u16.cuh"

constexpr int THREADS = 512;
constexpr int CHUNK = 8;
constexpr int MAX_COUNT = 65535; // largest value of a counter
constexpr int RANGE_BITS = BITS < 14 ? BITS : 14;
constexpr int RANGES = 1 << (BITS - RANGE_BITS);
constexpr int PAIRS = 1 << (RANGE_BITS - 1);
constexpr int COPIES = 8192 / PAIRS;

__shared__ u32 counts[PAIRS][COPIES]; // two 16-bit counters per word

__device__ __forceinline__ u32 range() { return blockIdx.x % RANGES; }

__device__ __forceinline__ void count_level(const u32 level, const u32 times) {
    const u32 index = level % (2 * PAIRS);
    if (times > 0 && (RANGES == 1 || level >> RANGE_BITS == range()))
        atomicAdd(&counts[index / 2][threadIdx.x % COPIES], times << (index % 2 * 16));
}

__device__ __forceinline__ void check(const u32 sample, u32 *const out_of_range) {
    if (CHECK && sample > MAX_LEVEL && range() == 0) {
        atomicAdd(&out_of_range[0], 1u);
        atomicMax(&out_of_range[1], sample);
    }
}

// Count eight aligned samples. If all are equal, as in flat areas, one addition counts them.
__device__ __forceinline__ void count_chunk(const uint4 &words, u32 *const out_of_range) {
    const u32 pairs[] = {words.x, words.y, words.z, words.w};
    const bool same = words.x == words.y && words.x == words.z && words.x == words.w &&
                      u16_of(words.x, 0) == u16_of(words.x, 1);
    const u32 highest = __vmaxu2(__vmaxu2(words.x, words.y), __vmaxu2(words.z, words.w));
    if (CHECK && max(u16_of(highest, 0), u16_of(highest, 1)) > MAX_LEVEL)
        for (int k = 0; k < CHUNK; ++k)
            check(u16_of(pairs[k / 2], k % 2), out_of_range);
#pragma unroll
    for (int k = 0; k < CHUNK; ++k)
        count_level(level_of_sample(u16_of(pairs[k / 2], k % 2)), !same ? 1 : k == 0 ? CHUNK : 0);
}

__device__ __forceinline__ void clear_counts() {
    for (int i = static_cast<int>(threadIdx.x); i < PAIRS * COPIES; i += THREADS)
        counts[i / COPIES][i % COPIES] = 0;
    __syncthreads();
}

// Add the counters to the partial histogram of this block.
__device__ __forceinline__ void flush(u32 *const partial, const bool first) {
    __syncthreads();
    uint2 *const out = reinterpret_cast<uint2 *>(partial) + range() * PAIRS;
    for (int i = static_cast<int>(threadIdx.x); i < PAIRS; i += THREADS) {
        u32 both = 0;
#pragma unroll
        for (int copy = 0; copy < COPIES; ++copy)
            both += counts[i][copy];
        const uint2 before = first ? make_uint2(0, 0) : out[i];
        out[i] = make_uint2(before.x + u16_of(both, 0), before.y + u16_of(both, 1));
    }
    __syncthreads();
}

__device__ __forceinline__ void count_rows(const u8 *const origin, const i64 pitch, const int width,
                                           const int height, u32 *const out_of_range) {
    const int chunks = (width + 2 * CHUNK - 2) / CHUNK, items = chunks * height;
    for (int i = static_cast<int>(threadIdx.x); i < items; i += THREADS) {
        const int y = i / chunks;
        const u8 *const row = origin + y * pitch;
        const int x = (i - y * chunks) * CHUNK - (CHUNK - lead_samples<CHUNK>(row)) % CHUNK;
        if (x >= 0 && x + CHUNK <= width)
            count_chunk(*reinterpret_cast<const uint4 *>(row + 2 * x), out_of_range);
        else
            for (int k = max(x, 0); k < min(x + CHUNK, width); ++k) {
                check(sample_at(row, k), out_of_range);
                count_level(level_of_sample(sample_at(row, k)), 1);
            }
    }
}

// Count a rectangle without padding; it may be empty.
__device__ __forceinline__ void count_part(const u8 *const origin, const i64 pitch, const int width,
                                           const int height, u32 *const partial, u32 *const out_of_range) {
    const int max_rows = width > 0 ? MAX_COUNT / width : 1, rows = width > 0 ? max(height, 0) : 0;
#pragma unroll 1
    for (int top = 0; top == 0 || top < rows; top += max_rows) {
        clear_counts();
        count_rows(origin + top * pitch, pitch, width, min(max_rows, rows - top), out_of_range);
        flush(partial, top == 0);
    }
}

// The frame, and the source pixel of each padded pixel.
struct PaddedFrame {
    const u8 *pixels;
    i64 pitch;
    const int *source_x, *source_y;
};

// Count the padding in columns left..right-1 and rows top..bottom-1; the range may be empty.
__device__ __forceinline__ void count_padding(const PaddedFrame &frame, const int left, const int right,
                                              const int top, const int bottom, u32 *const partial,
                                              const bool first) {
    const int width = right - left, items = width > 0 && bottom > top ? width * (bottom - top) : 0;
#pragma unroll 1
    for (int start = 0; start == 0 || start < items; start += MAX_COUNT) {
        clear_counts();
        for (int i = start + static_cast<int>(threadIdx.x); i < min(start + MAX_COUNT, items); i += THREADS) {
            const int y = i / width, x = i - y * width;
            const u8 *const row = frame.pixels + frame.source_y[top + y] * frame.pitch;
            count_level(level_of_sample(sample_at(row, frame.source_x[left + x])), 1);
        }
        flush(partial, first && start == 0);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 2)
    u16_histogram(const u8 *const __restrict__ pixels, const i64 pitch, const int width, const int height,
                  const int *const __restrict__ source_x, const int *const __restrict__ source_y,
                  const int tile_width, const int tile_height, const int parts, const int part_height,
                  u32 *const __restrict__ partials, u32 *const __restrict__ out_of_range) {
    const int part = static_cast<int>(blockIdx.x / RANGES), all_parts = static_cast<int>(gridDim.x / RANGES);
    const int left = static_cast<int>(blockIdx.y) * tile_width, right = left + tile_width;
    const int tile_top = static_cast<int>(blockIdx.z) * tile_height, tile_bottom = tile_top + tile_height;
    const int tile = static_cast<int>(blockIdx.z * gridDim.y + blockIdx.y);
    u32 *const partial = partials + static_cast<i64>(tile * all_parts + part) * LEVELS;
    if (part < parts) {
        const int top = tile_top + part * part_height, bottom = min(top + part_height, tile_bottom);
        const u8 *const origin = pixels + top * pitch + static_cast<i64>(left) * 2;
        count_part(origin, pitch, min(right, width) - left, min(bottom, height) - top, partial, out_of_range);
    } else {
        const PaddedFrame frame = {pixels, pitch, source_x, source_y};
        count_padding(frame, max(left, width), right, tile_top, min(tile_bottom, height), partial, true);
        count_padding(frame, left, right, max(tile_top, height), tile_bottom, partial, false);
    }
}
