// The decisions of a frame: scene cut, haze, gain, the mapping to use, filters (docs/spec.md 16.4 to 16.7, 17).
//
// Launch: one block of 256 threads. Shared memory: about 9 KB.
//
//   measures, means, terms: of adaptive_curve; steps (STEPS): candidates of the gain
//   corrupt, out_of_range (2) or null: the frame is held if either is not 0
//   lift 0 none, 1 fixed, 2 auto; strength; denoise; native 1 for 16-bit frames of full range
//   haze_sums: of adaptive_haze, or null; map_rows, map_columns, tile_rows, tile_columns: of the haze map
//   totals, energies, haze_sums: 0 afterwards, for the next frame
//   state, haze_state, smooth, mapping: of the lane; used (VECTOR): the mapping in use, here its numbers alone
//   haze_gains (64), saturation (256), decision, report: results
//
// Defines: the constants of lumaflow/adaptive.py that are used here, by their names, floats as such;
//   HAZE 0 none, 1 plain, 2 careful; COMPONENTS 0 gray, 1 RGB, 2 YUV; LIMITED 1 for limited-range YUV.
#include "adaptive.cuh"
#include "adaptive_haze.cuh"
#include "block_reduce.cuh"

constexpr int THREADS = 256, WARPS = THREADS / 32;
using Whole = Block<THREADS>;

__shared__ i64 scratch[WARPS];
__shared__ double distances[CUT_BLOCKS * CUT_BLOCKS];
__shared__ float candidates[STEPS], haze_own[HAZE_STATE], haze_used[HAZE_STATE];
__shared__ int first_step;
__shared__ u32 tile_sums[TILES * TILES][TILE_SUMS];
__shared__ Decision result;
__shared__ int own_numbers[NUMBERS], chosen_numbers[NUMBERS];

__device__ __forceinline__ i64 sum(const i64 value) { return Whole::sum(value, scratch); }

__device__ __forceinline__ float ramp(const float value, const float low, const float high) {
    return fminf(fmaxf((value - low) / (high - low), 0.0f), 1.0f);
}

// True for a frame that is darker than the one before, like the FADE_FRAMES frames before it.
__device__ __forceinline__ bool fades(const Measures &measures, const State &state) {
    return 64 * measures.mean16 < 63 * state.mean16 && state.falls >= FADE_FRAMES;
}

// True after a scene cut; a fade to dark is none.
__device__ bool is_cut(const Measures &measures, const State &state) {
    if (!state.valid)
        return true;
    if (fades(measures, state))
        return false;
    double total = 0.0;
    int blocks = 0;
    for (const double distance : distances)
        if (distance >= 0.0) {
            total += distance;
            ++blocks;
        }
    return total / static_cast<double>(blocks) > 0.5;
}

#if HAZE
// Highest level, in whole levels, that at least 1/part of the blocks reach.
__device__ int level_of_share(const u32 count, const i64 blocks, const int part) {
    u32 all;
    const u32 below = Whole::scan(count, scratch, all);
    return static_cast<int>(sum(part * (blocks - below + count) >= blocks)) - 1;
}

// The dark channel of each tile, and its share of texture.
__device__ void measure_tiles(const int rows, const int columns) {
    const int tile = static_cast<int>(threadIdx.x), row = tile / columns, column = tile % columns;
    if (tile >= rows * columns)
        return;
    i64 above = 0, below = 0;
    for (int j = max(row - 2, 0); j < min(row + 3, rows); ++j)
        for (int i = max(column - 2, 0); i < min(column + 3, columns); ++i) {
            const u32 *const sums = tile_sums[j * columns + i];
            const i64 weight = (3 - abs(j - row)) * (3 - abs(i - column));
            above += weight * (50 * static_cast<i64>(sums[3]) + sums[1]);
            below += weight * (50 * static_cast<i64>(sums[2]) + sums[0]);
        }
    const u32 *const sums = tile_sums[tile];
    const float texture = __uint2float_rn(sums[4]) / __uint2float_rn(24u * sums[0]);
    const float own = __uint2float_rn(sums[1]) / __uint2float_rn(sums[0]);
    const float excess = fmaxf(own - __ll2float_rn(above) / __ll2float_rn(below), 0.0f);
    haze_own[4 + tile] = own - (1.0f - texture) * excess;
    haze_own[4 + TILES * TILES + tile] = texture;
}

