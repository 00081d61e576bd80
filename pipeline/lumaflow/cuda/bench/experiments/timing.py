"""GPU time of the seeds' kernels, by graph replay; pictures take turns."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle, islice
from typing import Any

import cupy
import numpy as np
from cupy.cuda import runtime, texture
from numpy.typing import NDArray

from lumaflow.cuda.bench.experiments import experiment_source, launch
from lumaflow.cuda.bench.profiler import captured, replay
from lumaflow.cuda.cuda_errors import translate_cuda_errors
from lumaflow.cuda.launch import Kernel
from lumaflow.formats import PixelFormat
from lumaflow.geometry import Geometry
from lumaflow.options import HogLayout, LbpMapping
from lumaflow.tables import hog_gamma, hog_shape, hog_weights, lbp_labels

STEPS = 8  # the slowest of them take milliseconds
REPEATS = 10
LEVELS = 256
KINDS = (np.float32, np.float16)
TEXTURE, SHARED_TILE = 1, 2
"""Values of READ of `seed_gradient`."""
SHARED = 1
"""Value of SUM of `seed_hog`."""

Pictures = Sequence[NDArray[np.uint8]]
Enqueue = Callable[[Any, Any], None]
"""Puts the job on one picture, or on what was made of it, on a stream."""


def time_count(
    index: int, pictures: Pictures, where: int, wide: int, blocks: int, threads: int
) -> list[float]:
    """Seconds of `seed_histogram` with these defines and this launch, without clearing its bins."""
    with _device(index):
        bins = cupy.zeros(LEVELS, cupy.uint32)
        kernel = _compiled("seed_histogram", WHERE=where, WIDE=wide, PARTS=0)
        return _time(
            _placed(pictures),
            lambda stream, pixels: launch.count(stream, kernel, pixels, bins, blocks, threads),
        )


def time_stages(
    index: int, pictures: Pictures, wide: int, blocks: int, threads: int
) -> dict[str, list[float]]:
    """Seconds of equalisation stage by stage: a histogram a block, their merge, the LUT, its use."""
    with _device(index):
        parts, bins = cupy.zeros((blocks, LEVELS), cupy.uint32), cupy.zeros(LEVELS, cupy.uint32)
        lut, enhanced = cupy.zeros(LEVELS, cupy.uint8), cupy.empty(pictures[0].shape, cupy.uint8)
        count, merge = _compiled("seed_histogram", WHERE=1, WIDE=wide, PARTS=1), _compiled("seed_merge")
        equalize, see = _compiled("seed_equalize"), _compiled("seed_lut", WIDE=wide)
        stages: dict[str, Enqueue] = {
            "block histogram": lambda at, pixels: launch.count(at, count, pixels, parts, blocks, threads),
            "merge": lambda at, pixels: launch.merge(at, merge, parts, bins),
            "LUT": lambda at, pixels: launch.equalize(at, equalize, bins, lut),
            "apply": lambda at, pixels: launch.see(at, see, pixels, lut, enhanced, blocks, threads),
        }
        return {name: _time(_placed(pictures), enqueue) for name, enqueue in stages.items()}


def time_see(index: int, pictures: Pictures, wide: int, blocks: int, threads: int) -> list[float]:
    """Seconds of `seed_lut` with this define and this launch."""
    with _device(index):
        lut, enhanced = (
            cupy.arange(LEVELS, dtype=cupy.uint8)[::-1].copy(),
            cupy.empty(pictures[0].shape, cupy.uint8),
        )
        kernel = _compiled("seed_lut", WIDE=wide)
        return _time(
            _placed(pictures),
            lambda stream, pixels: launch.see(stream, kernel, pixels, lut, enhanced, blocks, threads),
        )


def time_transpose(index: int, pictures: Pictures, way: int) -> list[float]:
    """Seconds of `seed_transpose` with this define."""
    with _device(index):
        out, kernel = cupy.empty(pictures[0].shape[::-1], cupy.uint8), _compiled("seed_transpose", WAY=way)
        return _time(_placed(pictures), lambda stream, pixels: launch.transpose(stream, kernel, pixels, out))


def time_lbp(index: int, pictures: Pictures, where: int) -> list[float]:
    """Seconds of `seed_lbp` with this define, without clearing its cells."""
    with _device(index):
        height, width = pictures[0].shape
        side, labels = launch.LBP_CELL, LbpMapping.UNIFORM.labels
        cells = cupy.zeros((-(-height // side), -(-width // side), labels), cupy.uint32)
        table, kernel = cupy.asarray(lbp_labels(LbpMapping.UNIFORM)), _compiled("seed_lbp", WHERE=where)
        return _time(
            _placed(pictures), lambda stream, luma: launch.describe_lbp(stream, kernel, luma, table, cells)
        )


def time_gradients(index: int, pictures: Pictures, read: int, half: int) -> list[float]:
    """Seconds of `seed_gradient` with these defines."""
    with _device(index):
        gradients = cupy.empty((*pictures[0].shape, 2), KINDS[half])
        gamma, kernel = cupy.asarray(hog_gamma()), _compiled("seed_gradient", READ=read, HALF=half)
        placed = _placed(pictures)
        textures = [texture_of(pixels) for pixels in placed] if read == TEXTURE else []
        return _time(
            [np.uint64(texture.ptr) for texture in textures] or placed,
            lambda stream, experiment_source: launch.take_gradients(
                stream, kernel, experiment_source, gamma, gradients
            ),
        )


def time_hog(index: int, pictures: Pictures, sums: int, half: int) -> list[float]:
    """Seconds of `seed_hog` with these defines, of gradients that lie there already."""
    with _device(index):
        taken = [_gradients(picture, half) for picture in pictures]
        enqueue, _ = _describing(pictures[0].shape, sums, half)
        return _time(taken, enqueue)


def describe(index: int, picture: NDArray[np.uint8], half: int) -> NDArray[np.float32]:
    """The (rows, columns, 36) descriptors by `seed_gradient` and `seed_hog`, stored in f32 or f16."""
    with _device(index):
        enqueue, hog = _describing(picture.shape, SHARED, half)
        enqueue(cupy.cuda.get_current_stream(), _gradients(picture, half))
        found: NDArray[np.float32] = hog.get().astype(np.float32)
        return found


def texture_of(pixels: Any) -> Any:
    """A texture of (H, W) uint8 pixels on the device, read as they are, by column and row."""
    channel = texture.ChannelFormatDescriptor(8, 0, 0, 0, runtime.cudaChannelFormatKindUnsigned)
    height, width = pixels.shape
    resource = texture.ResourceDescriptor(
        runtime.cudaResourceTypePitch2D,
        arr=pixels,
        chDesc=channel,
        width=width,
        height=height,
        pitchInBytes=pixels.strides[0],
    )
    reading = texture.TextureDescriptor(
        (runtime.cudaAddressModeClamp,) * 2, runtime.cudaFilterModePoint, runtime.cudaReadModeElementType
    )
    return texture.TextureObject(resource, reading)


def _gradients(picture: NDArray[np.uint8], half: int) -> Any:
    gradients, gamma = cupy.empty((*picture.shape, 2), KINDS[half]), cupy.asarray(hog_gamma())
    kernel = _compiled("seed_gradient", READ=SHARED_TILE, HALF=half)
    stream = cupy.cuda.get_current_stream()
    launch.take_gradients(stream, kernel, cupy.asarray(picture), gamma, gradients)
    stream.synchronize()
    return gradients


def _describing(shape: tuple[int, ...], sums: int, half: int) -> tuple[Enqueue, Any]:
    """What describes gradients of frames of this shape, and where it puts the descriptors."""
    fields = hog_shape(Geometry(shape[1], shape[0], PixelFormat.GRAY8), HogLayout.OPENCV)
    hog, scratch = cupy.empty(fields, KINDS[half]), cupy.zeros(fields, np.float32)
    weights, kernel = cupy.asarray(hog_weights()), _compiled("seed_hog", SUM=sums, HALF=half)

    def enqueue(stream: Any, gradients: Any) -> None:
        launch.describe_hog(stream, kernel, gradients, weights, scratch, hog)

    return enqueue, hog


def _placed(pictures: Pictures) -> list[Any]:
    return [cupy.asarray(picture) for picture in pictures]


def _compiled(kernel: str, **defines: int) -> Kernel:
    chosen = experiment_source(kernel, **defines)
    compiled: Kernel = cupy.RawModule(code=chosen.text, options=chosen.flags).get_function(kernel)
    return compiled


def _time(sources: Sequence[Any], enqueue: Enqueue) -> list[float]:
    stream = cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.Stream.null.synchronize()
    with captured(stream) as graph:
        for one in islice(cycle(sources), STEPS):
            enqueue(stream, one)
    return replay(graph, stream, STEPS, REPEATS)


@contextmanager
def _device(index: int) -> Iterator[None]:
    with translate_cuda_errors("timing a seed"), cupy.cuda.Device(index):
        yield
