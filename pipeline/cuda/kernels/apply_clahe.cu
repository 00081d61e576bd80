// Maps a frame through CLAHE's grid of LUTs, blended between tile centres (spec 4.5, 9).
//
// Between four tile centres the four LUTs are the same for every pixel: they are packed into one word a
// level, so that one look-up finds all four.
//
// Launch: grid (columns + 1, rows + 1, parts of a rectangle), block (quads across, rows), up to 256 threads.
// Shared memory: 1024 bytes, the packed LUTs.
//
//   pixels, enhanced (height, width[, 3]) u8, rows `pitch` and `enhanced_pitch` bytes apart
//   luts             (rows, columns, 256)
//   edges_x          (columns + 2): rectangle k covers columns edges_x[k] .. edges_x[k + 1] - 1
//   weight_x, rest_x (width): shares of the right and the left LUT; likewise for y
//   luma             (height, width) u8, the enhanced luma, if LUMA
//
// Defines: CHANNELS, VALUE (pixels.cuh), COPY 0, LUMA (quad.cuh).
// Every operation is rounded on its own, in the order of the spec; no fused multiply-add.
#include "quad.cuh"

__shared__ u32 packed[256];

__device__ __forceinline__ void pack_luts(const u8 *const luts, const int columns, const int rows) {
    const int column = static_cast<int>(blockIdx.x), row = static_cast<int>(blockIdx.y);
    const int left = max(column - 1, 0), right = min(column, columns - 1);
    const u8 *const upper = luts + static_cast<i64>(max(row - 1, 0)) * columns * 256;
    const u8 *const lower = luts + static_cast<i64>(min(row, rows - 1)) * columns * 256;
    for (u32 level = threadIdx.y * blockDim.x + threadIdx.x; level < 256; level += blockDim.x * blockDim.y)
        packed[level] = pack(upper[left * 256 + level], upper[right * 256 + level], lower[left * 256 + level],
                             lower[right * 256 + level]);
}

__device__ __forceinline__ float blend(const float a, const float rest, const float b, const float weight) {
    return __fadd_rn(__fmul_rn(a, rest), __fmul_rn(b, weight));
}

extern "C" __global__ void __launch_bounds__(256)
    apply_clahe(const u8 *const __restrict__ pixels, const i64 pitch, const int width, const int height,
                const u8 *const __restrict__ luts, const int *const __restrict__ edges_x,
                const float *const __restrict__ weight_x, const float *const __restrict__ rest_x,
                const int *const __restrict__ edges_y, const float *const __restrict__ weight_y,
                const float *const __restrict__ rest_y, const int columns, const int rows,
                const int part_height, u8 *const __restrict__ enhanced, const i64 enhanced_pitch,
                u8 *const __restrict__ luma, const i64 luma_pitch) {
    const int left = edges_x[blockIdx.x], right = edges_x[blockIdx.x + 1];
    const int top = edges_y[blockIdx.y] + static_cast<int>(blockIdx.z) * part_height;
    const int bottom = min(top + part_height, edges_y[blockIdx.y + 1]);
    if (left >= right || top >= bottom)
        return;
    pack_luts(luts, columns, rows);
    __syncthreads();

    const int lead = lead_pixels<QUAD>(pixels + top * pitch + static_cast<i64>(left) * CHANNELS);
    const int start = left - (QUAD - lead) % QUAD + static_cast<int>(threadIdx.x) * QUAD;
    for (int x = start; x < right; x += static_cast<int>(blockDim.x) * QUAD) {
        float weight[QUAD], rest[QUAD];
#pragma unroll
        for (int k = 0; k < QUAD; ++k) {
            const int column = min(max(x + k, 0), width - 1);
            weight[k] = weight_x[column];
            rest[k] = rest_x[column];
        }
        for (int y = top + static_cast<int>(threadIdx.y); y < bottom; y += static_cast<int>(blockDim.y)) {
            const float down = weight_y[y], up = rest_y[y];
            const auto blended = [&](const int k, const u32 level) {
                const u32 word = packed[level];
                const float upper = blend(float_of(word, 0), rest[k], float_of(word, 1), weight[k]);
                const float lower = blend(float_of(word, 2), rest[k], float_of(word, 3), weight[k]);
                return round_half_even(blend(upper, up, lower, down)) & 255u;
            };
            const i64 offset = static_cast<i64>(x) * CHANNELS;
            const Quad raw = load_quad(pixels + y * pitch + offset, left - x, right - x);
            u32 lumas = 0;
            const Quad quad = map_quad(raw, blended, lumas);
            store_words<CHANNELS>(enhanced + y * enhanced_pitch + offset, quad.words, left - x, right - x);
            if constexpr (LUMA)
                store_words<1>(luma + y * luma_pitch + x, &lumas, left - x, right - x);
        }
    }
}
