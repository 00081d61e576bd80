// Histograms of the raw frame and the mapping made from them (spec 1, 2, 3, 4, 13), in one launch.
//
// Every block counts the rows of one part of one tile. The last block done with a tile builds its LUT and
// measures its contrast; the last block of all adds up the global bins and builds the LUT of a global mode.
//
// Launch: grid (parts, tile columns, tile rows), 128 threads; without tiles the frame is one tile.
// Shared memory: 32,816 bytes. Every thread counts in 256 bytes of its own, four bins a word, so that no two
// lanes ever meet in a bank, whatever the picture; before a byte can pass 255 all are summed into registers.
//
//   pixels    (height, width[, 3]) u8, rows `pitch` bytes apart
//   source_x  (columns * tile_width), source_y (rows * tile_height): the real pixel a padded one shows
//   limit, scale: clip limit (0: none) and grey levels a count, of a tile, or of the frame in a global mode
//   partials  (rows, columns, parts, 256) scratch
//   totals    (REPLICAS, 256) scratch, zero before and after: the global bins, spread against contention
//   counters  (rows * columns + 1) scratch, zero before and after: blocks done with each tile, tiles done
//   bins      (256) of the real pixels
//   luts      (rows, columns, 256) for CLAHE, else (256)
//   deviation (rows, columns), distance (rows, columns): the heat map
//
// Defines: CHANNELS, VALUE (pixels.cuh); MODE 0 identity, 1 equalize, 2 clipped, 3 CLAHE; HEATMAP 0 or 1.
// All sums are of integers, so that no order changes a result.
#include "pixels.cuh"

constexpr int THREADS = 128;
constexpr int WARPS = THREADS / 32;
constexpr int LEVELS = 256;
constexpr int REPLICAS = 16;
constexpr int PASS = 255 / CHUNK; // items of up to 16 pixels that a thread counts before its bytes are summed
constexpr bool CLAHE = MODE == 3;
constexpr bool TILES = CLAHE || HEATMAP;

// Counter of level v of thread t: byte v % 4 of word [v / 4][t].
__shared__ u32 counters_of_threads[LEVELS / 4][THREADS];
__shared__ i64 warp_sums[WARPS];
__shared__ bool is_last;

__device__ __forceinline__ void count_level(const int level) {
    u8 *const counter = reinterpret_cast<u8 *>(&counters_of_threads[level >> 2][threadIdx.x]) + (level & 3);
    *counter = static_cast<u8>(*counter + 1);
}

__device__ __forceinline__ void count_word(const u32 word) {
#pragma unroll
    for (int k = 0; k < 4; ++k)
        count_level(static_cast<int>(byte_of(word, k)));
}

// All threads' counts of levels 2 * threadIdx.x (x) and the next (y). Two threads share four levels: each
// sums half of the threads' words, two levels in the halves of a register (at most 128 * 255), then they
// swap.
__device__ __forceinline__ uint2 sum_of_threads() {
    const u32 row = threadIdx.x >> 1, half = threadIdx.x & 1;
    const u32 *const words = &counters_of_threads[row][half * (THREADS / 2)];
    u32 even = 0, odd = 0;
#pragma unroll 8
    for (u32 i = 0; i < THREADS / 2; ++i) {
        const u32 word = words[(i + threadIdx.x) % (THREADS / 2)];
        even += word & 0x00ff00ffu;
        odd += (word >> 8) & 0x00ff00ffu;
    }
    even += __shfl_xor_sync(~0u, even, 1);
    odd += __shfl_xor_sync(~0u, odd, 1);
    return half ? make_uint2(even >> 16, odd >> 16) : make_uint2(even & 0xffffu, odd & 0xffffu);
}

