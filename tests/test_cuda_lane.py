"""The CUDA lane against the CPU lane, bit for bit (HOG: 2e-6). Every test needs a GPU: `./dev gpu`."""

import mmap
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from pipeline import (
    ColorMode,
    Equalization,
    Frame,
    FrameError,
    Geometry,
    Hog,
    HogLayout,
    Lane,
    Lbp,
    LbpMapping,
    LutKind,
    Neighborhood,
    Options,
    PixelFormat,
    Stage,
    StateError,
    available_devices,
    open_lane,
)
from pipeline.backend import page_lock
from pipeline.cuda.compiler import MODES

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
    """A random, dark, constant, two-level or smooth picture."""
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
    """Every result of a frame, so that it outlives the lane's next submit."""
    found = {"pixels": enhanced.frame.pixels, "bins": enhanced.bins, "lut": enhanced.lut}
    found |= {name: getattr(enhanced, name) for name in ("hog", "lbp", "lbp_labels")}
    if enhanced.heatmap is not None:
        found |= {"deviation": enhanced.heatmap.deviation, "distance": enhanced.heatmap.distance}
    found = {name: np.array(value) for name, value in found.items() if value is not None}
    return found | {"kind": enhanced.lut_kind, "age": enhanced.lut_age, "sequence": enhanced.sequence}


def run(
    lane: Lane, pictures: list[NDArray[np.uint8]], corrupt: frozenset[int] = frozenset()
) -> list[dict[str, Any]]:
    """Every picture through the lane, the ring kept full."""
    results = []
    for index, pixels in enumerate(pictures):
        if lane.in_flight == lane.options.slots:
            results.append(copied(lane.collect()))
        lane.submit(Frame(pixels, lane.geometry.pixel_format, corrupt=index in corrupt))
    while lane.in_flight:
        results.append(copied(lane.collect()))
    return results


def assert_same(found: list[dict[str, Any]], wanted: list[dict[str, Any]]) -> None:
    """All results equal to the bit; HOG within its tolerance, relative where compact cells sum up."""
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


def both(
    cuda: str, geometry: Geometry, options: Options, pictures: list[NDArray[np.uint8]], **kwargs: Any
) -> None:
    """Run the same pictures on the GPU and on the CPU and compare."""
    with open_lane(cuda, geometry, options) as fast, open_lane("cpu", geometry, options) as exact:
        assert_same(run(fast, pictures, **kwargs), run(exact, pictures, **kwargs))


def variants() -> Iterator[tuple[PixelFormat, Equalization]]:
    """Every mode on gray and on colour in both colour modes."""
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
    """Small enough for compute-sanitizer, which `./dev gpu` runs over this test alone."""
    for mode, (width, height) in product(MODES, [(1, 1), (23, 17), (70, 50)]):
        geometry = Geometry(width, height, pixel_format)
        options = Options(Equalization(mode, tiles=(3, 2)), hog=Hog(), lbp=Lbp(labels=True), heatmap=True)
        both(cuda, geometry, options, [picture(rng, geometry, kind) for kind in range(3)])


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
def test_every_lbp_equals_the_cpu_lane(
    cuda: str, rng: np.random.Generator, neighborhood: Neighborhood, mapping: LbpMapping
) -> None:
    geometry = Geometry(203, 101, PixelFormat.GRAY8)
    options = Options(lbp=Lbp(neighborhood, mapping, labels=True))
    both(cuda, geometry, options, [picture(rng, geometry, kind) for kind in range(5)])


@pytest.mark.parametrize("slots", [1, 2, 5])
@pytest.mark.parametrize("graph", [True, False])
def test_ring_depth_and_graph_never_change_a_result(
    cuda: str, rng: np.random.Generator, slots: int, graph: bool
) -> None:
    geometry = Geometry(320, 240, PixelFormat.BGR24)
    options = Options(hog=Hog(), lbp=Lbp(), slots=slots, graph=graph, timing_every=3)
    both(cuda, geometry, options, [picture(rng, geometry, kind) for kind in range(17)])


@pytest.mark.parametrize("corrupt", [{0}, {0, 1}, {3, 4}, {1, 5, 6, 7, 11}, set(range(12))])
def test_corrupt_frames_are_mapped_but_never_map_another(
    cuda: str, rng: np.random.Generator, corrupt: set[int]
) -> None:
    geometry = Geometry(160, 120, PixelFormat.GRAY8)
    pictures = [picture(rng, geometry, kind) for kind in range(12)]
    both(cuda, geometry, ALL, pictures, corrupt=frozenset(corrupt))


def test_1000_frames_on_8_lanes_at_once_give_the_same_bits(cuda: str, rng: np.random.Generator) -> None:
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


def test_nothing_is_allocated_over_10000_frames(cuda: str, rng: np.random.Generator) -> None:
    import cupy

    geometry = Geometry(640, 480, PixelFormat.GRAY8)
    with open_lane(cuda, geometry, Options(hog=Hog(), lbp=Lbp(), slots=4)) as lane:
        lane.next_input().pixels[:] = picture(rng, geometry, 0)
        pools = cupy.get_default_memory_pool(), cupy.get_default_pinned_memory_pool()
        seen = set()
        for index in range(10_000):
            if lane.in_flight == 4:
                lane.collect()
            lane.submit(lane.next_input())
            if index % 1000 == 500:
                seen.add(
                    (cupy.cuda.runtime.memGetInfo()[0], pools[0].total_bytes(), pools[1].n_free_blocks())
                )
        assert len(seen) == 1


def test_closing_gives_all_device_memory_back(cuda: str) -> None:
    import cupy

    geometry = Geometry(1920, 1080, PixelFormat.BGR24)
    free = []
    for _ in range(6):
        open_lane(cuda, geometry, ALL).close()
        free.append(cupy.cuda.runtime.memGetInfo()[0])
    assert free[-1] == free[1]


def test_out_is_filled_wherever_it_lies(cuda: str, rng: np.random.Generator) -> None:
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


def test_every_stage_that_ran_has_a_time(cuda: str, rng: np.random.Generator) -> None:
    geometry = Geometry(640, 480, PixelFormat.GRAY8)
    for graph in (True, False):
        options = Options(hog=Hog(), lbp=Lbp(), timing_every=2, graph=graph)
        with open_lane(cuda, geometry, options) as lane:
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
    kept = Options(hog=Hog(), lbp=Lbp(labels=True), heatmap=True, features_on_device=True)
    with open_lane(cuda, geometry, kept) as lane:
        lane.submit(Frame(pixels, PixelFormat.GRAY8))
        enhanced = lane.collect()
        assert isinstance(enhanced.hog, cupy.ndarray)
        np.testing.assert_allclose(cupy.asnumpy(enhanced.hog), wanted["hog"], rtol=0, atol=HOG_TOLERANCE)
        np.testing.assert_array_equal(cupy.asnumpy(enhanced.lbp), wanted["lbp"])
        np.testing.assert_array_equal(cupy.asnumpy(enhanced.lbp_labels), wanted["lbp_labels"])


def test_misuse_is_refused_and_the_lane_lives_on(cuda: str, rng: np.random.Generator) -> None:
    geometry = Geometry(64, 64, PixelFormat.GRAY8)
    pixels = picture(rng, geometry, 0)
    lane = open_lane(cuda, geometry, Options(slots=2))
    with pytest.raises(StateError, match="submit a frame before"):
        lane.collect()
    with pytest.raises(FrameError, match="64x32 gray8 came"):
        lane.submit(Frame(pixels[:32], PixelFormat.GRAY8))
    with pytest.raises(FrameError, match="an out"):
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
