"""`lumaflow bench seeds`: the experiments of the articles that lumaflow grew from, beside its own kernels."""

from collections.abc import Iterator, Sequence

from lumaflow.errors import DeviceError
from lumaflow.frame import Frame
from lumaflow_service.bench.experiments.equalization import measure_equalization
from lumaflow_service.bench.experiments.features import measure_features
from lumaflow_service.bench.experiments.histogram import measure_histograms
from lumaflow_service.bench.experiments.transposition import measure_transposition
from lumaflow_service.bench.figure import Entry


def measure_seeds(device: str, shown: Sequence[Frame]) -> Iterator[Entry]:
    """Yield the figures of every experiment; `shown` are the 1080p gray8 frames that are described.

    Raises DeviceError when `device` is no GPU.
    """
    if device == "cpu":
        raise DeviceError("cpu was asked for; the seeds are timed on a GPU: give cuda or cuda:N")
    index = int(device.removeprefix("cuda:"))
    yield from measure_histograms(index)
    yield from measure_features(index, shown)
    yield from measure_equalization(index)
    yield from measure_transposition(index)
