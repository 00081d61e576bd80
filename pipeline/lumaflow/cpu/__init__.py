"""The CPU lane: the default without a GPU, and the definition of correct."""

import os

# Numba's threads wait for each other at the end of every loop. GNU OpenMP lets them spin for milliseconds,
# which starves a thread that has no core: a 1080p step took 35..80 ms on two busy cores and takes 2..7 with
# a short spin; on idle cores both take 1.15. It is read once, when Numba loads the library.
os.environ.setdefault("GOMP_SPINCOUNT", "1000")
