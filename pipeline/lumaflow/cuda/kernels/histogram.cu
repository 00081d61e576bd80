// Histograms and LUTs of an 8-bit frame in one launch (docs/spec.md 1, 2, 3, 4, 8, 9, 13).
//
// Each block counts the rows of one part of one tile. The last block that finishes a tile builds the tile's LUT
// and computes its heat map values. The last block of the grid sums the global bins and builds the LUT of a
// global mode.
//
// Launch: grid (parts, tile columns, tile rows), 256 threads; without tiles the frame is one tile. After the
// count, thread v handles level v.
// Shared memory: 32,835 bytes. Each lane of a warp counts in a separate bank, so there are no bank conflicts for
// any image.
//
//   pixels    (height, width[, CHANNELS]) u8, rows `pitch` bytes distance_sum
//   source_x  (columns * tile_width), source_y (rows * tile_height): source column and row of each padded pixel
//   limit, scale: clip limit (0: none) and grey levels per count, of a tile, or of the frame in a global mode
//   partials  (rows, columns, parts, 256) scratch
//   totals    (REPLICAS, 256) scratch, zero before and after: copies of the global bins, to reduce contention
//   counters  (rows * columns + 1) scratch, zero before and after: finished blocks of each tile and of the grid
//   bins      (256) of the pixels without padding
//   luts      (rows, columns, 256) for CLAHE, else (256)
//   deviation (rows, columns) f64, distance (rows, columns) i64: the heat map
//
// Defines: CHANNELS, VALUE, CHANNEL (pixels.cuh); MODE 0 identity, 1 equalize, 2 clipped, 3 CLAHE, 4 stretch;
// LIMITED 1 for limited range (levels 16..235); HEATMAP 0 or 1.
// All sums are sums of integers, so the order of additions does not change a result.
#include "pixels.cuh"

constexpr int LEVELS = 256;
constexpr int THREADS = LEVELS;
constexpr int WARP = 32;
constexpr int WARPS = THREADS / WARP;
constexpr int REPLICAS = 16;
constexpr int BATCH = CHANNELS == 1 ? 4 : 2; // chunks that a thread loads before it counts them
constexpr int LOW = LIMITED ? 16 : 0, HIGH = LIMITED ? 235 : 255, SPAN = HIGH - LOW;
constexpr bool CLAHE = MODE == 3;
constexpr bool TILES = CLAHE || HEATMAP;

__shared__ uint4 counts[LEVELS][WARP / 4]; // [level][lane]
__shared__ i64 warp_sums[WARPS];
__shared__ bool is_last_of_tile, is_last_of_all;
__shared__ u8 lowest_level;

// Increment the counter at byte `offset` of `counts`.
__device__ __forceinline__ void count_at(const u32 offset) {
    atomicAdd(reinterpret_cast<u32 *>(reinterpret_cast<u8 *>(counts) + offset), 1u);
}

__device__ __forceinline__ void count_level(const int level) {
    count_at(static_cast<u32>(level) * (WARP * 4) + threadIdx.x % WARP * 4);
}

// Count four levels. Their offsets, level * 128 + lane * 4, are computed for all four at once: first the low
// bytes, then the high bytes. `lane` has lane * 4 in each byte.
__device__ __forceinline__ void count_word(const u32 word, const u32 lane) {
    const u32 low = ((word & 0x01010101u) << 7) | lane, high = (word >> 1) & 0x7f7f7f7fu;
    const u32 first_two = __byte_perm(low, high, 0x5140), last_two = __byte_perm(low, high, 0x7362);
    count_at(first_two & 0xffffu);
    count_at(first_two >> 16);
    count_at(last_two & 0xffffu);
    count_at(last_two >> 16);
}

struct Chunk {
    uint4 vectors[CHANNELS];
};

