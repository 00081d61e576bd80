// Gradients of a plane (docs/spec.md 10): differences of the square roots of neighbours, one thread per pixel.
//
// Launch: grid (tiles along a row, tiles along a column) of 32x8 pixels, block (32, 8).
// Shared memory: 1360 bytes if READ_FROM is 2: the square roots of a tile and of its border pixels.
//
//   source    (height, width) u8, at least 2x2 pixels; a texture object of them if READ_FROM is 1
//   gamma     (256) f32: square root of each level
//   gradients (height, width, 2): horizontal and vertical
//
// Defines: READ_FROM 0 global memory, 1 texture, 2 shared memory; FP16 0 stores gradients as f32, 1 as f16 (the
// subtraction is in f32).
#if FP16
#include <cuda_fp16.h>
#endif

using u8 = unsigned char;

constexpr int COLUMNS = 32;
constexpr int ROWS = 8;
constexpr int TILE_PIXELS = (COLUMNS + 2) * (ROWS + 2);

#if READ_FROM == 1
using Source = cudaTextureObject_t;
#else
using Source = const u8 *;
#endif

#if FP16
using Pair = __half2;
__device__ __forceinline__ Pair pair_of(const float dx, const float dy) { return __floats2half2_rn(dx, dy); }
#else
using Pair = float2;
__device__ __forceinline__ Pair pair_of(const float dx, const float dy) { return make_float2(dx, dy); }
#endif

__shared__ float sqrt_levels[READ_FROM == 2 ? TILE_PIXELS : 1];

// Reflect-101 by one pixel; the value of pixels further out does not matter.
__device__ __forceinline__ int reflect(const int index, const int size) {
    const int back = index < 0 ? -index : index < size ? index : 2 * size - 2 - index;
    return back < 0 ? 0 : back;
}

struct Plane {
    Source source;
    int width, height;
    const float *gamma;

    __device__ __forceinline__ float root(const int x, const int y) const {
        const int column = reflect(x, width), row = reflect(y, height);
#if READ_FROM == 1
        return gamma[tex2D<u8>(source, static_cast<float>(column), static_cast<float>(row))];
#else
        return gamma[source[row * width + column]];
#endif
    }
};

extern "C" __global__ void experiment_gradients(const Source source, const int width, const int height,
                                                const float *const __restrict__ gamma,
                                                Pair *const __restrict__ gradients) {
    const Plane plane = {source, width, height, gamma};
    const int column = static_cast<int>(threadIdx.x), row = static_cast<int>(threadIdx.y);
    const int left = static_cast<int>(blockIdx.x) * COLUMNS, top = static_cast<int>(blockIdx.y) * ROWS;
    const int x = left + column, y = top + row;
    if constexpr (READ_FROM == 2) {
        for (int i = row * COLUMNS + column; i < TILE_PIXELS; i += COLUMNS * ROWS)
            sqrt_levels[i] = plane.root(left + i % (COLUMNS + 2) - 1, top + i / (COLUMNS + 2) - 1);
        __syncthreads();
    }
    if (x >= width || y >= height)
        return;
    if constexpr (READ_FROM == 2) {
        const float *const centre = &sqrt_levels[(row + 1) * (COLUMNS + 2) + column + 1];
        gradients[y * width + x] =
            pair_of(centre[1] - centre[-1], centre[COLUMNS + 2] - centre[-(COLUMNS + 2)]);
    } else {
        gradients[y * width + x] =
            pair_of(plane.root(x + 1, y) - plane.root(x - 1, y), plane.root(x, y + 1) - plane.root(x, y - 1));
    }
}
