"""The GPU side of `lumaflow.functions` without a GPU: NumPy arrays stand for those of CuPy."""

from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

from lumaflow import FrameError, functions
from lumaflow.formats import Range
from lumaflow.options import (
    Equalization,
    HogLayout,
    LbpMapping,
    Mode,
    Neighborhood,
    Orientation,
    Output,
    Region,
)
from shim import Shim, require_compiler
from synthetic_images import gray_image


class DeviceArray(np.ndarray):
    """A NumPy array with the attributes of cupy.ndarray that the functions use."""

    device = SimpleNamespace(id=0)

    @property
    def data(self):
        return SimpleNamespace(ptr=self.ctypes.data)

    def set(self, source, stream=None):
        self[...] = source

    def get(self, stream=None):
        return np.array(self)

    def take(self, indices, out):
        out[...] = np.asarray(self)[indices]


def on_device(array, *_):
    return np.asarray(array).view(DeviceArray)


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """The folder of the compiled kernels."""
    return tmp_path_factory.mktemp("functions")


@pytest.fixture
def cuda(monkeypatch, folder):
    """The CUDA module, selected for every array."""
    require_compiler()
    from lumaflow.cuda import functions as cuda_functions

    cupy = SimpleNamespace(
        empty=lambda shape, dtype: on_device(np.full(shape, 77, dtype)),
        zeros=lambda shape, dtype: on_device(np.zeros(shape, dtype)),
        asarray=on_device,
        cuda=SimpleNamespace(get_current_stream=lambda: SimpleNamespace(synchronize=lambda: None)),
    )
    monkeypatch.setattr(cuda_functions, "cupy", cupy)
    monkeypatch.setattr(cuda_functions, "cupy_view", on_device)
    monkeypatch.setattr(cuda_functions, "may_share_memory", np.may_share_memory)
    monkeypatch.setattr(cuda_functions, "running", lambda array, stream: nullcontext(stream))
    monkeypatch.setattr(cuda_functions, "compile_kernels", lambda sources: Shim(folder, sources))
    for cached in (cuda_functions._kernels_and_tables, cuda_functions._kernels):
        cached.cache_clear()
    yield lambda: monkeypatch.setattr(functions, "_device_of", lambda array: cuda_functions)
    for cached in (cuda_functions._kernels_and_tables, cuda_functions._kernels):
        cached.cache_clear()


BINS = np.bincount(np.arange(999) % 234, minlength=256).astype(np.uint32)
GATED = Equalization(Mode.EQUALIZE, gate=True)
DISPLAY = {"bits": 12, "output": Output.DISPLAY}
U8 = {
    "histogram": lambda luma, **out: functions.compute_histogram(luma, **out),
    "region": lambda luma, **out: functions.compute_histogram(luma, region=Region(3, 5, 21, 17), **out),
    **{
        f"lut {mode}": lambda luma, mode=mode, **out: functions.build_lut(BINS, Equalization(mode), **out)
        for mode in Mode
        if mode is not Mode.CLAHE and not mode.adaptive
    },
    "lut limited": lambda luma, **out: functions.build_lut(BINS, range=Range.LIMITED, **out),
    "lut gate": lambda luma, **out: functions.build_lut(BINS, GATED, **out),
    "lut gate deep": lambda luma, **out: functions.build_lut(
        np.repeat(BINS, 16), GATED, output=Output.DISPLAY, **out
    ),
    "clahe gate": lambda luma, **out: functions.clahe(luma, Equalization(tiles=(3, 2), gate=True), **out),
    "apply": lambda luma, **out: functions.apply_lut(luma, np.arange(256, dtype=np.uint8)[::-1], **out),
    **{
        f"clahe {mode}": lambda luma, mode=mode, **out: functions.clahe(luma, Equalization(mode), **out)
        for mode in Mode
        if not mode.adaptive
    },
    **{
        f"lbp {near} {labels}": lambda luma, near=near, labels=labels, **out: functions.lbp(
            luma, near, labels, **out
        )
        for near in Neighborhood
        for labels in (LbpMapping.UNIFORM, LbpMapping.RAW)
    },
    **{
        f"orientation {way}": lambda luma, way=way, **out: functions.apply_orientation(luma, way, **out)
        for way in Orientation
    },
}
U16 = {
    "histogram": lambda luma, **out: functions.compute_histogram(luma, bits=12, **out),
    "clahe": lambda luma, **out: functions.clahe(luma, bits=12, **out),
    "display": lambda luma, **out: functions.clahe(luma, Equalization(Mode.STRETCH), **DISPLAY, **out),
    "orientation": lambda luma, **out: functions.apply_orientation(luma, Orientation.ROTATE90, **out),
}


def assert_equal_on_both(cuda, call, pixels):
    """The result without `out`, in a contiguous `out` and in a part of a larger array."""
    wanted = call(pixels)
    larger = np.zeros((*wanted.shape[:-1], wanted.shape[-1] + 3), wanted.dtype)
    outs = [None, np.empty_like(wanted), larger[..., 2:-1]]
    cuda()
    for out in outs:
        found = call(pixels) if out is None else call(pixels, out=out)
        assert out is None or found is out
        np.testing.assert_array_equal(np.asarray(found), wanted)
    assert (larger[..., :2] == 0).all()


@pytest.mark.parametrize("name", U8)
def test_functions_of_8_bit_arrays_equal_the_cpu(cuda, rng, name):
    assert_equal_on_both(cuda, U8[name], gray_image(rng, (61, 47), 4))


@pytest.mark.parametrize("name", U16)
def test_functions_of_16_bit_arrays_equal_the_cpu(cuda, rng, name):
    assert_equal_on_both(cuda, U16[name], rng.integers(100, 3000, (45, 52)).astype(np.uint16))


@pytest.mark.parametrize("layout", HogLayout)
def test_hog_equals_the_cpu(cuda, rng, layout):
    luma = gray_image(rng, (61, 47), 4)
    wanted = functions.hog(luma, layout)
    cuda()
    np.testing.assert_allclose(functions.hog(luma, layout), wanted, rtol=2e-6, atol=2e-6)


def test_arrays_with_padded_or_reversed_rows_equal_the_cpu(cuda, rng):
    sheet = gray_image(rng, (70, 60), 4)
    views = [sheet[2:63, 7:54], sheet[::-1], sheet[:, ::2]]
    wanted = [functions.clahe(view) for view in views]
    cuda()
    for view, one in zip(views, wanted, strict=True):
        np.testing.assert_array_equal(np.asarray(functions.clahe(view)), one)


def test_errors_equal_those_of_the_cpu(cuda):
    cuda()
    with pytest.raises(FrameError, match="got 4096"):
        functions.compute_histogram(np.full((4, 4), 4096, np.uint16), bits=12)
    with pytest.raises(FrameError, match="expected out to be"):
        functions.lbp(np.zeros((16, 16), np.uint8), out=np.zeros(7, np.uint16))
    square = np.zeros((8, 8), np.uint8)
    with pytest.raises(FrameError, match="share memory"):
        functions.transpose(square, out=square)