// The airlight of the frame, in quarters of a level, and its haze score. low16: its darkest level in 1/16.
__device__ void measure_airlight(const u32 *const sums, const i64 blocks, const int low16) {
    constexpr int PARTS = COMPONENTS == 0 ? 1 : 3;
    const int level = static_cast<int>(threadIdx.x);
    const u32 *const dark = sums + DARK_SUMS + level * 4;
    const int far = level_of_share(dark[0], blocks, 100);
    const int bright = level_of_share(sums[LUMA_COUNTS + level], blocks, 10);
    const i64 count = max(sum(level >= far ? dark[0] : 0), 1ll);
    i64 means[3] = {0, 0, 0};
    for (int c = 0; c < PARTS; ++c)
        means[c] = (2 * sum(level >= far ? dark[1 + c] : 0) + count) / (2 * count);
    const i64 luma = (1868 * means[0] + 9617 * means[1] + 4899 * means[2] + 8192) >> 14;
    const i64 own = COMPONENTS == 1 ? luma : means[0], lift = max(4 * bright - own, 0ll);
    if (level > 0)
        return;
    haze_own[1] = haze_own[2] = 0.0f;
    for (int c = 0; c < PARTS; ++c) {
        const i64 neutral = COMPONENTS == 2 ? 512 : own;
        haze_own[c] = __ll2float_rn(neutral + ((means[c] - neutral) >> 1) + (COMPONENTS == 1 ? lift : 0));
    }
    if constexpr (COMPONENTS != 1)
        haze_own[0] = __ll2float_rn(own + lift);
    const i64 textured = sums[TEXTURED_BLOCKS], textured_dark = sums[TEXTURED_DARK],
              white = sums[WHITE_BLOCKS];
    haze_own[3] = 0.0f;
    if (200 * textured < blocks || own + lift == 0)
        return;
    const float airlight = __ll2float_rn(own + lift);
    const float share = __ll2float_rn(textured_dark) / (__ll2float_rn(textured) * airlight);
    haze_own[3] = ramp(share, 0.15f, 0.30f);
    if constexpr (HAZE == 2) {
        const float colored = 1.0f - ramp(__ll2float_rn(white) / __ll2float_rn(blocks), 0.05f, 0.10f);
        const float hazy = ramp(static_cast<float>(low16), 16.0f * CLEAR_DARK, 16.0f * HAZY_DARK);
        haze_own[3] = ramp(share, 0.28f, 0.45f) * ramp(airlight, 680.0f, 760.0f) * colored * hazy;
    }
}

// Smooth the state of the haze into `haze_used`; a held frame changes no state.
__device__ void advance_haze(float *const haze_state, const bool started, const bool cut, const bool hold) {
    constexpr int PARTS = COMPONENTS == 0 ? 1 : 3;
    const int k = static_cast<int>(threadIdx.x);
    if (k >= HAZE_STATE)
        return;
    const float own = haze_own[k];
    float value = haze_state[k];
    if (hold) {
        value = started ? value : own;
    } else if (cut || !started) {
        value = own;
    } else {
        value = (1.0f - HAZE_WEIGHT) * value + HAZE_WEIGHT * own;
        if (k < PARTS)
            value = fminf(fmaxf(value, own - HAZE_LAG), own + HAZE_LAG);
    }
    haze_used[k] = value;
    if (!hold)
        haze_state[k] = value;
}

