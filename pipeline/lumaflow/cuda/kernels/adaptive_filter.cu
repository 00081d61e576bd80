// The spatial noise filter in three passes, and the filter in time (docs/spec.md 16.7).
//
// A block keeps a tile and its border of 8 pixels in shared memory, so the passes need no other memory. Two samples
// lie in a word; the order of 16-bit halves in a sum of words does not matter, because no half exceeds 65,535.
//
// Launch: grid (columns, rows of tiles), 256 threads. A tile has 64 pixels by 64 rows, or by 32 of RGB. Shared
// memory: 25 KB, or 44 KB of RGB. Nothing happens unless the decision asks for the filter.
//
//   pixels   (height, width) of the raw frame, rows `pitch` bytes apart
//   filtered (height, samples) i16, written unless the filter in time is on; row_samples: from a row to the next
//   history  (height, samples) i16, of the last frame; written if the filter in time is on
//   decision of adaptive_decide
//
// Defines: those of adaptive_samples.cuh; STILL_WEIGHT of lumaflow/adaptive.py.
#include "adaptive.cuh"
#include "adaptive_vec.cuh"

using i16 = short;

constexpr int WARP = 32, THREADS = 256, WARPS = THREADS / WARP, SIDE = 8;
constexpr int WIDTH = 64, ROWS = COLORS == 3 ? 32 : 64; // of a tile
constexpr int BORDER_X = 8, BORDER_Y = 7;               // 1 + 2 + 4 pixels are needed
constexpr int WORDS = (WIDTH + 2 * BORDER_X) * COLORS / 2, TILE_ROWS = ROWS + 2 * BORDER_Y;
constexpr int RUN = 4; // rows that a thread filters one after the other

// The filter in time: a warp handles eight rows, a lane COLORS words of some of them.
constexpr int LANES = COLORS == 3 ? 16 : 32, ROW_STEP = WARP / LANES, OWN_ROWS = SIDE / ROW_STEP;
constexpr int WARPS_X = WIDTH * COLORS / 2 / (LANES * COLORS);
static_assert(WARPS / WARPS_X * SIDE == ROWS, "the warps cover the tile");

__shared__ u32 first_tile[TILE_ROWS][WORDS], second_tile[TILE_ROWS][WORDS];

struct Area {
    int left, top, width, height; // of the tile; of the frame, in pixels
};

__device__ __forceinline__ u32 pack(const int low, const int high) {
    return static_cast<u32>(low) | static_cast<u32>(high) << 16;
}

__device__ __forceinline__ int half_of(const u32 word, const int index) {
    return static_cast<int>(index == 0 ? word & 0xffffu : word >> 16);
}

// Load the samples of the tile and of its border; outside the frame the border of the frame repeats.
__device__ __forceinline__ void load_tile(const u8 *const pixels, const i64 pitch, const Area &area) {
    constexpr int VECS = (WIDTH + 2 * BORDER_X) / VEC;
    for (int item = static_cast<int>(threadIdx.x); item < TILE_ROWS * VECS; item += THREADS) {
        const int row = item / VECS, vec = item % VECS, x = area.left - BORDER_X + vec * VEC;
        const int y = min(max(area.top - BORDER_Y + row, 0), area.height - 1);
        const u8 *const from = pixels + y * pitch;
        int samples[VEC * COLORS];
        if (x >= 0 && x + VEC <= area.width) {
            const Vec<Raw> raw = load(reinterpret_cast<const Raw *>(from) + x * CHANNELS, VEC);
#pragma unroll
            for (int i = 0; i < VEC * COLORS; ++i)
                samples[i] = sample_of(code_of(static_cast<Raw>(raw.get(index_of(i / COLORS, i % COLORS)))));
        } else {
#pragma unroll
            for (int i = 0; i < VEC * COLORS; ++i)
                samples[i] =
                    sample_of(code_at(from, min(max(x + i / COLORS, 0), area.width - 1), i % COLORS));
        }
#pragma unroll
        for (int i = 0; i < VEC * COLORS / 2; ++i)
            first_tile[row][vec * VEC * COLORS / 2 + i] = pack(samples[2 * i], samples[2 * i + 1]);
    }
}

// A word and the words OFFSET samples to its left and right.
struct Words {
    u32 left, center, right;
};

template <int OFFSET> __device__ __forceinline__ Words words_at(const u32 *const at) {
    if constexpr (OFFSET % 2 == 0)
        return {at[-OFFSET / 2], at[0], at[OFFSET / 2]};
    constexpr int NEAR = OFFSET / 2;
    return {__byte_perm(at[-NEAR - 1], at[-NEAR], 0x5432), at[0],
            __byte_perm(at[NEAR], at[NEAR + 1], 0x5432)};
}

__device__ __forceinline__ u32 within(const u32 neighbor, const u32 least, const u32 most) {
    return __vminu2(__vmaxu2(neighbor, least), most);
}

