// Makes the mapping of a deep frame from its counts (spec 2, 3, 4, 8, 9).
//
// Launch: grid (tiles) for CLAHE, else one block; 1024 threads, or 256 for 10 bits, each with four levels
// side by side of every 4096. Shared memory: 272 bytes.
//
//   counts (tiles, 2^BITS) u32, of the tiles with their padding, or the bins of the frame
//   plain  (2^BITS) LUT of a frame in which there is nothing to map
//   pixels, limit, scale: of a tile, or of the frame: their number, clip limit (0: none), levels a count
//   low..high: levels that carry the picture; they become shown_low..shown_low + shown_span
//   beyond (2), before: if a word of the frame was beyond its depth, `before` is kept as its mapping; either
//          may be null
//   luts   (tiles, 2^BITS)
//
// Defines: BITS; SHOWN 8 or 16, the bits of a LUT's entry; MODE 1 equalize, 2 clipped, 3 CLAHE, 4 stretch.
#include "block.cuh"
#include "words.cuh"

constexpr int PER = 4; // levels of a thread at a time
constexpr int THREADS = LEVELS / PER < 1024 ? LEVELS / PER : 1024;
constexpr int STEP = THREADS * PER;
using Whole = Block<THREADS>;

__shared__ i64 scratch[THREADS / WARP];
__shared__ Sample lowest_entry;

struct Levels {
    int low, high, shown_low, shown_span;
};

