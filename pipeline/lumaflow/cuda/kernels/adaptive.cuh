// Arrays that the kernels of the adaptive modes share (docs/spec.md 16, 17). All numbers have 4 bytes.
#pragma once
#include "types.cuh"

constexpr int CELLS = 16; // of the grid of gains, along each axis
constexpr int KNOTS = 33; // gains of a cell
constexpr int GAINS = CELLS * CELLS * KNOTS;
constexpr int NUMBERS = 8;                        // after the gains of a mapping
constexpr int STEPS = 81;                         // candidates for the gain of the tone curve
constexpr int CUT_BLOCKS = 8;                     // of the cut test, along each axis
constexpr int REPLICAS = 16;                      // of the histogram of the frame
constexpr int BANDS = 16;                         // of mean levels in the noise histogram
constexpr int TILES = 8;                          // of the haze map, at most, along each axis
constexpr int HAZE_STATE = 4 + 2 * TILES * TILES; // airlight, score, dark channel and texture of the tiles

enum Number { BLACK, NOISE, SLOPE, GAIN, SATURATION, STRENGTH, STRETCH, WHITE };

// Which mapping a frame uses, and what becomes of the state (docs/spec.md 16.6).
enum Choice {
    KEEP,   // the mapping in use; the state does not change
    LEND,   // its own mapping; the state does not change
    OWN,    // its own mapping, from which the state starts again
    SMOOTH, // the mapping in use, into which its own is smoothed for the next frame
};

// What adaptive_curve measures in a frame.
struct Measures {
    int mean16, low16, high16, white16, black, noise, slope, gate, constant;
    float mean_value, mean_luma, white, goal;
};

// What the lane remembers of the frames before.
struct State {
    int valid, mean16, reference, falls, white16, filtering, haze_valid;
};

// What adaptive_decide chooses for a frame.
//
// choice, weight: of the mapping; black, gain, white, part, added: of the frame's own mapping
// spatial, limit, limit_slope: the spatial filter; temporal: 0 off, 1 start the history, 2 move it
// sigma, sigma_slope, strength: of the temporal filter
// offset: black of the mapping in use; native: gains apply to 16-bit levels
// haze, airlight, luma_airlight: haze removal in use, in working samples
struct Decision {
    int choice;
    float weight;
    int black;
    float gain, white, part, added;
    int spatial, limit, limit_slope, temporal, sigma, sigma_slope, strength;
    int offset, native, haze;
    float airlight[3], luma_airlight;
};

// Figures of a frame for the host: the numbers of the mapping in use first.
struct Report {
    int numbers[NUMBERS];
    int own, cut, denoised, mean16;
    float haze;
};

// Sizes of the arrays in lumaflow/cuda/arrays_adaptive.py.
static_assert(sizeof(Measures) == 4 * 13 && sizeof(State) == 4 * 7);
static_assert(sizeof(Decision) == 4 * 21 && sizeof(Report) == 4 * 13);

// Entry of the mapping in use; updates the mapping and its smooth form.
__device__ __forceinline__ int choose(const int choice, const float weight, const int own, float &smooth,
                                      int &mapping) {
    const int before = mapping;
    if (choice == OWN) {
        smooth = static_cast<float>(own);
        mapping = own;
    } else if (choice == SMOOTH) {
        smooth = (1.0f - weight) * smooth + weight * static_cast<float>(own);
        mapping = __float2int_rn(smooth);
    }
    return choice == OWN || choice == LEND ? own : before;
}

struct Curve {
    float white, end, steepness, slope;
};

__device__ __forceinline__ Curve make_curve(const float gain, const float white) {
    const float slope = gain * white / 255.0f;
    const float end = slope > 1.0f ? 0.5f / slope : 1.0f;
    return {white, end, (slope - 0.5f) * 2.0f, slope};
}

// The curve at a level: linear up to half of its output, then a rational shoulder to white.
__device__ __forceinline__ float curve_at(const Curve &curve, const float level) {
    const float x = fminf(level / curve.white, 1.0f);
    if (curve.slope <= 1.0f || x <= curve.end)
        return 255.0f * (curve.slope * x);
    const float t = (x - curve.end) / (1.0f - curve.end);
    const float numerator = 0.5f * curve.steepness * t;
    return 255.0f * (0.5f + numerator / (1.0f + (curve.steepness - 1.0f) * t));
}

// A level in the units of the working sample, above black.
__device__ __forceinline__ int above_black(const int level, const int black) {
    return max(128 * level - black, 0);
}
