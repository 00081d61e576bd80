"""The few letters that the sample scene writes on its walls."""

import numpy as np
from numpy.typing import NDArray

_ROWS = {
    "A": ".###. #...# #...# ##### #...# #...# #...#",
    "F": "##### #.... #.... ####. #.... #.... #....",
    "L": "#.... #.... #.... #.... #.... #.... #####",
    "M": "#...# ##.## #.#.# #.#.# #...# #...# #...#",
    "O": ".###. #...# #...# #...# #...# #...# .###.",
    "U": "#...# #...# #...# #...# #...# #...# .###.",
    "W": "#...# #...# #...# #.#.# #.#.# ##.## #...#",
}


def letters(text: str) -> NDArray[np.bool_]:
    """(7, 6n-1) bool: `text` in letters of 5x7 dots, one column apart."""
    glyphs = [np.array([[dot == "#" for dot in row] for row in _ROWS[letter].split()]) for letter in text]
    spaced = [np.pad(glyph, ((0, 0), (0, 1))) for glyph in glyphs]
    return np.concatenate(spaced, axis=1)[:, :-1]
