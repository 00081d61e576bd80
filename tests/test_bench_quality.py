"""`lumaflow bench quality`: scores against scikit-image or by hand, inputs, report and contact sheets."""

import json
import math
from pathlib import Path

import av
import cv2
import numpy as np
import pytest
from skimage.color import deltaE_ciede2000
from typer.testing import CliRunner

import lumaflow
from lumaflow_service.bench import app
from lumaflow_service.bench.quality.ciede2000 import ciede2000, color_difference
from lumaflow_service.bench.quality.command import run
from lumaflow_service.bench.quality.contact_sheets import CELL_PX, PAGE_ROWS, ContactSheets
from lumaflow_service.bench.quality.content import is_chart, is_hazy
from lumaflow_service.bench.quality.degradation import DARK, HAZY, Degradation
from lumaflow_service.bench.quality.drawn import drawn_inputs
from lumaflow_service.bench.quality.evaluation import Evaluation, evaluate
from lumaflow_service.bench.quality.ffmpeg_filter import ffmpeg_filter
from lumaflow_service.bench.quality.goals import at_least, at_most, best_of_all, measure_goals
from lumaflow_service.bench.quality.inputs import category_of, read_clip, read_folder, read_image
from lumaflow_service.bench.quality.methods import lumaflow_methods
from lumaflow_service.bench.quality.model import BenchInput, Category, Method
from lumaflow_service.bench.quality.peers import peer_methods
from lumaflow_service.bench.quality.report import QualityReport, collect
from lumaflow_service.bench.quality.scores import (
    halo,
    luma_of,
    measure,
    measure_clip,
    noise_gain,
    still_blocks,
)


def textured(rng, shape=(192, 256), mean=120, contrast=60):
    """A smooth random colour image."""
    small = rng.normal(0, 1, (*(side // 16 + 2 for side in shape), 3)).astype(np.float32)
    smooth = cv2.resize(small, shape[::-1], interpolation=cv2.INTER_CUBIC)
    return np.clip(mean + contrast * smooth, 0, 255).astype(np.uint8)


def write_image(path: Path, pixels) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    assert cv2.imwrite(str(path), pixels)


def write_clip(path: Path, frames) -> None:
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=25)
        stream.height, stream.width = frames[0].shape[:2]
        stream.pix_fmt = "yuv420p"
        for pixels in frames:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(pixels, format="bgr24")))
        container.mux(stream.encode())


def brighten(frames):
    return [cv2.add(frame, np.full_like(frame, 20)) for frame in frames]


# scores -------------------------------------------------------------------------------------------


def test_ciede2000_equals_scikit_image(rng):
    first = rng.uniform([0, -100, -100], [100, 100, 100], (5000, 3))
    second = first + rng.normal(0, 20, first.shape)
    second[:100] = first[:100]
    first[100:200, 1:] = 0
    expected = deltaE_ciede2000(first, second)
    assert color_difference(first.T, second.T) == pytest.approx(expected, abs=1e-9)


def test_ciede2000_of_identical_images_is_0(rng):
    image = textured(rng)
    assert ciede2000(image, image) == 0


def test_noise_gain_is_the_factor_of_the_noise(rng):
    before = np.clip(rng.normal(100, 3, (256, 256)), 0, 255).astype(np.uint8)
    after = np.clip((before.astype(float) - 100) * 3 + 100, 0, 255).astype(np.uint8)
    assert noise_gain(before, after) == pytest.approx(3, abs=0.02)
    assert noise_gain(before, before) == 1


def test_noise_gain_ignores_black_and_clipped_patches(rng):
    assert noise_gain(np.zeros((64, 64), np.uint8), np.ones((64, 64), np.uint8)) is None
    assert noise_gain(np.full((64, 64), 255, np.uint8), np.ones((64, 64), np.uint8)) is None


