"""Contact sheets: JPEG pages with one row per input: the input, every method, and the reference."""

import re
from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np

from lumaflow_service.bench.quality.evaluation import Evaluation
from lumaflow_service.bench.quality.model import BgrImage, Category

CELL_PX = 300
LABEL_PX = 18
PAGE_ROWS = 8
JPEG_QUALITY = 90
FONT, FONT_SCALE = cv2.FONT_HERSHEY_SIMPLEX, 0.36


class ContactSheets:
    """Collects rows by category and writes each full page; `close` writes the other ones."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._strips: dict[Category, list[BgrImage]] = {}
        self._pages: dict[Category, int] = {}

    def add(self, evaluations: Sequence[Evaluation], reference: BgrImage | None = None) -> None:
        """Add one input: its evaluations in the given order, then the reference."""
        category = evaluations[0].category
        cells = [_cell(one.image, _label(one)) for one in evaluations]
        if reference is not None:
            cells.append(_cell(reference, "reference"))
        strips = self._strips.setdefault(category, [])
        strips.append(
            np.vstack([_text_bar(evaluations[0].input_name, CELL_PX * len(cells)), _side_by_side(cells)])
        )
        if len(strips) == PAGE_ROWS:
            self._write(category)

    def close(self) -> None:
        """Write the pages that are not full yet."""
        for category in list(self._strips):
            self._write(category)

    def _write(self, category: Category) -> None:
        strips = self._strips.pop(category, [])
        if not strips:
            return
        page = self._pages[category] = self._pages.get(category, 0) + 1
        width = max(strip.shape[1] for strip in strips)
        padded = [np.pad(strip, ((0, 0), (0, width - strip.shape[1]), (0, 0))) for strip in strips]
        name = f"{re.sub('[^a-z0-9]+', '-', category.lower())}-{page}.jpg"
        encoded = cv2.imencode(".jpg", np.vstack(padded), [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])[1]
        (self._folder / name).write_bytes(encoded.tobytes())


def _label(evaluation: Evaluation) -> str:
    formats = (("psnr", "{:.1f}dB"), ("ciede2000", "dE{:.1f}"), ("noise_gain", "n{:.1f}"))
    values = [(text, evaluation.scores.get(name)) for name, text in formats]
    return " ".join([evaluation.method, *(text.format(value) for text, value in values if value is not None)])


def _cell(image: BgrImage, label: str) -> BgrImage:
    height = max(1, round(image.shape[0] * CELL_PX / image.shape[1]))
    small = cv2.resize(image, (CELL_PX, height), interpolation=cv2.INTER_AREA)
    return np.vstack([_text_bar(label, CELL_PX), small]).astype(np.uint8, copy=False)


def _text_bar(text: str, width: int) -> BgrImage:
    bar = np.zeros((LABEL_PX, width, 3), np.uint8)
    ascii_text = text.encode("ascii", "replace").decode()
    cv2.putText(bar, ascii_text, (3, LABEL_PX - 5), FONT, FONT_SCALE, (255, 255, 255), 1, cv2.LINE_AA)
    return bar


def _side_by_side(cells: Sequence[BgrImage]) -> BgrImage:
    height = max(cell.shape[0] for cell in cells)
    return np.hstack([np.pad(cell, ((0, height - cell.shape[0]), (0, 0), (0, 0))) for cell in cells])
