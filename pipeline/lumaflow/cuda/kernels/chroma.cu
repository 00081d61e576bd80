// Sees chroma samples through a LUT, in place (spec 9): a plane of them, or those between lumas.
//
// Launch: any number of blocks of 256 threads; a thread takes a sample at a time. Shared memory: none.
//
//   samples (height, width) u8 or u16, rows `pitch` bytes apart; of each row those at FIRST, FIRST + EVERY ...
//   lut     an entry for every value of the type
//
// Defines: BITS 8 or 16, of a sample; EVERY, FIRST.
using i64 = long long;
#if BITS == 8
using Sample = unsigned char;
#else
using Sample = unsigned short;
#endif

extern "C" __global__ void __launch_bounds__(256)
    chroma(unsigned char *const __restrict__ samples, const i64 pitch, const int width, const int height,
           const Sample *const __restrict__ lut) {
    const int columns = width / EVERY, stride = static_cast<int>(gridDim.x * blockDim.x);
    for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < columns * height; i += stride) {
        const int y = i / columns, x = i - y * columns;
        Sample &sample = reinterpret_cast<Sample *>(samples + y * pitch)[x * EVERY + FIRST];
        sample = lut[sample];
    }
}