// Count items 0..items-1; `visit(i)` counts at most 16 pixels. Returns this thread's two bins.
template <class Visit> __device__ uint2 count(const int items, const Visit visit) {
    uint2 bins = make_uint2(0, 0);
    for (int first = 0; first < items; first += PASS * THREADS) {
        for (u32 row = 0; row < LEVELS / 4; ++row)
            counters_of_threads[row][threadIdx.x] = 0;
        const int end = min(items, first + PASS * THREADS);
        for (int i = first + static_cast<int>(threadIdx.x); i < end; i += THREADS)
            visit(i);
        __syncthreads();
        const uint2 sum = sum_of_threads();
        bins.x += sum.x;
        bins.y += sum.y;
        __syncthreads();
    }
    return bins;
}

// Count pixels first..first+15 of a row of `width`, where those that lie in it.
__device__ __forceinline__ void count_chunk(const u8 *const row, const int first, const int width) {
    const u8 *const chunk = row + static_cast<i64>(first) * CHANNELS;
    if (first >= 0 && first + CHUNK <= width) {
        const uint4 *const vectors = reinterpret_cast<const uint4 *>(chunk);
        if constexpr (CHANNELS == 1) {
            const uint4 v = vectors[0];
            count_word(v.x);
            count_word(v.y);
            count_word(v.z);
            count_word(v.w);
        } else {
            const uint4 a = vectors[0], b = vectors[CHANNELS / 3], c = vectors[CHANNELS - 1];
            const u32 words[12] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w, c.x, c.y, c.z, c.w};
#pragma unroll
            for (int p = 0; p < CHUNK; ++p) {
                const int at = 3 * p;
                count_level(plane_of(static_cast<int>(byte_of(words[at / 4], at % 4)),
                                     static_cast<int>(byte_of(words[(at + 1) / 4], (at + 1) % 4)),
                                     static_cast<int>(byte_of(words[(at + 2) / 4], (at + 2) % 4))));
            }
        }
        return;
    }
    for (int p = max(-first, 0); p < min(CHUNK, width - first); ++p)
        count_level(plane_at(chunk + p * CHANNELS));
}

// Bins of the real pixels of a rectangle `width` x `height` (which may be empty) at `origin`.
__device__ uint2 count_inside(const u8 *const origin, const i64 pitch, const int width, const int height) {
    if (width <= 0 || height <= 0)
        return make_uint2(0, 0);
    const bool aligned = is_aligned<CHUNK>(origin) && pitch % CHUNK == 0;
    const int chunks = (width + CHUNK - 1 + (aligned ? 0 : CHUNK - 1)) / CHUNK;
    return count(chunks * height, [=](const int i) {
        const int y = i / chunks;
        const u8 *const row = origin + y * pitch;
        const int lead = lead_pixels<CHUNK>(row);
        count_chunk(row, (i - y * chunks) * CHUNK - (CHUNK - lead) % CHUNK, width);
    });
}

// Bins of the padding in columns left..right-1 and rows top..bottom-1, which may be none.
__device__ uint2 count_padding(const u8 *const pixels, const i64 pitch, const int *const source_x,
                               const int *const source_y, const int left, const int right, const int top,
                               const int bottom) {
    const int width = right - left, height = bottom - top;
    if (width <= 0 || height <= 0)
        return make_uint2(0, 0);
    return count(width * height, [=](const int i) {
        const int y = i / width, x = i - y * width;
        const u8 *const row = pixels + source_y[top + y] * pitch;
        count_level(plane_at(row + static_cast<i64>(source_x[left + x]) * CHANNELS));
    });
}

__device__ __forceinline__ i64 block_sum(i64 value) {
    for (int step = 16; step > 0; step /= 2)
        value += __shfl_xor_sync(~0u, value, step);
    if (threadIdx.x % 32 == 0)
        warp_sums[threadIdx.x / 32] = value;
    __syncthreads();
    i64 sum = 0;
    for (int warp = 0; warp < WARPS; ++warp)
        sum += warp_sums[warp];
    __syncthreads();
    return sum;
}

