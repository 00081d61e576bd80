// Measures of a frame, the mean level for each candidate of the gain, and the terms of the cut test
// (docs/spec.md 16.3, 16.4, 16.6).
//
// Launch: STEPS blocks of 256 threads. Each block computes the measures; block k also the mean level of candidate
// k, and, below 64, the distance of block k of the cut test to the same block of the last frame, whose histogram it
// replaces unless the frame is held. Shared memory: about 4 KB.
//
//   cells, lumas, totals, energies: of adaptive_statistics
//   steps     (STEPS) candidates
//   strength, low, high, dark_half: the options of the mode
//   corrupt, out_of_range (2) or null: the frame is held if either is not 0
//   state     of the frames before
//   blocks    (64, 256) u32, histograms of the blocks of the cut test
//   whole (256) u32, measures, means (STEPS), terms (64): results. `whole` is the histogram of the frame; a term is
//             -1 for an empty block
//
// Defines: WHITE_TARGET, BRIGHT_LEVEL of lumaflow/adaptive.py; RGB 1 if `lumas` holds the sums of luma.
#include "adaptive.cuh"
#include "block_reduce.cuh"

constexpr int THREADS = 256, WARP = 32, WARPS = THREADS / WARP;
using Whole = Block<THREADS>;

__shared__ i64 scratch[WARPS];
__shared__ u32 band_counts[BANDS], bins[2][32];
__shared__ int percentiles[2], energy_bins[2];
__shared__ double roots[32];

__device__ __forceinline__ i64 sum(const i64 value) { return Whole::sum(value, scratch); }

__device__ __forceinline__ u32 scan(const u32 value) {
    u32 all;
    return Whole::scan(value, scratch, all);
}

// Write the level below which part/200 of the pixels are, in 1/16 level, linear inside a bin.
__device__ __forceinline__ void find_percentile(const i64 count, const i64 below, const i64 pixels,
                                                const int part, int &level16) {
    const i64 wanted = part * pixels, before = 200 * (below - count);
    if (before < wanted && wanted <= 200 * below)
        level16 =
            16 * static_cast<int>(threadIdx.x) - 8 + static_cast<int>((wanted - before) * 16 / (200 * count));
}

// Write the bin with the 20th percentile of the energies.
__device__ __forceinline__ void find_energy(const u32 count, int &bin) {
    const i64 below = scan(count), blocks = sum(count);
    if (5 * (below - count) < blocks && blocks <= 5 * below)
        bin = static_cast<int>(threadIdx.x);
    __syncthreads();
}

__device__ __forceinline__ int noise_of(const i64 blocks, const int bin) {
    return blocks < 8 ? 0 : (16 * bin + 8) * 29 / 64;
}

// Noise at level 0, and its rise up to level 255, in 1/128 level.
__device__ void estimate_noise(const u32 *const energies, int &noise, int &slope) {
    const u32 lane = threadIdx.x % WARP;
    for (u32 band = threadIdx.x / WARP; band < BANDS; band += WARPS) {
        u32 count = 0;
        for (u32 bin = lane; bin < 256; bin += WARP)
            count += energies[band * 256 + bin];
        for (int step = WARP / 2; step > 0; step /= 2)
            count += __shfl_xor_sync(~0u, count, step);
        if (lane == 0)
            band_counts[band] = count;
    }
    __syncthreads();
    i64 blocks = 0, below = 0;
    for (int band = 0; band < BANDS; ++band)
        blocks += band_counts[band];
    int split = 0;
    for (int band = 0; band < BANDS; ++band) {
        split = band;
        below += band_counts[band];
        if (2 * below >= blocks)
            break;
    }
    u32 dark = 0, bright = 0;
    i64 dark_blocks = 0, bright_blocks = 0, dark_level = 0, bright_level = 0;
    for (int band = 0; band < BANDS; ++band) {
        const i64 count = band_counts[band];
        const u32 energy_count = energies[band * 256 + static_cast<int>(threadIdx.x)];
        (band <= split ? dark : bright) += energy_count;
        (band <= split ? dark_blocks : bright_blocks) += count;
        (band <= split ? dark_level : bright_level) += count * (16 * band + 8);
    }
    find_energy(dark, energy_bins[0]);
    find_energy(bright, energy_bins[1]);
    slope = noise = 0;
    if (blocks < 8)
        return;
    const i64 dark_noise = noise_of(dark_blocks, energy_bins[0]);
    const i64 bright_noise = noise_of(bright_blocks, energy_bins[1]);
    noise = static_cast<int>(min(dark_noise, 1024ll));
    if (bright_blocks < 8 || bright_noise <= dark_noise)
        return;
    dark_level /= max(dark_blocks, 1ll);
    bright_level /= bright_blocks;
    slope = static_cast<int>(
        min((bright_noise - dark_noise) * 255 / max(bright_level - dark_level, 16ll), 1024ll));
    noise = static_cast<int>(min(max(dark_noise - slope * dark_level / 255, dark_noise / 2), 1024ll));
}

