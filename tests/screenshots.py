"""Updates the screenshots of the page in docs/: `.venv/bin/python tests/screenshots.py`."""

import io
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
from PIL import Image
from playwright.sync_api import BrowserContext, Page

from browser import chromium, sending_frames
from lumaflow_service.bench.server import run_service
from lumaflow_service.config.options import Feature
from lumaflow_service.demo.scene import Scene
from lumaflow_service.media.codec import encode_jpeg, encode_png

DOCS = Path(__file__).parents[1] / "docs"
COLORS = 224
"""Enough for a dark page; keeps each file small."""
ACCENTS = (
    "#ffc861",
    "#7d9cc0",
    "#6fcf97",
    "#ff8f7a",
    "#5f8fd9",
    "#4fb3bf",
    "#86c77a",
    "#ef8a62",
    "#d282b4",
    "#9287e0",
)
"""Colours of the style sheet that are rare on the page, and must stay in the palette."""
SETTLE_MS = 2500
MINUTE_MS = 60_000
"""Fills the stage times of the last minute, without the first frames."""
CLIPS = {"demo": (20, 2), "gate": (560, 2), "loading-bay": (280, 2)}
"""Sources, and which frames of the sample scene each shows: from where, and every how many."""


def main() -> None:
    """Run a service with a few sources and take screenshots of its page."""
    with run_service("cpu") as server, ExitStack() as stack:
        address = f"http://127.0.0.1:{server.port}"
        token = server.headers["Authorization"].removeprefix("Bearer ")
        for source, (first, step) in CLIPS.items():
            pictures = list(clip(first, step))
            stack.enter_context(sending_frames(address, source, pictures, token))
        with httpx.Client(base_url=address, headers=server.headers) as client:
            client.put("/v1/sources/demo", json={"options": {"features": list(Feature)}})
            client.put("/v1/sources/roof", json={"url": "rtsp://192.0.2.10/stream1"})
            client.put("/v1/sources/cellar", json={"url": "rtsp://192.0.2.11/stream1"})
            client.post("/v1/sources/cellar/pause")
        with chromium() as browser:
            context = browser.new_context()
            context.add_init_script(f"sessionStorage.setItem('lumaflow-token', '{token}')")
            take_screenshots(context, address)


def clip(first: int, step: int) -> Iterator[bytes]:
    """Two seconds of the sample scene as JPEG."""
    scene = Scene()
    for number in range(30):
        yield encode_jpeg(scene.frame(first + number * step), 92)


def take_screenshots(browser: BrowserContext, address: str) -> None:
    """Take a screenshot of every view."""
    with opened(browser, f"{address}/#source=demo", 1280) as page:
        page.wait_for_timeout(MINUTE_MS)
        save_screenshot(page, "page")
        for feature in ("heatmap", "hog", "lbp"):
            page.locator(f'#overlays input[value="{feature}"]').check(force=True)
            page.wait_for_timeout(SETTLE_MS)
            save_screenshot(page, f"page-{feature}", "#stage")
        page.locator('#overlays input[value=""]').check(force=True)
        page.locator('#views input[value="beside"]').check(force=True)
        page.wait_for_timeout(SETTLE_MS)
        save_screenshot(page, "page-beside", "#stage")
    with opened(browser, f"{address}/#wall", 1280, 660) as page:
        page.locator('[data-state="down"]').wait_for()
        page.wait_for_timeout(SETTLE_MS)
        save_screenshot(page, "page-wall")
    with opened(browser, f"{address}/#try", 1280, 860) as page:
        picture = encode_png(Scene().frame(520))
        page.set_input_files("#file", {"name": "dark.png", "mimeType": "image/png", "buffer": picture})
        page.wait_for_timeout(SETTLE_MS)
        save_screenshot(page, "page-try")
    with opened(browser, f"{address}/#source=gate", 360, 740) as page:
        save_screenshot(page, "page-narrow")


@contextmanager
def opened(browser: BrowserContext, address: str, width: int, height: int = 1000) -> Iterator[Page]:
    """A loaded page."""
    page = browser.new_page()
    page.set_viewport_size({"width": width, "height": height})
    page.goto(address)
    page.wait_for_timeout(2 * SETTLE_MS)
    yield page
    page.close()


def save_screenshot(page: Page, name: str, part: str = "") -> None:
    """Save a screenshot of the page, or of one element, in docs/."""
    shot = page.locator(part).screenshot() if part else page.screenshot(full_page=name == "page")
    image = reduced(Image.open(io.BytesIO(shot)).convert("RGB"))
    path = DOCS / f"{name}.png"
    image.save(path, optimize=True)
    print(path.name, *image.size, f"{path.stat().st_size >> 10} KiB")


def reduced(image: Image.Image) -> Image.Image:
    """The image with COLORS colours, including ACCENTS."""
    wide, high = image.size
    sheet = Image.new("RGB", (wide, high + 10 * len(ACCENTS)))
    sheet.paste(image)
    for number, color in enumerate(ACCENTS):
        sheet.paste(color, (0, high + 10 * number, wide, high + 10 * (number + 1)))
    palette = sheet.quantize(COLORS, dither=Image.Dither.NONE)
    return image.quantize(palette=palette, dither=Image.Dither.NONE)


if __name__ == "__main__":
    main()