def test_halo_is_the_overshoot_beside_an_edge():
    edge = np.full((300, 600), 60, np.uint8)
    edge[:, 300:] = 180
    sharpened = cv2.addWeighted(edge, 2, cv2.GaussianBlur(edge, (0, 0), 8), -1, 0)
    assert halo(edge, edge) == 0
    assert halo(edge, sharpened) > 10
    assert halo(edge, np.clip(edge * 1.3, 0, 255).astype(np.uint8)) == pytest.approx(0, abs=0.5)
    assert halo(edge.T, sharpened.T) == pytest.approx(halo(edge, sharpened))


def test_halo_needs_edges(rng):
    assert halo(np.full((300, 300), 60, np.uint8), np.full((300, 300), 90, np.uint8)) is None
    assert halo(np.zeros((10, 10), np.uint8), np.zeros((10, 10), np.uint8)) is None


def test_scores_of_an_unchanged_image(rng):
    image = textured(rng)
    scores = measure(image, image, None)
    assert (scores["psnr"], scores["ssim"], scores["loe"], scores["ambe"]) == (math.inf, 1, 0, 0)
    assert scores["mean"] == pytest.approx(luma_of(image).mean())


def test_scores_are_relative_to_the_reference(rng):
    image = textured(rng)
    dark = image // 2
    assert measure(dark, image, image)["psnr"] == math.inf
    assert measure(dark, dark, image)["psnr"] < 20


def test_flicker_of_a_clip_is_relative_to_the_input(rng):
    base = textured(rng, (64, 96)).astype(int)
    before = [np.clip(base + (number % 2), 0, 255).astype(np.uint8) for number in range(6)]
    after = [np.clip(base + 3 * (number % 2), 0, 255).astype(np.uint8) for number in range(6)]
    assert measure_clip(before, after)["flicker_ratio"] == pytest.approx(3, abs=0.2)


def test_moving_blocks_do_not_count_as_flicker():
    planes = [np.full((16, 16), 100, np.uint8) for _ in range(3)]
    planes[1][:8, :8] = 200
    assert still_blocks(planes).tolist() == [[False, True], [True, True]]


# inputs -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("degradation", [*DARK, *HAZY], ids=lambda degradation: degradation.name)
def test_a_degradation_keeps_the_shape_and_is_reproducible(rng, degradation):
    image = textured(rng, (64, 96))
    degraded = degradation.apply(image)
    assert degraded.shape == image.shape
    assert degraded.dtype == np.uint8
    assert (degraded == degradation.apply(image)).all()
    assert (degraded != degradation.apply(image, seed=1)).any()


def test_a_degradation_darkens_or_adds_airlight(rng):
    image = textured(rng, (64, 96), mean=120)
    assert DARK[1].apply(image).mean() < DARK[0].apply(image).mean() < image.mean() / 2
    hazy = HAZY[1].apply(image)
    assert image.mean() < hazy.mean()
    assert hazy[:8].std() < hazy[-8:].std()


def test_a_vignette_darkens_the_corners():
    image = np.full((65, 65, 3), 200, np.uint8)
    shaded = Degradation("vignette", vignette=0.5).apply(image)
    assert shaded[32, 32, 0] == 200
    assert shaded[0, 0, 0] == round(200 * 0.5 ** (1 / 2.2))


@pytest.mark.parametrize("wrong", [{"haze": -1}, {"exposure": 0}, {"exposure": 2}, {"vignette": 1}])
def test_a_degradation_outside_its_range_is_rejected(wrong):
    with pytest.raises(ValueError, match="expected haze >= 0, exposure above 0 up to 1"):
        Degradation("wrong", **wrong)


