// Transposes a plane, with optional flips (docs/spec.md 12): source pixel (u, v) goes to row u and column v of the
// output. Pixels are moved unchanged.
//
// A tile is transposed twice: pixels within words in registers, words within the tile through shared memory.
// The tile is swizzled so that neither row nor column accesses have bank conflicts.
//
// Launch: grid (tiles along the source's rows, tiles along its columns), 256 threads; a tile is 32x32 words of
// pixels, or 32x32 pixels where a pixel is larger than a word. Shared memory: at most 16,384 bytes.
//
//   pixels     (height, width), rows `pitch` bytes apart
//   out_pixels (width, height), rows `out_pitch` bytes apart; must not overlap the source
//   flip_y, flip_x: reverse the order of the source's rows, of its columns
//
// Defines: PIXEL_BYTES 1, 2, 3, 4, 6 or 8; NAIVE 1 copies pixel by pixel, with column accesses to global memory
// (the baseline of the benchmark).
#include "pixel_words.cuh"

constexpr int LANES = 32;
constexpr int THREADS = 256;
constexpr int SIDE = LANES * PIXELS_PER_WORD; // pixels per side of a tile
constexpr int WARPS = THREADS / LANES;
static_assert(LANES % WARPS == 0, "each warp loads the same number of groups of rows");

// [source column][group of source rows]
__shared__ Word tile[SIDE][LANES];

// Transpose a small square of pixels: PIXELS_PER_WORD words of one row each become words of one column each.
__device__ __forceinline__ void transpose_words(Word *const words) {
#if PIXEL_BYTES == 1
    const u32 a = __byte_perm(words[0], words[1], 0x5140), b = __byte_perm(words[2], words[3], 0x5140);
    const u32 c = __byte_perm(words[0], words[1], 0x7362), d = __byte_perm(words[2], words[3], 0x7362);
    words[0] = __byte_perm(a, b, 0x5410);
    words[1] = __byte_perm(a, b, 0x7632);
    words[2] = __byte_perm(c, d, 0x5410);
    words[3] = __byte_perm(c, d, 0x7632);
#elif PIXEL_BYTES == 2
    const u32 first = __byte_perm(words[0], words[1], 0x5410);
    words[1] = __byte_perm(words[0], words[1], 0x7632);
    words[0] = first;
#endif
}

__device__ __forceinline__ void transpose_naive(const Plane &source, const bool flip_x, const Output &out) {
    const int x = static_cast<int>(blockIdx.y) * SIDE, y = static_cast<int>(blockIdx.x) * SIDE;
    for (int i = static_cast<int>(threadIdx.x); i < SIDE * SIDE; i += THREADS) {
        const int v = x + i % SIDE, u = y + i / SIDE; // along an output row
        if (v < source.height && u < source.width)
            out.pixel(flip_x ? source.width - 1 - u : u, out.reversed ? source.height - 1 - v : v) =
                source.pixel(v, u);
    }
}

// Whether the tile lies inside the plane and all its words are aligned, so no bounds checks are needed.
__device__ __forceinline__ bool is_full_tile(const Plane &source, const Output &out, const int u,
                                             const int v) {
    const u64 all = reinterpret_cast<u64>(source.pixels) | static_cast<u64>(source.pitch) |
                    reinterpret_cast<u64>(out.pixels) | static_cast<u64>(out.pitch) |
                    static_cast<u64>(out.reversed ? source.height * PIXEL_BYTES : 0);
    return PIXELS_PER_WORD > 1 && u + SIDE <= source.width && v + SIDE <= source.height &&
           all % sizeof(Word) == 0;
}

template <bool FULL>
__device__ __forceinline__ void transpose_tile(const Plane &source, const bool flip_x, const Output &out) {
    const int lane = static_cast<int>(threadIdx.x) % LANES, warp = static_cast<int>(threadIdx.x) / LANES;
    const int u = static_cast<int>(blockIdx.x) * SIDE, v = static_cast<int>(blockIdx.y) * SIDE;
    const u8 *from = source.pixels + (v + warp * PIXELS_PER_WORD) * source.pitch +
                     static_cast<i64>(u + lane * PIXELS_PER_WORD) * PIXEL_BYTES;
#pragma unroll
    for (int k = 0; k < LANES / WARPS; ++k) {
        const int group = warp + k * WARPS; // of PIXELS_PER_WORD rows
        Word words[PIXELS_PER_WORD];
#pragma unroll
        for (int i = 0; i < PIXELS_PER_WORD; ++i)
            words[i] = FULL ? *reinterpret_cast<const Word *>(from + i * source.pitch)
                            : source.word(v + group * PIXELS_PER_WORD + i, u + lane * PIXELS_PER_WORD);
        from += WARPS * PIXELS_PER_WORD * source.pitch;
        transpose_words(words);
#pragma unroll
        for (int i = 0; i < PIXELS_PER_WORD; ++i)
            tile[lane * PIXELS_PER_WORD + i][group ^ lane] = words[i];
    }
    __syncthreads();
    const int first = v + lane * PIXELS_PER_WORD,
              place = out.reversed ? out.width - PIXELS_PER_WORD - first : first;
    const int row = flip_x ? source.width - 1 - u - warp : u + warp;
    const i64 down = flip_x ? -WARPS * out.pitch : WARPS * out.pitch;
    u8 *to = out.pixels + row * out.pitch + static_cast<i64>(place) * PIXEL_BYTES;
#pragma unroll
    for (int k = 0; k < SIDE / WARPS; ++k) {
        const int column = warp + k * WARPS;
        const Word word = tile[column][lane ^ (column / PIXELS_PER_WORD)];
        if constexpr (FULL)
            *reinterpret_cast<Word *>(to) = out.reversed ? reverse_word(word) : word;
        else if (u + column < source.width)
            out.store(flip_x ? source.width - 1 - u - column : u + column, first, word);
        to += down;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    transpose(const u8 *const __restrict__ pixels, const i64 pitch, const int width, const int height,
              const int flip_y, const int flip_x, u8 *const __restrict__ out_pixels, const i64 out_pitch) {
    const Plane source = {pixels, pitch, width, height};
    const Output out = {out_pixels, out_pitch, height, flip_y != 0};
    if constexpr (NAIVE)
        transpose_naive(source, flip_x != 0, out);
    else if (is_full_tile(source, out, static_cast<int>(blockIdx.x) * SIDE,
                          static_cast<int>(blockIdx.y) * SIDE))
        transpose_tile<true>(source, flip_x != 0, out);
    else
        transpose_tile<false>(source, flip_x != 0, out);
}
