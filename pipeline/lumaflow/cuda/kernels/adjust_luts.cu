// The gate and the smoothing of the LUTs of a plain mode (docs/spec.md 6, 7).
//
// Launch: grid (entries / 256), rounded up, of 256 threads.
//
//   luts     (entries) of the frame, moved towards the identity in place if GATE
//   strength (1) of gate_strength, identity (levels): if GATE
//   out_of_range (2) or null: without SMOOTH, nothing happens if the first is not 0
//   decision (2) of scene_cut, weight, smoothed (entries) f32, stored (entries), used (entries): if SMOOTH.
//     `used` receives the LUTs to apply, `smoothed` and `stored` are the state for the next frame
//
// Defines: LUT_BITS 8 or 16, of an entry; LEVELS; GATE, SMOOTH 0 or 1.
#include "types.cuh"

#if LUT_BITS == 8
using Entry = u8;
#else
using Entry = u16;
#endif

extern "C" __global__ void __launch_bounds__(256)
    adjust_luts(const int entries, Entry *const __restrict__ luts, const int *const __restrict__ strength,
                const Entry *const __restrict__ identity, const u32 *const __restrict__ out_of_range,
                const int *const __restrict__ decision, const float weight,
                float *const __restrict__ smoothed, Entry *const __restrict__ stored,
                Entry *const __restrict__ used) {
    const int at = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (at >= entries)
        return;
    u32 own = luts[at];
#if GATE
    if (SMOOTH || out_of_range == nullptr || out_of_range[0] == 0) {
        const u32 part = static_cast<u32>(strength[0]);
        own = (identity[at % LEVELS] * (65536u - part) + own * part + 32768u) >> 16;
        luts[at] = static_cast<Entry>(own);
    }
#endif
#if SMOOTH
    used[at] = decision[0] ? static_cast<Entry>(own) : stored[at];
    if (decision[1])
        return;
    const float level = static_cast<float>(own);
    const float mean = decision[0] ? level : (1.0f - weight) * smoothed[at] + weight * level;
    smoothed[at] = mean;
    stored[at] = static_cast<Entry>(__float2int_rn(mean));
#endif
}