__device__ __forceinline__ Chunk read_chunk(const u8 *const pixels) {
    Chunk chunk;
#pragma unroll
    for (int i = 0; i < CHANNELS; ++i)
        chunk.vectors[i] = reinterpret_cast<const uint4 *>(pixels)[i];
    return chunk;
}

__device__ __forceinline__ void count_chunk(const Chunk &chunk) {
    const uint4 *const vectors = chunk.vectors;
    if constexpr (CHANNELS == 1) {
        const u32 lane = threadIdx.x % WARP * 0x04040404u;
        count_word(vectors[0].x, lane);
        count_word(vectors[0].y, lane);
        count_word(vectors[0].z, lane);
        count_word(vectors[0].w, lane);
    } else if constexpr (CHANNELS == 2) {
        const u32 lane = threadIdx.x % WARP * 0x04040404u;
#pragma unroll
        for (int i = 0; i < CHANNELS; ++i) {
            count_word(packed_lumas(vectors[i].x, vectors[i].y), lane);
            count_word(packed_lumas(vectors[i].z, vectors[i].w), lane);
        }
    } else {
        u32 words[4 * CHANNELS];
#pragma unroll
        for (int i = 0; i < CHANNELS; ++i) {
            words[4 * i] = vectors[i].x;
            words[4 * i + 1] = vectors[i].y;
            words[4 * i + 2] = vectors[i].z;
            words[4 * i + 3] = vectors[i].w;
        }
#pragma unroll
        for (int p = 0; p < CHUNK; ++p) {
            const int b = CHANNELS * p + CHANNEL, g = CHANNELS * p + 1, r = CHANNELS * p + 2 - CHANNEL;
            count_level(level_of_color(static_cast<int>(byte_of(words[b / 4], b % 4)),
                                       static_cast<int>(byte_of(words[g / 4], g % 4)),
                                       static_cast<int>(byte_of(words[r / 4], r % 4))));
        }
    }
}

// A rectangle of pixels without padding; it may be empty. Its rows are cut into chunks at multiples of 16 bytes,
// so the first and the last chunk of a row may lie partly outside.
struct Rectangle {
    const u8 *origin;
    i64 pitch;
    int width, height, chunks;
};

__device__ __forceinline__ Rectangle make_rectangle(const u8 *const origin, const i64 pitch, const int width,
                                                    const int height) {
    const bool aligned = is_aligned<CHUNK>(origin) && pitch % CHUNK == 0;
    const int chunks = (max(width, 0) + CHUNK - 1 + (aligned ? 0 : CHUNK - 1)) / CHUNK;
    return {origin, pitch, width, width > 0 ? max(height, 0) : 0, chunks};
}

// Column of the first pixel of a chunk of `row`.
__device__ __forceinline__ int column_of(const u8 *const row, const int chunk) {
    return chunk * CHUNK - (CHUNK - lead_pixels<CHUNK>(row)) % CHUNK;
}

// Count the chunks that lie inside completely, BATCH at a time.
__device__ __forceinline__ void count_full_chunks(const Rectangle &area) {
    const int items = area.chunks * area.height;
    for (int first = static_cast<int>(threadIdx.x); first < items; first += BATCH * THREADS) {
        Chunk batch[BATCH];
        bool full[BATCH];
#pragma unroll
        for (int k = 0; k < BATCH; ++k) {
            const int i = first + k * THREADS, y = i / area.chunks;
            const u8 *const row = area.origin + y * area.pitch;
            const int x = column_of(row, i - y * area.chunks);
            full[k] = i < items && x >= 0 && x + CHUNK <= area.width;
            if (full[k])
                batch[k] = read_chunk(row + static_cast<i64>(x) * CHANNELS);
        }
#pragma unroll
        for (int k = 0; k < BATCH; ++k)
            if (full[k])
                count_chunk(batch[k]);
    }
}