def test_categories_of_images(rng):
    clear = textured(rng, (256, 384), contrast=70)
    assert category_of(clear) is Category.WELL_EXPOSED
    assert category_of(clear // 4) is Category.DARK
    assert not is_hazy(clear)
    detailed = np.clip(clear.astype(int) + rng.normal(0, 25, clear.shape), 0, 255).astype(np.uint8)
    assert category_of(Degradation("fog", haze=4).apply(detailed)) is Category.HAZY


def test_a_chart_has_flat_patches_of_many_hues():
    hues = np.repeat(np.arange(0, 180, 15, dtype=np.uint8), 32)
    hsv = np.full((256, hues.size, 3), 230, np.uint8)
    hsv[:, :, 0] = hues
    chart = cv2.cvtColor(hsv, cv2.COLOR_HSV2BGR)
    assert is_chart(chart)
    assert category_of(chart) is Category.CHARTS
    assert not is_chart(np.full((256, 256, 3), 128, np.uint8))


def test_a_folder_yields_images_clips_and_generated_pairs(rng, tmp_path):
    write_image(tmp_path / "a" / "good.png", textured(rng))
    write_image(tmp_path / "corrupt" / "ignored.png", textured(rng))
    (tmp_path / "broken.jpg").write_bytes(b"\xff\xd8\xff")
    (tmp_path / "empty.png").touch()
    (tmp_path / "broken.mp4").write_bytes(b"no video")
    write_image(tmp_path / "tiny.png", textured(rng, (32, 32)))
    write_clip(tmp_path / "clip.mp4", [textured(rng, (96, 128))] * 4)
    inputs = list(read_folder(tmp_path))
    assert [one.name for one in inputs] == [
        "a/good.png",
        "clip.mp4",
        *(f"a/good.png - {degradation.name}" for degradation in (*DARK, *HAZY)),
    ]
    assert inputs[0].category is Category.WELL_EXPOSED
    assert (inputs[1].category, len(inputs[1].frames)) == (Category.CLIPS, 4)
    assert [one.category for one in inputs[2:]] == [Category.DARK_PAIRS] * 2 + [Category.HAZY_PAIRS] * 2
    assert all((one.reference == inputs[0].frames[0]).all() for one in inputs[2:])


def test_sources_tsv_names_the_reference_of_a_degraded_image(rng, tmp_path):
    image = textured(rng)
    write_image(tmp_path / "images" / "scene.png", image)
    write_image(tmp_path / "images" / "scene_dark.png", image // 5)
    columns = ("file", "origin_path", "kind", "scene_group", "note")
    rows = (
        ("images/scene.png", "photos/original.png", "original", "scene", ""),
        ("images/scene_dark.png", "", "derived", "scene", "simulated; reference = original.png"),
        ("images/missing.png", "", "derived", "scene", "reference = original.png"),
    )
    lines = ["\t".join(cells) for cells in (columns, *rows)]
    (tmp_path / "SOURCES.tsv").write_text("\n".join(lines))
    named = [one for one in read_folder(tmp_path) if one.name == "images/scene_dark.png"]
    assert [one.category for one in named] == [Category.DARK_PAIRS]
    assert (named[0].reference == image).all()


def test_the_limit_spreads_over_the_folder(rng, tmp_path):
    for number in range(6):
        write_image(tmp_path / f"{number}.png", textured(rng, (64, 64)) // 5)
    assert [one.name for one in read_folder(tmp_path, limit=2)] == ["0.png", "3.png"]


def test_a_folder_without_media_is_rejected(tmp_path):
    (tmp_path / "notes.txt").write_text("nothing")
    with pytest.raises(ValueError, match="expected images or clips"):
        list(read_folder(tmp_path))


def test_a_large_image_is_reduced(rng, tmp_path):
    write_image(tmp_path / "large.png", np.zeros((100, 3840, 3), np.uint8))
    assert read_image(tmp_path / "large.png").shape == (50, 1920, 3)


def test_a_truncated_clip_yields_the_frames_before_the_error(rng, tmp_path):
    assert read_clip(tmp_path / "missing.mp4") == ()
    write_clip(tmp_path / "clip.avi", [textured(rng, (96, 128))] * 8)
    assert len(read_clip(tmp_path / "clip.avi", max_frames=5)) == 5
    data = (tmp_path / "clip.avi").read_bytes()
    (tmp_path / "cut.avi").write_bytes(data[: len(data) // 2])
    assert len(read_clip(tmp_path / "cut.avi")) < 8


# methods ------------------------------------------------------------------------------------------


def test_every_mode_except_identity_is_a_method(rng):
    methods = {method.name: method for method in lumaflow_methods("cpu")}
    assert set(methods) == {f"lumaflow {mode}" for mode in lumaflow.Mode if mode != "identity"}
    assert all(method.enhance or method.skipped for method in methods.values())
    image = textured(rng, (64, 96))
    enhanced = methods["lumaflow clahe"].enhance([image, image])
    expected = [
        result.frame.pixels.copy() for result in lumaflow.enhance_frames([image, image], device="cpu")
    ]
    assert all((one == other).all() for one, other in zip(enhanced, expected, strict=True))


def test_peers_return_frames_of_the_same_size(rng):
    image = textured(rng, (64, 96))
    methods = peer_methods()
    assert [method.name for method in methods][:3] == [
        "opencv clahe",
        "opencv equalizeHist",
        "ffmpeg normalize",
    ]
    for method in methods:
        assert (method.enhance is None) == bool(method.skipped)
        if method.enhance:
            assert [one.shape for one in method.enhance([image, image])] == [image.shape] * 2


def test_opencv_clahe_is_applied_to_the_luma(rng):
    image = textured(rng, (64, 96))
    (enhanced,) = peer_methods()[0].enhance([image])
    converted = cv2.cvtColor(image, cv2.COLOR_BGR2YCrCb)
    converted[:, :, 0] = cv2.createCLAHE(2.0, (8, 8)).apply(np.ascontiguousarray(converted[:, :, 0]))
    assert (enhanced == cv2.cvtColor(converted, cv2.COLOR_YCrCb2BGR)).all()


def test_a_missing_ffmpeg_filter_is_skipped():
    method = ffmpeg_filter("nosuchfilter")
    assert method.enhance is None
    assert method.skipped.endswith("has no filter nosuchfilter")


def test_a_method_that_changes_the_size_is_rejected(rng):
    bench_input = BenchInput("image", Category.DARK, (textured(rng, (64, 96)),))
    half = Method("half", lambda frames: [frame[::2] for frame in frames])
    with pytest.raises(ValueError, match="expected frames of the size of the input"):
        list(evaluate([bench_input], [half]))


# report -------------------------------------------------------------------------------------------


def test_means_are_taken_per_category_and_ignore_missing_scores():
    image = np.zeros((1, 1, 3), np.uint8)
    evaluations = [
        Evaluation("one", Category.DARK, "input", {"psnr": math.inf, "halo": None}, image),
        Evaluation("two", Category.DARK, "input", {"psnr": 20.0, "halo": 4.0}, image),
        Evaluation("three", Category.HAZY, "input", {"psnr": 10.0, "halo": None}, image),
    ]
    report = collect("folder", evaluations, [Method("kornia", None, "not installed")])
    assert report.means() == {
        Category.DARK: {"input": {"psnr": 60.0, "halo": 4.0}},
        Category.HAZY: {"input": {"psnr": 10.0}},
    }
    text = report.markdown()
    assert "kornia: skipped: not installed" in text
    assert "## dark (2)" in text
    assert "| input | 60.00 | 4.0 |" in text


def test_the_json_has_no_infinity(tmp_path):
    report = QualityReport("folder", (("one", Category.DARK, "input", {"psnr": math.inf}),), {})
    report.write(tmp_path / "report.json")
    saved = json.loads((tmp_path / "report.json").read_text())
    assert saved["rows"] == [{"input": "one", "category": "dark", "method": "input", "psnr": None}]
    assert saved["means"] == {"dark": {"input": {"psnr": 100.0}}}


def test_a_contact_sheet_has_a_row_for_each_input(rng, tmp_path):
    image = textured(rng, (60, 90))
    sheets = ContactSheets(tmp_path / "sheets")
    for number in range(PAGE_ROWS + 1):
        row = [Evaluation(f"{number}", Category.DARK_PAIRS, name, {"psnr": 1.0}, image) for name in "ab"]
        sheets.add(row, image)
    sheets.close()
    assert sorted(path.name for path in (tmp_path / "sheets").iterdir()) == [
        "dark-pairs-1.jpg",
        "dark-pairs-2.jpg",
    ]
    first, second = (cv2.imread(str(tmp_path / "sheets" / f"dark-pairs-{page}.jpg")) for page in (1, 2))
    assert first.shape[1] == second.shape[1] == 3 * CELL_PX
    assert first.shape[0] == PAGE_ROWS * second.shape[0]


def test_a_run_measures_the_input_and_every_method(rng, tmp_path):
    write_image(tmp_path / "dark.png", textured(rng, (96, 128)) // 5)
    report = run(tmp_path, [Method("brighten", brighten), Method("missing", None, "not installed")])
    assert [(name, method) for name, _, method, _ in report.rows] == [
        ("dark.png", "input"),
        ("dark.png", "brighten"),
    ]
    assert report.skipped == {"missing": "not installed"}


def test_the_command_prints_tables_and_saves_the_files(rng, tmp_path):
    write_image(tmp_path / "in" / "dark.png", textured(rng, (96, 128)) // 5)
    arguments = [
        "--device",
        "cpu",
        "--json",
        str(tmp_path / "scores.json"),
        "--sheets",
        str(tmp_path / "sheets"),
    ]
    result = CliRunner().invoke(app, ["quality", str(tmp_path / "in"), *arguments])
    assert result.exit_code == 0, result.output
    assert "## dark (1)" in result.stdout
    assert "| lumaflow clahe |" in result.stdout
    assert {row["input"] for row in json.loads((tmp_path / "scores.json").read_text())["rows"]} == {
        "dark.png"
    }
    assert (tmp_path / "sheets" / "dark-1.jpg").is_file()


def test_the_command_rejects_an_empty_folder(tmp_path):
    result = CliRunner().invoke(app, ["quality", str(tmp_path), "--device", "cpu"])
    assert result.exit_code == 2


# Goals


def scores_of(**by_method):
    """One dark input with these scores by method."""
    return [("one.png", Category.DARK, f"lumaflow {method}", scores) for method, scores in by_method.items()]


@pytest.mark.parametrize(("mean", "reached"), [(79, 0), (80, 1), (130, 1), (131, 0)])
def test_a_goal_counts_the_inputs_that_reach_it(mean, reached):
    (result, *_) = measure_goals(scores_of(auto={"mean": mean}))
    assert (result.text, result.reached, result.inputs) == ("dark: mean of auto 80..130", reached, 1)


def test_a_goal_without_a_score_is_left_out():
    rows = scores_of(auto={"noise_gain": None}, clahe={"noise_gain": 1.0})
    assert list(measure_goals(rows)) == []


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        (at_least("psnr", "a", 32), True),
        (at_least("psnr", "a", 33), False),
        (at_least("psnr", "a", 2, "b"), True),
        (at_least("psnr", "a", 3, "b"), False),
        (at_most("psnr", "b", 30), True),
        (at_most("psnr", "b", 0.9, "a"), False),
        (at_most("psnr", "b", 0.95, "a"), True),
        (best_of_all("psnr", "a"), True),
        (best_of_all("psnr", "b"), False),
        (at_least("ssim", "a", 0), None),
    ],
)
def test_the_comparisons_of_goals(test, expected):
    assert test({"a": {"psnr": 32.0}, "b": {"psnr": 30.0}}) is expected


def test_the_drawn_scenes_have_every_category_and_are_well_formed():
    inputs = list(drawn_inputs())
    assert {one.category for one in inputs} == set(Category) - {Category.HAZY}
    for one in inputs:
        assert all(frame.dtype == np.uint8 and frame.shape == one.frames[0].shape for frame in one.frames)
        if one.category in (Category.DARK, Category.WELL_EXPOSED):
            assert one.category is category_of(one.frames[0])