// Write the gain of each tile, 1 / transmission; returns the strength in use.
__device__ float write_haze_gains(const float strength, const int tiles, float *const gains) {
    const float used = strength * haze_used[3], weight = OMEGA * used;
    float least = haze_used[0];
    if constexpr (COMPONENTS == 1)
        least = fminf(least, fminf(haze_used[1], haze_used[2]));
    if constexpr (COMPONENTS == 2)
        least = static_cast<float>(least_of_yuv(__float2int_rn(haze_used[0]), __float2int_rn(haze_used[1]),
                                                __float2int_rn(haze_used[2])));
    least = fmaxf(least, 4.0f);
    const int k = static_cast<int>(threadIdx.x);
    if (k < tiles) {
        const float transmission = 1.0f - weight * (haze_used[4 + k] / least);
        const float floor = UNTEXTURED_FLOOR - haze_used[4 + TILES * TILES + k] * TEXTURE_FALL;
        gains[k] = 1.0f / fminf(fmaxf(transmission, floor), 1.0f);
    }
    return used;
}
#endif

__device__ float lift_strength(const Measures &measures, const int lift, const float strength) {
    if (lift < 2)
        return lift == 0 ? 0.0f : strength;
    const float part = fminf(fmaxf((NONE_MEAN - measures.mean_luma) / (NONE_MEAN - FULL_MEAN), 0.0f), 1.0f);
    return part * (2.0f - part) * (static_cast<float>(measures.gate) * (1.0f / 65536.0f)) * strength;
}

// Strength of the stretch of AUTO, by the spread of the levels in 1/16 level.
__device__ float stretch_strength(const Measures &measures, const int lift, const float strength,
                                  const float part, const float haze) {
    if (lift != 2)
        return 0.0f;
    const int span = measures.high16 - measures.low16;
    const float narrow =
        static_cast<float>(STRETCH_NONE - span) / static_cast<float>(STRETCH_NONE - STRETCH_FULL);
    const float textured = static_cast<float>(span - STRETCH_WALL_NONE) /
                           static_cast<float>(STRETCH_WALL_FULL - STRETCH_WALL_NONE);
    const float stretch = fminf(fmaxf(fminf(narrow, textured), 0.0f), 1.0f);
    return stretch * (1.0f - part) * (1.0f - haze) * strength;
}

// Gain of the stretch, and the sample that it leaves unchanged.
__device__ void find_stretch(const Measures &measures, float &more, float &pivot) {
    const int span = max(measures.high16 - measures.low16, 1);
    more = fminf(fmaxf(static_cast<float>(STRETCH_SPAN) / static_cast<float>(span), 1.0f), MAX_STRETCH);
    pivot = 0.0f;
    if (more <= 1.0f)
        return;
    const float above = more - 1.0f;
    const float least = (static_cast<float>(8 * measures.high16) * more - 32640.0f) / above;
    const float most = static_cast<float>(max(8 * measures.low16, 0)) * more / above;
    pivot = fminf(fmaxf(measures.mean_luma * 128.0f, least), most);
}

// The gain with which the mean reaches its target, between two candidates.
__device__ float find_gain(const Measures &measures, const float *const steps) {
    float cap = MAX_GAIN;
    if (measures.noise > 0)
        cap = fminf(cap, fmaxf(static_cast<float>(MAX_NOISE_OUT) / static_cast<float>(measures.noise), 1.0f));
    float gain = 1.0f;
    if (candidates[0] < measures.goal) {
        gain = steps[STEPS - 1];
        if (first_step < STEPS) {
            const float last = candidates[first_step - 1], below = steps[first_step - 1];
            const float share = (measures.goal - last) / (candidates[first_step] - last);
            gain = below + (steps[first_step] - below) * share;
        }
    }
    return fminf(gain, cap);
}