// Count the first and the last chunk of each row where they lie partly outside.
__device__ __forceinline__ void count_edges(const Rectangle &area) {
    for (int i = static_cast<int>(threadIdx.x); i < 2 * area.height; i += THREADS) {
        const u8 *const row = area.origin + i / 2 * area.pitch;
        const int start = column_of(row, 0), last_chunk = (area.width - 1 - start) / CHUNK;
        const int x = i % 2 == 0 ? start : start + last_chunk * CHUNK;
        const int first = max(x, 0), last = min(x + CHUNK, area.width);
        if (last - first < CHUNK && (i % 2 == 0 || last_chunk > 0))
            for (int p = first; p < last; ++p)
                count_level(level_at(row + static_cast<i64>(p) * CHANNELS));
    }
}

// Count the padding in columns left..right-1 and rows top..bottom-1; the range may be empty.
__device__ __forceinline__ void count_padding(const u8 *const pixels, const i64 pitch,
                                              const int *const source_x, const int *const source_y,
                                              const int left, const int right, const int top,
                                              const int bottom) {
    const int width = right - left, items = width > 0 && bottom > top ? width * (bottom - top) : 0;
    for (int i = static_cast<int>(threadIdx.x); i < items; i += THREADS) {
        const int y = i / width, x = i - y * width;
        const u8 *const row = pixels + source_y[top + y] * pitch;
        count_level(level_at(row + static_cast<i64>(source_x[left + x]) * CHANNELS));
    }
}

__device__ __forceinline__ void clear_counts() {
    for (u32 i = threadIdx.x; i < LEVELS * WARP / 4; i += THREADS)
        counts[i / (WARP / 4)][i % (WARP / 4)] = make_uint4(0, 0, 0, 0);
}

// Total count of level threadIdx.x; adjacent threads start at different banks.
__device__ __forceinline__ u32 sum_over_lanes() {
    u32 sum = 0;
#pragma unroll
    for (u32 i = 0; i < WARP / 4; ++i) {
        const uint4 four = counts[threadIdx.x][(i + threadIdx.x) % (WARP / 4)];
        sum += four.x + four.y + four.z + four.w;
    }
    return sum;
}

__device__ __forceinline__ i64 block_sum(i64 value) {
    for (int step = WARP / 2; step > 0; step /= 2)
        value += __shfl_xor_sync(~0u, value, step);
    if (threadIdx.x % WARP == 0)
        warp_sums[threadIdx.x / WARP] = value;
    __syncthreads();
    i64 sum = 0;
    for (int warp = 0; warp < WARPS; ++warp)
        sum += warp_sums[warp];
    __syncthreads();
    return sum;
}

// Inclusive prefix sum over the threads of the block.
__device__ __forceinline__ u32 block_scan(u32 value) {
    const u32 lane = threadIdx.x % WARP;
    for (u32 step = 1; step < WARP; step *= 2) {
        const u32 before = __shfl_up_sync(~0u, value, step);
        if (lane >= step)
            value += before;
    }
    if (lane == WARP - 1)
        warp_sums[threadIdx.x / WARP] = value;
    __syncthreads();
    for (u32 warp = 0; warp < threadIdx.x / WARP; ++warp)
        value += static_cast<u32>(warp_sums[warp]);
    __syncthreads();
    return value;
}

// Limited range: counts of levels outside the range are added to its lowest and highest level (spec 9).
__device__ __forceinline__ u32 fold_into_range(const u32 count) {
    if constexpr (!LIMITED)
        return count;
    const int level = static_cast<int>(threadIdx.x);
    const u32 below = static_cast<u32>(block_sum(level < LOW ? count : 0));
    const u32 above = static_cast<u32>(block_sum(level > HIGH ? count : 0));
    if (level < LOW || level > HIGH)
        return 0;
    return count + (level == LOW ? below : 0) + (level == HIGH ? above : 0);
}

__device__ __forceinline__ bool in_range() {
    const int level = static_cast<int>(threadIdx.x);
    return level >= LOW && level <= HIGH;
}