__device__ Measures measure(const u32 count, const i64 luma_sum, const u32 *const energies) {
    const i64 level = threadIdx.x, pixels = max(sum(count), 1ll), below = scan(count);
    const i64 levels = sum(count * level), distance = sum(llabs(256 * below - pixels * (level + 1)));
    find_percentile(count, below, pixels, 1, percentiles[0]);
    find_percentile(count, below, pixels, 199, percentiles[1]);
    Measures result = {};
    result.constant = static_cast<int>(sum(count == pixels));
    result.mean16 = static_cast<int>(levels * 16 / pixels) + 128;
    result.low16 = percentiles[0];
    result.high16 = percentiles[1];
    result.white16 = max(result.high16, 128);
    const int black16 = min(max(result.low16, 0), 128);
    result.black = 4 * black16 < 3 * result.white16 ? 4 * black16 : 0;
    result.mean_value = __fdiv_rn(__ll2float_rn(levels), __ll2float_rn(pixels));
    result.mean_luma = __fdiv_rn(__ll2float_rn(RGB ? luma_sum : levels), __ll2float_rn(pixels));
    result.white = __int2float_rn(max(8 * result.white16 - result.black, 512)) * (1.0f / 128.0f);
    const i64 gate = (distance / 256 * 65536 / (256 * pixels) - 1966) * 65536;
    result.gate = static_cast<int>(min(max(gate / 4588, 0ll), 65536ll));
    estimate_noise(energies, result.noise, result.slope);
    return result;
}

// Counts of the levels that the tone curve brings to the target, above the noise and not as bright as white, and
// their sum.
struct Lit {
    u32 count;
    i64 pixels;
};

__device__ __forceinline__ Lit lit_levels(const u32 count, const i64 pixels, const Measures &measures) {
    const int value = above_black(static_cast<int>(threadIdx.x), measures.black);
    const u32 lit = value < 128 * (2 + (measures.noise >> 8)) ? 0 : count;
    const int level = static_cast<int>(threadIdx.x);
    const u32 inner = level < BRIGHT_LEVEL || 256 * level < 15 * measures.white16 ? lit : 0;
    const i64 all_lit = sum(lit), all_inner = sum(inner);
    if (all_inner * 64 >= pixels)
        return {inner, all_inner};
    return all_lit * 64 >= pixels ? Lit{lit, all_lit} : Lit{count, pixels};
}

__device__ __forceinline__ Lit darkest_half(const Lit &lit) {
    const i64 half = (lit.pixels + 1) / 2, before = static_cast<i64>(scan(lit.count)) - lit.count;
    return {static_cast<u32>(min(static_cast<i64>(lit.count), max(half - before, 0ll))), half};
}

// Mean over the pixels of `level16`, a level in 1/16.
__device__ __forceinline__ float mean_of(const Lit &lit, const float level16) {
    const i64 total = sum(lit.count == 0 ? 0 : lit.count * static_cast<i64>(__float2int_rn(level16)));
    return __ll2float_rn(total) / __ll2float_rn(lit.pixels) * 0.0625f;
}

// The target of the mean level, from the mean after a linear stretch to white.
__device__ __forceinline__ float find_goal(const Lit &lit, const float level, const Measures &measures,
                                           const float low, const float high) {
    const float scale = WHITE_TARGET / measures.white;
    const float linear = mean_of(lit, fminf(16.0f * (level * scale), 4080.0f));
    const float ratio = fminf(fmaxf(measures.mean_value / fmaxf(measures.mean_luma, 0.0625f), 1.0f), 1.6f);
    return fminf(fmaxf(linear, low * ratio), high * ratio);
}

