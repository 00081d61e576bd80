"""The CUDA lane equals the CPU lane bit for bit (HOG: 2e-6). All tests need a GPU: `./dev gpu`."""

import mmap
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from lumaflow import (
    Alignment,
    ColorMode,
    Equalization,
    Frame,
    FrameError,
    Geometry,
    Hog,
    HogLayout,
    Lane,
    LaneConfig,
    Lbp,
    LbpMapping,
    LutKind,
    Mode,
    Neighborhood,
    Options,
    Orientation,
    Output,
    PixelFormat,
    Range,
    Region,
    Stage,
    StateError,
    available_devices,
    functions,
    open_lane,
)
from lumaflow.backend import page_lock
from lumaflow.cuda.compiler import MODES
from lumaflow.formats import Family
from scenes import exposed, frame_of, hazy, room
from synthetic_frames import PLAIN_MODES, copy_frame, synthetic_frame

FORMATS = (PixelFormat.GRAY8, PixelFormat.BGR24)
HOG_TOLERANCE = 2e-6
ALL = Options(hog=Hog(), lbp=Lbp(labels=True), heatmap=True)
SMALL = [(1, 1), (1, 17), (19, 1), (7, 5), (16, 16), (33, 47), (64, 48), (127, 61)]


@pytest.fixture
def cuda() -> str:
    """The first GPU."""
    found = [name for name in available_devices() if name.startswith("cuda")]
    if not found:
        pytest.skip("no cuda device here: see `lumaflow doctor`")
    return found[0]


def picture(rng: np.random.Generator, geometry: Geometry, kind: int) -> NDArray[np.uint8]:
    """A random, dark, constant, two-level or smooth image."""
    shape = geometry.shape
    match kind % 5:
        case 0:
            return rng.integers(0, 256, shape, np.uint8)
        case 1:
            return rng.integers(0, 40, shape, np.uint8)
        case 2:
            return np.full(shape, rng.integers(0, 256), np.uint8)
        case 3:
            return rng.choice(np.array([3, 250], np.uint8), shape)
    ramp = np.add.outer(np.arange(shape[0]), np.arange(shape[1])) % 256
    return np.ascontiguousarray(
        np.broadcast_to(ramp.reshape(*shape[:2], *[1] * (len(shape) - 2)), shape), np.uint8
    )


def copied(enhanced: Any) -> dict[str, Any]:
    """Copies of all results of a frame, which stay valid after the next `submit`."""
    found = {"pixels": enhanced.frame.pixels, "bins": enhanced.bins, "lut": enhanced.lut}
    found |= {name: getattr(enhanced, name) for name in ("hog", "lbp", "lbp_labels")}
    if enhanced.heatmap is not None:
        found |= {"deviation": enhanced.heatmap.deviation, "distance": enhanced.heatmap.distance}
    found = {name: np.array(value) for name, value in found.items() if value is not None}
    found |= {"kind": enhanced.lut_kind, "age": enhanced.lut_age, "sequence": enhanced.sequence}
    return found | {"tone": enhanced.tone}


def run(
    lane: Lane, pictures: list[NDArray[np.uint8]], corrupt: frozenset[int] = frozenset()
) -> list[dict[str, Any]]:
    """Process all images with full slots."""
    results = []
    for index, pixels in enumerate(pictures):
        if lane.in_flight == lane.config.slots:
            results.append(copied(lane.collect()))
        lane.submit(Frame(pixels, lane.geometry.pixel_format, corrupt=index in corrupt))
    while lane.in_flight:
        results.append(copied(lane.collect()))
    return results


