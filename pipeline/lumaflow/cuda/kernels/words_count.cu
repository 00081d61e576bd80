// Counts the levels of a deep frame, part by part of every tile (spec 1, 4.1, 8).
//
// A block counts 16,384 levels at most; deeper frames are read once for each such range. Its counters are
// 16 bits wide and hold 65,535 pixels; after so many it adds them to its partial histogram and goes on. The
// padding of the tiles is a part of its own, the last one, so that the others sum up to the real pixels.
//
// Launch: grid (parts * RANGES, plus RANGES if there is padding, tile columns, tile rows), 512 threads.
// Shared memory: 32,768 bytes, as many copies of the counters as fit; neighbouring lanes count in others.
//
//   pixels   (height, width) u16, rows `pitch` bytes apart
//   source_x (columns * tile_width), source_y (rows * tile_height): the real pixel a padded one shows
//   parts    of real pixels, each of part_height rows
//   partials (rows, columns, parts of the grid, 2^BITS) u32, all of them written
//   beyond   (2): words beyond the depth are added to the first, the highest one goes to the second; if CHECK
//
// Defines: BITS, SHIFT (words.cuh); CHECK 1 if all of the frame is counted, and no other kernel looks for such
// words.
#include "words.cuh"

constexpr int THREADS = 512;
constexpr int CHUNK = 8;
constexpr int MOST = 65535; // pixels that a counter holds
constexpr int RANGE_BITS = BITS < 14 ? BITS : 14;
constexpr int RANGES = 1 << (BITS - RANGE_BITS);
constexpr int PAIRS = 1 << (RANGE_BITS - 1);
constexpr int COPIES = 8192 / PAIRS;

__shared__ u32 counts[PAIRS][COPIES]; // two levels in a word

__device__ __forceinline__ u32 range() { return blockIdx.x % RANGES; }

__device__ __forceinline__ void count_level(const u32 level, const u32 times) {
    const u32 place = level % (2 * PAIRS);
    if (times > 0 && (RANGES == 1 || level >> RANGE_BITS == range()))
        atomicAdd(&counts[place / 2][threadIdx.x % COPIES], times << (place % 2 * 16));
}

__device__ __forceinline__ void check(const u32 word, u32 *const beyond) {
    if (CHECK && word > TOP && range() == 0) {
        atomicAdd(&beyond[0], 1u);
        atomicMax(&beyond[1], word);
    }
}

// Eight words at a multiple of 16 bytes. Where they are all the same, as in flat frames, one addition counts
// them.
__device__ __forceinline__ void count_chunk(const uint4 &words, u32 *const beyond) {
    const u32 pairs[] = {words.x, words.y, words.z, words.w};
    const bool same = words.x == words.y && words.x == words.z && words.x == words.w &&
                      half_of(words.x, 0) == half_of(words.x, 1);
    const u32 highest = __vmaxu2(__vmaxu2(words.x, words.y), __vmaxu2(words.z, words.w));
    if (CHECK && max(half_of(highest, 0), half_of(highest, 1)) > TOP)
        for (int k = 0; k < CHUNK; ++k)
            check(half_of(pairs[k / 2], k % 2), beyond);
#pragma unroll
    for (int k = 0; k < CHUNK; ++k)
        count_level(level_of_word(half_of(pairs[k / 2], k % 2)), !same ? 1 : k == 0 ? CHUNK : 0);
}

__device__ __forceinline__ void clear_counts() {
    for (int i = static_cast<int>(threadIdx.x); i < PAIRS * COPIES; i += THREADS)
        counts[i / COPIES][i % COPIES] = 0;
    __syncthreads();
}

// Add what was counted to the partial histogram of this block, and begin anew.
__device__ __forceinline__ void flush(u32 *const partial, const bool first) {
    __syncthreads();
    uint2 *const out = reinterpret_cast<uint2 *>(partial) + range() * PAIRS;
    for (int i = static_cast<int>(threadIdx.x); i < PAIRS; i += THREADS) {
        u32 both = 0;
#pragma unroll
        for (int copy = 0; copy < COPIES; ++copy)
            both += counts[i][copy];
        const uint2 before = first ? make_uint2(0, 0) : out[i];
        out[i] = make_uint2(before.x + half_of(both, 0), before.y + half_of(both, 1));
    }
    __syncthreads();
}

