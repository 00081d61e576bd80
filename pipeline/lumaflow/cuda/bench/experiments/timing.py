"""GPU time of the experiment kernels, measured by graph replay; images are used in turn."""

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

STEPS = 8  # the slowest kernels take milliseconds
REPEATS = 10
LEVELS = 256
DTYPES = (np.float32, np.float16)
TEXTURE, SHARED_TILE = 1, 2
"""Values of READ_FROM of `experiment_gradients`."""
SHARED = 1
"""Value of SUM_IN of `experiment_hog`."""

Images = Sequence[NDArray[np.uint8]]
Enqueue = Callable[[Any, Any], None]
"""Enqueues the kernel for one input (second argument) on a stream (first argument)."""


def time_histogram(
    index: int, images: Images, count_in: int, vector: int, blocks: int, threads: int
) -> list[float]:
    """Seconds of `experiment_histogram` with these defines and this launch; the bins are not cleared."""
    with _device(index):
        bins = cupy.zeros(LEVELS, cupy.uint32)
        kernel = _compiled("experiment_histogram", COUNT_IN=count_in, VECTOR=vector, PER_BLOCK=0)
        return _time(
            _upload(images),
            lambda stream, pixels: launch.histogram(stream, kernel, pixels, bins, blocks, threads),
        )


def time_stages(index: int, images: Images, vector: int, blocks: int, threads: int) -> dict[str, list[float]]:
    """Seconds of each stage of equalisation: histogram per block, sum, LUT, apply."""
    with _device(index):
        parts, bins = cupy.zeros((blocks, LEVELS), cupy.uint32), cupy.zeros(LEVELS, cupy.uint32)
        lut, enhanced = cupy.zeros(LEVELS, cupy.uint8), cupy.empty(images[0].shape, cupy.uint8)
        histogram = _compiled("experiment_histogram", COUNT_IN=1, VECTOR=vector, PER_BLOCK=1)
        total, build = _compiled("experiment_sum_histograms"), _compiled("experiment_build_lut")
        apply = _compiled("experiment_apply_lut", VECTOR=vector)
        stages: dict[str, Enqueue] = {
            "block histogram": lambda stream, pixels: launch.histogram(
                stream, histogram, pixels, parts, blocks, threads
            ),
            "merge": lambda stream, pixels: launch.sum_histograms(stream, total, parts, bins),
            "LUT": lambda stream, pixels: launch.build_lut(stream, build, bins, lut),
            "apply": lambda stream, pixels: launch.apply_lut(
                stream, apply, pixels, lut, enhanced, blocks, threads
            ),
        }
        return {name: _time(_upload(images), enqueue) for name, enqueue in stages.items()}


def time_apply_lut(index: int, images: Images, vector: int, blocks: int, threads: int) -> list[float]:
    """Seconds of `experiment_apply_lut` with this define and this launch."""
    with _device(index):
        lut = cupy.arange(LEVELS, dtype=cupy.uint8)[::-1].copy()
        enhanced = cupy.empty(images[0].shape, cupy.uint8)
        kernel = _compiled("experiment_apply_lut", VECTOR=vector)
        return _time(
            _upload(images),
            lambda stream, pixels: launch.apply_lut(stream, kernel, pixels, lut, enhanced, blocks, threads),
        )


def time_transpose(index: int, images: Images, method: int) -> list[float]:
    """Seconds of `experiment_transpose` with this define."""
    with _device(index):
        out = cupy.empty(images[0].shape[::-1], cupy.uint8)
        kernel = _compiled("experiment_transpose", METHOD=method)
        return _time(_upload(images), lambda stream, pixels: launch.transpose(stream, kernel, pixels, out))


