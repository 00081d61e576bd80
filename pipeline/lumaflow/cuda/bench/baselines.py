"""The same operations with other GPU libraries, called as their documentation shows.

Each library is optional: `Baseline.open` raises ImportError or OSError if it is not installed.
"""

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from time import perf_counter
from typing import Any

import cupy
import numpy as np
from numpy.typing import NDArray

from lumaflow.cuda.cuda_errors import translate_cuda_errors

CALLS = 32
REPEATS = 10
LEVELS = 256

Call = Callable[[Any], object]
"""Enqueues the operation for one image, a (H, W) uint8 CuPy array."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """One operation of one library.

    open : loads the library and returns the call for images with the shape of its argument
    """

    name: str
    job: str
    open: Callable[[Any], Call]


def time_baseline(index: int, baseline: Baseline, images: Sequence[NDArray[np.uint8]]) -> list[float]:
    """Seconds per call of consecutive calls, including CPU time of the host.

    images : (H, W) uint8 on the host, used in turn
    Raises ImportError or OSError if the library is not installed, DeviceError for a CUDA error.
    """
    with translate_cuda_errors(f"timing {baseline.name}"), cupy.cuda.Device(index) as device:
        on_device = [cupy.asarray(image) for image in images]
        call = baseline.open(on_device[0])

        def seconds() -> float:
            start = perf_counter()
            for image in islice(cycle(on_device), CALLS):
                call(image)
            device.synchronize()
            return (perf_counter() - start) / CALLS

        seconds()
        return [seconds() for _ in range(REPEATS)]


def _cupy_bincount(image: Any) -> Call:
    return lambda pixels: cupy.bincount(pixels.ravel(), minlength=LEVELS)


def _cupy_take(image: Any) -> Call:
    lut = cupy.arange(LEVELS, dtype=cupy.uint8)
    return lambda pixels: lut[pixels]


def _torchvision(image: Any) -> Call:
    import torch
    from torchvision.transforms.functional import equalize

    return lambda pixels: equalize(torch.from_dlpack(pixels)[None])


def _kornia(image: Any) -> Call:
    import torch
    from kornia.enhance import equalize_clahe

    def call(pixels: Any) -> object:
        return equalize_clahe(torch.from_dlpack(pixels)[None, None].float() / 255, 2.0, (8, 8))

    return call


def _one_channel(pixels: Any) -> Any:
    """(H, W, 1) with valid strides; a new axis of CuPy has stride 0, which some libraries reject."""
    return pixels.reshape(*pixels.shape, 1)


def _kornia_rs(operation: Callable[[Any, Any], object]) -> Callable[[Any], Call]:
    def open_baseline(image: Any) -> Call:
        from kornia_rs import imgproc
        from kornia_rs.image import Image

        return lambda pixels: operation(imgproc, Image.from_dlpack(_one_channel(pixels)))

    return open_baseline


def _cvcuda(operation: Callable[[Any, Any], object]) -> Callable[[Any], Call]:
    def open_baseline(image: Any) -> Call:
        import cvcuda

        return lambda pixels: operation(cvcuda, cvcuda.as_tensor(_one_channel(pixels), "HWC"))

    return open_baseline


def _cucim(image: Any) -> Call:
    from cucim.skimage.exposure import equalize_hist

    return lambda pixels: equalize_hist(pixels, nbins=LEVELS)


class _NppSize(ctypes.Structure):
    _fields_ = (("width", ctypes.c_int), ("height", ctypes.c_int))


class _NppContext(ctypes.Structure):
    """NppStreamContext of nppdefs.h."""

    _fields_ = (
        ("stream", ctypes.c_void_p),
        ("device", ctypes.c_int),
        ("multiprocessors", ctypes.c_int),
        ("threads_per_multiprocessor", ctypes.c_int),
        ("threads_per_block", ctypes.c_int),
        ("shared_bytes_per_block", ctypes.c_size_t),
        ("major", ctypes.c_int),
        ("minor", ctypes.c_int),
        ("stream_flags", ctypes.c_uint),
        ("reserved", ctypes.c_int),
    )


def _npp(image: Any) -> Call:
    library = ctypes.CDLL(_npp_path())
    height, width = image.shape
    size, context, buffer_bytes = _NppSize(width, height), _npp_context(), ctypes.c_size_t()
    status = library.nppiHistogramEvenGetBufferSize_8u_C1R_Ctx(
        size, LEVELS + 1, ctypes.byref(buffer_bytes), context
    )
    buffer, bins = cupy.empty(buffer_bytes.value, cupy.uint8), cupy.empty(LEVELS, cupy.int32)
    if status:
        raise OSError(f"nppiHistogramEvenGetBufferSize returned {status}")

    def call(pixels: Any) -> object:
        source, counts, scratch = (ctypes.c_void_p(array.data.ptr) for array in (pixels, bins, buffer))
        status = library.nppiHistogramEven_8u_C1R_Ctx(
            source, pixels.strides[0], size, counts, LEVELS + 1, 0, LEVELS, scratch, context
        )
        if status:
            raise OSError(f"nppiHistogramEven returned {status}")
        return bins

    return call


def _npp_path() -> str:
    try:
        import nvidia
    except ImportError:
        return "libnppist.so"
    folders = [Path(folder) for folder in nvidia.__path__]
    found = sorted(path for folder in folders for path in folder.glob("*/lib/libnppist.so.*"))
    for path in found[-1:]:
        ctypes.CDLL(str(next(path.parent.glob("libnppc.so.*"))), ctypes.RTLD_GLOBAL)
    return str(found[-1]) if found else "libnppist.so"


def _npp_context() -> _NppContext:
    device = cupy.cuda.Device()
    attributes, capability = device.attributes, device.compute_capability
    return _NppContext(
        None,
        device.id,
        attributes["MultiProcessorCount"],
        attributes["MaxThreadsPerMultiProcessor"],
        attributes["MaxThreadsPerBlock"],
        attributes["MaxSharedMemoryPerBlock"],
        int(capability[:-1]),
        int(capability[-1]),
    )


BASELINES = (
    Baseline("CV-CUDA histogrameq", "equalize", _cvcuda(lambda cv, image: cv.histogrameq(image, cv.Type.U8))),
    Baseline("torchvision equalize", "equalize", _torchvision),
    Baseline("cuCIM equalize_hist", "equalize", _cucim),
    Baseline("kornia-rs equalize_hist", "equalize", _kornia_rs(lambda rs, image: rs.equalize_hist(image))),
    Baseline("CV-CUDA clahe", "CLAHE", _cvcuda(lambda cv, image: cv.clahe(image, 2.0, (8, 8)))),
    Baseline("Kornia equalize_clahe", "CLAHE", _kornia),
    Baseline("kornia-rs clahe", "CLAHE", _kornia_rs(lambda rs, image: rs.clahe(image, 2.0, (8, 8)))),
    Baseline("CV-CUDA histogram", "histogram", _cvcuda(lambda cv, image: cv.histogram(image))),
    Baseline("NPP HistogramEven", "histogram", _npp),
    Baseline("CuPy bincount", "histogram", _cupy_bincount),
    Baseline("CuPy lut[image]", "LUT", _cupy_take),
)
