"""Smoothing, scene cuts and the gate of the plain modes (spec 6, 7), against slow forms of the formulas."""

import numpy as np
import pytest

import oracle_adaptive
import oracle_frames
from lane_helpers import enhance_all
from lumaflow import (
    Equalization,
    Geometry,
    Lbp,
    LbpMapping,
    LutKind,
    Mode,
    Options,
    Orientation,
    Output,
    PixelFormat,
    Range,
    Region,
)
from scenes import exposed, frame_of, room
from synthetic_frames import PLAIN_MODES, copy_frame

F = np.float32
TILES = (3, 2)


def clip(geometry, height, width):
    """Return frames of two scenes, one corrupt frame in each, and a constant frame."""
    scene, other = room(height, width, 1), exposed(room(height, width, 2)[::-1, ::-1], 0.3)
    scenes = [exposed(scene, e, seed=n) for n, e in enumerate((0.9, 0.7, 0.8, 0.75))]
    scenes += [exposed(other, e, seed=n) for n, e in enumerate((1, 1.2, 0.9, 1.1))]
    scenes.append(np.full_like(scene, 90.0))
    return [frame_of(one, geometry, number in (2, 5)) for number, one in enumerate(scenes)]


def expected_luts(frames, options):
    """Return the LUTs, the kind and the age of each frame of a lane."""
    equalization = options.equalization
    results, smooth, before, age = [], None, None, 0
    for frame in frames:
        counted, bits, limited = counted_levels(frame, options)
        out_bits = 8 if options.output is Output.DISPLAY else bits
        luts = oracle_frames.luts_of(counted, equalization, bits, limited, out_bits)
        own = oracle_frames.gated(luts, counted, bits, limited, out_bits, equalization)
        cut = False
        if not frame.corrupt and before is not None and equalization.smoothing < 1:
            cut = distance(counted >> (bits - 5), before) > 0.5
        first = smooth is None or cut
        kind = "identity" if equalization.mode is Mode.IDENTITY else "own" if first else "previous"
        used = own if first else np.rint(smooth).astype(own.dtype)
        results.append((used, kind, 0 if kind != "previous" else age))
        age += 1
        if frame.corrupt:
            continue
        weight = F(equalization.smoothing)
        smooth = own.astype(F) if first or weight == 1 else (F(1) - weight) * smooth + weight * own.astype(F)
        before, age = counted >> (bits - 5), 1
    return results


def counted_levels(frame, options):
    """Return the counted levels of the working plane, their depth, and True for limited range."""
    geometry = frame.geometry
    bits = oracle_frames.BITS.get(geometry.pixel_format, 8)
    pixels = oracle_frames.reoriented(frame.pixels, options.orientation)
    luma = oracle_frames.luma_of(pixels, geometry.pixel_format, options.equalization.color)
    luma = luma[:, : geometry.width] if options.orientation is Orientation.NONE else luma
    return (luma >> geometry.shift)[oracle_frames.region_of(luma, options.region)], bits, geometry.limited


def distance(levels, before):
    """Return the mean distance of the blocks of two frames of 32 levels."""
    return oracle_adaptive.block_distance(levels, before, 0)


def assert_luts(device, frames, options):
    """The LUTs of every frame are the expected ones, and its pixels are mapped with them."""
    results = enhance_all(device, [copy_frame(frame) for frame in frames], options)
    for number, (result, (luts, kind, age)) in enumerate(
        zip(results, expected_luts(frames, options), strict=True)
    ):
        where = f"frame {number} {options}"
        np.testing.assert_array_equal(result.lut, luts, where)
        assert (result.lut_kind, result.lut_age) == (kind, age), where
    return results


@pytest.mark.parametrize("gate", [False, True])
@pytest.mark.parametrize("smoothing", [0.25, 1.0])
@pytest.mark.parametrize("mode", PLAIN_MODES)
def test_smoothed_luts_equal_the_formulas(device, mode, smoothing, gate):
    options = Options(Equalization(mode, tiles=TILES, smoothing=smoothing, gate=gate))
    for pixel_format in (PixelFormat.GRAY8, PixelFormat.BGR24, PixelFormat.GRAY12, PixelFormat.NV12):
        assert_luts(device, clip(Geometry(61, 47, pixel_format), 47, 61), options)


@pytest.mark.parametrize("pixel_format", list(PixelFormat))
def test_every_format_is_smoothed(device, pixel_format):
    options = Options(Equalization(Mode.EQUALIZE, smoothing=0.1, gate=True))
    assert_luts(device, clip(Geometry(40, 26, pixel_format), 26, 40), options)


@pytest.mark.parametrize("size", [(1, 1), (3, 7), (1, 40)])
def test_small_frames_are_smoothed(device, size):
    frames = clip(Geometry(size[1], size[0], PixelFormat.GRAY8), *size)
    assert_luts(device, frames, Options(Equalization(Mode.CLAHE, tiles=TILES, smoothing=0.3, gate=True)))


def test_a_region_an_orientation_and_a_display_output_are_smoothed(device):
    equalization = Equalization(Mode.EQUALIZE, smoothing=0.3, gate=True)
    frames = clip(Geometry(41, 37, PixelFormat.GRAY14, Range.LIMITED), 37, 41)
    for options in (
        Options(equalization, region=Region(3, 5, 20, 22)),
        Options(equalization, orientation=Orientation.ROTATE90),
        Options(equalization, output=Output.DISPLAY),
    ):
        assert_luts(device, frames, options)


def test_the_display_luma_of_deep_frames_is_smoothed(device):
    equalization = Equalization(Mode.EQUALIZE, smoothing=0.3)
    frames = clip(Geometry(41, 37, PixelFormat.GRAY12), 37, 41)
    features = Options(equalization, lbp=Lbp(mapping=LbpMapping.RAW, labels=True))
    shown = enhance_all(device, frames, Options(equalization, output=Output.DISPLAY))
    for result, display in zip(enhance_all(device, frames, features), shown, strict=True):
        labels = oracle_adaptive.oracle.lbp_labels(display.frame.pixels, False, LbpMapping.RAW)
        np.testing.assert_array_equal(result.lbp_labels, labels)


def test_the_frame_after_a_cut_uses_its_own_lut(device):
    results = assert_luts(
        device, clip(Geometry(61, 47, PixelFormat.GRAY8), 47, 61), Options(Equalization(smoothing=0.1))
    )
    assert [result.lut_kind for result in results[3:6]] == [LutKind.PREVIOUS, LutKind.OWN, LutKind.PREVIOUS]
    assert all(result.tone is None for result in results)


def test_smoothing_reduces_the_flicker_of_a_still_scene(device):
    frames = [
        frame_of(exposed(room(48, 64), 0.5, seed=n), Geometry(64, 48, PixelFormat.GRAY8)) for n in range(12)
    ]

    def flicker(smoothing):
        luts = [
            r.lut.astype(float)
            for r in enhance_all(device, frames, Options(Equalization(smoothing=smoothing)))
        ]
        return np.abs(np.diff(luts[2:], 2, axis=0)).mean()

    assert flicker(0.1) < 0.3 * flicker(1.0)
