"""A 5x7 bitmap font with the letters of the sign in the demo scene."""

import numpy as np
from numpy.typing import NDArray

_GLYPHS = {
    "A": ".###. #...# #...# ##### #...# #...# #...#",
    "F": "##### #.... #.... ####. #.... #.... #....",
    "L": "#.... #.... #.... #.... #.... #.... #####",
    "M": "#...# ##.## #.#.# #.#.# #...# #...# #...#",
    "O": ".###. #...# #...# #...# #...# #...# .###.",
    "U": "#...# #...# #...# #...# #...# #...# .###.",
    "W": "#...# #...# #...# #.#.# #.#.# ##.## #...#",
}


def render_text(text: str) -> NDArray[np.bool_]:
    """Return `text` as a (7, 6n-1) bool mask: glyphs of 5x7 dots, one empty column between them."""
    glyphs = [np.array([[dot == "#" for dot in row] for row in _GLYPHS[letter].split()]) for letter in text]
    spaced = [np.pad(glyph, ((0, 0), (0, 1))) for glyph in glyphs]
    return np.concatenate(spaced, axis=1)[:, :-1]
