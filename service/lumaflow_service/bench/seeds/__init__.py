"""`lumaflow bench seeds`: the experiments of the articles that lumaflow grew from, beside its own kernels."""

from collections.abc import Iterator, Sequence

from lumaflow.errors import DeviceError
from lumaflow.frame import Frame

from lumaflow_service.bench.figure import Entry
from lumaflow_service.bench.seeds.equalization import measure_equalization
from lumaflow_service.bench.seeds.features import measure_features
from lumaflow_service.bench.seeds.histogram import measure_histograms
from lumaflow_service.bench.seeds.transposition import measure_transposition


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
