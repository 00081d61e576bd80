// Applies one LUT to a plane.
//
// Launch: any number of blocks of any number of threads. Shared memory: 256 bytes: the LUT.
//
//   pixels, enhanced (count) u8, aligned to 16 bytes
//   lut              (256) u8
//
// Defines: VECTOR 0 loads and stores 1 byte at a time, 1 loads and stores 16 bytes.
using u8 = unsigned char;
using u32 = unsigned int;

__shared__ u8 levels[256];

__device__ __forceinline__ u32 mapped(const u32 word) {
    return static_cast<u32>(levels[word & 255u]) | static_cast<u32>(levels[word >> 8 & 255u]) << 8 |
           static_cast<u32>(levels[word >> 16 & 255u]) << 16 | static_cast<u32>(levels[word >> 24]) << 24;
}

extern "C" __global__ void experiment_apply_lut(const u8 *const __restrict__ pixels, const u32 count,
                                                const u8 *const __restrict__ lut,
                                                u8 *const __restrict__ enhanced) {
    for (u32 level = threadIdx.x; level < 256; level += blockDim.x)
        levels[level] = lut[level];
    __syncthreads();
    const u32 first = blockIdx.x * blockDim.x + threadIdx.x, step = gridDim.x * blockDim.x;
    u32 done = 0;
    if constexpr (VECTOR == 1) {
        done = count / 16 * 16;
        for (u32 i = first; i < count / 16; i += step) {
            const uint4 four = reinterpret_cast<const uint4 *>(pixels)[i];
            reinterpret_cast<uint4 *>(enhanced)[i] =
                make_uint4(mapped(four.x), mapped(four.y), mapped(four.z), mapped(four.w));
        }
    }
    for (u32 i = done + first; i < count; i += step)
        enhanced[i] = levels[pixels[i]];
}