// The frame's own mapping: what adaptive_mapping needs, and its numbers.
__device__ void make_own(const Measures &measures, const float *const steps, const int lift,
                         const float strength, const float haze, int *const numbers) {
    float part = lift_strength(measures, lift, strength);
    float stretch = stretch_strength(measures, lift, strength, part, haze);
    if (measures.constant)
        part = stretch = 0.0f;
    const float gain = part > 0.0f ? find_gain(measures, steps) : 1.0f;
    float more, pivot;
    find_stretch(measures, more, pivot);
    const float added = (more - 1.0f) * stretch;
    const float total = 1.0f + (gain - 1.0f) * part + added;
    float offset = static_cast<float>(measures.black) * part * fminf(gain - 1.0f, 1.0f);
    offset = offset + added * pivot / (1.0f + added);
    const float saturation = fminf(fmaxf((total - 1.5f) * 0.4f, 0.0f), 1.0f);
    result.black = measures.black;
    result.gain = gain;
    result.white = measures.white;
    result.part = part;
    result.added = added;
    numbers[BLACK] = __float2int_rn(offset);
    numbers[NOISE] = measures.noise;
    numbers[SLOPE] = measures.slope;
    numbers[GAIN] = __float2int_rn(total * 1024.0f);
    numbers[SATURATION] = __float2int_rn(saturation * 256.0f);
    numbers[STRENGTH] = __float2int_rn(part * 1024.0f);
    numbers[STRETCH] = __float2int_rn(stretch * 1024.0f);
    numbers[WHITE] = measures.white16;
}

// Choose the mapping to use, and advance the state (docs/spec.md 16.6).
__device__ void choose_mapping(const Measures &measures, State &state, const bool cut, const bool hold) {
    const int mean = measures.mean16;
    result.weight = 0.0f;
    if (hold) {
        result.choice = state.valid ? KEEP : LEND;
        return;
    }
    const bool falls = 64 * mean < 63 * state.mean16;
    if (cut || 64 * mean > 65 * state.mean16 || (2 * mean < state.mean16 && !fades(measures, state))) {
        result.choice = OWN;
        state.reference = mean;
    } else {
        result.choice = SMOOTH;
        result.weight = 64 * mean > 65 * state.reference ? FAST : SLOW;
        state.reference += __float2int_rn(result.weight * static_cast<float>(mean - state.reference));
    }
    state.falls = falls && state.valid ? min(state.falls + 1, FADE_FRAMES) : 0;
    state.valid = 1;
    state.mean16 = mean;
    state.white16 = measures.white16;
}

// Choose the noise filters from the mapping in use (docs/spec.md 16.7); `restart` forgets the frames before.
__device__ void choose_filters(const int *const used, State &state, const int denoise, const bool restart,
                               const bool hold) {
    const int excess = used[GAIN] - 1536;
    const int noise = max(used[NOISE], min(max(excess >> 4, 0), 192));
    const int strength = excess > 0 ? min(excess / 6, 256) : 0;
    const bool filters = denoise && noise > 0;
    const bool spatial = filters && strength > 0;
    result.limit = spatial ? min(8 * noise * strength >> 10, 1700) : 0;
    result.limit_slope = spatial ? min(8 * used[SLOPE] * strength >> 10, 1000) : 0;
    result.spatial = result.limit + result.limit_slope > 0;
    const bool on = filters && !hold && used[GAIN] > (state.filtering ? TEMPORAL_OFF : TEMPORAL_ON);
    result.temporal = on ? (state.filtering && !restart ? 2 : 1) : 0;
    result.sigma = noise;
    result.sigma_slope = used[SLOPE];
    result.strength = strength;
    if (!hold)
        state.filtering = on;
}

