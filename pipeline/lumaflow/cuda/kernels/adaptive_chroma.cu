// Multiplies chroma by the gain of its first pixel, in place (docs/spec.md 16.8, 17.8).
//
// Launch: blocks of 256 threads, a thread a sample of both components. Shared memory: none.
//
//   blue, red  planes of Cb and Cr, or twice the same plane of both; rows `pitch` bytes apart
//   first_row, first_column, rows, columns: samples whose first pixel is mapped
//   gains, haze (all rows, gain_columns): of adaptive_apply
//   decision   of adaptive_decide
//
// Defines: BITS, SHIFT; CHROMA 1 pairs, 2 planes, 3 packed 4:2:2; CHANNEL, the index of luma in packed pixels.
#include "adaptive.cuh"

using i16 = short;

#if BITS == 8
using Raw = u8;
#else
using Raw = u16;
#endif

constexpr int DISTANCE = CHROMA == 1 ? 2 : CHROMA == 2 ? 1 : 4;
constexpr int BLUE = CHROMA == 3 ? 1 - CHANNEL : 0, RED = CHROMA == 1 ? 1 : CHROMA == 2 ? 0 : BLUE + 2;
constexpr int NEUTRAL = 1 << (BITS - 1), MAX_LEVEL = (1 << BITS) - 1, UP = 15 - BITS;

__device__ __forceinline__ void multiply(Raw &stored, const int factor, const bool haze, const float airlight,
                                         const float haze_gain) {
    int sample = ((stored >> SHIFT) - NEUTRAL) * (1 << UP);
    if (haze) {
        const float moved = (static_cast<float>(sample) - airlight) * haze_gain + airlight;
        sample = min(max(__float2int_rn(moved), -32768), 32767);
    }
    const int level = NEUTRAL + ((sample * factor + (512 << UP)) >> (10 + UP));
    stored = static_cast<Raw>(min(max(level, 0), MAX_LEVEL) << SHIFT);
}

extern "C" __global__ void __launch_bounds__(256)
    adaptive_chroma(u8 *const blue, u8 *const red, const i64 pitch, const int first_row,
                    const int first_column, const int rows, const int columns,
                    const i16 *const __restrict__ gains, const float *const __restrict__ haze,
                    const int gain_columns, const Decision *const __restrict__ decision) {
    const bool removes_haze = decision->haze;
    const float blue_airlight = decision->airlight[1], red_airlight = decision->airlight[2];
    const int stride = static_cast<int>(gridDim.x * blockDim.x);
    for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < rows * columns; i += stride) {
        const int y = first_row + i / columns, x = first_column + i % columns;
        const i64 at = static_cast<i64>(y) * gain_columns + x;
        const int factor = gains[at];
        const float haze_gain = removes_haze ? haze[at] : 1.0f;
        Raw *const blue_row = reinterpret_cast<Raw *>(blue + y * pitch);
        Raw *const red_row = reinterpret_cast<Raw *>(red + y * pitch);
        multiply(blue_row[x * DISTANCE + BLUE], factor, removes_haze, blue_airlight, haze_gain);
        multiply(red_row[x * DISTANCE + RED], factor, removes_haze, red_airlight, haze_gain);
    }
}