def assert_same(found: list[dict[str, Any]], wanted: list[dict[str, Any]]) -> None:
    """All results are equal; HOG within its tolerance, relative for compact cells."""
    assert len(found) == len(wanted)
    for index, (one, other) in enumerate(zip(found, wanted, strict=True)):
        assert one.keys() == other.keys()
        for name, value in other.items():
            if name == "hog":
                assert one[name].shape == value.shape
                assert np.all(np.isfinite(one[name]))
                np.testing.assert_allclose(
                    one[name], value, rtol=HOG_TOLERANCE, atol=HOG_TOLERANCE, err_msg=f"frame {index}"
                )
            else:
                np.testing.assert_array_equal(one[name], value, err_msg=f"{name} of frame {index}")


SELDOM_TIMED = LaneConfig(timing_every=3)
"""Most frames use the graph of a whole frame, and some do not."""


def both(
    cuda: str,
    geometry: Geometry,
    options: Options,
    pictures: list[NDArray[np.uint8]],
    config: LaneConfig = SELDOM_TIMED,
    **kwargs: Any,
) -> None:
    """Compare the results of the GPU and of the CPU."""
    with (
        open_lane(cuda, geometry, options, config) as fast,
        open_lane("cpu", geometry, options) as exact,
    ):
        assert_same(run(fast, pictures, **kwargs), run(exact, pictures, **kwargs))


def variants() -> Iterator[tuple[PixelFormat, Equalization]]:
    """Each mode on gray, and on colour in both colour modes."""
    for mode in MODES:
        yield PixelFormat.GRAY8, Equalization(mode)
        for color in ColorMode:
            yield PixelFormat.BGR24, Equalization(mode, color=color)


@pytest.mark.parametrize(("pixel_format", "equalization"), list(variants()), ids=str)
def test_small_frames_equal_the_cpu_lane(
    cuda: str, rng: np.random.Generator, pixel_format: PixelFormat, equalization: Equalization
) -> None:
    for width, height in SMALL:
        geometry = Geometry(width, height, pixel_format)
        pictures = [picture(rng, geometry, kind) for kind in range(5)]
        options = Options(equalization, hog=Hog(), lbp=Lbp(labels=True), heatmap=True)
        both(cuda, geometry, options, pictures)


@pytest.mark.parametrize("pixel_format", FORMATS)
def test_sanitized_step_equals_the_cpu_lane(
    cuda: str, rng: np.random.Generator, pixel_format: PixelFormat
) -> None:
    """Small frames for compute-sanitizer: `./dev gpu` runs the tests named `sanitized` with it."""
    for mode, (width, height) in product(MODES, [(1, 1), (23, 17), (70, 50)]):
        geometry = Geometry(width, height, pixel_format)
        options = Options(Equalization(mode, tiles=(3, 2)), hog=Hog(), lbp=Lbp(labels=True), heatmap=True)
        both(cuda, geometry, options, [picture(rng, geometry, kind) for kind in range(3)])


@pytest.mark.parametrize("pixel_format", [PixelFormat.NV12, PixelFormat.BGR24, PixelFormat.GRAY12])
@pytest.mark.parametrize(
    "equalization",
    [
        Equalization(Mode.AUTO),
        Equalization(Mode.LOWLIGHT),
        Equalization(Mode.DEHAZE),
        Equalization(tiles=(3, 2), smoothing=0.3, gate=True),
    ],
)
def test_sanitized_adaptive_and_smoothed_frames_equal_the_cpu_lane(
    cuda: str, pixel_format: PixelFormat, equalization: Equalization
) -> None:
    """Dark frames, which are filtered, and hazy ones, for compute-sanitizer."""
    geometry, scene = Geometry(70, 50, pixel_format), room(50, 70)
    scenes = [exposed(scene, 0.1, seed=seed) for seed in range(3)] + [hazy(scene, 2.0)] * 2
    frames = [frame_of(one, geometry, number == 1) for number, one in enumerate(scenes)]
    assert_frames_same(cuda, frames, Options(equalization, hog=Hog(), lbp=Lbp()))


