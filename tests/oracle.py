"""Reference implementation of every formula of docs/spec.md in plain NumPy; lanes are compared with it.

It shares no code with the lanes. `test_oracle.py` compares it with OpenCV and scikit-image. All planes are
(H, W) uint8, colour is (H, W, 3) uint8 BGR.
"""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

F = np.float32


def histogram(luma):
    """(256,) uint32."""
    return np.bincount(luma.ravel(), minlength=256).astype(np.uint32)


def saturate(values):
    """Round half to even, then clamp to 0..255."""
    return np.clip(np.rint(values), 0, 255).astype(np.uint8)


# Global equalisation


def equalize_lut(bins):
    """Return the LUT (256,) uint8; the identity for a constant frame."""
    bins = bins.astype(np.int64)
    first = np.flatnonzero(bins)[0]
    rest = bins.sum() - bins[first]
    if rest == 0:
        return np.arange(256, dtype=np.uint8)
    after = np.where(np.arange(256) > first, bins, 0)
    return saturate(np.cumsum(after).astype(F) * (F(255) / F(rest)))


# CLAHE


def clipped_lut(bins, clip):
    """Return the LUT (256,) uint8 of one tile from its histogram."""
    bins = bins.astype(np.int64)
    area = int(bins.sum())
    if clip > 0:
        limit = max(int(clip * area / 256), 1)
        excess = int(np.maximum(bins - limit, 0).sum())
        bins = np.minimum(bins, limit) + excess // 256
        remainder = excess % 256
        for k in range(remainder):
            bins[k * max(256 // remainder, 1)] += 1
    return saturate(np.cumsum(bins).astype(F) * (F(255) / F(area)))


def tile_histograms(luma, tiles):
    """Return the histograms (rows, columns, 256) int64 of the tiles, with the reflected padding."""
    columns, rows = tiles
    height, width = luma.shape
    right = bottom = 0
    if width % columns or height % rows:
        right, bottom = columns - width % columns, rows - height % rows
    padded = luma[np.ix_(reflected(height + bottom, height), reflected(width + right, width))]
    tall, wide = padded.shape[0] // rows, padded.shape[1] // columns
    counts = np.zeros((rows, columns, 256), np.int64)
    for row in range(rows):
        for column in range(columns):
            tile = padded[row * tall : (row + 1) * tall, column * wide : (column + 1) * wide]
            counts[row, column] = np.bincount(tile.ravel(), minlength=256)
    return counts


def reflected(padded, size):
    """Return `padded` indices into an axis of `size`, reflected as often as needed (reflect-101)."""
    indices = []
    position, step = 0, 1
    for _ in range(padded):
        indices.append(position)
        if size > 1:
            if not 0 <= position + step < size:
                step = -step
            position += step
    return np.array(indices)


def clahe_luts(luma, clip, tiles):
    """(rows, columns, 256) uint8."""
    counts = tile_histograms(luma, tiles)
    return np.apply_along_axis(clipped_lut, 2, counts, clip)


def apply_clahe(luma, luts):
    """Apply the LUTs to `luma` with bilinear interpolation between tile centres."""
    height, width = luma.shape
    rows, columns = luts.shape[:2]
    padded = width % columns or height % rows
    wide = (width + (columns - width % columns if padded else 0)) // columns
    tall = (height + (rows - height % rows if padded else 0)) // rows
    left, right, share_x = neighbours(width, wide, columns)
    above, below, share_y = (a[:, None] for a in neighbours(height, tall, rows))
    upper = luts[above, left, luma] * (F(1) - share_x) + luts[above, right, luma] * share_x
    lower = luts[below, left, luma] * (F(1) - share_x) + luts[below, right, luma] * share_x
    return saturate(upper * (F(1) - share_y) + lower * share_y)


def neighbours(size, tile, tiles):
    """Return for each pixel of an axis the two tiles to interpolate, and the weight of the second."""
    position = np.arange(size).astype(F) * (F(1) / F(tile)) - F(0.5)
    first = np.floor(position)
    index = first.astype(int)
    return np.maximum(index, 0), np.minimum(index + 1, tiles - 1), position - first


# Colour


def value(pixels):
    """Return the maximum of the channels: V of HSV."""
    return pixels.max(axis=2)


def luma_of(pixels):
    """Return the full-range BT.601 luma."""
    blue, green, red = (pixels[..., channel].astype(np.int64) for channel in range(3))
    return ((4899 * red + 9617 * green + 1868 * blue + 8192) >> 14).astype(np.uint8)


def recolor_value(pixels, mapped):
    """Scale the channels by mapped / value, rounded half to even in integers."""
    before = np.maximum(value(pixels), 1).astype(np.int64)[..., None]
    after = mapped.astype(np.int64)[..., None]
    product = pixels * after
    quotient, rest = product // before, product % before
    up = (2 * rest > before) | ((2 * rest == before) & (quotient % 2 == 1))
    return np.where(value(pixels)[..., None] == 0, after, quotient + up).astype(np.uint8)


def recolor_luma(pixels, mapped):
    """Replace the luma with `mapped` and keep the chroma."""
    luma = luma_of(pixels).astype(np.int64)
    chroma = []
    for factor, channel in ((11682, 2), (9241, 0)):
        shifted = (factor * (pixels[..., channel] - luma) + (128 << 14) + 8192) >> 14
        chroma.append(np.clip(shifted, 0, 255) - 128)
    cr, cb = chroma
    offsets = (29049 * cb, -5636 * cb - 11698 * cr, 22987 * cr)
    channels = [mapped + ((offset + 8192) >> 14) for offset in offsets]
    return np.clip(np.stack(channels, axis=2), 0, 255).astype(np.uint8)


# HOG


def hog_votes(luma):
    """Return the vote (H, W, 9) float32 of every pixel for every bin."""
    roots = np.sqrt(luma.astype(F))
    height, width = luma.shape
    y, x = np.arange(height), np.arange(width)
    down, up = reflected_at(y + 1, height), reflected_at(y - 1, height)
    right, left = reflected_at(x + 1, width), reflected_at(x - 1, width)
    dx, dy = roots[:, right] - roots[:, left], roots[down] - roots[up]
    magnitude = np.sqrt(dx * dx + dy * dy)
    position = angle_degrees(dx, dy) * F(float.fromhex("0x1.1df46ap-6")) * F(float.fromhex("0x1.6eb168p+1"))
    position = position - F(0.5)
    first = np.floor(position)
    share = position - first
    bins = first.astype(int) % 9
    votes = np.zeros((height, width, 9), F)
    np.put_along_axis(votes, bins[..., None], (magnitude * (F(1) - share))[..., None], axis=2)
    np.put_along_axis(votes, ((bins + 1) % 9)[..., None], (magnitude * share)[..., None], axis=2)
    return votes


def angle_degrees(dx, dy):
    """Return OpenCV's arc tangent in degrees, 0..360."""
    p1, p3, p5, p7 = (
        F(float.fromhex(text))
        for text in ("0x1.ca44dep+5", "-0x1.2aaddcp+4", "0x1.1d3f7ep+3", "-0x1.4515b2p+1")
    )
    across, along = np.abs(dx), np.abs(dy)
    ratio = np.minimum(across, along) / (np.maximum(across, along) + F(2.0**-52))
    square = ratio * ratio
    angle = (((p7 * square + p5) * square + p3) * square + p1) * ratio
    angle = np.where(along > across, F(90) - angle, angle)
    angle = np.where(dx < 0, F(180) - angle, angle)
    return np.where(dy < 0, F(360) - angle, angle)


def reflected_at(indices, size):
    """Return indices reflected at the ends of an axis, once."""
    inside = np.abs(indices)
    return np.maximum(np.where(inside >= size, 2 * size - 2 - inside, inside), 0)


def hog_weights():
    """(2, 2, 16, 16) float32: weight of each pixel of a block for the cell (cell_x, cell_y)."""
    i = np.arange(16)
    gaussian = np.exp(-((i[:, None] - 8) ** 2 + (i[None, :] - 8) ** 2) / 32.0)
    centre = (i + 0.5) / 8 - 0.5
    share = np.stack([np.clip(1 - np.abs(centre - cell), 0, None) for cell in (0, 1)])
    return (share[None, :, :, None] * share[:, None, None, :] * gaussian).astype(F)


def hog_blocks(luma):
    """(blocks_y, blocks_x, 36) float32, OpenCV's layout."""
    height, width = luma.shape
    if height < 16 or width < 16:
        return np.zeros((max(height // 8 - 1, 0), max(width // 8 - 1, 0), 36), F)
    windows = sliding_window_view(hog_votes(luma), (16, 16), axis=(0, 1))[::8, ::8]
    blocks = np.einsum("yxbij,cdij->yxcdb", windows, hog_weights(), dtype=np.float64).astype(F)
    blocks = blocks.reshape(*windows.shape[:2], 36)
    norm = np.sqrt((blocks * blocks).sum(axis=2, keepdims=True))
    blocks = np.minimum(blocks / (norm + F(float.fromhex("0x1.cccccep+1"))), F(0.2))
    norm = np.sqrt((blocks * blocks).sum(axis=2, keepdims=True))
    return blocks / (norm + F(1e-3))


def hog_cells(luma):
    """(H // 8, W // 8, 9) float32, sums without weights."""
    rows, columns = luma.shape[0] // 8, luma.shape[1] // 8
    votes = hog_votes(luma)[: 8 * rows, : 8 * columns].astype(np.float64)
    return votes.reshape(rows, 8, columns, 8, 9).sum(axis=(1, 3)).astype(F)


# LBP


def lbp_codes(luma, circle=False):
    """Return the codes (H, W) uint8: bit k for the neighbour at k * 45 degrees."""
    near = np.pad(luma.astype(np.int64), 1)
    centre = near[1:-1, 1:-1]
    steps = ((0, 1), (-1, 1), (-1, 0), (-1, -1), (0, -1), (1, -1), (1, 0), (1, 1))
    codes = np.zeros(luma.shape, np.int64)
    for bit, (down, right) in enumerate(steps):
        difference = shifted(near, down, right) - centre
        if circle and down and right:
            sides = shifted(near, 0, right) + shifted(near, down, 0)
            difference = 29289 * (sides - 2 * centre) + 70711 * difference
        codes |= (difference >= 0).astype(np.int64) << bit
    return codes.astype(np.uint8)


def shifted(near, down, right):
    """Return `near`, a plane with a border of one pixel, shifted by a step and without the border."""
    height, width = near.shape
    return near[1 + down : height - 1 + down, 1 + right : width - 1 + right]


def lbp_label(code, mapping):
    """Return the label of a code; `mapping` is the value of an LbpMapping."""
    bits = [code >> k & 1 for k in range(8)]
    ones = sum(bits)
    uniform = sum(bits[k] != bits[k - 1] for k in range(8)) <= 2
    if mapping == "ror":
        return min(int(f"{code:08b}"[k:] + f"{code:08b}"[:k], 2) for k in range(8))
    if mapping == "riu2":
        return ones if uniform else 9
    if mapping == "uniform":
        if not uniform:
            return 58
        if ones in (0, 8):
            return 0 if ones == 0 else 57
        start = next(k for k in range(8) if bits[k] and not bits[k - 1])
        return 1 + (ones - 1) * 8 + (8 - start) % 8
    return code


def lbp_labels(luma, circle, mapping):
    """(H, W) uint8."""
    table = np.array([lbp_label(code, mapping) for code in range(256)], np.uint8)
    return table[lbp_codes(luma, circle)]


def lbp_cells(labels, count):
    """(ceil(H / 16), ceil(W / 16), count) uint16 histograms of `labels`."""
    rows, columns = -(-labels.shape[0] // 16), -(-labels.shape[1] // 16)
    cells = np.zeros((rows, columns, count), np.uint16)
    for row in range(rows):
        for column in range(columns):
            cell = labels[16 * row : 16 * row + 16, 16 * column : 16 * column + 16]
            cells[row, column] = np.bincount(cell.ravel(), minlength=count)
    return cells


# Heat map


def heatmap(luma, tiles):
    """Return (rows, columns) float64 standard deviations and int64 distances from a uniform histogram."""
    counts = tile_histograms(luma, tiles)
    levels = np.arange(256)
    pixels = counts.sum(axis=2)
    first, second = (counts * levels).sum(axis=2), (counts * levels**2).sum(axis=2)
    deviation = np.sqrt((pixels * second - first**2).astype(np.float64)) / pixels
    total = np.abs(256 * np.cumsum(counts, axis=2) - pixels[..., None] * (levels + 1)).sum(axis=2)
    return deviation, total // 256 * 65536 // (256 * pixels)