// Each neighbour pulls a sample by its difference, at most the limit. A limit is at most 2,700, so that the sum of
// the differences to `least`, twelve times twice the limit, fits in 16 bits.
__device__ __forceinline__ u32 filtered(const Words &above, const Words &row, const Words &below,
                                        const int limit, const int slope) {
    const u32 center = row.center;
    const int low = half_of(center, 0), high = half_of(center, 1);
    const u32 limits = pack(limit + (low * slope >> 15), limit + (high * slope >> 15));
    const u32 least = __vmaxu2(center, limits) - limits, most = center + limits;
    const u32 edges = within(above.center, least, most) + within(below.center, least, most) +
                      within(row.left, least, most) + within(row.right, least, most);
    const u32 corners = within(above.left, least, most) + within(above.right, least, most) +
                        within(below.left, least, most) + within(below.right, least, most);
    const u32 sums = 2 * edges + corners - 12 * least, under = center - least;
    const int least_low = half_of(least, 0), least_high = half_of(least, 1);
    return pack(least_low + ((half_of(sums, 0) + 4 * half_of(under, 0) + 8) >> 4),
                least_high + ((half_of(sums, 1) + 4 * half_of(under, 1) + 8) >> 4));
}

// One pass: the neighbours lie DISTANCE pixels away, and BORDER pixels around the tile are filtered too.
template <int DISTANCE, int BORDER>
__device__ __forceinline__ void filter(const u32 (*const from)[WORDS], u32 (*const to)[WORDS],
                                       const int limit, const int slope) {
    constexpr int FIRST = (BORDER_X - BORDER) * COLORS / 2, COLUMNS = (WIDTH + 2 * BORDER) * COLORS / 2;
    constexpr int TOP = BORDER_Y - BORDER, BOTTOM = TOP + ROWS + 2 * BORDER, PART = DISTANCE * RUN;
    constexpr int ITEMS = COLUMNS * DISTANCE * ((BOTTOM - TOP) / PART);
    static_assert((BOTTOM - TOP) % PART == 0, "no run ends outside");
    for (int item = static_cast<int>(threadIdx.x); item < ITEMS; item += THREADS) {
        const int word = FIRST + item % COLUMNS, group = item / COLUMNS;
        const int y = TOP + group / DISTANCE * PART + group % DISTANCE;
        Words above = words_at<DISTANCE * COLORS>(&from[y - DISTANCE][word]);
        Words row = words_at<DISTANCE * COLORS>(&from[y][word]);
#pragma unroll
        for (int k = 0; k < RUN; ++k) {
            const int here = y + k * DISTANCE;
            const Words below = words_at<DISTANCE * COLORS>(&from[here + DISTANCE][word]);
            to[here][word] = filtered(above, row, below, limit, slope);
            above = row;
            row = below;
        }
    }
}

// Outside the frame its border repeats, for the next pass.
template <int BORDER>
__device__ __forceinline__ void repeat_border(u32 (*const tile)[WORDS], const Area &area) {
    constexpr int COLUMNS = WIDTH + 2 * BORDER, ITEMS = COLUMNS * (ROWS + 2 * BORDER);
    const int right = area.width - 1 - area.left, bottom = area.height - 1 - area.top;
    if (area.left >= BORDER && area.top >= BORDER && WIDTH + BORDER <= right + 1 &&
        ROWS + BORDER <= bottom + 1)
        return;
    __syncthreads();
    for (int item = static_cast<int>(threadIdx.x); item < ITEMS; item += THREADS) {
        const int x = item % COLUMNS - BORDER, y = item / COLUMNS - BORDER;
        const int inner_x = min(max(x, -area.left), right), inner_y = min(max(y, -area.top), bottom);
        if (x == inner_x && y == inner_y)
            continue;
        const u16 *const from = reinterpret_cast<const u16 *>(tile[inner_y + BORDER_Y]);
        u16 *const to = reinterpret_cast<u16 *>(tile[y + BORDER_Y]);
#pragma unroll
        for (int c = 0; c < COLORS; ++c)
            to[(x + BORDER_X) * COLORS + c] = from[(inner_x + BORDER_X) * COLORS + c];
    }
}

// How a block of 8 x 8 pixels follows the frame: weight of its motion; limit of a sample, and its reciprocal.
struct Motion {
    int weight, limit, scale;
};

__device__ __forceinline__ Motion motion_of(const int difference, const int level, const int count,
                                            const Decision &chosen) {
    const int mean = abs(difference) / count;
    const int sigma = chosen.sigma + ((level / count * chosen.sigma_slope) >> 15);
    const int block_limit = (3 * sigma >> 3) + 24;
    const int limit = ((sigma * (1024 - chosen.strength)) >> 8) + 64;
    return {min(max((mean - block_limit) * (65536 / block_limit) >> 8, 0), 256), limit, 65536 / limit};
}

__device__ __forceinline__ int moved(const int sample, const int old, const Motion &motion) {
    const int difference = sample - old;
    int weight = (abs(difference) - motion.limit) * motion.scale >> 8;
    weight = min(max(weight, motion.weight), 256);
    weight = STILL_WEIGHT + ((256 - STILL_WEIGHT) * weight >> 8);
    return (old + ((difference * weight + 128) >> 8)) & 0xffff;
}