def time_lbp(index: int, images: Images, count_in: int) -> list[float]:
    """Seconds of `experiment_lbp` with this define; the cells are not cleared."""
    with _device(index):
        height, width = images[0].shape
        side, labels = launch.LBP_CELL, LbpMapping.UNIFORM.labels
        cells = cupy.zeros((-(-height // side), -(-width // side), labels), cupy.uint32)
        table = cupy.asarray(lbp_labels(LbpMapping.UNIFORM))
        kernel = _compiled("experiment_lbp", COUNT_IN=count_in)
        return _time(_upload(images), lambda stream, luma: launch.lbp(stream, kernel, luma, table, cells))


def time_gradients(index: int, images: Images, read_from: int, fp16: int) -> list[float]:
    """Seconds of `experiment_gradients` with these defines."""
    with _device(index):
        out, gamma = cupy.empty((*images[0].shape, 2), DTYPES[fp16]), cupy.asarray(hog_gamma())
        kernel = _compiled("experiment_gradients", READ_FROM=read_from, FP16=fp16)
        planes = _upload(images)
        textures = [texture_of(pixels) for pixels in planes] if read_from == TEXTURE else []
        return _time(
            [np.uint64(texture.ptr) for texture in textures] or planes,
            lambda stream, source: launch.gradients(stream, kernel, source, gamma, out),
        )


def time_hog(index: int, images: Images, sum_in: int, fp16: int) -> list[float]:
    """Seconds of `experiment_hog` with these defines; the gradients are computed beforehand."""
    with _device(index):
        gradients = [_gradients(image, fp16) for image in images]
        enqueue, _ = _prepare_hog(images[0].shape, sum_in, fp16)
        return _time(gradients, enqueue)


def compute_hog(index: int, image: NDArray[np.uint8], fp16: int) -> NDArray[np.float32]:
    """HOG by `experiment_gradients` and `experiment_hog`, stored as float32 or float16.

    Returns (rows, columns, 36) float32.
    """
    with _device(index):
        enqueue, hog = _prepare_hog(image.shape, SHARED, fp16)
        enqueue(cupy.cuda.get_current_stream(), _gradients(image, fp16))
        result: NDArray[np.float32] = hog.get().astype(np.float32)
        return result


def texture_of(pixels: Any) -> Any:
    """A texture object of (H, W) uint8 pixels on the device; integer coordinates, no filter."""
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


def _gradients(image: NDArray[np.uint8], fp16: int) -> Any:
    out, gamma = cupy.empty((*image.shape, 2), DTYPES[fp16]), cupy.asarray(hog_gamma())
    kernel = _compiled("experiment_gradients", READ_FROM=SHARED_TILE, FP16=fp16)
    stream = cupy.cuda.get_current_stream()
    launch.gradients(stream, kernel, cupy.asarray(image), gamma, out)
    stream.synchronize()
    return out


def _prepare_hog(shape: tuple[int, ...], sum_in: int, fp16: int) -> tuple[Enqueue, Any]:
    """The function that enqueues HOG for gradients of this shape, and its output array."""
    hog_size = hog_shape(Geometry(shape[1], shape[0], PixelFormat.GRAY8), HogLayout.OPENCV)
    hog, scratch = cupy.empty(hog_size, DTYPES[fp16]), cupy.zeros(hog_size, np.float32)
    weights, kernel = cupy.asarray(hog_weights()), _compiled("experiment_hog", SUM_IN=sum_in, FP16=fp16)

    def enqueue(stream: Any, gradients: Any) -> None:
        launch.hog(stream, kernel, gradients, weights, scratch, hog)

    return enqueue, hog


def _upload(images: Images) -> list[Any]:
    return [cupy.asarray(image) for image in images]


def _compiled(kernel: str, **defines: int) -> Kernel:
    source = experiment_source(kernel, **defines)
    compiled: Kernel = cupy.RawModule(code=source.text, options=source.flags).get_function(kernel)
    return compiled


def _time(inputs: Sequence[Any], enqueue: Enqueue) -> list[float]:
    stream = cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.Stream.null.synchronize()
    with captured(stream) as graph:
        for each in islice(cycle(inputs), STEPS):
            enqueue(stream, each)
    return replay(graph, stream, STEPS, REPEATS)


@contextmanager
def _device(index: int) -> Iterator[None]:
    with translate_cuda_errors("timing an experiment"), cupy.cuda.Device(index):
        yield
