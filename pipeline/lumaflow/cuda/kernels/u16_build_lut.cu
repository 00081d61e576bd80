// Builds the LUTs of a frame from its histograms (docs/spec.md 2, 3, 4, 8, 9); for 8-bit frames histogram.cu does.
//
// Launch: grid (tiles) for CLAHE, else one block; 1024 threads, or 256 for 10 bits; each thread handles four
// adjacent levels at a time. Shared memory: 272 bytes.
//
//   counts   (tiles, 2^BITS) u32: histograms of the tiles with their padding, or the bins of the frame
//   rescale  (2^BITS): the LUT of a frame with one single level
//   pixels, limit, scale: of a tile, or of the frame: number of pixels, clip limit (0: none), levels per count
//   low..high: input range; it is mapped to out_low..out_low + out_span
//   out_of_range (2), previous: if out_of_range[0] > 0 the frame is rejected and its LUTs become a copy of
//            `previous`; either may be null
//   luts     (tiles, 2^BITS)
//
// Defines: BITS; OUT_BITS 8 or 16, the bits of a LUT entry; MODE 1 equalize, 2 clipped, 3 CLAHE, 4 stretch.
#include "block_reduce.cuh"
#include "u16.cuh"

constexpr int LEVELS_PER_THREAD = 4;
constexpr int THREADS = LEVELS / LEVELS_PER_THREAD < 1024 ? LEVELS / LEVELS_PER_THREAD : 1024;
constexpr int STEP = THREADS * LEVELS_PER_THREAD;
using BlockOp = Block<THREADS>;

__shared__ i64 scratch[THREADS / WARP];
__shared__ OutSample lowest_entry;

struct Levels {
    int low, high, out_low, out_span;
};

// Counts folded into the range: levels outside are added to its lowest and highest level.
struct FoldedCounts {
    const u32 *counts;
    Levels levels;
    u32 below, above;

    __device__ __forceinline__ u32 at(const int level, const u32 count) const {
        if (level < levels.low || level > levels.high)
            return 0;
        return count + (level == levels.low ? below : 0) + (level == levels.high ? above : 0);
    }
};

__device__ __forceinline__ uint4 four_at(const u32 *const counts, const int level) {
    return *reinterpret_cast<const uint4 *>(counts + level);
}

// Call `use(level, count)` for every level of this thread.
template <class Use> __device__ __forceinline__ void for_each(const FoldedCounts &folded, const Use use) {
#pragma unroll 1
    for (int start = 0; start < LEVELS; start += STEP) {
        const int level = start + static_cast<int>(threadIdx.x) * LEVELS_PER_THREAD;
        const uint4 four = four_at(folded.counts, level);
        const u32 counts[] = {four.x, four.y, four.z, four.w};
#pragma unroll
        for (int k = 0; k < LEVELS_PER_THREAD; ++k)
            use(level + k, folded.at(level + k, counts[k]));
    }
}

// Prefix sum over all levels: calls `use(level, cumulative, count)` with the values of `count(level, bin)`.
template <class Count, class Use>
__device__ __forceinline__ void scan_each(const FoldedCounts &folded, const Count count, const Use use) {
    u32 before = 0;
#pragma unroll 1
    for (int start = 0; start < LEVELS; start += STEP) {
        const int level = start + static_cast<int>(threadIdx.x) * LEVELS_PER_THREAD;
        const uint4 four = four_at(folded.counts, level);
        const u32 own[] = {four.x, four.y, four.z, four.w};
        u32 added[LEVELS_PER_THREAD], sum = 0;
#pragma unroll
        for (int k = 0; k < LEVELS_PER_THREAD; ++k)
            sum += added[k] = count(level + k, folded.at(level + k, own[k]));
        u32 all = 0;
        u32 below = before + BlockOp::scan(sum, scratch, all) - sum;
#pragma unroll
        for (int k = 0; k < LEVELS_PER_THREAD; ++k)
            use(level + k, below += added[k], added[k]);
        before += all;
    }
}

__device__ __forceinline__ u32 count_as_is(const int, const u32 count) { return count; }

__device__ FoldedCounts fold_counts(const u32 *const counts, const Levels &levels) {
    if (levels.low == 0)
        return {counts, levels, 0, 0};
    i64 below = 0, above = 0;
    for (int level = static_cast<int>(threadIdx.x); level < LEVELS; level += THREADS) {
        below += level < levels.low ? counts[level] : 0;
        above += level > levels.high ? counts[level] : 0;
    }
    below = BlockOp::sum(below, scratch);
    above = BlockOp::sum(above, scratch);
    return {counts, levels, static_cast<u32>(below), static_cast<u32>(above)};
}

__device__ __forceinline__ OutSample entry_of(const u32 count, const float scale, const Levels &levels) {
    const int above = min(__float2int_rn(__fmul_rn(__uint2float_rn(count), scale)), levels.out_span);
    return static_cast<OutSample>(levels.out_low + above);
}

