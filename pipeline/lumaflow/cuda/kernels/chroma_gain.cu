// Applies a LUT to chroma samples in place (docs/spec.md 9): a chroma plane, or the chroma of packed 4:2:2.
//
// Launch: any number of blocks of 256 threads; each thread handles one sample at a time. Shared memory: none.
//
//   samples (height, width) u8 or u16, rows `pitch` bytes apart; mapped are OFFSET, OFFSET + STRIDE, ...
//   lut     (256) u8 or (65536) u16: one entry for each value of the type
//
// Defines: BITS 8 or 16, of a sample; STRIDE and OFFSET in samples.
using i64 = long long;
#if BITS == 8
using Sample = unsigned char;
#else
using Sample = unsigned short;
#endif

extern "C" __global__ void __launch_bounds__(256)
    chroma_gain(unsigned char *const __restrict__ samples, const i64 pitch, const int width, const int height,
                const Sample *const __restrict__ lut) {
    const int columns = width / STRIDE, stride = static_cast<int>(gridDim.x * blockDim.x);
    for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < columns * height; i += stride) {
        const int y = i / columns, x = i - y * columns;
        Sample &sample = reinterpret_cast<Sample *>(samples + y * pitch)[x * STRIDE + OFFSET];
        sample = lut[sample];
    }
}