__device__ __forceinline__ void count_rows(const u8 *const origin, const i64 pitch, const int width,
                                           const int height, u32 *const beyond) {
    const int chunks = (width + 2 * CHUNK - 2) / CHUNK, items = chunks * height;
    for (int i = static_cast<int>(threadIdx.x); i < items; i += THREADS) {
        const int y = i / chunks;
        const u8 *const row = origin + y * pitch;
        const int x = (i - y * chunks) * CHUNK - (CHUNK - lead_words<CHUNK>(row)) % CHUNK;
        if (x >= 0 && x + CHUNK <= width)
            count_chunk(*reinterpret_cast<const uint4 *>(row + 2 * x), beyond);
        else
            for (int k = max(x, 0); k < min(x + CHUNK, width); ++k) {
                check(word_at(row, k), beyond);
                count_level(level_of_word(word_at(row, k)), 1);
            }
    }
}

// Count a rectangle of real pixels, which may be empty.
__device__ __forceinline__ void count_part(const u8 *const origin, const i64 pitch, const int width,
                                           const int height, u32 *const partial, u32 *const beyond) {
    const int most = width > 0 ? MOST / width : 1, rows = width > 0 ? max(height, 0) : 0;
#pragma unroll 1
    for (int top = 0; top == 0 || top < rows; top += most) {
        clear_counts();
        count_rows(origin + top * pitch, pitch, width, min(most, rows - top), beyond);
        flush(partial, top == 0);
    }
}

// The frame, and which pixel of it each padded one shows.
struct Padded {
    const u8 *pixels;
    i64 pitch;
    const int *source_x, *source_y;
};

// Count the padding in columns left..right-1 and rows top..bottom-1, which may be none.
__device__ __forceinline__ void count_padding(const Padded &frame, const int left, const int right,
                                              const int top, const int bottom, u32 *const partial,
                                              const bool first) {
    const int width = right - left, items = width > 0 && bottom > top ? width * (bottom - top) : 0;
#pragma unroll 1
    for (int start = 0; start == 0 || start < items; start += MOST) {
        clear_counts();
        for (int i = start + static_cast<int>(threadIdx.x); i < min(start + MOST, items); i += THREADS) {
            const int y = i / width, x = i - y * width;
            const u8 *const row = frame.pixels + frame.source_y[top + y] * frame.pitch;
            count_level(level_of_word(word_at(row, frame.source_x[left + x])), 1);
        }
        flush(partial, first && start == 0);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 2)
    words_count(const u8 *const __restrict__ pixels, const i64 pitch, const int width, const int height,
                const int *const __restrict__ source_x, const int *const __restrict__ source_y,
                const int tile_width, const int tile_height, const int parts, const int part_height,
                u32 *const __restrict__ partials, u32 *const __restrict__ beyond) {
    const int part = static_cast<int>(blockIdx.x / RANGES), all_parts = static_cast<int>(gridDim.x / RANGES);
    const int left = static_cast<int>(blockIdx.y) * tile_width, right = left + tile_width;
    const int tile_top = static_cast<int>(blockIdx.z) * tile_height, tile_bottom = tile_top + tile_height;
    const int tile = static_cast<int>(blockIdx.z * gridDim.y + blockIdx.y);
    u32 *const partial = partials + static_cast<i64>(tile * all_parts + part) * LEVELS;
    if (part < parts) {
        const int top = tile_top + part * part_height, bottom = min(top + part_height, tile_bottom);
        const u8 *const origin = pixels + top * pitch + static_cast<i64>(left) * 2;
        count_part(origin, pitch, min(right, width) - left, min(bottom, height) - top, partial, beyond);
    } else {
        const Padded frame = {pixels, pitch, source_x, source_y};
        count_padding(frame, max(left, width), right, tile_top, min(tile_bottom, height), partial, true);
        count_padding(frame, left, right, max(tile_top, height), tile_bottom, partial, false);
    }
}
