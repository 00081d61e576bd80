// HOG in OpenCV's layout (docs/spec.md 10) from gradients in global memory, the direct way: one thread block per HOG
// block, one thread per pixel.
//
// Launch: grid (columns, rows) of HOG blocks, block (16, 16).
// Shared memory: 288 bytes: the 36 values of a HOG block, before and after clipping.
//
//   gradients (height, width, 2): horizontal and vertical
//   weights   (4, 8) f32: `tables.hog_weights`
//   sums      (rows, columns, 36) f32 scratch, zero before and after; used if SUM_IN is 0
//   hog       (rows, columns, 36), ordered (cell x, cell y, bin)
//
// Defines: SUM_IN 0 sums votes in global memory, 1 in shared memory; FP16 0: gradients and hog are f32, 1: f16.
#if FP16
#include <cuda_fp16.h>
#endif

using u32 = unsigned int;
using i64 = long long;

constexpr int SIDE = 16;
constexpr int CELL = 8;
constexpr int BINS = 9;
constexpr int VALUES = 4 * BINS;

#if FP16
using Pair = __half2;
using Value = __half;
__device__ __forceinline__ float2 gradient_of(const Pair pair) { return __half22float2(pair); }
__device__ __forceinline__ Value value_of(const float value) { return __float2half_rn(value); }
#else
using Pair = float2;
using Value = float;
__device__ __forceinline__ float2 gradient_of(const Pair pair) { return pair; }
__device__ __forceinline__ Value value_of(const float value) { return value; }
#endif

__shared__ float values[VALUES];
__shared__ float clipped[VALUES];

__device__ __forceinline__ float position_of(const float dx, const float dy) {
    const float across = fabsf(dx), along = fabsf(dy);
    const float c = __fdiv_rn(fminf(across, along), fmaxf(across, along) + 0x1p-52f), c2 = c * c;
    float angle =
        (((-0x1.4515b2p+1f * c2 + 0x1.1d3f7ep+3f) * c2 + -0x1.2aaddcp+4f) * c2 + 0x1.ca44dep+5f) * c;
    angle = along > across ? 90.0f - angle : angle;
    angle = dx < 0.0f ? 180.0f - angle : angle;
    angle = dy < 0.0f ? 360.0f - angle : angle;
    return angle * 0x1.1df46ap-6f * 0x1.6eb168p+1f - 0.5f;
}

// Votes of pixel (column, row) of a HOG block for two bins of each of its four cells.
__device__ __forceinline__ void vote(float *const into, const float2 gradient, const float *const weights,
                                     const int column, const int row) {
    const float magnitude = __fsqrt_rn(gradient.x * gradient.x + gradient.y * gradient.y);
    const float position = position_of(gradient.x, gradient.y), below = floorf(position);
    const float share = position - below;
    const u32 bin = static_cast<u32>(static_cast<int>(below) + BINS) % BINS, next = (bin + 1) % BINS;
#pragma unroll
    for (int cell = 0; cell < 4; ++cell) {
        const float weight = weights[(column / CELL * 2 + cell / 2) * CELL + column % CELL] *
                             weights[(row / CELL * 2 + cell % 2) * CELL + row % CELL];
        if (weight == 0.0f)
            continue;
        atomicAdd(&into[cell * BINS + bin], weight * (magnitude * (1.0f - share)));
        atomicAdd(&into[cell * BINS + next], weight * (magnitude * share));
    }
}

__device__ __forceinline__ float length_of(const float *const block) {
    float energy = 0.0f;
    for (int i = 0; i < VALUES; ++i)
        energy += block[i] * block[i];
    return __fsqrt_rn(energy);
}

extern "C" __global__ void experiment_hog(const Pair *const __restrict__ gradients, const int width,
                                          const float *const __restrict__ weights,
                                          float *const __restrict__ sums, Value *const __restrict__ hog) {
    const int column = static_cast<int>(threadIdx.x), row = static_cast<int>(threadIdx.y);
    const int x = static_cast<int>(blockIdx.x) * CELL + column, y = static_cast<int>(blockIdx.y) * CELL + row;
    const int thread = row * SIDE + column;
    const i64 first = static_cast<i64>(blockIdx.y * gridDim.x + blockIdx.x) * VALUES;
    float *const into = SUM_IN == 0 ? sums + first : values;
    if (SUM_IN == 1 && thread < VALUES)
        values[thread] = 0.0f;
    __syncthreads();
    vote(into, gradient_of(gradients[y * width + x]), weights, column, row);
    __syncthreads();
    if (SUM_IN == 0 && thread < VALUES)
        values[thread] = atomicExch(&into[thread], 0.0f);
    __syncthreads();
    if (thread < VALUES)
        clipped[thread] = fminf(__fdiv_rn(values[thread], length_of(values) + 0x1.cccccep+1f), 0.2f);
    __syncthreads();
    if (thread < VALUES)
        hog[first + thread] = value_of(__fdiv_rn(clipped[thread], length_of(clipped) + 1e-3f));
}