// Distance of a block of the cut test, the union of 2 x 2 cells, to that of the last frame.
__device__ void compare_block(const u32 *const cells, const int parts, const int width, const int height,
                              const int shift, const bool keep, u32 *const block, double &term) {
    const int index = static_cast<int>(blockIdx.x), i = index / CUT_BLOCKS, j = index % CUT_BLOCKS;
    const int level = static_cast<int>(threadIdx.x);
    u32 count = 0;
    for (int k = 0; k < 4; ++k)
        for (int part = 0; part < parts; ++part)
            count += cells[(static_cast<i64>((2 * i + k / 2) * CELLS + 2 * j + k % 2) * parts + part) * 256 +
                           level];
    if (level < 64)
        bins[level / 32][level % 32] = 0;
    __syncthreads();
    atomicAdd(&bins[0][min(level >> shift, 31)], count);
    atomicAdd(&bins[1][min(level >> shift, 31)], block[level]);
    if (!keep)
        block[level] = count;
    __syncthreads();
    if (level < 32)
        roots[level] = __dsqrt_rn(static_cast<double>(static_cast<i64>(bins[0][level]) * bins[1][level]));
    __syncthreads();
    if (level == 0) {
        const int rows = (i + 1) * height / CUT_BLOCKS - i * height / CUT_BLOCKS;
        const int columns = (j + 1) * width / CUT_BLOCKS - j * width / CUT_BLOCKS;
        double common = 0.0;
        for (int k = 0; k < 32; ++k)
            common += roots[k];
        const double left = rows * columns > 0 ? 1.0 - common / static_cast<double>(rows * columns) : 0.0;
        term = rows * columns > 0 ? __dsqrt_rn(left > 0.0 ? left : 0.0) : -1.0;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    adaptive_curve(const u32 *const __restrict__ cells, const u32 *const __restrict__ lumas,
                   const u32 *const __restrict__ totals, const u32 *const __restrict__ energies,
                   const int width, const int height, const int parts, const float *const __restrict__ steps,
                   const float low, const float high, const int dark_half, const int corrupt,
                   const u32 *const __restrict__ out_of_range, const State *const __restrict__ state,
                   u32 *const __restrict__ blocks, u32 *const __restrict__ whole,
                   Measures *const __restrict__ measures, float *const __restrict__ means,
                   double *const __restrict__ terms) {
    if (threadIdx.x < 2)
        percentiles[threadIdx.x] = energy_bins[threadIdx.x] = 0;
    u32 count = 0;
    for (int replica = 0; replica < REPLICAS; ++replica)
        count += totals[replica * 256 + static_cast<int>(threadIdx.x)];
    if (blockIdx.x == 0)
        whole[threadIdx.x] = count;
    i64 luma_sum = 0;
    if constexpr (RGB) {
        for (int i = static_cast<int>(threadIdx.x); i < CELLS * CELLS * parts; i += THREADS)
            luma_sum += lumas[i];
        luma_sum = sum(luma_sum);
    }
    Measures found = measure(count, luma_sum, energies);
    const i64 pixels = static_cast<i64>(width) * height;
    Lit lit = lit_levels(count, pixels, found);
    const int sample = above_black(static_cast<int>(threadIdx.x), found.black);
    const float level = __int2float_rn(sample) * (1.0f / 128.0f);
    found.goal = find_goal(lit, level, found, low, high);
    if (dark_half)
        lit = darkest_half(lit);
    const float step = steps[blockIdx.x];
    const float mean = mean_of(lit, 16.0f * curve_at(make_curve(step, found.white), level));
    if (threadIdx.x == 0) {
        means[blockIdx.x] = mean;
        if (blockIdx.x == 0)
            *measures = found;
    }
    if (blockIdx.x < CUT_BLOCKS * CUT_BLOCKS) {
        const int top = max(found.white16, state->white16);
        const int shift = top >= 2048 ? 3 : top >= 1024 ? 2 : top >= 512 ? 1 : 0;
        const bool keep = corrupt || (out_of_range != nullptr && out_of_range[0] > 0);
        compare_block(cells, parts, width, height, shift, keep, &blocks[blockIdx.x * 256], terms[blockIdx.x]);
    }
}
