// Local binary patterns of a luma plane, counted in cells of 16x16 pixels (spec 11).
//
// Launch: grid (16 cells side by side, rows of cells), block (64, 4): a thread takes four pixels of every
// fourth row. Shared memory: 4752 bytes of pixels with their surroundings, 256 of labels, 64 * LABELS of
// counts.
//
//   luma   (height, width) u8, rows `pitch` bytes apart
//   table  (256): the label of every code
//   cells  (rows of cells, cells_x, LABELS) u16
//   labels (height, width) u8, the label of every pixel, if KEEP_LABELS
//
// Defines: CIRCLE 0 (corners of the 3x3 square) or 1 (points on the unit circle); LABELS; KEEP_LABELS 0 or 1.
// All integers. What lies outside the frame is 0.
#define CHANNELS 1
#define VALUE 1
#include "pixels.cuh"

constexpr int CELL = 16;
constexpr int CELLS = 16;
constexpr int COLUMNS = 64;
constexpr int ROWS = 4;
constexpr int THREADS = COLUMNS * ROWS;

__shared__ u32 tile[CELL + 2][COLUMNS + 2]; // a quad more on both sides, a row more above and below
__shared__ u8 label_of[256];
__shared__ u32 counts[CELLS][LABELS];

// Four pixels at x (any, also outside) of a row; `inside` tells whether the row lies in the frame.
__device__ __forceinline__ u32 load_four(const u8 *const row, const int x, const int width,
                                         const bool inside) {
    if (!inside || x + 4 <= 0 || x >= width)
        return 0;
    if (x >= 0 && x + 4 <= width && is_aligned<4>(row + x))
        return *reinterpret_cast<const u32 *>(row + x);
    u32 word = 0;
#pragma unroll
    for (int k = 0; k < 4; ++k)
        if (x + k >= 0 && x + k < width)
            word |= static_cast<u32>(row[x + k]) << (8 * k);
    return word;
}

// Bit 7 of every byte: whether a >= b, unsigned.
__device__ __forceinline__ u32 at_least(const u32 a, const u32 b) {
    const u32 low_bits = (a | 0x80808080u) - (b & 0x7f7f7f7fu);
    return ((a & ~b) | (~(a ^ b) & low_bits)) & 0x80808080u;
}

// The same for the point on the circle towards `corner`, between the neighbours `row` and `column`.
__device__ __forceinline__ u32 at_least_between(const u32 row, const u32 column, const u32 corner,
                                                const u32 centre) {
    u32 bits = 0;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        const int c = static_cast<int>(byte_of(centre, k));
        const int sides = static_cast<int>(byte_of(row, k) + byte_of(column, k)) - 2 * c;
        const int slanted = static_cast<int>(byte_of(corner, k)) - c;
        bits |= 29289 * sides + 70711 * slanted >= 0 ? 0x80u << (8 * k) : 0u;
    }
    return bits;
}

__device__ __forceinline__ u32 corner_bits(const u32 row, const u32 column, const u32 corner,
                                           const u32 centre) {
    return CIRCLE ? at_least_between(row, column, corner, centre) : at_least(corner, centre);
}

// Words of the pixels one to the left and one to the right of `line[1]`'s.
__device__ __forceinline__ u32 west_of(const u32 *const line) { return __funnelshift_l(line[0], line[1], 8); }

__device__ __forceinline__ u32 east_of(const u32 *const line) { return __funnelshift_r(line[1], line[2], 8); }

// The codes of four pixels; the lines start one quad to their left.
__device__ __forceinline__ u32 codes_of(const u32 *const above, const u32 *const line,
                                        const u32 *const below) {
    const u32 centre = line[1], east = east_of(line), west = west_of(line);
    const u32 north = above[1], south = below[1];
    u32 codes = at_least(east, centre) >> 7;
    codes |= corner_bits(east, north, east_of(above), centre) >> 6;
    codes |= at_least(north, centre) >> 5;
    codes |= corner_bits(west, north, west_of(above), centre) >> 4;
    codes |= at_least(west, centre) >> 3;
    codes |= corner_bits(west, south, west_of(below), centre) >> 2;
    codes |= at_least(south, centre) >> 1;
    codes |= corner_bits(east, south, east_of(below), centre);
    return codes;
}

extern "C" __global__ void __launch_bounds__(THREADS)
    lbp(const u8 *const __restrict__ luma, const i64 pitch, const int width, const int height,
        const u8 *const __restrict__ table, const int cells_x, u16 *const __restrict__ cells,
        u8 *const __restrict__ labels, const i64 labels_pitch) {
    const int thread = static_cast<int>(threadIdx.y) * COLUMNS + static_cast<int>(threadIdx.x);
    const int left = static_cast<int>(blockIdx.x) * COLUMNS * 4, top = static_cast<int>(blockIdx.y) * CELL;
    for (int i = thread; i < (CELL + 2) * (COLUMNS + 2); i += THREADS) {
        const int row = i / (COLUMNS + 2), column = i % (COLUMNS + 2);
        const int y = top + row - 1;
        tile[row][column] = load_four(luma + y * pitch, left + (column - 1) * 4, width, y >= 0 && y < height);
    }
    label_of[thread] = table[thread];
    for (int i = thread; i < CELLS * LABELS; i += THREADS)
        counts[i / LABELS][i % LABELS] = 0;
    __syncthreads();

    const int column = static_cast<int>(threadIdx.x), x = left + column * 4;
    for (int row = static_cast<int>(threadIdx.y); row < min(CELL, height - top); row += ROWS) {
        const u32 codes = codes_of(&tile[row][column], &tile[row + 1][column], &tile[row + 2][column]);
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            if (x + k >= width)
                break;
            const u32 label = label_of[byte_of(codes, k)];
            atomicAdd(&counts[column / 4][label], 1u);
            if constexpr (KEEP_LABELS)
                labels[(top + row) * labels_pitch + x + k] = static_cast<u8>(label);
        }
    }
    __syncthreads();

    const int first = static_cast<int>(blockIdx.x) * CELLS, here = min(CELLS, cells_x - first);
    u16 *const out = cells + (static_cast<i64>(blockIdx.y) * cells_x + first) * LABELS;
    for (int i = thread; i < here * LABELS; i += THREADS)
        out[i] = static_cast<u16>(counts[i / LABELS][i % LABELS]);
}