// Sum of the values of this thread and all before it.
__device__ __forceinline__ u32 block_scan(u32 value) {
    const u32 lane = threadIdx.x % 32;
    for (u32 step = 1; step < 32; step *= 2) {
        const u32 before = __shfl_up_sync(~0u, value, step);
        if (lane >= step)
            value += before;
    }
    if (lane == 31)
        warp_sums[threadIdx.x / 32] = value;
    __syncthreads();
    for (u32 warp = 0; warp < threadIdx.x / 32; ++warp)
        value += static_cast<u32>(warp_sums[warp]);
    __syncthreads();
    return value;
}

__device__ __forceinline__ u8 level_of(const u32 count, const float scale) {
    return static_cast<u8>(min(__float2int_rn(__fmul_rn(__uint2float_rn(count), scale)), 255));
}

__device__ __forceinline__ void store_levels(u8 *const lut, const u8 first, const u8 second) {
    reinterpret_cast<uchar2 *>(lut)[threadIdx.x] = make_uchar2(first, second);
}

// Spec 4.3, one bin: clip, then its share of what was clipped.
__device__ __forceinline__ u32 redistribute(const u32 count, const u32 level, const u32 limit,
                                            const u32 excess) {
    const u32 remainder = excess % LEVELS;
    const u32 step = max(LEVELS / max(remainder, 1u), 1u);
    return min(count, limit) + excess / LEVELS + (level % step == 0 && level / step < remainder);
}

// Spec 4.2 to 4.4. `bins` are this thread's.
__device__ void build_clipped_lut(uint2 bins, const int limit, const float scale, u8 *const lut) {
    if (limit > 0) {
        const u32 most = static_cast<u32>(limit);
        const i64 over = static_cast<i64>(bins.x - min(bins.x, most)) + (bins.y - min(bins.y, most));
        const u32 excess = static_cast<u32>(block_sum(over));
        bins.x = redistribute(bins.x, 2 * threadIdx.x, most, excess);
        bins.y = redistribute(bins.y, 2 * threadIdx.x + 1, most, excess);
    }
    const u32 total = block_scan(bins.x + bins.y);
    store_levels(lut, level_of(total - bins.y, scale), level_of(total, scale));
}

// Spec 2. The first non-empty bin is the one whose cumulative count is the count itself.
__device__ void build_equalized_lut(const uint2 bins, const u32 pixels, u8 *const lut) {
    const u32 second = block_scan(bins.x + bins.y), first = second - bins.y;
    const bool here = bins.x + bins.y > 0 && second == bins.x + bins.y;
    const u32 lowest = static_cast<u32>(block_sum(here ? (bins.x > 0 ? bins.x : bins.y) : 0));
    if (lowest == pixels) {
        store_levels(lut, static_cast<u8>(2 * threadIdx.x), static_cast<u8>(2 * threadIdx.x + 1));
        return;
    }
    const float scale = __fdiv_rn(255.0f, __uint2float_rn(pixels - lowest));
    store_levels(lut, first < lowest ? 0 : level_of(first - lowest, scale),
                 second < lowest ? 0 : level_of(second - lowest, scale));
}

// Spec 13 and the distance w of spec 7, of a tile of `pixels`.
__device__ void measure(const uint2 bins, const u32 pixels, double *const deviation, i64 *const distance) {
    const u32 level = 2 * threadIdx.x;
    const i64 n = pixels;
    const i64 first = block_sum(static_cast<i64>(bins.x) * level + static_cast<i64>(bins.y) * (level + 1));
    const i64 second = block_sum(static_cast<i64>(bins.x) * (level * level) +
                                 static_cast<i64>(bins.y) * ((level + 1) * (level + 1)));
    const i64 below = block_scan(bins.x + bins.y);
    const i64 apart = block_sum(llabs(LEVELS * (below - bins.y) - n * (level + 1)) +
                                llabs(LEVELS * below - n * (level + 2)));
    if (threadIdx.x == 0) {
        const double s0 = static_cast<double>(n), s1 = static_cast<double>(first);
        const double variance = __dsub_rn(__dmul_rn(s0, static_cast<double>(second)), __dmul_rn(s1, s1));
        *deviation = __ddiv_rn(__dsqrt_rn(variance > 0.0 ? variance : 0.0), s0);
        *distance = apart / LEVELS * 65536 / (LEVELS * n);
    }
}

