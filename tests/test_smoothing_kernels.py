"""The CUDA kernels of smoothing, scene cuts and the gate, run on the CPU: the same bits as the CPU lane."""

import numpy as np
import pytest

from lane_helpers import enhance_all
from lumaflow import (
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
from lumaflow.cuda.arrays import constant_tables, result_arrays, scratch_arrays
from lumaflow.cuda.frame_plan import plan_frame
from lumaflow.cuda.launch import launch_lbp, plan_features
from lumaflow.cuda.lut_adjuster import LutAdjuster
from lumaflow.cuda.slot import LUT_ARRAYS
from lumaflow.cuda.tone_mapper import open_tone_mapper
from scenes import exposed, frame_of, room
from shim import open_shim, reorient_planes
from synthetic_frames import copy_frame

SMOOTHED = Equalization(Mode.EQUALIZE, smoothing=0.3, gate=True)


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """The folder for the shared objects of the kernels."""
    return tmp_path_factory.mktemp("smoothing")


def clip(geometry):
    """Return frames of two scenes, one corrupt frame in each."""
    height, width = geometry.height, geometry.width
    scenes = [exposed(room(height, width, 1), e, seed=n) for n, e in enumerate((0.9, 0.7, 0.8))]
    scenes += [exposed(room(height, width, 2)[::-1] * 0.3, e, seed=n) for n, e in enumerate((1, 1.2, 0.9))]
    return [frame_of(one, geometry, number in (1, 4)) for number, one in enumerate(scenes)]


class SmoothingShim:
    """Runs the kernels of a plain mode with smoothing or the gate, as the step of a lane does."""

    def __init__(self, folder, geometry, options):
        self.kernels = open_shim(folder, geometry, options)
        self.geometry, self.options, self.plan = geometry, options, plan_frame(geometry, options)
        self.tables = constant_tables(geometry, options)
        self.scratch = {name: np.zeros(*spec) for name, spec in scratch_arrays(geometry, options).items()}
        shared = (self.plan, self.kernels, self.tables, self.scratch)
        self.mapper, self.adjuster = open_tone_mapper(*shared), LutAdjuster(*shared)
        self.before = None

    def run(self, frame):
        """Return the results of one frame by name."""
        found = {
            name: np.full(spec[0], 77, spec[1])
            for name, spec in result_arrays(self.geometry, self.options).items()
        }
        found["enhanced"] = np.full(self.plan.output.shape, 77, self.plan.output.dtype)
        found["applied"] = np.full_like(found["luts"], 77)
        raw, *_ = reorient_planes(self.kernels, self.plan, frame)
        self.mapper.build_luts(None, raw, found, None)
        self.adjuster.measure_gate(None, found)
        if self.adjuster.smooths:
            self.map_smoothly(raw, found, frame.corrupt)
        else:
            self.adjuster.adjust(None, found)
            luts = self.own_or_previous(found, frame.corrupt)
            found["applied"] = luts["luts"].copy()
            self.mapper.apply(None, raw, luts, found)
        lbp = plan_features(self.plan)[1]
        if lbp is not None:
            luma = self.mapper.luma(found)
            launch_lbp(None, self.kernels, lbp, luma, self.tables, found["lbp"], found["lbp_labels"])
        return found

    def map_smoothly(self, raw, found, corrupt):
        """Map a frame with the smoothed LUTs; after a cut again, with its own."""
        self.adjuster.detect_cut(None, raw, found, corrupt)
        assert not self.scratch["cut_counts"].any()
        self.mapper.apply(None, raw, self.adjuster.stored, found)
        self.adjuster.adjust(None, found)
        used = self.adjuster.used(found)
        self.mapper.apply_after_cut(None, raw, used, found, self.adjuster.decision)

    def own_or_previous(self, found, corrupt):
        """Return the LUTs of the last good frame, or of this one; as the lane without smoothing."""
        own = {name: found[name].copy() for name in LUT_ARRAYS if name in found}
        used = own if self.before is None else self.before
        if not corrupt:
            self.before = own
        return used


def assert_sequence(folder, geometry, options):
    """Every frame is the CPU lane's, to the last byte."""
    shim, frames = SmoothingShim(folder, geometry, options), clip(geometry)
    results = enhance_all("cpu", [copy_frame(frame) for frame in frames], options)
    for number, (frame, wanted) in enumerate(zip(frames, results, strict=True)):
        found, where = shim.run(frame), f"frame {number}"
        arrays = {"applied": wanted.lut, "enhanced": wanted.frame.pixels, "lbp_labels": wanted.lbp_labels}
        for name, array in arrays.items():
            if array is not None:
                np.testing.assert_array_equal(found[name], array, f"{name} of {where}")
        if "scene_cut" in found:
            cut = wanted.lut_kind is LutKind.OWN and number > 0
            assert bool(found["scene_cut"][0]) is cut, where
    return results


@pytest.mark.parametrize(
    ("geometry", "options"),
    [
        (Geometry(61, 47, PixelFormat.GRAY8), Options(Equalization(tiles=(3, 2), smoothing=0.3, gate=True))),
        (Geometry(61, 47, PixelFormat.GRAY8), Options(Equalization(tiles=(3, 2), gate=True))),
        (Geometry(61, 47, PixelFormat.BGR24), Options(Equalization(Mode.STRETCH, smoothing=0.5))),
        (Geometry(61, 47, PixelFormat.NV12), Options(SMOOTHED)),
        (Geometry(60, 46, PixelFormat.YUYV), Options(SMOOTHED)),
        (Geometry(61, 47, PixelFormat.GRAY12), Options(SMOOTHED, lbp=Lbp(labels=True))),
        (Geometry(61, 47, PixelFormat.GRAY14, Range.LIMITED), Options(SMOOTHED, output=Output.DISPLAY)),
        (Geometry(40, 30, PixelFormat.GRAY10), Options(Equalization(tiles=(2, 2), smoothing=0.3, gate=True))),
        (Geometry(41, 37, PixelFormat.GRAY8), Options(SMOOTHED, region=Region(3, 5, 20, 22))),
        (Geometry(41, 37, PixelFormat.BGRA32), Options(SMOOTHED, orientation=Orientation.FLIP_Y)),
        (Geometry(1, 1, PixelFormat.GRAY8), Options(SMOOTHED)),
    ],
    ids=str,
)
def test_a_sequence_equals_the_cpu_lane(folder, geometry, options):
    assert_sequence(folder, geometry, options)


def test_a_cut_is_found_on_the_device(folder):
    results = assert_sequence(folder, Geometry(61, 47, PixelFormat.GRAY8), Options(SMOOTHED))
    assert [result.lut_kind for result in results[3:5]] == [LutKind.OWN, LutKind.PREVIOUS]


def test_a_frame_above_the_bit_depth_changes_no_state(folder):
    geometry = Geometry(40, 30, PixelFormat.GRAY12)
    frames = clip(geometry)[:3]
    shims = [SmoothingShim(folder, geometry, Options(SMOOTHED)) for _ in range(2)]
    for shim in shims:
        shim.run(copy_frame(frames[0]))
    rejected = copy_frame(frames[1])
    rejected.pixels[3, 4] = 4096
    shims[1].run(rejected)
    first, second = (shim.run(copy_frame(frames[2])) for shim in shims)
    np.testing.assert_array_equal(first["enhanced"], second["enhanced"])