// Counts as the range has them: those outside are added to its ends.
struct Folded {
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
template <class Use> __device__ __forceinline__ void for_each(const Folded &folded, const Use use) {
#pragma unroll 1
    for (int start = 0; start < LEVELS; start += STEP) {
        const int level = start + static_cast<int>(threadIdx.x) * PER;
        const uint4 four = four_at(folded.counts, level);
        const u32 counts[] = {four.x, four.y, four.z, four.w};
#pragma unroll
        for (int k = 0; k < PER; ++k)
            use(level + k, folded.at(level + k, counts[k]));
    }
}

// Call `use(level, cumulative, added)` for every level of this thread, where `count(level, own)` is what it adds.
template <class Count, class Use>
__device__ __forceinline__ void scan_each(const Folded &folded, const Count count, const Use use) {
    u32 before = 0;
#pragma unroll 1
    for (int start = 0; start < LEVELS; start += STEP) {
        const int level = start + static_cast<int>(threadIdx.x) * PER;
        const uint4 four = four_at(folded.counts, level);
        const u32 own[] = {four.x, four.y, four.z, four.w};
        u32 added[PER], sum = 0;
#pragma unroll
        for (int k = 0; k < PER; ++k)
            sum += added[k] = count(level + k, folded.at(level + k, own[k]));
        u32 all = 0;
        u32 below = before + Whole::scan(sum, scratch, all) - sum;
#pragma unroll
        for (int k = 0; k < PER; ++k)
            use(level + k, below += added[k], added[k]);
        before += all;
    }
}

__device__ __forceinline__ u32 count_as_is(const int, const u32 count) { return count; }

__device__ Folded folded_of(const u32 *const counts, const Levels &levels) {
    if (levels.low == 0)
        return {counts, levels, 0, 0};
    i64 below = 0, above = 0;
    for (int level = static_cast<int>(threadIdx.x); level < LEVELS; level += THREADS) {
        below += level < levels.low ? counts[level] : 0;
        above += level > levels.high ? counts[level] : 0;
    }
    below = Whole::sum(below, scratch);
    above = Whole::sum(above, scratch);
    return {counts, levels, static_cast<u32>(below), static_cast<u32>(above)};
}

__device__ __forceinline__ Sample entry_of(const u32 count, const float scale, const Levels &levels) {
    const int above = min(__float2int_rn(__fmul_rn(__uint2float_rn(count), scale)), levels.shown_span);
    return static_cast<Sample>(levels.shown_low + above);
}

__device__ void copy_lut(const Sample *const from, Sample *const lut) {
    for (int level = static_cast<int>(threadIdx.x); level < LEVELS; level += THREADS)
        lut[level] = from[level];
}

// Spec 4.2 to 4.4. Levels below the range map as its lower end.
__device__ void clip(const Folded &folded, const int limit, const float scale, Sample *const lut) {
    const Levels &levels = folded.levels;
    const u32 most = limit > 0 ? static_cast<u32>(limit) : ~0u;
    i64 own_excess = 0;
    for_each(folded, [&](int, const u32 count) { own_excess += count - min(count, most); });
    const u32 excess = static_cast<u32>(Whole::sum(own_excess, scratch));
    const u32 size = static_cast<u32>(levels.high - levels.low + 1);
    const u32 share = excess / size, remainder = excess % size, step = max(size / max(remainder, 1u), 1u);
    const auto clipped = [&](const int level, const u32 count) {
        const u32 place = static_cast<u32>(level - levels.low);
        const bool one_more = place % step == 0 && place / step < remainder;
        return place < size ? min(count, most) + share + one_more : 0u;
    };
    scan_each(folded, clipped, [&](const int level, const u32 count, u32) {
        const Sample entry = entry_of(count, scale, levels);
        if (level == levels.low)
            lowest_entry = entry;
        if (level >= levels.low)
            lut[level] = entry;
    });
    __syncthreads();
    for (int level = static_cast<int>(threadIdx.x); level < levels.low; level += THREADS)
        lut[level] = lowest_entry;
}

// Spec 2. The first non-empty bin is the one whose cumulative count is its own.
__device__ void equalize(const Folded &folded, const Sample *const plain, const u32 pixels,
                         Sample *const lut) {
    u32 own_lowest = 0;
    scan_each(folded, count_as_is,
              [&](int, const u32 below, const u32 count) { own_lowest += count == below ? count : 0; });
    const u32 lowest = static_cast<u32>(Whole::sum(own_lowest, scratch));
    if (lowest == pixels) {
        copy_lut(plain, lut);
        return;
    }
    const Levels &levels = folded.levels;
    const float scale = __fdiv_rn(static_cast<float>(levels.shown_span), __uint2float_rn(pixels - lowest));
    scan_each(folded, count_as_is, [&](const int level, const u32 below, u32) {
        lut[level] = entry_of(below - min(below, lowest), scale, levels);
    });
}

// Spec 8: a straight line between two percentiles, each found as the number of levels before it.
__device__ void stretch(const Folded &folded, const Sample *const plain, const u32 pixels,
                        Sample *const lut) {
    const Levels &levels = folded.levels;
    i64 own_first = 0, own_last = 0;
    scan_each(folded, count_as_is, [&](const int level, const u32 below, u32) {
        const bool inside = level >= levels.low && level <= levels.high;
        own_first += inside && 1000 * static_cast<i64>(below) < pixels;
        own_last += inside && 1000 * static_cast<i64>(below) < 999 * static_cast<i64>(pixels);
    });
    const int first = levels.low + static_cast<int>(Whole::sum(own_first, scratch));
    const int last = levels.low + static_cast<int>(Whole::sum(own_last, scratch));
    if (first == last)
        return copy_lut(plain, lut);
    const float scale = __fdiv_rn(static_cast<float>(levels.shown_span), static_cast<float>(last - first));
    for (int level = static_cast<int>(threadIdx.x); level < LEVELS; level += THREADS) {
        const int above = min(max(level - first, 0), last - first);
        lut[level] = entry_of(static_cast<u32>(above), scale, levels);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    words_lut(const u32 *const __restrict__ counts, const Sample *const __restrict__ plain, const u32 pixels,
              const int limit, const float scale, const int low, const int high, const int shown_low,
              const int shown_span, const u32 *const __restrict__ beyond,
              const Sample *const __restrict__ before, Sample *const __restrict__ luts) {
    const i64 tile = static_cast<i64>(blockIdx.x) * LEVELS;
    if (beyond != nullptr && before != nullptr && beyond[0] > 0)
        return copy_lut(before + tile, luts + tile);
    const Folded folded = folded_of(counts + tile, {low, high, shown_low, shown_span});
    if constexpr (MODE == 1)
        equalize(folded, plain, pixels, luts + tile);
    else if constexpr (MODE == 4)
        stretch(folded, plain, pixels, luts + tile);
    else
        clip(folded, limit, scale, luts + tile);
}
