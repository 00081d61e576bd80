"""`lumaflow bench experiments`: alternative kernels, compared with the production kernels.

Histogram by atomics in global memory, in shared memory, and per warp. HOG and LBP by source of gradients,
place of sums, and precision. Equalisation by launch size, stage, and frames in flight. Transposition with and
without a shared-memory tile.
"""

from collections.abc import Iterator, Sequence

from lumaflow.errors import DeviceError
from lumaflow.frame import Frame
from lumaflow_service.bench.experiments.equalization import measure_equalization
from lumaflow_service.bench.experiments.features import measure_features
from lumaflow_service.bench.experiments.histogram import measure_histograms
from lumaflow_service.bench.experiments.transposition import measure_transposition
from lumaflow_service.bench.figure import Entry


def measure_experiments(device: str, images: Sequence[Frame]) -> Iterator[Entry]:
    """Yield the figures of all experiments. Raises DeviceError if `device` is not a GPU.

    images : 1080p gray8 frames for HOG and LBP
    """
    if device == "cpu":
        raise DeviceError("expected a GPU, got cpu; experiments run on a GPU only: use cuda or cuda:N")
    index = int(device.removeprefix("cuda:"))
    yield from measure_histograms(index)
    yield from measure_features(index, images)
    yield from measure_equalization(index)
    yield from measure_transposition(index)
