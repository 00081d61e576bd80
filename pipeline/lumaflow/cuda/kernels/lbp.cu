// Local binary patterns of a luma plane, counted in cells of 16x16 pixels (spec 11).
//
// Launch: grid (16 cells side by side, rows of cells), block (64, 4): a thread takes four pixels of four rows.
// Shared memory: 256 bytes, the label of every code, and 64 * LABELS, the counts of the cells.
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
constexpr int QUAD = 4;
constexpr int COLUMNS = CELLS * CELL / QUAD;
constexpr int ROWS = 4;
constexpr int THREADS = COLUMNS * CELL / ROWS;

__shared__ u8 label_of[256];
__shared__ u32 counts[CELLS * LABELS];

// Bit 7 of every byte: whether it is at least that of `centre`; the other bits are garbage.
__device__ __forceinline__ u32 at_least(const u32 word, const u32 centre) {
    const u32 low_bits = (word | 0x80808080u) - (centre & 0x7f7f7f7fu);
    return (word & ~centre) | (~(word ^ centre) & low_bits);
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

// Four pixels, and the pixels to the left and to the right of each.
struct Line {
    u32 west, centre, east;
};

__device__ __forceinline__ u32 load_some(const u8 *const row, const int x, const int width) {
    u32 word = 0;
#pragma unroll
    for (int k = 0; k < QUAD; ++k)
        if (x + k >= 0 && x + k < width)
            word |= static_cast<u32>(row[x + k]) << (8 * k);
    return word;
}

__device__ __forceinline__ Line line_of(const u32 left, const u32 centre, const u32 right) {
    return {__funnelshift_l(left, centre, 8), centre, __funnelshift_r(centre, right, 8)};
}

// The plane, and where this thread's labels go: to the counts of its cell, and pixel by pixel, if they are
// kept.
struct Plane {
    const u8 *luma;
    i64 pitch;
    int width, height;
    u32 *cell;
    u8 *labels;
    i64 labels_pitch;
};

// The line at column x of row y.
__device__ __forceinline__ Line load_line(const Plane &plane, const int x, const int y) {
    if (y < 0 || y >= plane.height)
        return {0, 0, 0};
    const u8 *const row = plane.luma + y * plane.pitch;
    return line_of(load_some(row, x - QUAD, plane.width), load_some(row, x, plane.width),
                   load_some(row, x + QUAD, plane.width));
}

// Bit `number` of every byte from bit 7 of `bits`.
template <int number> __device__ __forceinline__ u32 code_bit(const u32 bits) {
    return (bits >> (7 - number)) & (0x01010101u << number);
}

__device__ __forceinline__ u32 codes_of(const Line &above, const Line &line, const Line &below) {
    const u32 centre = line.centre, east = line.east, west = line.west;
    const u32 north = above.centre, south = below.centre;
    return code_bit<0>(at_least(east, centre)) | code_bit<1>(corner_bits(east, north, above.east, centre)) |
           code_bit<2>(at_least(north, centre)) | code_bit<3>(corner_bits(west, north, above.west, centre)) |
           code_bit<4>(at_least(west, centre)) | code_bit<5>(corner_bits(west, south, below.west, centre)) |
           code_bit<6>(at_least(south, centre)) | code_bit<7>(corner_bits(east, south, below.east, centre));
}

// Count the labels of four codes, of which `count` lie in the frame.
__device__ __forceinline__ void count_codes(const Plane &plane, const u32 codes, const int x, const int y,
                                            const int count) {
#pragma unroll
    for (int k = 0; k < QUAD; ++k)
        if (k < count) {
            const u32 label = label_of[byte_of(codes, k)];
            atomicAdd(&plane.cell[label], 1u);
            if constexpr (KEEP_LABELS)
                plane.labels[y * plane.labels_pitch + x + k] = static_cast<u8>(label);
        }
}

// Count the four pixels at column x of rows top..bottom-1.
__device__ __forceinline__ void count_rows(const Plane &plane, const int x, const int top, const int bottom) {
    Line above = load_line(plane, x, top - 1), line = load_line(plane, x, top);
#pragma unroll 1
    for (int y = top; y < bottom; ++y) {
        const Line below = load_line(plane, x, y + 1);
        count_codes(plane, codes_of(above, line, below), x, y, plane.width - x);
        above = line;
        line = below;
    }
}

// The same at multiples of 4, where no quad lies across the right border. All loads come first, whatever lies
// outside, and without a branch, so that they are under way together.
__device__ __forceinline__ void count_whole_rows(const Plane &plane, const int x, const int top,
                                                 const int bottom) {
    const int to_left = x > 0 ? -1 : 0, to_right = x + QUAD < plane.width ? 1 : 0;
    u32 words[ROWS + 2][3];
#pragma unroll
    for (int i = 0; i < ROWS + 2; ++i) {
        const int y = min(max(top + i - 1, 0), plane.height - 1);
        const u32 *const quad = reinterpret_cast<const u32 *>(plane.luma + y * plane.pitch + x);
        words[i][0] = quad[to_left];
        words[i][1] = quad[0];
        words[i][2] = quad[to_right];
    }
    Line lines[ROWS + 2];
#pragma unroll
    for (int i = 0; i < ROWS + 2; ++i) {
        const bool inside = top + i > 0 && top + i <= plane.height;
        lines[i] = line_of(inside && to_left ? words[i][0] : 0, inside ? words[i][1] : 0,
                           inside && to_right ? words[i][2] : 0);
    }
#pragma unroll
    for (int i = 0; i < ROWS; ++i)
        if (top + i < bottom)
            count_codes(plane, codes_of(lines[i], lines[i + 1], lines[i + 2]), x, top + i, QUAD);
}

extern "C" __global__ void __launch_bounds__(THREADS, 3)
    lbp(const u8 *const __restrict__ luma, const i64 pitch, const int width, const int height,
        const u8 *const __restrict__ table, const int cells_x, u16 *const __restrict__ cells,
        u8 *const __restrict__ labels, const i64 labels_pitch) {
    const int thread = static_cast<int>(threadIdx.y * COLUMNS + threadIdx.x);
    for (int i = thread; i < 256; i += THREADS)
        label_of[i] = table[i];
    for (int i = thread; i < CELLS * LABELS; i += THREADS)
        counts[i] = 0;
    __syncthreads();

    const int x = static_cast<int>(blockIdx.x * COLUMNS + threadIdx.x) * QUAD;
    const int top = static_cast<int>(blockIdx.y) * CELL + static_cast<int>(threadIdx.y) * ROWS;
    const int bottom = x < width ? min(top + ROWS, height) : top;
    const Plane plane = {luma,   pitch,       width, height, &counts[threadIdx.x / (CELL / QUAD) * LABELS],
                         labels, labels_pitch};
    const int to_border = width - x;
    if (to_border >= QUAD && (to_border % QUAD == 0 || to_border >= 2 * QUAD) && is_aligned<QUAD>(luma) &&
        pitch % QUAD == 0)
        count_whole_rows(plane, x, top, bottom);
    else
        count_rows(plane, x, top, bottom);
    __syncthreads();

    const int first = static_cast<int>(blockIdx.x) * CELLS, here = min(CELLS, cells_x - first);
    u16 *const out = cells + (static_cast<i64>(blockIdx.y) * cells_x + first) * LABELS;
    for (int i = thread; i < here * LABELS; i += THREADS)
        out[i] = static_cast<u16>(counts[i]);
}
