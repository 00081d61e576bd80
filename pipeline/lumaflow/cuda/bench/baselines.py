"""What a user would pick instead on the same GPU, called as its own documentation calls it.

Every peer is optional; where its package or library is not there, opening it raises ImportError or OSError.
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
"""Does a peer's job on one picture, a (H, W) uint8 CuPy array; enqueues at least."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """`open` loads the library and returns the call for pictures that are like the one it is given."""

    name: str
    job: str
    open: Callable[[Any], Call]


def time_baseline(index: int, peer: Baseline, pictures: Sequence[NDArray[np.uint8]]) -> list[float]:
    """Seconds a call, back to back and its host side included: that is how each is called.

    pictures : (H, W) uint8, on the host; they take turns. Raises ImportError or OSError where the peer is
    missing, DeviceError where CUDA refuses.
    """
    with translate_cuda_errors(f"timing {peer.name}"), cupy.cuda.Device(index) as device:
        on_device = [cupy.asarray(picture) for picture in pictures]
        call = peer.open(on_device[0])

        def seconds() -> float:
            began = perf_counter()
            for picture in islice(cycle(on_device), CALLS):
                call(picture)
            device.synchronize()
            return (perf_counter() - began) / CALLS

        seconds()
        return [seconds() for _ in range(REPEATS)]


def _cupy_bincount(picture: Any) -> Call:
    return lambda pixels: cupy.bincount(pixels.ravel(), minlength=LEVELS)


def _cupy_take(picture: Any) -> Call:
    lut = cupy.arange(LEVELS, dtype=cupy.uint8)
    return lambda pixels: lut[pixels]


def _torchvision(picture: Any) -> Call:
    import torch
    from torchvision.transforms.functional import equalize

    return lambda pixels: equalize(torch.from_dlpack(pixels)[None])


def _kornia(picture: Any) -> Call:
    import torch
    from kornia.enhance import equalize_clahe

    def call(pixels: Any) -> object:
        return equalize_clahe(torch.from_dlpack(pixels)[None, None].float() / 255, 2.0, (8, 8))

    return call


def _one_channel(pixels: Any) -> Any:
    """(H, W, 1), with the strides that libraries check for; those of a new axis of CuPy's are 0."""
    return pixels.reshape(*pixels.shape, 1)


def _kornia_rs(job: Callable[[Any, Any], object]) -> Callable[[Any], Call]:
    def open_peer(picture: Any) -> Call:
        from kornia_rs import imgproc
        from kornia_rs.image import Image

        return lambda pixels: job(imgproc, Image.from_dlpack(_one_channel(pixels)))

    return open_peer


def _cvcuda(job: Callable[[Any, Any], object]) -> Callable[[Any], Call]:
    def open_peer(picture: Any) -> Call:
        import cvcuda

        return lambda pixels: job(cvcuda, cvcuda.as_tensor(_one_channel(pixels), "HWC"))

    return open_peer


def _cucim(picture: Any) -> Call:
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
        ("threads_a_multiprocessor", ctypes.c_int),
        ("threads_a_block", ctypes.c_int),
        ("shared_bytes_a_block", ctypes.c_size_t),
        ("major", ctypes.c_int),
        ("minor", ctypes.c_int),
        ("stream_flags", ctypes.c_uint),
        ("reserved", ctypes.c_int),
    )


def _npp(picture: Any) -> Call:
    library = ctypes.CDLL(_npp_path())
    height, width = picture.shape
    size, context, buffer_bytes = _NppSize(width, height), _npp_context(), ctypes.c_size_t()
    answer = library.nppiHistogramEvenGetBufferSize_8u_C1R_Ctx(
        size, LEVELS + 1, ctypes.byref(buffer_bytes), context
    )
    buffer, bins = cupy.empty(buffer_bytes.value, cupy.uint8), cupy.empty(LEVELS, cupy.int32)
    if answer:
        raise OSError(f"NPP answered {answer} when asked for its buffer")

    def call(pixels: Any) -> object:
        source, counts, scratch = (ctypes.c_void_p(array.data.ptr) for array in (pixels, bins, buffer))
        answer = library.nppiHistogramEven_8u_C1R_Ctx(
            source, pixels.strides[0], size, counts, LEVELS + 1, 0, LEVELS, scratch, context
        )
        if answer:
            raise OSError(f"NPP answered {answer}")
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
    told, capability = device.attributes, device.compute_capability
    return _NppContext(
        None,
        device.id,
        told["MultiProcessorCount"],
        told["MaxThreadsPerMultiProcessor"],
        told["MaxThreadsPerBlock"],
        told["MaxSharedMemoryPerBlock"],
        int(capability[:-1]),
        int(capability[-1]),
    )


PEERS = (
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