// LUT entry of a frame with one single level.
__device__ __forceinline__ u8 rescaled_level() {
    return static_cast<u8>(min(max(static_cast<int>(threadIdx.x), LOW), HIGH));
}

__device__ __forceinline__ u8 level_of(const u32 count, const float scale) {
    return static_cast<u8>(LOW + min(__float2int_rn(__fmul_rn(__uint2float_rn(count), scale)), SPAN));
}

// Levels below the range map to the entry of its lowest level; levels above it need no extra step.
__device__ __forceinline__ u8 extend_low_end(const u8 level) {
    if constexpr (!LIMITED)
        return level;
    const int thread = static_cast<int>(threadIdx.x);
    if (thread == LOW)
        lowest_level = level;
    __syncthreads();
    return thread < LOW ? lowest_level : level;
}

// Spec 4.2 to 4.4. `count` is folded into the range, here and below.
__device__ u8 clipped_level(u32 count, const int limit, const float scale) {
    if (limit > 0) {
        constexpr u32 SIZE = SPAN + 1;
        const u32 max_count = static_cast<u32>(limit), index = threadIdx.x - LOW;
        const u32 excess = static_cast<u32>(block_sum(count - min(count, max_count)));
        const u32 remainder = excess % SIZE, step = max(SIZE / max(remainder, 1u), 1u);
        const u32 share = excess / SIZE + (index % step == 0 && index / step < remainder);
        count = min(count, max_count) + (in_range() ? share : 0);
    }
    return extend_low_end(level_of(block_scan(count), scale));
}

// Spec 2. The first non-empty bin is the bin whose cumulative count equals its count.
__device__ u8 equalized_level(const u32 count, const u32 pixels) {
    const u32 below = block_scan(count);
    const u32 lowest = static_cast<u32>(block_sum(count == below ? count : 0));
    if (lowest == pixels)
        return rescaled_level();
    const float scale = __fdiv_rn(static_cast<float>(SPAN), __uint2float_rn(pixels - lowest));
    return level_of(below - min(below, lowest), scale);
}

// Spec 8: linear stretch between two percentiles. Each percentile is the number of levels below it.
__device__ u8 stretched_level(const u32 count, const u32 pixels) {
    const i64 below = 1000 * static_cast<i64>(block_scan(count)), n = pixels;
    const int first = LOW + static_cast<int>(block_sum(in_range() && below < n));
    const int last = LOW + static_cast<int>(block_sum(in_range() && below < 999 * n));
    if (first == last)
        return rescaled_level();
    const float scale = __fdiv_rn(static_cast<float>(SPAN), static_cast<float>(last - first));
    const int above = min(max(static_cast<int>(threadIdx.x) - first, 0), last - first);
    return level_of(static_cast<u32>(above), scale);
}

// Heat map values of a tile of `pixels` pixels: spec 13, and the distance w of spec 7.
__device__ void compute_heatmap(const u32 count, const u32 pixels, double *const deviation,
                                i64 *const distance) {
    const i64 n = pixels, level = threadIdx.x;
    const i64 first = block_sum(count * level), second = block_sum(count * level * level);
    const i64 distance_sum = block_sum(llabs(LEVELS * static_cast<i64>(block_scan(count)) - n * (level + 1)));
    if (threadIdx.x == 0) {
        const double s0 = static_cast<double>(n), s1 = static_cast<double>(first);
        const double variance = __dsub_rn(__dmul_rn(s0, static_cast<double>(second)), __dmul_rn(s1, s1));
        *deviation = __ddiv_rn(__dsqrt_rn(variance > 0.0 ? variance : 0.0), s0);
        *distance = distance_sum / LEVELS * 65536 / (LEVELS * n);
    }
}

