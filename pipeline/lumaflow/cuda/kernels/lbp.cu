// Histograms of local binary patterns in cells of 16x16 pixels (docs/spec.md 11).
//
// Launch: grid (groups of 16 adjacent cells, rows of cells), block (64, 4): each thread handles 4x4 pixels.
// Shared memory: 256 bytes for the label of each code, and 64 * LABELS bytes for the counts of the cells.
//
//   luma   (height, width) u8, rows `pitch` bytes apart
//   table  (256) u8: the label of each code
//   cells  (rows of cells, cells_x, LABELS) u16
//   labels (height, width) u8, rows `labels_pitch` bytes apart: the label of each pixel, if KEEP_LABELS
//
// Defines: CIRCLE 0 (corners of the 3x3 square) or 1 (points on the unit circle); LABELS; KEEP_LABELS 0 or 1.
// All arithmetic is on integers. Pixels outside the frame are 0.
#define CHANNELS 1
#define VALUE 1
#include "pixels.cuh"

constexpr int CELL = 16;
constexpr int CELLS = 16;
constexpr int VEC = 4;
constexpr int COLUMNS = CELLS * CELL / VEC;
constexpr int ROWS = 4;
constexpr int THREADS = COLUMNS * CELL / ROWS;

__shared__ u8 label_table[256];
__shared__ u32 counts[CELLS * LABELS];

// Bit 7 of each byte is 1 where the byte of `word` >= the byte of `centre`; the other bits are undefined.
__device__ __forceinline__ u32 at_least(const u32 word, const u32 centre) {
    const u32 low_bits = (word | 0x80808080u) - (centre & 0x7f7f7f7fu);
    return (word & ~centre) | (~(word ^ centre) & low_bits);
}

// The same for the interpolated point on the circle in the direction of `corner`, between `row` and `column`.
__device__ __forceinline__ u32 circle_at_least(const u32 row, const u32 column, const u32 corner,
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
    return CIRCLE ? circle_at_least(row, column, corner, centre) : at_least(corner, centre);
}

// Four adjacent pixels, and their left and right neighbours.
struct Neighbors {
    u32 west, centre, east;
};

__device__ __forceinline__ u32 load_partial(const u8 *const row, const int x, const int width) {
    u32 word = 0;
#pragma unroll
    for (int k = 0; k < VEC; ++k)
        if (x + k >= 0 && x + k < width)
            word |= static_cast<u32>(row[x + k]) << (8 * k);
    return word;
}

__device__ __forceinline__ Neighbors make_neighbors(const u32 left, const u32 centre, const u32 right) {
    return {__funnelshift_l(left, centre, 8), centre, __funnelshift_r(centre, right, 8)};
}

// The input plane, and the outputs of this thread: the counts of its cell, and the labels if KEEP_LABELS.
struct Plane {
    const u8 *luma;
    i64 pitch;
    int width, height;
    u32 *cell;
    u8 *labels;
    i64 labels_pitch;
};

// The four pixels at column x of row y, with their neighbours.
__device__ __forceinline__ Neighbors load_neighbors(const Plane &plane, const int x, const int y) {
    if (y < 0 || y >= plane.height)
        return {0, 0, 0};
    const u8 *const row = plane.luma + y * plane.pitch;
    return make_neighbors(load_partial(row, x - VEC, plane.width), load_partial(row, x, plane.width),
                          load_partial(row, x + VEC, plane.width));
}

// Moves bit 7 of each byte of `bits` to bit `number`.
template <int number> __device__ __forceinline__ u32 code_bit(const u32 bits) {
    return (bits >> (7 - number)) & (0x01010101u << number);
}

__device__ __forceinline__ u32 codes_of(const Neighbors &above, const Neighbors &row,
                                        const Neighbors &below) {
    const u32 centre = row.centre, east = row.east, west = row.west;
    const u32 north = above.centre, south = below.centre;
    return code_bit<0>(at_least(east, centre)) | code_bit<1>(corner_bits(east, north, above.east, centre)) |
           code_bit<2>(at_least(north, centre)) | code_bit<3>(corner_bits(west, north, above.west, centre)) |
           code_bit<4>(at_least(west, centre)) | code_bit<5>(corner_bits(west, south, below.west, centre)) |
           code_bit<6>(at_least(south, centre)) | code_bit<7>(corner_bits(east, south, below.east, centre));
}

