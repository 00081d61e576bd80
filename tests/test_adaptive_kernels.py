"""The CUDA kernels of the adaptive modes, run on the CPU: the same bits as the CPU lane."""

import numpy as np
import pytest

from adaptive_shim import AdaptiveShim
from lane_helpers import enhance_all
from lumaflow import (
    Alignment,
    ColorMode,
    Equalization,
    Geometry,
    Lbp,
    LutKind,
    Mode,
    Options,
    Orientation,
    Output,
    PixelFormat,
    Range,
    Region,
)
from scenes import exposed, frame_of, hazy, room
from synthetic_frames import copy_frame

AUTO, LBP = Equalization(Mode.AUTO), Lbp(labels=True)
REGION = Region(5, 3, 31, 27, apply_to_whole_frame=False)


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """The folder for the shared objects of the kernels."""
    return tmp_path_factory.mktemp("adaptive")


def story(geometry):
    """Dark twice, a corrupt bright frame, dark again, a cut to haze, haze."""
    scene = room(geometry.height, geometry.width)
    scenes = [exposed(scene, 0.1, seed=1), exposed(scene, 0.1, seed=2), scene, exposed(scene, 0.12, seed=3)]
    scenes += [hazy(scene[::-1], 2.0), hazy(scene[::-1], 2.2)]
    return [frame_of(one, geometry, corrupt=number == 2) for number, one in enumerate(scenes)]


def assert_sequence(folder, frames, options):
    """Every frame is the CPU lane's, to the last byte. Returns the results of the CPU lane."""
    shim = AdaptiveShim(folder, frames[0].geometry, options)
    results = enhance_all("cpu", [copy_frame(frame) for frame in frames], options)
    for number, (frame, wanted) in enumerate(zip(frames, results, strict=True)):
        found, where = shim.run(frame), f"frame {number}"
        assert (found["tone"], found["own"]) == (wanted.tone, wanted.lut_kind is LutKind.OWN), where
        arrays = {"bins": wanted.bins, "applied": wanted.lut, "enhanced": wanted.frame.pixels}
        arrays |= {"lbp": wanted.lbp, "lbp_labels": wanted.lbp_labels}
        for name, array in arrays.items():
            if array is not None:
                np.testing.assert_array_equal(found[name], array, f"{name} of {where}")
        for plane, chroma in zip(found["chroma"], wanted.frame.chroma, strict=True):
            np.testing.assert_array_equal(plane, chroma, f"chroma of {where}")
    return results


@pytest.mark.parametrize(
    ("geometry", "options"),
    [
        (Geometry(53, 41, PixelFormat.GRAY8), Options(AUTO, lbp=LBP)),
        (Geometry(53, 41, PixelFormat.BGR24), Options(AUTO, lbp=LBP)),
        (Geometry(54, 42, PixelFormat.NV12), Options(AUTO)),
        (Geometry(53, 41, PixelFormat.GRAY16), Options(AUTO, lbp=LBP)),
        (Geometry(53, 41, PixelFormat.P010), Options(AUTO, lbp=LBP)),
        (Geometry(53, 41, PixelFormat.UYVY), Options(AUTO, lbp=LBP, region=REGION)),
        (
            Geometry(53, 41, PixelFormat.RGB24),
            Options(Equalization(Mode.DEHAZE, strength=0.9), region=REGION),
        ),
        (
            Geometry(53, 41, PixelFormat.BGRA32),
            Options(Equalization(Mode.LOWLIGHT, strength=0.8, target=120.0, color=ColorMode.LUMA)),
        ),
        (
            Geometry(53, 41, PixelFormat.I420, Range.FULL),
            Options(Equalization(Mode.AUTO, chroma_gain=1.5), orientation=Orientation.ROTATE90),
        ),
        (
            Geometry(53, 41, PixelFormat.GRAY12, Range.LIMITED, Alignment.MSB),
            Options(AUTO, output=Output.DISPLAY, region=REGION, lbp=LBP),
        ),
    ],
    ids=lambda value: str(value) if isinstance(value, Geometry) else "",
)
def test_a_sequence_equals_the_cpu_lane(folder, geometry, options):
    results = assert_sequence(folder, story(geometry), options)
    assert any(result.tone.cut for result in results[1:])
    if options.equalization.mode is not Mode.DEHAZE:
        assert results[1].tone.denoised


@pytest.mark.parametrize(("height", "width"), [(1, 1), (7, 5), (3, 61), (97, 2)])
@pytest.mark.parametrize("pixel_format", [PixelFormat.BGR24, PixelFormat.I420])
def test_small_frames_equal_the_cpu_lane(folder, pixel_format, height, width):
    assert_sequence(folder, story(Geometry(width, height, pixel_format))[2:5], Options(AUTO))


def test_a_frame_above_the_bit_depth_changes_no_state(folder):
    geometry, options = Geometry(41, 33, PixelFormat.GRAY10), Options(Equalization(Mode.LOWLIGHT))
    frames = story(geometry)
    results = enhance_all("cpu", [copy_frame(frames[number]) for number in (0, 1, 3)], options)
    rejected = copy_frame(frames[4])
    rejected.pixels[5, 5] = 1024
    shim = AdaptiveShim(folder, geometry, options)
    found = [shim.run(frame) for frame in (frames[0], frames[1], rejected, frames[3])]
    assert list(found[2]["out_of_range"]) == [1, 1024]
    for one, wanted in zip([found[0], found[1], found[3]], results, strict=True):
        np.testing.assert_array_equal(one["enhanced"], wanted.frame.pixels)
        assert one["tone"] == wanted.tone


def test_the_order_of_threads_and_blocks_does_not_change_the_results(folder):
    geometry = Geometry(45, 33, PixelFormat.BGR24)
    frames = [story(geometry)[number] for number in (0, 1, 4)]
    first = AdaptiveShim(folder, geometry, Options(AUTO))
    wanted = [first.run(frame) for frame in frames]
    again = AdaptiveShim(folder, geometry, Options(AUTO))
    for seed, (frame, results) in enumerate(zip(frames, wanted, strict=True)):
        again.kernels.seed = seed + 1
        found = again.run(frame)
        for name in ("enhanced", "applied", "report"):
            np.testing.assert_array_equal(found[name], results[name], name)
