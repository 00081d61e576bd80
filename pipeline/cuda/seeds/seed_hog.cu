// Plain 9-bin histograms of gradients in cells of 8x8 pixels (spec 10, compact), a thread a pixel.
//
// Launch: grid (cells_x, rows of cells), block (8, 8): a cell each.
// Shared memory: WHERE 1: 36 bytes, the sums; 400, the square roots of a cell and the pixels around it.
//
//   luma   (height, width) u8, of at least 8x8 pixels
//   gamma  (256) f32: square roots
//   cells  (rows of cells, cells_x, 9) f32, zero before
//
// Defines: WHERE 0 reads every neighbour from and sums in global memory, 1 through shared memory.
using u8 = unsigned char;
using u32 = unsigned int;

constexpr int SIDE = 8;
constexpr int AROUND = SIDE + 2;
constexpr u32 BINS = 9;

__shared__ float sums[BINS];
__shared__ float roots[AROUND][AROUND];

// Reflect-101 by one pixel.
__device__ __forceinline__ int reflect(const int index, const int size) {
    return index < 0 ? 1 : index < size ? index : size - 2;
}

__device__ __forceinline__ float root_at(const u8 *const luma, const float *const gamma, const int width,
                                         const int height, const int x, const int y) {
    return gamma[luma[reflect(y, height) * width + reflect(x, width)]];
}

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

__device__ __forceinline__ void vote(float *const into, const float dx, const float dy) {
    const float magnitude = __fsqrt_rn(dx * dx + dy * dy), position = position_of(dx, dy);
    const float below = floorf(position), share = position - below;
    const u32 bin = static_cast<u32>(static_cast<int>(below) + static_cast<int>(BINS)) % BINS;
    atomicAdd(&into[bin], magnitude * (1.0f - share));
    atomicAdd(&into[(bin + 1) % BINS], magnitude * share);
}

extern "C" __global__ void seed_hog(const u8 *const __restrict__ luma, const int width, const int height,
                                    const float *const __restrict__ gamma, float *const __restrict__ cells) {
    const int column = static_cast<int>(threadIdx.x), row = static_cast<int>(threadIdx.y);
    const int left = static_cast<int>(blockIdx.x) * SIDE, top = static_cast<int>(blockIdx.y) * SIDE;
    const int thread = row * SIDE + column;
    float *const cell = cells + (blockIdx.y * gridDim.x + blockIdx.x) * BINS;
    if constexpr (WHERE == 0) {
        const int x = left + column, y = top + row;
        vote(cell,
             root_at(luma, gamma, width, height, x + 1, y) - root_at(luma, gamma, width, height, x - 1, y),
             root_at(luma, gamma, width, height, x, y + 1) - root_at(luma, gamma, width, height, x, y - 1));
    } else {
        if (thread < static_cast<int>(BINS))
            sums[thread] = 0.0f;
        for (int i = thread; i < AROUND * AROUND; i += SIDE * SIDE)
            roots[i / AROUND][i % AROUND] =
                root_at(luma, gamma, width, height, left + i % AROUND - 1, top + i / AROUND - 1);
        __syncthreads();
        vote(sums, roots[row + 1][column + 2] - roots[row + 1][column],
             roots[row + 2][column + 1] - roots[row][column + 1]);
        __syncthreads();
        if (thread < static_cast<int>(BINS))
            cell[thread] = sums[thread];
    }
}