// Count the labels of four codes; the first `count` lie in the frame.
__device__ __forceinline__ void count_codes(const Plane &plane, const u32 codes, const int x, const int y,
                                            const int count) {
#pragma unroll
    for (int k = 0; k < VEC; ++k)
        if (k < count) {
            const u32 label = label_table[byte_of(codes, k)];
            atomicAdd(&plane.cell[label], 1u);
            if constexpr (KEEP_LABELS)
                plane.labels[y * plane.labels_pitch + x + k] = static_cast<u8>(label);
        }
}

// Count four pixels at column x of rows top..bottom-1.
__device__ __forceinline__ void count_rows(const Plane &plane, const int x, const int top, const int bottom) {
    Neighbors above = load_neighbors(plane, x, top - 1), row = load_neighbors(plane, x, top);
#pragma unroll 1
    for (int y = top; y < bottom; ++y) {
        const Neighbors below = load_neighbors(plane, x, y + 1);
        count_codes(plane, codes_of(above, row, below), x, y, plane.width - x);
        above = row;
        row = below;
    }
}

// The same for aligned rows where no vec crosses the right border. All loads are issued first, clamped to the
// frame and without branches, so they overlap.
__device__ __forceinline__ void count_full_rows(const Plane &plane, const int x, const int top,
                                                const int bottom) {
    const int to_left = x > 0 ? -1 : 0, to_right = x + VEC < plane.width ? 1 : 0;
    u32 words[ROWS + 2][3];
#pragma unroll
    for (int i = 0; i < ROWS + 2; ++i) {
        const int y = min(max(top + i - 1, 0), plane.height - 1);
        const u32 *const vec = reinterpret_cast<const u32 *>(plane.luma + y * plane.pitch + x);
        words[i][0] = vec[to_left];
        words[i][1] = vec[0];
        words[i][2] = vec[to_right];
    }
    Neighbors rows[ROWS + 2];
#pragma unroll
    for (int i = 0; i < ROWS + 2; ++i) {
        const bool inside = top + i > 0 && top + i <= plane.height;
        rows[i] = make_neighbors(inside && to_left ? words[i][0] : 0, inside ? words[i][1] : 0,
                                 inside && to_right ? words[i][2] : 0);
    }
#pragma unroll
    for (int i = 0; i < ROWS; ++i)
        if (top + i < bottom)
            count_codes(plane, codes_of(rows[i], rows[i + 1], rows[i + 2]), x, top + i, VEC);
}

extern "C" __global__ void __launch_bounds__(THREADS, 3)
    lbp(const u8 *const __restrict__ luma, const i64 pitch, const int width, const int height,
        const u8 *const __restrict__ table, const int cells_x, u16 *const __restrict__ cells,
        u8 *const __restrict__ labels, const i64 labels_pitch) {
    const int thread = static_cast<int>(threadIdx.y * COLUMNS + threadIdx.x);
    for (int i = thread; i < 256; i += THREADS)
        label_table[i] = table[i];
    for (int i = thread; i < CELLS * LABELS; i += THREADS)
        counts[i] = 0;
    __syncthreads();

    const int x = static_cast<int>(blockIdx.x * COLUMNS + threadIdx.x) * VEC;
    const int top = static_cast<int>(blockIdx.y) * CELL + static_cast<int>(threadIdx.y) * ROWS;
    const int bottom = x < width ? min(top + ROWS, height) : top;
    const Plane plane = {luma,   pitch,       width, height, &counts[threadIdx.x / (CELL / VEC) * LABELS],
                         labels, labels_pitch};
    const int to_border = width - x;
    if (to_border >= VEC && (to_border % VEC == 0 || to_border >= 2 * VEC) && is_aligned<VEC>(luma) &&
        pitch % VEC == 0)
        count_full_rows(plane, x, top, bottom);
    else
        count_rows(plane, x, top, bottom);
    __syncthreads();

    const int first = static_cast<int>(blockIdx.x) * CELLS, columns = min(CELLS, cells_x - first);
    u16 *const out = cells + (static_cast<i64>(blockIdx.y) * cells_x + first) * LABELS;
    for (int i = thread; i < columns * LABELS; i += THREADS)
        out[i] = static_cast<u16>(counts[i]);
}