// The words of a lane: COLORS in each of its rows.
struct Own {
    int x, y, at; // first pixel and row in the frame, first word in the tile

    __device__ __forceinline__ int row(const int k) const { return y + k * ROW_STEP; }
};

__device__ __forceinline__ Own own_words(const Area &area) {
    const int warp = static_cast<int>(threadIdx.x) / WARP, lane = static_cast<int>(threadIdx.x) % WARP;
    const int x = (warp % WARPS_X * LANES + lane % LANES) * 2;
    return {area.left + x, area.top + warp / WARPS_X * SIDE + lane / LANES, (BORDER_X + x) * COLORS / 2};
}

__device__ __forceinline__ void load_olds(const i16 *const history, const i64 row_samples, const Own &own,
                                          const Area &area, u32 (*const olds)[COLORS]) {
#pragma unroll
    for (int k = 0; k < OWN_ROWS; ++k)
        if (own.x < area.width && own.row(k) < area.height)
#pragma unroll
            for (int c = 0; c < COLORS; ++c)
                olds[k][c] =
                    reinterpret_cast<const u32 *>(history + own.row(k) * row_samples + own.x * COLORS)[c];
}

// Move the history towards the samples; the four lanes of a block of 8 pixels sum over it.
__device__ __forceinline__ void follow(u32 (*const words)[COLORS], const u32 (*const olds)[COLORS],
                                       const Own &own, const Area &area, const Decision &chosen) {
    int difference = 0, level = 0;
#pragma unroll
    for (int k = 0; k < OWN_ROWS; ++k)
#pragma unroll
        for (int i = 0; i < 2 * COLORS; ++i) {
            const bool present = own.row(k) < area.height && own.x + i / COLORS < area.width;
            const int sample = half_of(words[k][i / 2], i % 2), old = half_of(olds[k][i / 2], i % 2);
            difference += present ? sample - old : 0;
            level += present ? sample : 0;
        }
#pragma unroll
    for (int step = 1; step < WARP; step = step == 2 ? LANES : 2 * step) {
        difference += __shfl_xor_sync(~0u, difference, step);
        level += __shfl_xor_sync(~0u, level, step);
    }
    const int rows = min(area.height - own.y / SIDE * SIDE, SIDE);
    const int columns = min(area.width - own.x / SIDE * SIDE, SIDE);
    if (rows <= 0 || columns <= 0)
        return;
    const Motion motion = motion_of(difference, level, rows * columns * COLORS, chosen);
#pragma unroll
    for (int k = 0; k < OWN_ROWS; ++k)
#pragma unroll
        for (int c = 0; c < COLORS; ++c)
            words[k][c] = pack(moved(half_of(words[k][c], 0), half_of(olds[k][c], 0), motion),
                               moved(half_of(words[k][c], 1), half_of(olds[k][c], 1), motion));
}

extern "C" __global__ void __launch_bounds__(THREADS, COLORS == 3 ? 3 : 4)
    adaptive_filter(const u8 *const __restrict__ pixels, const i64 pitch, const int width, const int height,
                    i16 *const __restrict__ target, i16 *const __restrict__ history, const i64 row_samples,
                    const Decision *const __restrict__ decision) {
    const Decision chosen = *decision;
    if (!chosen.spatial)
        return;
    const Area area = {static_cast<int>(blockIdx.x) * WIDTH, static_cast<int>(blockIdx.y) * ROWS, width,
                       height};
    const Own own = own_words(area);
    u32 words[OWN_ROWS][COLORS], olds[OWN_ROWS][COLORS] = {};
    if (COLORS == 1 && chosen.temporal == 2) // early, because the loads take long; RGB has too many for that
        load_olds(history, row_samples, own, area, olds);
    load_tile(pixels, pitch, area);
    __syncthreads();
    filter<1, 6>(first_tile, second_tile, chosen.limit, chosen.limit_slope);
    repeat_border<6>(second_tile, area);
    __syncthreads();
    filter<2, 4>(second_tile, first_tile, chosen.limit * 3 >> 2, chosen.limit_slope * 3 >> 2);
    repeat_border<4>(first_tile, area);
    __syncthreads();
    filter<4, 0>(first_tile, second_tile, chosen.limit * 9 >> 4, chosen.limit_slope * 9 >> 4);
    if (COLORS == 3 && chosen.temporal == 2)
        load_olds(history, row_samples, own, area, olds);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < OWN_ROWS; ++k)
#pragma unroll
        for (int c = 0; c < COLORS; ++c)
            words[k][c] = second_tile[own.row(k) - area.top + BORDER_Y][own.at + c];
    if (chosen.temporal == 2)
        follow(words, olds, own, area, chosen);
    i16 *const out = chosen.temporal ? history : target;
#pragma unroll
    for (int k = 0; k < OWN_ROWS; ++k)
        if (own.x < width && own.row(k) < height)
#pragma unroll
            for (int c = 0; c < COLORS; ++c)
                reinterpret_cast<u32 *>(out + own.row(k) * row_samples + own.x * COLORS)[c] = words[k][c];
}
