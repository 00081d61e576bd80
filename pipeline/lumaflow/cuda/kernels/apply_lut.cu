// Applies one LUT to an 8-bit frame (docs/spec.md 2, 3, 9), or copies the frame (COPY).
//
// Launch: any number of blocks of 256 threads; each thread handles 16 adjacent pixels of a row at a time.
// Shared memory: 256 bytes: the LUT.
//
//   pixels, enhanced (height, width[, CHANNELS]) u8, rows `pitch` and `enhanced_pitch` bytes apart
//   lut              (256)
//   luma             (height, width) u8, the enhanced luma, if LUMA
//   decision (2) of scene_cut or null: nothing happens if the first is 0
//
// Defines: CHANNELS, VALUE, CHANNEL (pixels.cuh), COPY, LUMA (vec4.cuh).
#include "vec4.cuh"

__shared__ u8 levels[256];

struct Chunk {
    Vec4 vecs[CHUNK / VEC];
};

__device__ __forceinline__ Chunk load_vectors(const u8 *const at) {
    const uint4 *const vectors = reinterpret_cast<const uint4 *>(at);
    u32 words[4 * CHANNELS];
#pragma unroll
    for (int i = 0; i < CHANNELS; ++i) {
        const uint4 vector = vectors[i];
        words[4 * i] = vector.x;
        words[4 * i + 1] = vector.y;
        words[4 * i + 2] = vector.z;
        words[4 * i + 3] = vector.w;
    }
    Chunk chunk;
#pragma unroll
    for (int i = 0; i < 4 * CHANNELS; ++i)
        chunk.vecs[i / CHANNELS].words[i % CHANNELS] = words[i];
    return chunk;
}

__device__ __forceinline__ void store_vectors(u8 *const at, const Chunk &chunk) {
    u32 words[4 * CHANNELS];
#pragma unroll
    for (int i = 0; i < 4 * CHANNELS; ++i)
        words[i] = chunk.vecs[i / CHANNELS].words[i % CHANNELS];
#pragma unroll
    for (int i = 0; i < CHANNELS; ++i)
        reinterpret_cast<uint4 *>(at)[i] =
            make_uint4(words[4 * i], words[4 * i + 1], words[4 * i + 2], words[4 * i + 3]);
}

__device__ __forceinline__ void store_lumas(u8 *const at, const u32 *const words) {
    const bool aligned = is_aligned<4>(at);
#pragma unroll
    for (int q = 0; q < CHUNK / VEC; ++q)
        if (aligned)
            store_vec4<1>(at + q * VEC, words + q);
        else
            store_partial<1>(at + q * VEC, words + q, 0, VEC);
}

__device__ __forceinline__ u32 mapped(const int, const u32 level) { return levels[level]; }

extern "C" __global__ void __launch_bounds__(256, 4)
    apply_lut(const u8 *const __restrict__ pixels, const i64 pitch, const int width, const int height,
              const u8 *const __restrict__ lut, u8 *const __restrict__ enhanced, const i64 enhanced_pitch,
              u8 *const __restrict__ luma, const i64 luma_pitch, const int *const __restrict__ decision) {
    if (decision != nullptr && !decision[0])
        return;
    if constexpr (!COPY) {
        for (u32 level = threadIdx.x; level < 256; level += blockDim.x)
            levels[level] = lut[level];
        __syncthreads();
    }
    const bool aligned = is_aligned<CHUNK>(pixels) && pitch % CHUNK == 0;
    const int chunks = (width + CHUNK - 1 + (aligned ? 0 : CHUNK - 1)) / CHUNK;
    const int stride = static_cast<int>(gridDim.x * blockDim.x);
    for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < chunks * height; i += stride) {
        const int y = i / chunks;
        const int lead = lead_pixels<CHUNK>(pixels + y * pitch);
        const int x = (i - y * chunks) * CHUNK - (CHUNK - lead) % CHUNK;
        const u8 *const from = pixels + y * pitch + static_cast<i64>(x) * CHANNELS;
        u8 *const to = enhanced + y * enhanced_pitch + static_cast<i64>(x) * CHANNELS;
        u8 *const luma_to = luma + y * luma_pitch + x;
        if (x >= 0 && x + CHUNK <= width && is_aligned<16>(to)) {
            Chunk chunk = load_vectors(from);
            u32 lumas[CHUNK / VEC];
#pragma unroll
            for (int q = 0; q < CHUNK / VEC; ++q)
                chunk.vecs[q] = map_vec4(chunk.vecs[q], mapped, lumas[q]);
            store_vectors(to, chunk);
            if constexpr (LUMA)
                store_lumas(luma_to, lumas);
        } else {
            for (int q = 0; q < CHUNK; q += VEC) {
                const int first = -x - q, last = width - x - q;
                const Vec4 raw = load_partial(from + q * CHANNELS, first, last);
                u32 lumas = 0;
                const Vec4 vec = map_vec4(raw, mapped, lumas);
                store_partial<CHANNELS>(to + q * CHANNELS, vec.words, first, last);
                if constexpr (LUMA)
                    store_partial<1>(luma_to + q, &lumas, first, last);
            }
        }
    }
}
