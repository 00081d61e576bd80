// Block means of a frame in quarters of a level, with their luma and their least component (docs/spec.md 17.1).
//
// Launch: blocks of 256 threads, a thread a block of pixels. Shared memory: none.
//
//   pixels (height, width), rows `pitch` bytes apart: the first plane
//   left, top, right, bottom: the counted pixels; step: side of a block; rows, columns: of blocks
//   chroma, chroma_2: planes of Cb, Cr pairs, or of Cb and of Cr, rows `chroma_pitch` bytes apart; or null
//   maps   (2 + parts, rows, columns) u16: luma, least component, means of the components
//
// Defines: those of adaptive_samples.cuh and adaptive_haze.cuh; CHROMA 0 none, 1 pairs, 2 planes, 3 packed.
#include "adaptive_haze.cuh"
#include "adaptive_samples.cuh"

struct Bounds {
    int first, last;
};

__device__ __forceinline__ Bounds block_bounds(const int index, const int step, const int start,
                                               const int end) {
    return {start + index * step, min(start + (index + 1) * step, end)};
}

// The chroma samples that touch these pixels.
__device__ __forceinline__ Bounds halved(const Bounds &bounds) {
    return {bounds.first / 2, (bounds.last + 1) / 2};
}

__device__ __forceinline__ int mean_of(const u32 total, const Bounds &y, const Bounds &x) {
    const u32 count = static_cast<u32>((y.last - y.first) * (x.last - x.first));
    return static_cast<int>((8u * total + count) / (2u * count));
}

__device__ __forceinline__ u32 chroma_level(const u8 *const row, const int index) {
    const Raw stored = reinterpret_cast<const Raw *>(row)[index];
    return BITS > 8 ? stored >> 8 : stored;
}

// Mean of one chroma component: samples `offset`, `offset` + `distance`, ... of each row.
__device__ __forceinline__ int chroma_mean(const u8 *const plane, const i64 pitch, const Bounds &y,
                                           const Bounds &x, const int offset, const int distance) {
    u32 total = 0;
    for (int j = y.first; j < y.last; ++j)
        for (int i = x.first; i < x.last; ++i)
            total += chroma_level(plane + j * pitch, offset + i * distance);
    return mean_of(total, y, x);
}

extern "C" __global__ void __launch_bounds__(256)
    adaptive_haze_means(const u8 *const __restrict__ pixels, const i64 pitch, const int left, const int top,
                        const int right, const int bottom, const int step, const int rows, const int columns,
                        const u8 *const __restrict__ chroma, const u8 *const __restrict__ chroma_2,
                        const i64 chroma_pitch, u16 *const __restrict__ maps) {
    const int index = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x), size = rows * columns;
    if (index >= size)
        return;
    const Bounds y = block_bounds(index / columns, step, top, bottom);
    const Bounds x = block_bounds(index % columns, step, left, right);
    u32 totals[COLORS] = {};
    for (int j = y.first; j < y.last; ++j)
        for (int i = x.first; i < x.last; ++i)
#pragma unroll
            for (int c = 0; c < COLORS; ++c)
                totals[c] += static_cast<u32>(level_at(pixels + j * pitch, i, c));
    int means[3] = {mean_of(totals[0], y, x), 0, 0};
    int luma = means[0], least = luma;
    if constexpr (COMPONENTS == 1) {
        means[1] = mean_of(totals[1], y, x);
        means[2] = mean_of(totals[2], y, x);
        luma = luma_of(means[0], means[1], means[2]);
        least = min(means[0], min(means[1], means[2]));
    }
    if constexpr (COMPONENTS == 2) {
        const Bounds cy = CHROMA == 3 ? y : halved(y), cx = halved(x);
        const u8 *const second = CHROMA == 2 ? chroma_2 : chroma;
        constexpr int DISTANCE = CHROMA == 1 ? 2 : CHROMA == 2 ? 1 : 4;
        constexpr int BLUE = CHROMA == 3 ? 1 - CHANNEL : 0, RED = CHROMA == 1   ? 1
                                                                  : CHROMA == 2 ? 0
                                                                                : BLUE + 2;
        means[1] = chroma_mean(chroma, chroma_pitch, cy, cx, BLUE, DISTANCE);
        means[2] = chroma_mean(second, chroma_pitch, cy, cx, RED, DISTANCE);
        least = least_of_yuv(luma, means[1], means[2]);
    }
    maps[index] = static_cast<u16>(luma);
    maps[size + index] = static_cast<u16>(least);
#pragma unroll
    for (int c = 0; c < (COMPONENTS == 0 ? 1 : 3); ++c)
        maps[(2 + c) * size + index] = static_cast<u16>(means[c]);
}
