// Scene cuts of the plain modes: histograms of 8 x 8 blocks, and their distance to those of the last good frame
// (docs/spec.md 6). The last block that finishes makes the decision.
//
// Launch: grid (64 blocks of the frame, parts of their rows), 256 threads. Shared memory: about 22 KB.
//
//   pixels   (height, width) of the raw frame, rows `pitch` bytes apart
//   corrupt, out_of_range (2) or null: the frame changes no state if either is not 0
//   counts   (64, 32) scratch, zero before and after; counter (1): likewise
//   before   (64, 32) of the last good frame; valid (1): 0 before the first good frame
//   decision (2) i32: the frame uses its own LUTs and the smoothed LUTs start again; the frame changes no state
//   cut      (1) i32: a scene cut precedes the frame
//
// Defines: DEEP 1 with BITS, SHIFT (u16.cuh); DEEP 0 with CHANNELS, VALUE, CHANNEL (pixels.cuh).
#if DEEP
#include "u16.cuh"
#else
#include "pixels.cuh"
#endif

constexpr int BLOCKS = 8, BINS = 32, THREADS = 256, WARP_SIZE = 32, WARPS = THREADS / WARP_SIZE;
constexpr int BATCH = 8; // pixels that a thread loads before it counts them
constexpr double CUT_DISTANCE = 0.5;

__shared__ u32 bins[BINS][WARP_SIZE]; // each lane counts in its own bank
__shared__ double roots[BLOCKS * BLOCKS][BINS + 1], distances[BLOCKS * BLOCKS];
__shared__ bool is_last;

__device__ __forceinline__ u32 bin_of(const u8 *const row, const int x) {
#if DEEP
    return level_of_sample(sample_at(row, x)) >> (BITS - 5);
#else
    return static_cast<u32>(level_at(row + static_cast<i64>(x) * CHANNELS)) >> 3;
#endif
}

__device__ __forceinline__ void count_row(const u8 *const row, const int left, const int right) {
    const int lane = static_cast<int>(threadIdx.x) % WARP_SIZE;
    for (int first = left + lane; first < right; first += BATCH * WARP_SIZE) {
        u32 found[BATCH];
#pragma unroll
        for (int k = 0; k < BATCH; ++k)
            found[k] = bin_of(row, min(first + k * WARP_SIZE, right - 1));
#pragma unroll
        for (int k = 0; k < BATCH; ++k)
            if (first + k * WARP_SIZE < right)
                atomicAdd(&bins[found[k]][lane], 1u);
    }
}

// Add the counts of all lanes to those of the block of the frame.
__device__ __forceinline__ void add_bins(u32 *const counts) {
    for (int bin = static_cast<int>(threadIdx.x) / WARP_SIZE; bin < BINS; bin += WARPS) {
        u32 count = bins[bin][threadIdx.x % WARP_SIZE];
        for (int step = WARP_SIZE / 2; step > 0; step /= 2)
            count += __shfl_xor_sync(~0u, count, step);
        if (threadIdx.x % WARP_SIZE == 0 && count > 0)
            atomicAdd(&counts[bin], count);
    }
}

// Pixels of a block of the cut test.
__device__ __forceinline__ int pixels_of(const int block, const int width, const int height) {
    const int i = block / BLOCKS, j = block % BLOCKS;
    return ((i + 1) * height / BLOCKS - i * height / BLOCKS) *
           ((j + 1) * width / BLOCKS - j * width / BLOCKS);
}

// Distances of all blocks of the frame to those before; -1 for an empty block.
__device__ void measure_distances(const u32 *const counts, const u32 *const before, const int width,
                                  const int height) {
    const int thread = static_cast<int>(threadIdx.x);
    for (int at = thread; at < BLOCKS * BLOCKS * BINS; at += THREADS)
        roots[at / BINS][at % BINS] =
            __dsqrt_rn(static_cast<double>(static_cast<i64>(__ldcg(&counts[at])) * before[at]));
    __syncthreads();
    if (thread >= BLOCKS * BLOCKS)
        return;
    const int pixels = pixels_of(thread, width, height);
    double common = 0.0;
    for (int k = 0; k < BINS; ++k)
        common += roots[thread][k];
    const double rest = pixels > 0 ? 1.0 - common / static_cast<double>(pixels) : 0.0;
    distances[thread] = pixels > 0 ? __dsqrt_rn(rest > 0.0 ? rest : 0.0) : -1.0;
}

__device__ bool is_cut() {
    double total = 0.0;
    int blocks = 0;
#pragma unroll 16
    for (const double distance : distances)
        if (distance >= 0.0) {
            total += distance;
            ++blocks;
        }
    return total / static_cast<double>(blocks) > CUT_DISTANCE;
}

extern "C" __global__ void __launch_bounds__(THREADS)
    scene_cut(const u8 *const __restrict__ pixels, const i64 pitch, const int width, const int height,
              const int corrupt, const u32 *const __restrict__ out_of_range, u32 *const counts,
              u32 *const counter, u32 *const __restrict__ before, int *const __restrict__ valid,
              int *const __restrict__ decision, int *const __restrict__ cut) {
    const int thread = static_cast<int>(threadIdx.x), block = static_cast<int>(blockIdx.x);
    const int i = block / BLOCKS, j = block % BLOCKS;
    const int part = static_cast<int>(blockIdx.y), parts = static_cast<int>(gridDim.y);
    const int top = i * height / BLOCKS, rows = (i + 1) * height / BLOCKS - top;
    const int left = j * width / BLOCKS, columns = (j + 1) * width / BLOCKS - left;
    const int first = rows * part / parts, last = rows * (part + 1) / parts;
    for (int at = thread; at < BINS * WARP_SIZE; at += THREADS)
        bins[at / WARP_SIZE][at % WARP_SIZE] = 0;
    __syncthreads();
    for (int y = top + first + thread / WARP_SIZE; y < top + last; y += WARPS)
        count_row(pixels + y * pitch, left, left + columns);
    __syncthreads();
    add_bins(&counts[block * BINS]);
    __threadfence();
    __syncthreads();
    if (thread == 0)
        is_last = atomicInc(counter, gridDim.x * gridDim.y - 1) == gridDim.x * gridDim.y - 1;
    __syncthreads();
    if (!is_last)
        return;
    __threadfence();
    const bool hold = corrupt || (out_of_range != nullptr && out_of_range[0] > 0);
    measure_distances(counts, before, width, height);
    __syncthreads();
    for (int at = thread; at < BLOCKS * BLOCKS * BINS; at += THREADS) {
        if (!hold)
            before[at] = __ldcg(&counts[at]);
        counts[at] = 0;
    }
    if (thread == 0) {
        const bool found = !hold && *valid && is_cut();
        decision[0] = !*valid || found;
        decision[1] = hold;
        cut[0] = found;
        *valid |= !hold;
    }
}
