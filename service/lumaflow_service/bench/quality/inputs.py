"""The inputs of a folder: images, clips, the pairs in its SOURCES.tsv, and generated pairs."""

import csv
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import av
import cv2
import numpy as np

from lumaflow_service.bench.quality.content import is_chart, is_hazy
from lumaflow_service.bench.quality.degradation import DARK, HAZY
from lumaflow_service.bench.quality.model import BenchInput, BgrImage, Category
from lumaflow_service.bench.quality.scores import luma_of

IMAGE_SUFFIXES = {".jpg", ".jpeg", ".png", ".bmp", ".webp", ".tif", ".tiff", ".ppm", ".pgm"}
CLIP_SUFFIXES = {".mp4", ".mkv", ".mov", ".avi", ".webm", ".ts", ".m4v"}
MIN_SIDE_PX = 64
MAX_SIDE_PX = 1920
MAX_PIXELS = 1 << 25
CLIP_FRAMES = 24
DARK_MEAN = 60
PAIR_MEAN = (80, 180)
"""Mean level of the images that pairs are generated from."""
NAMED_PAIR = re.compile(r"reference = (\S+\.\w+)")
PAIR_IMAGES = 6
"""Maximum number of images that pairs are generated from."""
KNOWN_PAIRS = {
    "sim_coffee": "texture/coffee_wood.png",
    "sim_chelsea": "texture/chelsea_fur.png",
    "sim_mountain": "haze/mountains_cloud_1280.jpg",
    "sim_valley": "haze/valley_clear_ref.jpg",
}
"""Prefix of a simulated image -> its reference in the folder `images`: pairs without a row in SOURCES.tsv."""
IGNORED_FOLDERS = ("corrupt", "odd_formats", "medical16")
"""Folders of files that test decoders."""


def read_folder(folder: Path, limit: int | None = None) -> Iterator[BenchInput]:
    """Images, then clips, then pairs: at most `limit` of each, evenly spaced in the order of their names.

    Unreadable files are ignored. Raises ValueError without a readable file.
    """
    files = sorted(path for path in folder.rglob("*") if path.is_file() and not _is_ignored(path, folder))
    references = _references(folder)
    stills = [path for path in files if path.suffix.lower() in IMAGE_SUFFIXES and path not in references]
    clips = [path for path in files if path.suffix.lower() in CLIP_SUFFIXES]
    count = 0
    well_exposed: list[tuple[str, BgrImage]] = []
    for bench_input in (
        *_stills(_limited(stills, limit), folder, well_exposed),
        *_clips(_limited(clips, limit), folder),
    ):
        count += 1
        yield bench_input
    for bench_input in (
        *_named_pairs(_limited(sorted(references), limit), references, folder),
        *_generated_pairs(well_exposed[:PAIR_IMAGES]),
    ):
        count += 1
        yield bench_input
    if count == 0:
        raise ValueError(
            f"expected images or clips in {folder}, found none that is readable; give another folder"
        )


def read_image(path: Path) -> BgrImage | None:
    """The image as BGR, at most 1920 px wide and high; None if it is unreadable or has a side below 64 px."""
    decoded = cv2.imdecode(np.fromfile(path, np.uint8), cv2.IMREAD_COLOR) if path.stat().st_size else None
    if (
        decoded is None
        or min(decoded.shape[:2]) < MIN_SIDE_PX
        or decoded.shape[0] * decoded.shape[1] > MAX_PIXELS
    ):
        return None
    return _shrink(decoded.astype(np.uint8, copy=False))


def read_clip(path: Path, max_frames: int = CLIP_FRAMES) -> tuple[BgrImage, ...]:
    """The first frames of a clip as BGR, up to a change of size; empty if it cannot be decoded."""
    frames: list[BgrImage] = []
    try:
        with av.open(str(path)) as container:
            for frame in container.decode(video=0):
                frames.append(_shrink(frame.to_ndarray(format="bgr24").astype(np.uint8, copy=False)))
                if len(frames) == max_frames or frames[-1].shape != frames[0].shape:
                    break
    except (av.error.FFmpegError, IndexError, ValueError):
        pass  # the frames before the error are used
    return tuple(frame for frame in frames if frame.shape == frames[0].shape)


