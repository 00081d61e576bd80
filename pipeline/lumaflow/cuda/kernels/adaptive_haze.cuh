// Sums of the haze map, and the conversion of its block means (docs/spec.md 17.1 to 17.5).
//
// Defines: COMPONENTS 0 gray, 1 RGB, 2 YUV; LIMITED 1 for limited-range YUV.
#pragma once
#include "types.cuh"

constexpr int TOP = 1020; // quarters of a level
constexpr int TEXTURED = 32, SMOOTH_RANGE = 8, WHITE_LEVEL = 1000;

// Of each tile: blocks, their dark channel, textured blocks, their dark channel, steps of texture.
constexpr int TILE_SUMS = 5;
constexpr int MAX_TILES = 64;
// Offsets in the array of sums: the tiles; blocks by luma; blocks by dark channel with the sums of their components.
constexpr int LUMA_COUNTS = MAX_TILES * TILE_SUMS, DARK_SUMS = LUMA_COUNTS + 256;
constexpr int TEXTURED_BLOCKS = DARK_SUMS + 4 * 256, TEXTURED_DARK = TEXTURED_BLOCKS + 1;
constexpr int WHITE_BLOCKS = TEXTURED_DARK + 1, HAZE_SUMS = WHITE_BLOCKS + 1;

// Least of R, G and B, from full-range luma, Cb and Cr in quarters.
__device__ __forceinline__ int least_of_yuv(const int luma, const int blue, const int red) {
    constexpr int RED = LIMITED ? 26149 : 22987, GREEN_CB = LIMITED ? -6419 : -5636;
    constexpr int GREEN_CR = LIMITED ? -13320 : -11698, BLUE = LIMITED ? 33050 : 29049;
    const int cb = blue - 512, cr = red - 512;
    const int r = luma + ((RED * cr + 8192) >> 14), b = luma + ((BLUE * cb + 8192) >> 14);
    const int g = luma + ((GREEN_CB * cb + GREEN_CR * cr + 8192) >> 14);
    return min(max(min(r, min(g, b)), 0), TOP);
}