// Signal that this block has written its counts. Afterwards `is_last_of_*` are true in the last block to arrive,
// which can then read the counts of all others. The counters wrap around to 0.
__device__ __forceinline__ void arrive(u32 *const counters, const u32 tile, const u32 tiles,
                                       const u32 parts) {
    __threadfence();
    __syncthreads();
    if (TILES && threadIdx.x == 0)
        is_last_of_tile = atomicInc(&counters[tile], parts - 1) == parts - 1;
    if (threadIdx.x == WARP)
        is_last_of_all = atomicInc(&counters[tiles], tiles * parts - 1) == tiles * parts - 1;
    __syncthreads();
    __threadfence();
}

extern "C" __global__ void __launch_bounds__(THREADS, 2)
    histogram(const u8 *const __restrict__ pixels, const i64 pitch, const int width, const int height,
              const int *const __restrict__ source_x, const int *const __restrict__ source_y,
              const int tile_width, const int tile_height, const int part_height, const int limit,
              const float scale, u32 *const partials, u32 *const totals, u32 *const counters,
              u32 *const __restrict__ bins, u8 *const __restrict__ luts, double *const __restrict__ deviation,
              i64 *const __restrict__ distance) {
    const u32 level = threadIdx.x, part = blockIdx.x, parts = gridDim.x;
    const u32 tile = blockIdx.z * gridDim.y + blockIdx.y, tiles = gridDim.y * gridDim.z;
    const int left = static_cast<int>(blockIdx.y) * tile_width, right = left + tile_width;
    const int tile_top = static_cast<int>(blockIdx.z) * tile_height;
    const int top = tile_top + static_cast<int>(part) * part_height;
    const int bottom = min(top + part_height, tile_top + tile_height);

    clear_counts();
    __syncthreads();
    const u8 *const origin = pixels + top * pitch + static_cast<i64>(left) * CHANNELS;
    const Rectangle inside =
        make_rectangle(origin, pitch, min(right, width) - left, min(bottom, height) - top);
    count_full_chunks(inside);
    count_edges(inside);
    __syncthreads();
    u32 count = sum_over_lanes();
    if (count > 0)
        atomicAdd(&totals[(tile * parts + part) % REPLICAS * LEVELS + level], count);

    if constexpr (TILES) {
        if (right > width || bottom > height) {
            __syncthreads();
            count_padding(pixels, pitch, source_x, source_y, max(left, width), right, top,
                          min(bottom, height));
            count_padding(pixels, pitch, source_x, source_y, left, right, max(top, height), bottom);
            __syncthreads();
            count = sum_over_lanes();
        }
        partials[(tile * parts + part) * LEVELS + level] = count;
    }
    arrive(counters, tile, tiles, parts);

    if (TILES && is_last_of_tile) {
        u32 sum = 0;
        for (u32 other = 0; other < parts; ++other)
            sum += __ldcg(&partials[(tile * parts + other) * LEVELS + level]);
        if constexpr (CLAHE)
            luts[tile * LEVELS + level] = clipped_level(fold_into_range(sum), limit, scale);
        if constexpr (HEATMAP)
            compute_heatmap(sum, static_cast<u32>(tile_width * tile_height), &deviation[tile],
                            &distance[tile]);
    }
    if (is_last_of_all) {
        u32 sum = 0;
        for (u32 replica = 0; replica < REPLICAS; ++replica) {
            sum += __ldcg(&totals[replica * LEVELS + level]);
            totals[replica * LEVELS + level] = 0;
        }
        bins[level] = sum;
        if constexpr (MODE == 0)
            luts[level] = static_cast<u8>(level);
        const u32 all = static_cast<u32>(width) * static_cast<u32>(height);
        if constexpr (MODE == 1)
            luts[level] = equalized_level(fold_into_range(sum), all);
        if constexpr (MODE == 2)
            luts[level] = clipped_level(fold_into_range(sum), limit, scale);
        if constexpr (MODE == 4)
            luts[level] = stretched_level(fold_into_range(sum), all);
    }
}
