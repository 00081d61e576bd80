// Transposes a plane of bytes through global memory, or through a tile in shared memory.
//
// Launch: grid (tiles along a row, tiles along a column) of 32x32 pixels, block (32, 8).
// Shared memory: 1024 bytes for METHOD 1, 1152 for METHOD 2.
//
//   source (height, width) u8, out (width, height) u8
//
// Defines: METHOD 0 global memory, 1 shared tile, 2 shared tile with rows padded by one word.
using u8 = unsigned char;
using u32 = unsigned int;

constexpr u32 SIDE = 32;
constexpr u32 ROWS = 8;

#if METHOD > 0
__shared__ u8 tile[SIDE][METHOD == 2 ? SIDE + 4 : SIDE];
#endif

extern "C" __global__ void experiment_transpose(const u8 *const __restrict__ source, const u32 width,
                                                const u32 height, u8 *const __restrict__ out) {
    const u32 left = blockIdx.x * SIDE, top = blockIdx.y * SIDE;
#if METHOD == 0
    for (u32 row = threadIdx.y; row < SIDE; row += ROWS) {
        const u32 x = left + threadIdx.x, y = top + row;
        if (x < width && y < height)
            out[x * height + y] = source[y * width + x];
    }
#else
    for (u32 row = threadIdx.y; row < SIDE; row += ROWS) {
        const u32 x = left + threadIdx.x, y = top + row;
        if (x < width && y < height)
            tile[row][threadIdx.x] = source[y * width + x];
    }
    __syncthreads();
    for (u32 row = threadIdx.y; row < SIDE; row += ROWS) {
        const u32 x = left + row, y = top + threadIdx.x;
        if (x < width && y < height)
            out[x * height + y] = tile[threadIdx.x][row];
    }
#endif
}
