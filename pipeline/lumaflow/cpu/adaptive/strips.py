"""Strips of rows as working samples: loaded, and filtered in space and in time (spec 16.1, 16.7)."""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from lumaflow.cpu.adaptive.filters import add_columns, block_weights, filter_row, recurse_row

Samples = NDArray[np.int16]
Ints = NDArray[np.int32]
Levels = NDArray[Any]
Rect = tuple[int, int, int, int]

STRIP = 32
"""Rows that are filtered together; a multiple of the 8 rows of a block."""
HALO = 7
"""Rows that the three passes of the spatial filter reach: 1 + 2 + 4."""


@njit(nogil=True)
def load_strip(
    pixels: Levels,
    layout: tuple[int, int, bool],
    rect: Rect,
    table: Samples,
    spatial: tuple[int, int],
    first: int,
    last: int,
    one: Samples,
    other: Samples,
    rows: Samples,
) -> tuple[int, int]:
    """Load rows first..last-1 and filter them; return the row that index 0 holds, and the buffer in use."""
    left, top, right, bottom = rect
    on = spatial[0] + spatial[1] > 0
    halo = HALO if on else 0
    base, end = max(first - halo, top), min(last + halo, bottom)
    for y in range(base, end):
        _load(
            pixels[y, layout[0] * left : layout[0] * right],
            layout[0],
            layout[1],
            layout[2],
            table,
            one[y - base],
        )
    if not on:
        return base, 0
    current, reach = 0, HALO
    for number in range(3):
        step = 1 << number
        reach -= step
        factor = 1 if number == 0 else (3 if number == 1 else 9)
        limit, slope = (spatial[0] * factor) >> (2 * number), (spatial[1] * factor) >> (2 * number)
        if limit + slope == 0:
            continue
        source, target = (one, other) if current == 0 else (other, one)
        for y in range(max(first - reach, top), min(last + reach, bottom)):
            filter_row(
                source[max(y - step, top) - base],
                source[y - base],
                source[min(y + step, bottom - 1) - base],
                step,
                layout[1],
                limit,
                slope,
                rows[0],
                rows[1],
                target[y - base],
            )
        current = 1 - current
    return base, current


@njit(nogil=True)
def filter_strip_in_time(
    samples: Samples,
    base: int,
    first: int,
    last: int,
    top: int,
    components: int,
    temporal: tuple[int, int, int, int],
    history: Samples,
    ints: Ints,
) -> None:
    if temporal[0] == 1:
        for y in range(first, last):
            history[y - top] = samples[y - base]
        return
    for start in range(first, last, 8):
        end = min(start + 8, last)
        ints[0], ints[1] = 0, 0
        for y in range(start, end):
            add_columns(samples[y - base], history[y - top], ints[0], ints[1])
        block_weights(
            ints[0], ints[1], end - start, components, temporal[1], temporal[2], temporal[3],
            ints[2], ints[3], ints[4],
        )  # fmt: skip
        for y in range(start, end):
            recurse_row(samples[y - base], history[y - top], ints[2], ints[3], ints[4])


@njit(nogil=True)
def _load(row: Levels, step: int, components: int, red_first: bool, table: Samples, samples: Samples) -> None:
    if components == 1:
        for x in range(samples.size):
            samples[x] = table[row[x]]
    elif step == 3 and not red_first:
        for x in range(samples.size):
            samples[x] = np.int16(np.int16(row[x]) << np.int16(7))
    else:
        blue, red = (2, 0) if red_first else (0, 2)
        for x in range(samples.size // 3):
            samples[3 * x] = np.int16(np.int16(row[step * x + blue]) << np.int16(7))
            samples[3 * x + 1] = np.int16(np.int16(row[step * x + 1]) << np.int16(7))
            samples[3 * x + 2] = np.int16(np.int16(row[step * x + red]) << np.int16(7))