// Whether this block is the last of `blocks` to come here; what the others wrote before is then visible.
__device__ bool arrive_last(u32 *const counter, const u32 blocks) {
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        is_last = atomicInc(counter, blocks - 1) == blocks - 1; // back to 0 by itself
    __syncthreads();
    if (is_last)
        __threadfence();
    return is_last;
}

extern "C" __global__ void __launch_bounds__(THREADS)
    histogram(const u8 *const __restrict__ pixels, const i64 pitch, const int width, const int height,
              const int *const __restrict__ source_x, const int *const __restrict__ source_y,
              const int tile_width, const int tile_height, const int part_height, const int limit,
              const float scale, u32 *const partials, u32 *const totals, u32 *const counters,
              u32 *const __restrict__ bins, u8 *const __restrict__ luts, double *const __restrict__ deviation,
              i64 *const __restrict__ distance) {
    const u32 part = blockIdx.x, parts = gridDim.x;
    const u32 tile = blockIdx.z * gridDim.y + blockIdx.y, tiles = gridDim.y * gridDim.z;
    const int left = static_cast<int>(blockIdx.y) * tile_width, right = left + tile_width;
    const int tile_top = static_cast<int>(blockIdx.z) * tile_height;
    const int top = tile_top + static_cast<int>(part) * part_height;
    const int bottom = min(top + part_height, tile_top + tile_height);

    const u8 *const origin = pixels + top * pitch + static_cast<i64>(left) * CHANNELS;
    uint2 found = count_inside(origin, pitch, min(right, width) - left, min(bottom, height) - top);
    u32 *const total = totals + (tile * parts + part) % REPLICAS * LEVELS + 2 * threadIdx.x;
    if (found.x)
        atomicAdd(total, found.x);
    if (found.y)
        atomicAdd(total + 1, found.y);

    if constexpr (TILES) {
        const uint2 beside = count_padding(pixels, pitch, source_x, source_y, max(left, width), right, top,
                                           min(bottom, height));
        const uint2 beneath =
            count_padding(pixels, pitch, source_x, source_y, left, right, max(top, height), bottom);
        found.x += beside.x + beneath.x;
        found.y += beside.y + beneath.y;
        uint2 *const of_tile = reinterpret_cast<uint2 *>(partials) + tile * parts * THREADS + threadIdx.x;
        of_tile[part * THREADS] = found;
        if (!arrive_last(&counters[tile], parts))
            return;
        found = make_uint2(0, 0);
        for (u32 other = 0; other < parts; ++other) {
            const uint2 counts = __ldcg(&of_tile[other * THREADS]);
            found.x += counts.x;
            found.y += counts.y;
        }
        if constexpr (CLAHE)
            build_clipped_lut(found, limit, scale, luts + tile * LEVELS);
        if constexpr (HEATMAP)
            measure(found, static_cast<u32>(tile_width * tile_height), &deviation[tile], &distance[tile]);
    }

    if (!arrive_last(&counters[tiles], TILES ? tiles : parts))
        return;
    found = make_uint2(0, 0);
    for (u32 replica = 0; replica < REPLICAS; ++replica) {
        uint2 *const counts = reinterpret_cast<uint2 *>(totals + replica * LEVELS) + threadIdx.x;
        const uint2 sum = __ldcg(counts);
        found.x += sum.x;
        found.y += sum.y;
        *counts = make_uint2(0, 0);
    }
    reinterpret_cast<uint2 *>(bins)[threadIdx.x] = found;
    if constexpr (MODE == 0)
        store_levels(luts, static_cast<u8>(2 * threadIdx.x), static_cast<u8>(2 * threadIdx.x + 1));
    if constexpr (MODE == 1)
        build_equalized_lut(found, static_cast<u32>(width) * static_cast<u32>(height), luts);
    if constexpr (MODE == 2)
        build_clipped_lut(found, limit, scale, luts);
}