def test_300_random_frames_equal_the_cpu_lane(cuda: str, rng: np.random.Generator) -> None:
    modes, formats = list(MODES), FORMATS
    for case in range(60):
        geometry = Geometry(*(int(side) for side in rng.integers(1, 400, 2)), formats[case % 2])
        tiles = tuple(int(count) for count in rng.integers(1, 12, 2))
        clip = float(rng.choice([0.0, 0.5, 2.0, 40.0]))
        equalization = Equalization(modes[case // 2 % 4], clip, tiles, list(ColorMode)[case // 8 % 2])
        lbp = Lbp(list(Neighborhood)[case % 2], list(LbpMapping)[case // 2 % 4], labels=True)
        options = Options(equalization, Hog(list(HogLayout)[case // 4 % 2]), lbp, heatmap=True)
        both(cuda, geometry, options, [picture(rng, geometry, case + kind) for kind in range(5)])


@pytest.mark.parametrize("pixel_format", FORMATS)
@pytest.mark.parametrize(("width", "height"), [(1920, 1080), (1279, 719), (4096, 2160)])
def test_large_frames_equal_the_cpu_lane(
    cuda: str, rng: np.random.Generator, width: int, height: int, pixel_format: PixelFormat
) -> None:
    geometry = Geometry(width, height, pixel_format)
    both(cuda, geometry, ALL, [picture(rng, geometry, kind) for kind in range(5)])


@pytest.mark.parametrize(("neighborhood", "mapping"), list(product(Neighborhood, LbpMapping)))
def test_each_lbp_equals_the_cpu_lane(
    cuda: str, rng: np.random.Generator, neighborhood: Neighborhood, mapping: LbpMapping
) -> None:
    geometry = Geometry(203, 101, PixelFormat.GRAY8)
    options = Options(lbp=Lbp(neighborhood, mapping, labels=True))
    both(cuda, geometry, options, [picture(rng, geometry, kind) for kind in range(5)])


@pytest.mark.parametrize("slots", [1, 2, 5])
@pytest.mark.parametrize("graph", [True, False])
def test_number_of_slots_and_graph_do_not_change_results(
    cuda: str, rng: np.random.Generator, slots: int, graph: bool
) -> None:
    geometry = Geometry(320, 240, PixelFormat.BGR24)
    options, config = Options(hog=Hog(), lbp=Lbp()), LaneConfig(slots, graph, timing_every=3)
    both(cuda, geometry, options, [picture(rng, geometry, kind) for kind in range(17)], config)


@pytest.mark.parametrize("corrupt", [{0}, {0, 1}, {3, 4}, {1, 5, 6, 7, 11}, set(range(12))])
def test_the_lut_of_a_corrupt_frame_is_not_used(
    cuda: str, rng: np.random.Generator, corrupt: set[int]
) -> None:
    geometry = Geometry(160, 120, PixelFormat.GRAY8)
    pictures = [picture(rng, geometry, kind) for kind in range(12)]
    both(cuda, geometry, ALL, pictures, corrupt=frozenset(corrupt))


@pytest.mark.parametrize("pixel_format", [PixelFormat.GRAY8, PixelFormat.NV12, PixelFormat.BGR24])
def test_all_kinds_of_input_keep_the_order_of_frames(
    cuda: str, rng: np.random.Generator, pixel_format: PixelFormat
) -> None:
    """In the slot or not, with or without `out`, corrupt or not: each combination uses different code."""
    geometry = Geometry(640, 360, pixel_format)
    options, config = Options(hog=Hog(), lbp=Lbp()), LaneConfig(timing_every=7)
    frames = [synthetic_frame(rng, geometry, kind) for kind in range(5)]
    found: list[dict[str, Any]] = []
    wanted: list[dict[str, Any]] = []
    with open_lane(cuda, geometry, options, config) as fast, open_lane("cpu", geometry, options) as exact:
        for one in (replace(frames[n % 5], corrupt=bool(rng.random() < 0.1)) for n in range(200)):
            exact.submit(one)
            wanted.append(copied(exact.collect()))
            if fast.in_flight == config.slots:
                found.append(copied(fast.collect()))
            if rng.random() < 0.6:
                slot = fast.next_input()
                for plane, source in zip(slot.planes, one.planes, strict=True):
                    plane[...] = source
                one = replace(slot, corrupt=one.corrupt)
            out = Frame.empty(geometry) if rng.random() < 0.2 else None
            fast.submit(one, out)
        while fast.in_flight:
            found.append(copied(fast.collect()))
    assert_same(found, wanted)


def test_1000_frames_on_8_concurrent_lanes_give_the_same_bits(cuda: str, rng: np.random.Generator) -> None:
    geometries = [Geometry(64 + 40 * n, 48 + 30 * n, FORMATS[n % 2]) for n in range(8)]
    pictures = [picture(rng, geometry, 4) for geometry in geometries]
    for geometry, pixels in zip(geometries, pictures, strict=True):
        pixels[...] = np.minimum(pixels, rng.integers(1, 256, geometry.shape))
    lanes = [open_lane(cuda, geometry, ALL) for geometry in geometries]
    first: dict[int, dict[str, Any]] = {}
    for _ in range(1000):
        for lane, pixels in zip(lanes, pictures, strict=True):
            lane.submit(Frame(pixels, lane.geometry.pixel_format))
        for index, lane in enumerate(lanes):
            result = copied(lane.collect())
            for name in ("sequence", "kind", "age"):
                del result[name]
            for name, value in first.setdefault(index, result).items():
                np.testing.assert_array_equal(result[name], value, err_msg=f"{name} of lane {index}")
    for lane, geometry, pixels in zip(lanes, geometries, pictures, strict=True):
        lane.close()
        both(cuda, geometry, ALL, [pixels] * 2)


@pytest.mark.parametrize(("slots", "timing_every"), [(2, 10_000), (4, 10_000), (4, 1)])
def test_nothing_is_allocated_over_10000_frames(
    cuda: str, rng: np.random.Generator, slots: int, timing_every: int
) -> None:
    import cupy

    geometry = Geometry(640, 480, PixelFormat.GRAY8)
    options, config = Options(hog=Hog(), lbp=Lbp()), LaneConfig(slots, timing_every=timing_every)
    with open_lane(cuda, geometry, options, config) as lane:
        lane.next_input().pixels[:] = picture(rng, geometry, 0)
        pools = cupy.get_default_memory_pool(), cupy.get_default_pinned_memory_pool()
        seen = set()
        for index in range(10_000):
            if lane.in_flight == slots:
                lane.collect()
            lane.submit(lane.next_input())
            if index % 1000 == 500:
                seen.add(
                    (cupy.cuda.runtime.memGetInfo()[0], pools[0].total_bytes(), pools[1].n_free_blocks())
                )
        assert len(seen) == 1


def test_closing_frees_all_device_memory(cuda: str) -> None:
    import cupy

    geometry = Geometry(1920, 1080, PixelFormat.BGR24)
    free = []
    for _ in range(6):
        open_lane(cuda, geometry, ALL).close()
        free.append(cupy.cuda.runtime.memGetInfo()[0])
    assert free[-1] == free[1]


def test_a_lane_can_close_with_frames_in_flight(cuda: str, rng: np.random.Generator) -> None:
    geometry = Geometry(1280, 720, PixelFormat.GRAY8)
    config = LaneConfig(slots=4, timing_every=3)
    for _ in range(20):
        lane = open_lane(cuda, geometry, Options(hog=Hog(), lbp=Lbp()), config)
        for _ in range(4):
            lane.next_input().pixels[:] = picture(rng, geometry, 0)
            lane.submit(lane.next_input())
        lane.close()
        lane.close()
    both(cuda, geometry, ALL, [picture(rng, geometry, 1)] * 2)


def test_padding_of_an_out_is_not_written(cuda: str, rng: np.random.Generator) -> None:
    """An `out` with the pitch of the lane, whose padding belongs to the caller."""
    import cupy

    geometry = Geometry(1000, 4, PixelFormat.GRAY8)
    with open_lane(cuda, geometry) as lane:
        wide = cupy.full((4, 1008), 77, np.uint8)
        lane.submit(
            Frame(picture(rng, geometry, 0), PixelFormat.GRAY8),
            Frame.from_numpy(wide[:, :1000], PixelFormat.GRAY8),
        )
        enhanced = lane.collect()
        assert enhanced.frame.pixels.std() > 1
        assert (wide[:, 1000:] == 77).all()


def test_out_can_be_in_any_kind_of_memory(cuda: str, rng: np.random.Generator) -> None:
    geometry = Geometry(101, 67, PixelFormat.BGR24)
    pixels = picture(rng, geometry, 1)
    shared = np.frombuffer(mmap.mmap(-1, 1 << 20), np.uint8)
    release = page_lock(cuda, shared)
    with open_lane("cpu", geometry) as exact:
        wanted = run(exact, [pixels])[0]["pixels"]
    with open_lane(cuda, geometry) as lane:
        locked_in = shared[: pixels.size].reshape(pixels.shape)
        locked_in[:] = pixels
        locked_out = shared[1 << 19 :][: pixels.size].reshape(pixels.shape)
        for source, out in ((pixels, np.zeros_like(pixels)), (locked_in, locked_out), (locked_in, None)):
            lane.submit(
                Frame(source, PixelFormat.BGR24), None if out is None else Frame(out, PixelFormat.BGR24)
            )
            enhanced = lane.collect()
            assert out is None or enhanced.frame.pixels is out
            np.testing.assert_array_equal(enhanced.frame.pixels, wanted)
        del enhanced
    release()
    release()


def test_each_stage_that_ran_has_a_time(cuda: str, rng: np.random.Generator) -> None:
    geometry = Geometry(640, 480, PixelFormat.GRAY8)
    for graph in (True, False):
        config = LaneConfig(graph=graph, timing_every=2)
        with open_lane(cuda, geometry, Options(hog=Hog(), lbp=Lbp()), config) as lane:
            for index in range(6):
                lane.submit(Frame(picture(rng, geometry, 0), PixelFormat.GRAY8))
                times = lane.collect().stage_seconds
                wanted = set(Stage) - {Stage.LUT} if index % 2 == 0 else set()
                assert set(times) == wanted
                assert all(0 < seconds < 1 for seconds in times.values())


def test_features_can_stay_on_the_device(cuda: str, rng: np.random.Generator) -> None:
    import cupy

    geometry = Geometry(320, 200, PixelFormat.GRAY8)
    pixels = picture(rng, geometry, 0)
    with open_lane("cpu", geometry, ALL) as exact:
        wanted = run(exact, [pixels])[0]
    with open_lane(cuda, geometry, ALL, LaneConfig(features_on_device=True)) as lane:
        lane.submit(Frame(pixels, PixelFormat.GRAY8))
        enhanced = lane.collect()
        assert isinstance(enhanced.hog, cupy.ndarray)
        np.testing.assert_allclose(cupy.asnumpy(enhanced.hog), wanted["hog"], rtol=0, atol=HOG_TOLERANCE)
        np.testing.assert_array_equal(cupy.asnumpy(enhanced.lbp), wanted["lbp"])
        np.testing.assert_array_equal(cupy.asnumpy(enhanced.lbp_labels), wanted["lbp_labels"])


def test_a_lane_works_after_misuse(cuda: str, rng: np.random.Generator) -> None:
    geometry = Geometry(64, 64, PixelFormat.GRAY8)
    pixels = picture(rng, geometry, 0)
    lane = open_lane(cuda, geometry, config=LaneConfig(slots=2))
    with pytest.raises(StateError, match="submit a frame before"):
        lane.collect()
    with pytest.raises(FrameError, match="got 64x32 gray8"):
        lane.submit(Frame(pixels[:32], PixelFormat.GRAY8))
    with pytest.raises(FrameError, match="expected out to be"):
        lane.submit(Frame(pixels, PixelFormat.GRAY8), Frame(np.zeros((2, 2), np.uint8), PixelFormat.GRAY8))
    lane.submit(Frame(pixels, PixelFormat.GRAY8))
    lane.submit(Frame(pixels, PixelFormat.GRAY8))
    with pytest.raises(StateError, match="collect a frame first"):
        lane.submit(Frame(pixels, PixelFormat.GRAY8))
    assert [lane.collect().lut_kind for _ in range(2)] == [LutKind.OWN, LutKind.PREVIOUS]
    lane.close()
    lane.close()
    for call in (lane.collect, lane.next_input, lambda: lane.submit(Frame(pixels, PixelFormat.GRAY8))):
        with pytest.raises(StateError, match="closed"):
            call()


# Every format


def geometries() -> list[Geometry]:
    """Each format, range and alignment, with odd sizes."""
    found = [
        Geometry(203, 117, pixel_format, range, alignment)
        for pixel_format, range, alignment in product(PixelFormat, (Range.FULL, Range.LIMITED), Alignment)
        if range is Range.FULL or pixel_format.layout.family is not Family.RGB
    ]
    return list(dict.fromkeys(found))


def assert_frames_same(cuda: str, frames: list[Frame], options: Options) -> None:
    """Compare all planes and results of both lanes."""
    with (
        open_lane(cuda, frames[0].geometry, options, SELDOM_TIMED) as fast,
        open_lane("cpu", frames[0].geometry, options) as exact,
    ):
        for lane_frames in frames:
            found, wanted = (enhanced_by(lane, copy_frame(lane_frames)) for lane in (fast, exact))
            assert_same([found], [wanted])


def enhanced_by(lane: Lane, frame: Frame) -> dict[str, Any]:
    lane.submit(frame)
    enhanced = lane.collect()
    planes = {f"plane {number}": np.array(plane) for number, plane in enumerate(enhanced.frame.planes)}
    return copied(enhanced) | planes | {"clamped": enhanced.clamped}


@pytest.mark.parametrize(
    "pixel_format", [PixelFormat.NV12, PixelFormat.P010, PixelFormat.GRAY12, PixelFormat.BGRA32]
)
def test_sanitized_orientations_and_u16_frames_equal_the_cpu_lane(
    cuda: str, rng: np.random.Generator, pixel_format: PixelFormat
) -> None:
    """The other kernels, for compute-sanitizer."""
    for mode, orientation in product((Mode.EQUALIZE, Mode.CLAHE), (Orientation.ROTATE90, Orientation.FLIP_X)):
        geometry = Geometry(70, 50, pixel_format)
        options = Options(Equalization(mode, tiles=(3, 2)), hog=Hog(), lbp=Lbp(), orientation=orientation)
        assert_frames_same(cuda, [synthetic_frame(rng, geometry, kind) for kind in range(3)], options)


@pytest.mark.parametrize("geometry", geometries(), ids=str)
def test_each_format_equals_the_cpu_lane(cuda: str, rng: np.random.Generator, geometry: Geometry) -> None:
    for mode, kind in product(PLAIN_MODES, range(2)):
        options = Options(Equalization(mode), hog=Hog(), lbp=Lbp(labels=True), heatmap=True)
        frames = [synthetic_frame(rng, geometry, kind + number) for number in range(4)]
        assert_frames_same(cuda, frames, options)


@pytest.mark.parametrize("pixel_format", [PixelFormat.NV12, PixelFormat.GRAY12, PixelFormat.BGRA32])
@pytest.mark.parametrize("orientation", Orientation)
def test_large_rotated_regions_equal_the_cpu_lane(
    cuda: str, rng: np.random.Generator, pixel_format: PixelFormat, orientation: Orientation
) -> None:
    for everywhere in (True, False):
        region = Region(101, 77, 403, 311, everywhere)
        options = Options(orientation=orientation, region=region, lbp=Lbp())
        frames = [synthetic_frame(rng, Geometry(1279, 720, pixel_format), kind) for kind in (4, 2)]
        assert_frames_same(cuda, frames, options)


def test_a_rejected_frame_has_no_number_and_its_lut_is_not_used(cuda: str, rng: np.random.Generator) -> None:
    geometry, options = Geometry(64, 48, PixelFormat.GRAY12), Options(Equalization(Mode.EQUALIZE))
    frames = [synthetic_frame(rng, geometry, kind) for kind in (2, 3, 4, 3)]
    frames[1].pixels[5, 5] = 4096
    for corrupt in (False, True):
        sent = [replace(frame, corrupt=corrupt and number == 2) for number, frame in enumerate(frames)]
        with open_lane(cuda, geometry, options, LaneConfig(slots=4)) as lane:
            for frame in sent:
                lane.submit(frame)
            found = [copied(lane.collect())]
            with pytest.raises(FrameError, match="got 4096"):
                lane.collect()
            found += [copied(lane.collect()) for _ in range(2)]
        with open_lane("cpu", geometry, options) as exact:
            good = [frame for number, frame in enumerate(sent) if number != 1]
            wanted = [enhanced_by(exact, frame) for frame in good]
        for one, other in zip(found, wanted, strict=True):
            assert_same([one], [{name: other[name] for name in one}])


def test_input_and_out_can_be_on_the_device(cuda: str, rng: np.random.Generator) -> None:
    import cupy

    for pixel_format in (PixelFormat.GRAY8, PixelFormat.NV12, PixelFormat.GRAY16):
        frame = synthetic_frame(rng, Geometry(101, 67, pixel_format), 2)
        wanted = enhanced_by(open_lane("cpu", frame.geometry), copy_frame(frame))
        stream = cupy.cuda.Stream(non_blocking=True)
        with open_lane(cuda, frame.geometry) as lane, stream:
            planes = [cupy.asarray(plane) for plane in frame.planes]
            sent = Frame.from_numpy(planes[0], pixel_format, chroma=tuple(planes[1:]))
            assert sent.pixels is planes[0]
            out = Frame.from_dlpack(
                cupy.zeros_like(planes[0]), pixel_format, chroma=tuple(map(cupy.zeros_like, planes[1:]))
            )
            lane.submit(sent, out)
            shown = lane.collect().frame
            assert shown.pixels is out.pixels
            for number, plane in enumerate(shown.planes):
                np.testing.assert_array_equal(cupy.asnumpy(plane), wanted[f"plane {number}"])
            lane.submit(sent, sent)
            assert lane.collect().frame.pixels is planes[0]
            np.testing.assert_array_equal(cupy.asnumpy(planes[0]), wanted["plane 0"])


def test_the_cpu_lane_rejects_a_frame_on_the_device(cuda: str) -> None:
    import cupy

    frame = Frame.from_numpy(cupy.zeros((8, 8), cupy.uint8))
    with (
        open_lane("cpu", frame.geometry) as lane,
        pytest.raises(FrameError, match="expected a frame in host memory"),
    ):
        lane.submit(frame)


CALLS: dict[str, Callable[..., Any]] = {
    "histogram": lambda luma, **how: functions.compute_histogram(luma, **how),
    "region": lambda luma, **how: functions.compute_histogram(luma, region=Region(3, 5, 21, 17), **how),
    "clahe": lambda luma, **how: functions.clahe(luma, **how),
    "stretch": lambda luma, **how: functions.clahe(luma, Equalization(Mode.STRETCH), **how),
    "identity": lambda luma, **how: functions.clahe(luma, Equalization(Mode.IDENTITY), **how),
    "display": lambda luma, **how: functions.clahe(luma, output=Output.DISPLAY, range=Range.LIMITED, **how),
    "transpose": lambda luma, **how: functions.transpose(luma, **how),
    "rotate180": lambda luma, **how: functions.apply_orientation(luma, Orientation.ROTATE180, **how),
}


@pytest.mark.parametrize("kind", [np.uint8, np.uint16])
@pytest.mark.parametrize("name", CALLS)
def test_functions_equal_the_cpu(
    cuda: str, rng: np.random.Generator, name: str, kind: type[np.generic]
) -> None:
    import cupy

    sheet = rng.integers(0, np.iinfo(kind).max, (70, 83)).astype(kind)  # type: ignore[arg-type]
    for window in (np.s_[:], np.s_[3:64, 5:52], np.s_[::2, ::3]):
        luma = sheet[window]
        wanted = CALLS[name](luma)
        stream = cupy.cuda.Stream(non_blocking=True)
        sent = cupy.asarray(sheet)[window]
        cupy.cuda.get_current_stream().synchronize()
        given = CALLS[name](sent, stream=stream)
        stream.synchronize()
        np.testing.assert_array_equal(cupy.asnumpy(given), wanted)
        beside = cupy.zeros((*wanted.shape[:-1], wanted.shape[-1] + 3), wanted.dtype)
        for out in (cupy.zeros_like(given), beside[..., 2:-1]):
            cupy.cuda.get_current_stream().synchronize()
            assert CALLS[name](sent, out=out, stream=stream.ptr) is out
            stream.synchronize()
            np.testing.assert_array_equal(cupy.asnumpy(out), wanted)
        with pytest.raises(FrameError, match="expected out to be"):
            CALLS[name](sent, out=cupy.zeros(7, wanted.dtype))


def test_luts_and_features_of_arrays_equal_the_cpu(cuda: str, rng: np.random.Generator) -> None:
    import cupy

    for bits, mode, range, output in product((8, 10, 16), PLAIN_MODES, (Range.FULL, Range.LIMITED), Output):
        if mode is not Mode.CLAHE:
            bins = np.bincount(rng.integers(3, 1 << bits, 5000), minlength=1 << bits).astype(np.uint32)
            how = {"output": output, "range": range}
            lut = functions.build_lut(cupy.asarray(bins), Equalization(mode), **how)
            np.testing.assert_array_equal(lut.get(), functions.build_lut(bins, Equalization(mode), **how))
    luma = rng.integers(0, 256, (61, 47), np.uint8)
    there, table = cupy.asarray(luma), rng.integers(0, 65535, 256).astype(np.uint16)
    np.testing.assert_array_equal(functions.apply_lut(there, cupy.asarray(table)).get(), table[luma])
    with pytest.raises(FrameError, match="an entry for level 255"):
        functions.apply_lut(there, cupy.asarray(table[:100]))
    np.testing.assert_allclose(functions.hog(there).get(), functions.hog(luma), rtol=0, atol=HOG_TOLERANCE)
    np.testing.assert_array_equal(functions.lbp(there).get(), functions.lbp(luma))
    with pytest.raises(FrameError, match="got 4096"):
        functions.clahe(cupy.full((4, 4), 4096, cupy.uint16), bits=12)


def test_pytorch_tensors_are_used_without_a_copy(cuda: str, rng: np.random.Generator) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install torch")
    luma = rng.integers(0, 256, (61, 47), np.uint8)
    tensor = torch.from_numpy(luma).cuda()
    out = torch.empty_like(tensor)
    stream = torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        assert functions.clahe(tensor, out=out, stream=stream) is out
        turned = torch.from_dlpack(functions.transpose(tensor, stream=stream))
    stream.synchronize()
    np.testing.assert_array_equal(out.cpu().numpy(), functions.clahe(luma))
    np.testing.assert_array_equal(turned.cpu().numpy(), luma.T)
    assert Frame.from_dlpack(tensor).pixels.data.ptr == tensor.data_ptr()
