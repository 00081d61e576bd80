"""Small kernels that compare implementations, for `lumaflow bench experiments`; lanes never launch them.

Histogram: global-memory atomics against shared-memory atomics per block and per warp. HOG and LBP: gradients
from global memory, a texture or a shared-memory tile; sums in global or shared memory; float32 or float16.
Equalisation: launch sizes and separate stages. Transposition: global memory against a shared-memory tile,
with and without padding. Tests compare them with the same reference implementations as the production
kernels.
"""

from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
FLAGS = ("--std=c++17", "--fmad=false")


@dataclass(frozen=True, slots=True)
class ExperimentSource:
    """One variant of an experiment kernel: file `kernel`.cu, entry point `kernel`, and its defines."""

    kernel: str
    defines: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The source code."""
        return (FOLDER / f"{self.kernel}.cu").read_text()

    @property
    def flags(self) -> tuple[str, ...]:
        """Compiler options."""
        return (*FLAGS, *self.defines)


def experiment_source(kernel: str, **defines: int) -> ExperimentSource:
    """The variant of a kernel with these -D defines."""
    return ExperimentSource(kernel, tuple(f"-D{name}={value}" for name, value in defines.items()))
