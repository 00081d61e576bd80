// Turns a plane so that its rows become columns (spec 12): source pixel (u, v) goes to row u and column v, each
// counted from its far end if told so. Exact moves.
//
// A tile is transposed twice: pixels within words in registers, words within the tile through shared memory.
// Words are stored where no two lanes meet in a bank, neither along a row nor along a column.
//
// Launch: grid (tiles along the source's rows, tiles along its columns), 256 threads; a tile has 32 words of
// pixels each way, or 32 pixels where a pixel fits no word. Shared memory: at most 16,384 bytes.
//
//   source (height, width) pixels, rows `pitch` bytes apart
//   out    (width, height) pixels, rows `out_pitch` bytes apart; shares no memory with the source
//   up, left: rows (columns) of the source are counted from the last one
//
// Defines: PIXEL, bytes of one: 1, 2, 3, 4, 6 or 8; NAIVE 1: pixel by pixel, columns read straight from
// memory, to be measured against.
#include "moves.cuh"

constexpr int LANES = 32;
constexpr int THREADS = 256;
constexpr int SIDE = LANES * PER; // pixels of a tile
constexpr int WARPS = THREADS / LANES;
static_assert(LANES % WARPS == 0, "a warp takes as many groups of rows as any other");

// Rows are those of the source's columns.
__shared__ Word tile[SIDE][LANES];

// PER words of one pixel column each, of PER words of one row each.
__device__ __forceinline__ void transpose_words(Word *const words) {
#if PIXEL == 1
    const u32 a = __byte_perm(words[0], words[1], 0x5140), b = __byte_perm(words[2], words[3], 0x5140);
    const u32 c = __byte_perm(words[0], words[1], 0x7362), d = __byte_perm(words[2], words[3], 0x7362);
    words[0] = __byte_perm(a, b, 0x5410);
    words[1] = __byte_perm(a, b, 0x7632);
    words[2] = __byte_perm(c, d, 0x5410);
    words[3] = __byte_perm(c, d, 0x7632);
#elif PIXEL == 2
    const u32 first = __byte_perm(words[0], words[1], 0x5410);
    words[1] = __byte_perm(words[0], words[1], 0x7632);
    words[0] = first;
#endif
}

__device__ __forceinline__ void move_naively(const Plane &source, const bool left, const Target &out) {
    const int x = static_cast<int>(blockIdx.y) * SIDE, y = static_cast<int>(blockIdx.x) * SIDE;
    for (int i = static_cast<int>(threadIdx.x); i < SIDE * SIDE; i += THREADS) {
        const int v = x + i % SIDE, u = y + i / SIDE; // along a row of the out
        if (v < source.height && u < source.width)
            out.pixel(left ? source.width - 1 - u : u, out.backwards ? source.height - 1 - v : v) =
                source.pixel(v, u);
    }
}

// Whether all words of a whole tile can be read, and put, without a look at the borders.
__device__ __forceinline__ bool is_whole(const Plane &source, const Target &out, const int u, const int v) {
    const u64 all = reinterpret_cast<u64>(source.pixels) | static_cast<u64>(source.pitch) |
                    reinterpret_cast<u64>(out.pixels) | static_cast<u64>(out.pitch) |
                    static_cast<u64>(out.backwards ? source.height * PIXEL : 0);
    return PER > 1 && u + SIDE <= source.width && v + SIDE <= source.height && all % sizeof(Word) == 0;
}

template <bool WHOLE>
__device__ __forceinline__ void move(const Plane &source, const bool left, const Target &out) {
    const int lane = static_cast<int>(threadIdx.x) % LANES, warp = static_cast<int>(threadIdx.x) / LANES;
    const int u = static_cast<int>(blockIdx.x) * SIDE, v = static_cast<int>(blockIdx.y) * SIDE;
    const u8 *from =
        source.pixels + (v + warp * PER) * source.pitch + static_cast<i64>(u + lane * PER) * PIXEL;
#pragma unroll
    for (int k = 0; k < LANES / WARPS; ++k) {
        const int group = warp + k * WARPS; // of PER rows
        Word words[PER];
#pragma unroll
        for (int i = 0; i < PER; ++i)
            words[i] = WHOLE ? *reinterpret_cast<const Word *>(from + i * source.pitch)
                             : source.word(v + group * PER + i, u + lane * PER);
        from += WARPS * PER * source.pitch;
        transpose_words(words);
#pragma unroll
        for (int i = 0; i < PER; ++i)
            tile[lane * PER + i][group ^ lane] = words[i];
    }
    __syncthreads();
    const int first = v + lane * PER, place = out.backwards ? out.width - PER - first : first;
    const int row = left ? source.width - 1 - u - warp : u + warp;
    const i64 down = left ? -WARPS * out.pitch : WARPS * out.pitch;
    u8 *to = out.pixels + row * out.pitch + static_cast<i64>(place) * PIXEL;
#pragma unroll
    for (int k = 0; k < SIDE / WARPS; ++k) {
        const int column = warp + k * WARPS;
        const Word word = tile[column][lane ^ (column / PER)];
        if constexpr (WHOLE)
            *reinterpret_cast<Word *>(to) = out.backwards ? reversed(word) : word;
        else if (u + column < source.width)
            out.put(left ? source.width - 1 - u - column : u + column, first, word);
        to += down;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    transpose(const u8 *const __restrict__ pixels, const i64 pitch, const int width, const int height,
              const int up, const int left, u8 *const __restrict__ turned, const i64 out_pitch) {
    const Plane source = {pixels, pitch, width, height};
    const Target out = {turned, out_pitch, height, up != 0};
    if constexpr (NAIVE)
        move_naively(source, left != 0, out);
    else if (is_whole(source, out, static_cast<int>(blockIdx.x) * SIDE, static_cast<int>(blockIdx.y) * SIDE))
        move<true>(source, left != 0, out);
    else
        move<false>(source, left != 0, out);
}
