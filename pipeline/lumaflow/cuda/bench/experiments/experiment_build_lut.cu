// Builds the LUT of global equalisation (docs/spec.md 2), one thread per level.
//
// Launch: one block of 256 threads. Shared memory: 1028 bytes: the cumulative counts and the first non-zero count.
//
//   bins (256) u32
//   lut  (256) u8
using u8 = unsigned char;
using u32 = unsigned int;

constexpr u32 LEVELS = 256;

__shared__ u32 cumulative[LEVELS];
__shared__ u32 lowest; // first non-zero count

extern "C" __global__ void experiment_build_lut(const u32 *const __restrict__ bins,
                                                u8 *const __restrict__ lut) {
    const u32 level = threadIdx.x, count = bins[level];
    cumulative[level] = count;
    __syncthreads();
    for (u32 step = 1; step < LEVELS; step *= 2) {
        const u32 before = level >= step ? cumulative[level - step] : 0;
        __syncthreads();
        cumulative[level] += before;
        __syncthreads();
    }
    const u32 below = cumulative[level], pixels = cumulative[LEVELS - 1];
    if (count > 0 && below == count)
        lowest = count;
    __syncthreads();
    if (lowest == pixels) {
        lut[level] = static_cast<u8>(level);
        return;
    }
    const float scale = __fdiv_rn(255.0f, __uint2float_rn(pixels - lowest));
    const u32 above = below > lowest ? below - lowest : 0;
    lut[level] = static_cast<u8>(min(__float2int_rn(__uint2float_rn(above) * scale), 255));
}
