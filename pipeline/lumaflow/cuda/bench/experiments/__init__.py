"""The experiments that lumaflow grew from, as small kernels beside the production ones: never launched by a
lane, only timed by `lumaflow bench seeds`, and held to the same oracles by the tests.
"""

from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
FLAGS = ("--std=c++17", "--fmad=false")


@dataclass(frozen=True, slots=True)
class ExperimentSource:
    """One variant of one seed's kernel: the file `kernel`.cu, whose entry has the same name, and defines."""

    kernel: str
    defines: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The source as it lies in its file."""
        return (FOLDER / f"{self.kernel}.cu").read_text()

    @property
    def flags(self) -> tuple[str, ...]:
        """Compiler options."""
        return (*FLAGS, *self.defines)


def experiment_source(kernel: str, **defines: int) -> ExperimentSource:
    """The kernel with these defines."""
    return ExperimentSource(kernel, tuple(f"-D{name}={value}" for name, value in defines.items()))