def category_of(image: BgrImage) -> Category:
    """The category of an image, by its content."""
    if luma_of(image).mean() < DARK_MEAN:
        return Category.DARK
    if is_hazy(image):
        return Category.HAZY
    return Category.CHARTS if is_chart(image) else Category.WELL_EXPOSED


def _stills(
    paths: Iterable[Path], folder: Path, well_exposed: list[tuple[str, BgrImage]]
) -> Iterator[BenchInput]:
    """The images; those that pairs can be generated from are also added to `well_exposed`."""
    for path in paths:
        image = read_image(path)
        if image is None:
            continue
        name, category = str(path.relative_to(folder)), category_of(image)
        if category is Category.WELL_EXPOSED and PAIR_MEAN[0] < luma_of(image).mean() < PAIR_MEAN[1]:
            well_exposed.append((name, image))
        yield BenchInput(name, category, (image,))


def _clips(paths: Iterable[Path], folder: Path) -> Iterator[BenchInput]:
    for path in paths:
        frames = read_clip(path)
        if len(frames) >= 3 and min(frames[0].shape[:2]) >= MIN_SIDE_PX:
            yield BenchInput(str(path.relative_to(folder)), Category.CLIPS, frames)


def _named_pairs(paths: Iterable[Path], references: dict[Path, Path], folder: Path) -> Iterator[BenchInput]:
    for path in paths:
        image, reference = read_image(path), read_image(references[path])
        if image is None or reference is None or image.shape != reference.shape:
            continue
        dark = luma_of(image).mean() < luma_of(reference).mean() * 0.8
        yield BenchInput(
            str(path.relative_to(folder)),
            Category.DARK_PAIRS if dark else Category.HAZY_PAIRS,
            (image,),
            reference,
        )


def _generated_pairs(images: Iterable[tuple[str, BgrImage]]) -> Iterator[BenchInput]:
    for name, image in images:
        for category, degradations in ((Category.DARK_PAIRS, DARK), (Category.HAZY_PAIRS, HAZY)):
            for degradation in degradations:
                yield BenchInput(f"{name} - {degradation.name}", category, (degradation.apply(image),), image)


def _references(folder: Path) -> dict[Path, Path]:
    """Degraded image -> its reference, by SOURCES.tsv of the folder; only existing files.

    A note with "reference = NAME" refers to the original of the same scene group whose origin is named NAME.
    """
    sources = folder / "SOURCES.tsv"
    if not sources.is_file():
        return {}
    with sources.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    pairs = ((folder / row["file"], _reference_of(row, rows, folder)) for row in rows)
    return {
        path: reference for path, reference in pairs if reference and reference.is_file() and path.is_file()
    }


def _reference_of(row: dict[str, str], rows: list[dict[str, str]], folder: Path) -> Path | None:
    named = NAMED_PAIR.search(row["note"] or "")
    for other in rows if named else ():
        same = other["scene_group"] == row["scene_group"] and other["kind"] == "original"
        if named and same and Path(other["origin_path"]).name == named[1]:
            return folder / other["file"]
    name = Path(row["file"]).name
    known = (path for start, path in KNOWN_PAIRS.items() if name.startswith(start))
    return next((folder / "images" / path for path in known), None)


def _is_ignored(path: Path, folder: Path) -> bool:
    return any(part in IGNORED_FOLDERS for part in path.relative_to(folder).parts)


def _limited(paths: list[Path], limit: int | None) -> list[Path]:
    """At most `limit` paths, evenly spaced."""
    if limit is None or len(paths) <= limit:
        return paths
    return [paths[index * len(paths) // limit] for index in range(limit)]


def _shrink(image: BgrImage) -> BgrImage:
    scale = MAX_SIDE_PX / max(image.shape[:2])
    if scale >= 1:
        return image
    return cv2.resize(image, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)  # type: ignore[return-value]