__device__ void copy_lut(const OutSample *const from, OutSample *const lut) {
    for (int level = static_cast<int>(threadIdx.x); level < LEVELS; level += THREADS)
        lut[level] = from[level];
}

// Spec 4.2 to 4.4. Levels below the range map to the entry of its lowest level.
__device__ void clip(const FoldedCounts &folded, const int limit, const float scale, OutSample *const lut) {
    const Levels &levels = folded.levels;
    const u32 max_count = limit > 0 ? static_cast<u32>(limit) : ~0u;
    i64 thread_excess = 0;
    for_each(folded, [&](int, const u32 count) { thread_excess += count - min(count, max_count); });
    const u32 excess = static_cast<u32>(BlockOp::sum(thread_excess, scratch));
    const u32 size = static_cast<u32>(levels.high - levels.low + 1);
    const u32 share = excess / size, remainder = excess % size, step = max(size / max(remainder, 1u), 1u);
    const auto clipped = [&](const int level, const u32 count) {
        const u32 index = static_cast<u32>(level - levels.low);
        const bool one_more = index % step == 0 && index / step < remainder;
        return index < size ? min(count, max_count) + share + one_more : 0u;
    };
    scan_each(folded, clipped, [&](const int level, const u32 count, u32) {
        const OutSample entry = entry_of(count, scale, levels);
        if (level == levels.low)
            lowest_entry = entry;
        if (level >= levels.low)
            lut[level] = entry;
    });
    __syncthreads();
    for (int level = static_cast<int>(threadIdx.x); level < levels.low; level += THREADS)
        lut[level] = lowest_entry;
}

// Spec 2. The first non-empty bin is the bin whose cumulative count equals its count.
__device__ void equalize(const FoldedCounts &folded, const OutSample *const rescale, const u32 pixels,
                         OutSample *const lut) {
    u32 thread_lowest = 0;
    scan_each(folded, count_as_is,
              [&](int, const u32 below, const u32 count) { thread_lowest += count == below ? count : 0; });
    const u32 lowest = static_cast<u32>(BlockOp::sum(thread_lowest, scratch));
    if (lowest == pixels) {
        copy_lut(rescale, lut);
        return;
    }
    const Levels &levels = folded.levels;
    const float scale = __fdiv_rn(static_cast<float>(levels.out_span), __uint2float_rn(pixels - lowest));
    scan_each(folded, count_as_is, [&](const int level, const u32 below, u32) {
        lut[level] = entry_of(below - min(below, lowest), scale, levels);
    });
}

// Spec 8: linear stretch between two percentiles. Each percentile is the number of levels below it.
__device__ void stretch(const FoldedCounts &folded, const OutSample *const rescale, const u32 pixels,
                        OutSample *const lut) {
    const Levels &levels = folded.levels;
    i64 thread_first = 0, thread_last = 0;
    scan_each(folded, count_as_is, [&](const int level, const u32 below, u32) {
        const bool inside = level >= levels.low && level <= levels.high;
        thread_first += inside && 1000 * static_cast<i64>(below) < pixels;
        thread_last += inside && 1000 * static_cast<i64>(below) < 999 * static_cast<i64>(pixels);
    });
    const int first = levels.low + static_cast<int>(BlockOp::sum(thread_first, scratch));
    const int last = levels.low + static_cast<int>(BlockOp::sum(thread_last, scratch));
    if (first == last)
        return copy_lut(rescale, lut);
    const float scale = __fdiv_rn(static_cast<float>(levels.out_span), static_cast<float>(last - first));
    for (int level = static_cast<int>(threadIdx.x); level < LEVELS; level += THREADS) {
        const int above = min(max(level - first, 0), last - first);
        lut[level] = entry_of(static_cast<u32>(above), scale, levels);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    u16_build_lut(const u32 *const __restrict__ counts, const OutSample *const __restrict__ rescale,
                  const u32 pixels, const int limit, const float scale, const int low, const int high,
                  const int out_low, const int out_span, const u32 *const __restrict__ out_of_range,
                  const OutSample *const __restrict__ previous, OutSample *const __restrict__ luts) {
    const i64 tile = static_cast<i64>(blockIdx.x) * LEVELS;
    if (out_of_range != nullptr && previous != nullptr && out_of_range[0] > 0)
        return copy_lut(previous + tile, luts + tile);
    const FoldedCounts folded = fold_counts(counts + tile, {low, high, out_low, out_span});
    if constexpr (MODE == 1)
        equalize(folded, rescale, pixels, luts + tile);
    else if constexpr (MODE == 4)
        stretch(folded, rescale, pixels, luts + tile);
    else
        clip(folded, limit, scale, luts + tile);
}