// Factor of the colour differences at level V, in 1/256.
__device__ __forceinline__ int saturation_at(const int level, const int *const used) {
    const i64 floor = 3 + (3 * used[NOISE] + 64) / 128;
    const i64 factor =
        256 - used[SATURATION] * floor * floor / (static_cast<i64>(level) * level + floor * floor);
    return static_cast<int>(factor * (256 - min(max((used[GAIN] - 3072) >> 6, 0), 160)) >> 8);
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    adaptive_decide(const Measures *const __restrict__ measures, const float *const __restrict__ means,
                    const double *const __restrict__ terms, const float *const __restrict__ steps,
                    const int corrupt, const u32 *const __restrict__ out_of_range, const int lift,
                    const float strength, const int denoise, const int native, u32 *const haze_sums,
                    const int map_rows, const int map_columns, const int tile_rows, const int tile_columns,
                    u32 *const __restrict__ totals, u32 *const __restrict__ energies,
                    State *const __restrict__ state, float *const __restrict__ haze_state,
                    float *const __restrict__ smooth, int *const __restrict__ mapping,
                    int *const __restrict__ used, float *const __restrict__ haze_gains,
                    int *const __restrict__ saturation, Decision *const __restrict__ decision,
                    Report *const __restrict__ report) {
    const int thread = static_cast<int>(threadIdx.x);
    const bool hold = corrupt || (out_of_range != nullptr && out_of_range[0] > 0);
    const Measures found = *measures;
    State before = *state;
    if (thread == 0)
        first_step = STEPS;
    if (thread < STEPS)
        candidates[thread] = means[thread];
    if (thread < CUT_BLOCKS * CUT_BLOCKS)
        distances[thread] = terms[thread];
#pragma unroll 4
    for (int i = thread; i < REPLICAS * 256; i += THREADS)
        totals[i] = 0;
#pragma unroll 4
    for (int i = thread; i < BANDS * 256; i += THREADS)
        energies[i] = 0;
    __syncthreads();
    // The first candidate that reaches the goal, as the number of candidates before it.
    bool reached = false;
    for (int step = 1; step <= min(thread, STEPS - 1); ++step)
        reached |= candidates[step] >= found.goal;
    const int missed = static_cast<int>(sum(thread > 0 && thread < STEPS && !reached));
    if (thread == 0)
        first_step = missed + 1;
    const bool cut = is_cut(found, before) && !(hold && before.valid), fading = fades(found, before);
    float haze = 0.0f;
#if HAZE
    for (int i = thread; i < tile_rows * tile_columns * TILE_SUMS; i += THREADS)
        tile_sums[i / TILE_SUMS][i % TILE_SUMS] = haze_sums[i];
    if (thread < HAZE_STATE)
        haze_own[thread] = 0.0f;
    __syncthreads();
    measure_tiles(tile_rows, tile_columns);
    measure_airlight(haze_sums, static_cast<i64>(map_rows) * map_columns, found.low16);
    __syncthreads();
    advance_haze(haze_state, before.haze_valid, cut, hold);
    __syncthreads();
    haze = write_haze_gains(strength, tile_rows * tile_columns, haze_gains);
#pragma unroll 4
    for (int i = thread; i < HAZE_SUMS; i += THREADS)
        haze_sums[i] = 0;
#endif
    __syncthreads();
    if (thread == 0) {
        make_own(found, steps, lift, strength, haze, own_numbers);
        choose_mapping(found, before, cut, hold);
    }
    __syncthreads();
    if (thread < NUMBERS) {
        const int entry = GAINS + thread;
        chosen_numbers[thread] = used[entry] = report->numbers[thread] =
            choose(result.choice, result.weight, own_numbers[thread], smooth[entry], mapping[entry]);
    }
    __syncthreads();
    if (thread == 0) {
        choose_filters(chosen_numbers, before, denoise, cut || fading, hold);
        before.haze_valid |= !hold;
        *state = before;
        result.offset = chosen_numbers[BLACK];
        result.haze = haze > 0.0f;
        result.native = native && !result.haze && !result.spatial && !result.temporal;
        for (int c = 0; c < 3; ++c)
            result.airlight[c] =
                HAZE ? (haze_used[c] - (COMPONENTS == 2 && c > 0 ? 512.0f : 0.0f)) * 32.0f : 0.0f;
        result.luma_airlight = COMPONENTS != 1 ? result.airlight[0]
                                               : result.airlight[0] * 0.114f + result.airlight[1] * 0.587f +
                                                     result.airlight[2] * 0.299f;
        *decision = result;
        report->own = result.choice == OWN || result.choice == LEND;
        report->cut = cut;
        report->denoised = result.spatial || result.temporal;
        report->mean16 = found.mean16;
        report->haze = haze;
    }
    saturation[thread] = saturation_at(thread, chosen_numbers);
}
