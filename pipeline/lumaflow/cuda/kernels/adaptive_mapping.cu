// The gains of a cell from its local illumination, and the mapping in use (docs/spec.md 16.5, 16.6).
//
// Launch: 256 blocks of 256 threads, one a cell. Shared memory: about 6 KB.
//
//   cells    (256, parts, 256) u32
//   whole    (256) u32, histogram of the frame
//   kernel   (KNOTS, 32) i64, weights of the levels in the illumination at a knot
//   decision of adaptive_decide
//   smooth, mapping, used (VECTOR): gains of this cell
#include "adaptive.cuh"

constexpr int THREADS = 256, BINS = 32;

__shared__ u32 near_counts[256];
__shared__ i64 near_sums[2][BINS]; // counts, and levels in 1/8
__shared__ float gains[KNOTS];

// Sum the cell and its neighbours with weights 1 2 1 along each axis; cells outside repeat the border.
__device__ u32 blurred_count(const u32 *const cells, const int parts) {
    const int row = static_cast<int>(blockIdx.x) / CELLS, column = static_cast<int>(blockIdx.x) % CELLS;
    u32 count = 0;
    for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx) {
            const int j = min(max(row + dy, 0), CELLS - 1), i = min(max(column + dx, 0), CELLS - 1);
            const u32 weight = static_cast<u32>((2 - abs(dy)) * (2 - abs(dx)));
            for (int part = 0; part < parts; ++part)
                count += weight * cells[(static_cast<i64>(j * CELLS + i) * parts + part) * 256 + threadIdx.x];
        }
    return count;
}

// Counts and levels of bin z, from the counts of the neighbourhood and of the whole frame.
__device__ void sum_bin(const int z, const int black, const u32 *const whole) {
    i64 count = 0, levels = 0;
    const int first = z == 0 ? 0 : (1024 * z + black + 127) / 128;
    const int last = min((1024 * (z + 1) + black + 127) / 128, 256);
    for (int level = first; level < last; ++level) {
        const i64 pixels = 1024 * static_cast<i64>(near_counts[level]) + whole[level];
        count += pixels;
        levels += pixels * (above_black(level, black) >> 4);
    }
    near_sums[0][z] = count;
    near_sums[1][z] = levels;
}

// Gain at a knot before the running maximum, as the mapped level; at knot 0 the gain itself.
__device__ float mapped_knot(const int k, const i64 *const kernel, const Curve &curve) {
    i64 count = 1, total = 64 * k;
    for (int z = 0; z < BINS; ++z) {
        const i64 weight = kernel[k * BINS + z];
        count += near_sums[0][z] * weight;
        total += near_sums[1][z] * weight;
    }
    const float light = fmaxf(__ll2float_rn(total) / __ll2float_rn(count) * 0.125f, 0.5f);
    const float gain = fmaxf(curve_at(curve, light) / light, 1.0f);
    return k == 0 ? gain : fminf(static_cast<float>(8 * k) * gain, 256.0f);
}

extern "C" __global__ void __launch_bounds__(THREADS)
    adaptive_mapping(const u32 *const __restrict__ cells, const int parts,
                     const u32 *const __restrict__ whole, const i64 *const __restrict__ kernel,
                     const Decision *const __restrict__ decision, float *const __restrict__ smooth,
                     int *const __restrict__ mapping, int *const __restrict__ used) {
    const Decision chosen = *decision;
    const int thread = static_cast<int>(threadIdx.x);
    const bool local = chosen.choice != KEEP && chosen.part > 0.0f && chosen.gain > 1.0f;
    if (local) {
        near_counts[thread] = blurred_count(cells, parts);
        __syncthreads();
        if (thread < BINS)
            sum_bin(thread, chosen.black, whole);
        __syncthreads();
        if (thread < KNOTS)
            gains[thread] = mapped_knot(thread, kernel, make_curve(chosen.gain, chosen.white));
        __syncthreads();
    }
    if (thread >= KNOTS)
        return;
    float gain = 1.0f + chosen.added;
    if (local) {
        float top = gains[0];
        if (thread > 0) {
            top = 0.0f;
            for (int k = 1; k <= thread; ++k)
                top = fmaxf(top, gains[k]);
            top = top / static_cast<float>(8 * thread);
        }
        gain = 1.0f + (top - 1.0f) * chosen.part + chosen.added;
    }
    const int entry = static_cast<int>(blockIdx.x) * KNOTS + thread;
    const int own = __float2int_rn(1024.0f * gain);
    used[entry] = choose(chosen.choice, chosen.weight, own, smooth[entry], mapping[entry]);
}
