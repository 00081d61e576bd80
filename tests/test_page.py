"""The page in Chromium: display, interaction, messages."""

import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import cv2
import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from numpy.typing import NDArray
from playwright.sync_api import Browser, Page, Route, expect

from browser import chromium, needs_chromium, scene, sending_frames
from cameras import rtsp_server
from conftest import RunningService
from lumaflow_service.config.options import SourceOptions
from lumaflow_service.webrtc.peers import webrtc_installed

pytestmark = needs_chromium
SLOW_MS = 20_000
"""Timeout for changes on the page, for a busy machine."""
SOURCE = "yard"
DARK, BRIGHT = 28, 31
"""Mean levels that `scene` stays below as it is, and above enhanced."""
expect.set_options(timeout=SLOW_MS)

# The means of red, green and blue in the columns from..to (shares of the width) of a canvas, 0..255.
MEANS = """([selector, from, to]) => {
  const canvas = document.querySelector(selector);
  const { width, height } = canvas;
  const columns = Math.max(1, Math.round(width * (to - from)));
  window.pen ??= new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  Object.assign(window.pen.canvas, { width: columns, height });
  window.pen.drawImage(canvas, -Math.round(width * from), 0);
  const { data } = window.pen.getImageData(0, 0, columns, height);
  return [0, 1, 2].map((color) => {
    let sum = 0;
    for (let i = color; i < data.length; i += 4) sum += data[i];
    return sum / columns / height;
  });
}"""
# The milliseconds until the right half of the picture is as dark as the left at the divider, from a click on.
UNTIL_PLAIN = """(button) => new Promise((done) => {
  const canvas = document.querySelector("#stage canvas");
  const pen = new OffscreenCanvas(8, canvas.height).getContext("2d", { willReadFrequently: true });
  const mean = (left) => {
    pen.drawImage(canvas, -left, 0);
    const { data } = pen.getImageData(0, 0, 8, canvas.height);
    return data.reduce((sum, value) => sum + value, 0) / data.length;
  };
  const start = performance.now();
  document.querySelector(button).click();
  const look = () => {
    const middle = canvas.width / 2;
    if (Math.abs(mean(middle - 12) - mean(middle + 4)) < 4) done(performance.now() - start);
    else requestAnimationFrame(look);
  };
  look();
})"""


NO_WEBSOCKET = (
    "WebSocket = class { constructor() { setTimeout(() => this.onclose({ code: 1006 })); } close() {} }"
)
AGED = (
    "async (seconds) => { const { showAge } = await import('./stats.js');"
    " for (const _ of 'readings!') showAge(seconds); }"
)
TOKENS = {name: f"{name}+token/with=signs&more%41" for name in ("ingest", "read", "admin")}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def shown(open_service: Callable[..., RunningService]) -> Iterator[RunningService]:
    """A service with a source that moves."""
    service = open_service()
    service.wait_ready()
    with sending_frames(str(service.client.base_url), SOURCE):
        yield service


@pytest.fixture
def address(shown: RunningService) -> str:
    return str(shown.client.base_url).rstrip("/")


@pytest.fixture(scope="module")
def guarded(open_service: Callable[..., RunningService]) -> Iterator[str]:
    """The address of a service that wants tokens, with a source that moves."""
    service = open_service(**{f"{name}_token": token for name, token in TOKENS.items()})
    service.wait_ready()
    address = str(service.client.base_url).rstrip("/")
    with sending_frames(address, SOURCE, token=TOKENS["ingest"]):
        yield address


@pytest.fixture
def quiet() -> list[str]:
    """Patterns of console messages that this test allows."""
    return []


@pytest.fixture
def page(browser: Browser, quiet: list[str]) -> Iterator[Page]:
    """A page that logs no errors and sends requests to its own host only."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.set_default_timeout(SLOW_MS)
    complaints: list[str] = []
    hosts: set[str] = set()
    page.on("console", lambda message: complaints.append(f"{message.text} {message.location['url']}"))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: hosts.add(urlsplit(request.url).netloc))
    page.on("websocket", lambda socket: hosts.add(urlsplit(socket.url).netloc))
    yield page
    page_address = page.url
    page.close()
    assert [text for text in complaints if not any(re.search(one, text) for one in quiet)] == []
    assert hosts - {urlsplit(page_address).netloc, ""} == set()  # blob: addresses have no host


def open_source(page: Page, address: str, source: str = SOURCE) -> None:
    """Open a source and wait for its picture."""
    page.goto(f"{address}/#source={source}")
    expect(page.locator("#stage")).not_to_have_class(re.compile("blank"))


def means(page: Page, left: float, right: float, canvas: str = "#stage canvas") -> NDArray[np.float64]:
    """Mean red, green and blue of a part of a canvas."""
    return np.array(page.evaluate(MEANS, [canvas, left, right]))


def mean(page: Page, left: float, right: float, canvas: str = "#stage canvas") -> float:
    """Mean level of a part of a canvas."""
    return float(means(page, left, right, canvas).mean())


def moves(page: Page) -> None:
    """Wait until four different enhanced pictures were shown."""
    seen: set[float] = set()
    until(lambda: not seen.add(round(mean(page, 0.5, 0.75), 2)) and len(seen) > 3)


def until(true: Callable[[], bool], seconds: float = SLOW_MS / 1000) -> None:
    """Wait until something holds."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, f"not within {seconds} s"
        time.sleep(0.05)


def test_enhanced_frames_update_and_are_brighter_than_raw(page: Page, address: str) -> None:
    open_source(page, address)
    moves(page)
    page.locator("#stage input").fill("100")
    until(lambda: mean(page, 0, 1) < DARK)
    page.locator("#stage input").fill("0")
    until(lambda: mean(page, 0, 1) > BRIGHT)


def test_the_divider_follows_the_mouse_and_the_keys(page: Page, address: str) -> None:
    open_source(page, address)
    slider = page.get_by_role("slider", name="Divider between raw and enhanced")
    box = page.locator("#stage").bounding_box()
    assert box
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] / 2, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.8, middle, steps=5)
    page.mouse.up()
    assert abs(float(slider.input_value()) - 80) < 1
    until(lambda: mean(page, 0, 0.5) < DARK)
    slider.focus()
    for key in ("ArrowLeft", "ArrowLeft", "PageDown"):
        slider.press(key)
    assert abs(float(slider.input_value()) - 66) < 1
    slider.press("Home")
    assert slider.input_value() == "0"
    assert slider.get_attribute("aria-valuetext") == "0 % raw"


def test_option_is_visible_soon_after_the_change(
    page: Page, address: str, shown: RunningService, record_property: Callable[[str, object], None]
) -> None:
    open_source(page, address)
    until(lambda: mean(page, 0.51, 0.54) - mean(page, 0.46, 0.49) > 8)
    took_ms = page.evaluate(UNTIL_PLAIN, '#controls input[value="off"]')
    record_property("option_visible_ms", round(took_ms))
    print(f"an option was seen after {took_ms:.0f} ms")
    assert took_ms < 5000
    page.get_by_text("Reset all").click()
    until(lambda: shown.client.get(f"/v1/sources/{SOURCE}").json()["options"]["preset"] == "auto")


def test_every_option_of_the_api_has_a_field(page: Page, address: str) -> None:
    open_source(page, address)
    page.locator("#controls summary").click()
    names = page.eval_on_selector_all(
        "#controls input, #controls select", "all => all.map((one) => one.dataset.option ?? one.name)"
    )
    assert set(SourceOptions.model_fields) <= set(names)


def test_preset_sets_the_other_options(page: Page, address: str, shown: RunningService) -> None:
    def options() -> dict[str, object]:
        found: dict[str, object] = shown.client.get(f"/v1/sources/{SOURCE}").json()["options"]
        return found

    open_source(page, address)
    page.locator('#controls input[value="document"]').check(force=True)
    until(lambda: options() == SourceOptions(preset="document").model_dump(mode="json"))
    page.locator("#controls summary").click()
    expect(page.locator('#controls input[value="stretch"]')).to_be_checked()
    expect(page.get_by_label("Strength", exact=True).first).to_be_disabled()
    page.locator('#controls input[value="clipped"]').check(force=True)
    until(lambda: (options()["preset"], options()["mode"]) == (None, "clipped"))
    expect(page.locator('#controls input[data-option="preset"]:checked')).to_have_count(0)
    page.get_by_text("Reset all").click()
    until(lambda: options() == SourceOptions().model_dump(mode="json"))


@pytest.mark.parametrize(
    ("tone", "text"),
    [
        (
            {"mode": "lowlight", "gain": 8.1, "denoised": True},
            "Dark picture: brightened 8 times, noise filtered.",
        ),
        ({"mode": "bypass", "gain": 1.0}, "Good picture: not changed."),
        ({"mode": "stretch", "gain": 1.4}, "Low contrast: levels stretched."),
        (
            {"mode": "dehaze", "gain": 1.42, "haze": 0.6},
            "Hazy picture: 60 % of the haze removed, brightened 1.4 times.",
        ),
        (None, ""),
    ],
)
def test_tone_is_shown_in_words(page: Page, address: str, tone: dict[str, object] | None, text: str) -> None:
    def answer(route: Route) -> None:
        body = route.fetch().json()
        (source,) = (one for one in body["sources"] if one["id"] == SOURCE)
        source["tone"] = tone and {"haze": 0, "denoised": False, "reason": "measured <b>figures</b>", **tone}
        route.fulfill(json=body)

    page.route("**/v1/sources", answer)
    open_source(page, address)
    expect(page.locator("#tone")).to_have_text(text)
    expect(page.locator("#tone")).to_have_attribute("title", "measured <b>figures</b>" if tone else "")


def test_region_and_features_are_sent(page: Page, address: str, shown: RunningService) -> None:
    open_source(page, address)
    page.locator("#controls summary").click()
    page.get_by_label("Histogram from a region").check()
    page.get_by_label("X", exact=True).fill("16")

    def options() -> dict[str, object]:
        found: dict[str, object] = shown.client.get(f"/v1/sources/{SOURCE}").json()["options"]
        return found

    wanted = {"x": 16, "y": 45, "width": 160, "height": 90, "everywhere": True}
    until(lambda: options()["region"] == wanted)
    page.get_by_label("Heat map", exact=True).last.check()
    until(lambda: options()["features"] == ["heatmap"])
    page.get_by_text("Reset all").click()
    until(lambda: options() == SourceOptions().model_dump(mode="json"))


@pytest.mark.parametrize("feature", ["heatmap", "hog", "lbp"])
def test_overlay_covers_only_the_enhanced_half(
    page: Page, address: str, shown: RunningService, feature: str
) -> None:
    # The frames of auto are as bright as the overlays, so the means would hardly change.
    shown.client.patch(f"/v1/sources/{SOURCE}", json={"options": {"mode": "clahe"}})
    open_source(page, address)
    page.locator("#stage input").fill("50")
    until(lambda: mean(page, 0.75, 1) < 120)
    before = means(page, 0, 0.45), means(page, 0.75, 1)
    page.locator(f'#overlays input[value="{feature}"]').check(force=True)
    until(lambda: np.abs(means(page, 0.75, 1) - before[1]).max() > 10)
    assert np.abs(means(page, 0, 0.45) - before[0]).max() < 10
    expect(page.locator("#legend")).not_to_be_empty()
    page.locator('#overlays input[value=""]').check(force=True)
    until(lambda: shown.client.get(f"/v1/sources/{SOURCE}").json()["options"]["features"] == [])
    shown.client.patch(f"/v1/sources/{SOURCE}", json={"options": {"preset": "auto"}})


def test_overlay_of_an_idle_source_starts_with_the_next_frame(
    page: Page, address: str, shown: RunningService
) -> None:
    with sending_frames(address, "still"):
        open_source(page, address, "still")
    expect(page.locator("#source-status")).to_contain_text("Idle")
    for feature, name in (("hog", "HOG"), ("heatmap", "heat map")):
        page.locator(f'#overlays input[value="{feature}"]').check(force=True)
        told = f"This frame has no {name}. It starts with the next frame."
        expect(page.locator("#legend")).to_have_text(told)
    with sending_frames(address, "still"):
        expect(page.locator("#legend")).to_contain_text("Contrast of each tile")
    shown.client.delete("/v1/sources/still")


def test_expired_frame_is_explained(page: Page, open_service: Callable[..., RunningService]) -> None:
    service = open_service(lane_idle_seconds=0.5)
    service.wait_ready()
    address = str(service.client.base_url).rstrip("/")
    service.client.put("/v1/sources/old", json={"options": {"features": ["hog"]}})
    with sending_frames(address, "old"):
        until(lambda: service.client.get("/v1/sources/old").json()["extracted"] == ["hog"])
    until(lambda: not service.client.get("/v1/sources/old").json()["picture"])
    for place in ("#wall", "#source=old"):
        page.goto(f"{address}/{place}")
        expect(page.locator("main h2:visible").first).to_be_visible()
    expect(page.locator("#stage")).to_have_attribute(
        "data-label", re.compile("The last frame is no longer stored")
    )
    page.locator('#overlays input[value="hog"]').check(force=True)
    expect(page.locator("#legend")).to_contain_text("This frame has no HOG")


def test_age_uses_the_largest_suitable_unit(page: Page, address: str) -> None:
    page.goto(f"{address}/#wall")
    for seconds, text in ((0.0071, "7 ms"), (532.21, "9 min")):
        page.evaluate(AGED, seconds)
        assert " ".join(page.locator(f"#{part}").text_content() or "" for part in ("age", "age-unit")) == text


def test_missing_source_is_explained(page: Page, address: str) -> None:
    page.goto(f"{address}/#source=nosuch")
    expect(page.locator("#wall-note")).to_have_text("There is no source nosuch. The existing sources are:")
    page.get_by_role("link", name="Wall").click()
    expect(page.locator("#wall-note")).to_be_empty()


def test_stage_times_and_histogram_are_shown(page: Page, address: str) -> None:
    open_source(page, address)
    row = page.locator('#stage-rows [data-stage="histogram"]')
    expect(row).to_be_visible()
    p50, p99 = (float(row.locator("td").nth(column).inner_text()) for column in (1, 2))
    assert 0 < p50 <= p99
    expect(page.locator("#histogram")).to_have_attribute("aria-label", re.compile(r"mean \d+ raw, \d+"))
    expect(page.locator("#age")).to_have_text(re.compile(r"^\d+$"))


def test_wall_shows_every_source_and_links_to_it(page: Page, address: str, shown: RunningService) -> None:
    shown.client.put("/v1/sources/empty-one", json={})
    page.goto(f"{address}/#wall")
    tile = page.locator(".tile", has_text=SOURCE)
    expect(tile).to_contain_text("Live")
    expect(tile).to_contain_text(re.compile(r"320 × 180 · [\d.]+ fps · \d+ m?s old"))
    until(lambda: mean(page, 0, 1, f'.tile[href="#source={SOURCE}"] canvas') > 20)
    expect(page.locator(".tile", has_text="empty-one")).to_have_text("empty-oneNo frame yet")
    tile.click()
    expect(page.locator("#source-name")).to_have_text(SOURCE)
    shown.client.delete("/v1/sources/empty-one")


def test_status_follows_a_source_that_stops_and_resumes(
    page: Page, address: str, shown: RunningService
) -> None:
    with sending_frames(address, "stops"):
        open_source(page, address, "stops")
        expect(page.locator("#source-status")).to_have_text("Live")
    expect(page.locator("#source-status")).to_have_text(re.compile(r"Idle, last frame \d+ s ago"))
    with sending_frames(address, "stops"):
        expect(page.locator("#source-status")).to_have_text("Live")
    shown.client.delete("/v1/sources/stops")


def test_status_follows_a_camera_that_fails_and_recovers(
    page: Page, open_service: Callable[..., RunningService], tmp_path: Path
) -> None:
    mounts = ["/live=live:320x240@15"]
    config = tmp_path / "lumaflow.yaml"
    with rtsp_server(mounts) as server:
        url = server.url("live")
        config.write_text(f"networks: [127.0.0.0/8]\nsources:\n  gate:\n    url: {url}\n")
        service = open_service(config=config)
        service.wait_ready()
        address = str(service.client.base_url).rstrip("/")
        page.goto(f"{address}/#source=gate")
        expect(page.locator("#source-status")).to_have_text("Live")
        server.process.kill()
        expect(page.locator("#source-status")).to_have_text(re.compile(r"Down since \d\d:\d\d:\d\d"))
        expect(page.locator("#source-message")).to_have_text(
            re.compile(r"^The camera is down since [\d:]+: [a-z ]+\. The service retries automatically\.$")
        )
        page.goto(f"{address}/#wall")
        expect(page.locator(".tile .facts")).to_have_text("320 × 240 · the connection was refused")
        page.go_back()
    with rtsp_server(mounts, server.port):
        expect(page.locator("#source-status")).to_have_text("Live")
        moves(page)


def test_worker_restart_is_explained_and_video_continues(
    page: Page, address: str, shown: RunningService, quiet: list[str]
) -> None:
    quiet.append("503")
    open_source(page, address)
    os.kill(shown.worker, signal.SIGKILL)
    expect(page.locator("#notice")).to_contain_text("The worker is restarting")
    expect(page.locator("#notice")).to_be_hidden()
    moves(page)


def test_camera_is_added_paused_resumed_and_removed(page: Page, address: str) -> None:
    page.goto(f"{address}/#wall")
    page.get_by_role("button", name="Add a camera").click()
    page.get_by_label("Name").fill("gate")
    page.get_by_label("Address").fill("rtsp://someone:secret@192.0.2.1:9/nothing")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator("#source-name")).to_have_text("gate")
    expect(page.locator("#camera-url")).to_contain_text("192.0.2.1")
    expect(page.locator("#source-status")).to_have_text(re.compile("Connecting|Down since it was added"))
    page.get_by_role("button", name="Pause").click()
    expect(page.locator("#source-status")).to_have_text("Paused")
    page.get_by_role("button", name="Resume").click()
    expect(page.locator("#source-status")).not_to_have_text("Paused")
    assert "secret" not in page.content()
    page.get_by_role("button", name="Remove").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(page.locator("#wall-page")).to_be_visible()
    expect(page.locator(".tile", has_text="gate")).to_have_count(0)


def test_forbidden_camera_url_shows_the_error(page: Page, address: str, quiet: list[str]) -> None:
    quiet.append("422")
    page.goto(f"{address}/#wall")
    page.get_by_role("button", name="Add a camera").click()
    page.get_by_label("Name").fill("inside")
    page.get_by_label("Address").fill("ftp://192.0.2.1/x")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator("#add-note")).to_contain_text("ftp")


def test_camera_texts_are_not_rendered_as_markup(page: Page, address: str) -> None:
    markup = "<img src=x onerror=alert(1)><b>bold</b>"

    def answer(route: Route) -> None:
        body = route.fetch().json()
        (source,) = (one for one in body["sources"] if one["id"] == SOURCE)
        source["device"] = markup
        source["camera"] = {
            "state": "waiting", "cause": "refused", "why": markup, "url": markup, "captured_at": 1.0,
        }  # fmt: skip
        route.fulfill(json=body)

    page.route("**/v1/sources", answer)
    page.goto(f"{address}/#source={SOURCE}")
    expect(page.locator("#source-message")).to_contain_text(markup)
    expect(page.locator("#source-status")).to_contain_text("Down since 1 Jan")
    expect(page.locator("#camera-url")).to_have_text(markup)
    expect(page.locator("#device")).to_have_text(markup)
    assert page.locator("main b:has-text('bold') b, main img[src=x]").count() == 0


def test_file_name_is_not_rendered_as_markup(page: Page, address: str) -> None:
    page.goto(f"{address}/#try")
    name = "<i>x<i>.txt"
    page.set_input_files("#file", {"name": name, "mimeType": "text/plain", "buffer": b"hello"})
    expect(page.locator("#image-status")).to_have_text(re.compile(re.escape(f"{name} is text/plain. Choose")))


def photograph() -> bytes:
    """A PNG."""
    return cv2.imencode(".png", scene(3))[1].tobytes()


def test_image_is_enhanced_shown_and_its_link_works(page: Page, address: str, browser: Browser) -> None:
    page.goto(f"{address}/#try")
    page.set_input_files("#file", {"name": "dark.png", "mimeType": "image/png", "buffer": photograph()})
    expect(page.locator("#image-facts")).to_contain_text("320 × 180 · enhanced in")
    canvas = "#image-stage canvas"
    until(lambda: mean(page, 0.55, 1, canvas) > BRIGHT and mean(page, 0, 0.45, canvas) < DARK)
    bright = mean(page, 0.55, 1, canvas)
    link = page.locator("#image-link").inner_text()
    assert re.fullmatch(rf"{re.escape(address)}/#image=[\w-]{{22}}", link)
    other = browser.new_page()
    other.goto(link)
    until(lambda: mean(other, 0.55, 1, canvas) > BRIGHT)
    other.close()
    page.locator('#image-controls input[value="off"]').check(force=True)
    until(lambda: mean(page, 0.55, 1, canvas) < bright - 5)
    expect(page.locator("#image-link")).not_to_have_text(link)


def test_expired_image_is_explained(page: Page, address: str, quiet: list[str]) -> None:
    quiet.append("404")
    page.goto(f"{address}/#trial=AAAAAAAAAAAAAAAAAAAAAA")
    expect(page.locator("#image-status")).to_contain_text("has expired")


def test_file_over_the_limit_is_not_sent(page: Page, address: str, tmp_path: Path) -> None:
    huge = tmp_path / "huge.jpg"
    with huge.open("wb") as file:
        file.truncate(300 << 20)
    posts: list[str] = []
    page.on("request", lambda request: posts.append(request.url) if request.method == "POST" else None)
    page.goto(f"{address}/#try")
    page.set_input_files("#file", huge)
    expect(page.locator("#image-status")).to_contain_text(
        "huge.jpg has 300 MiB; the limit is 64 MiB. Nothing was sent."
    )
    assert posts == []


def test_dropped_file_is_enhanced(page: Page, address: str) -> None:
    open_source(page, address)
    data = page.evaluate_handle(
        """(bytes) => {
          const data = new DataTransfer();
          data.items.add(new File([new Uint8Array(bytes)], "dropped.png", { type: "image/png" }));
          return data;
        }""",
        list(photograph()),
    )
    page.dispatch_event("body", "dragover", {"dataTransfer": data})
    assert "drag-over" in (page.locator("body").get_attribute("class") or "")
    page.dispatch_event("body", "drop", {"dataTransfer": data})
    expect(page.locator("#image-facts")).to_contain_text("320 × 180")


def give_token(page: Page, token: str) -> None:
    """Type a token into the page."""
    page.get_by_label("Token", exact=True).fill(token)
    page.get_by_role("button", name="Use token").click()


def test_wrong_token_is_explained_and_the_right_one_works(page: Page, guarded: str, quiet: list[str]) -> None:
    quiet.append("401")
    page.goto(f"{guarded}/#source={SOURCE}")
    expect(page.locator("#notice")).to_have_text("This service requires a token.")
    expect(page.locator("#state")).to_have_text("Locked")
    give_token(page, "wrong")
    expect(page.locator("#notice")).to_have_text("This token is wrong. Enter another one.")
    give_token(page, TOKENS["ingest"])
    expect(page.locator("#notice")).to_contain_text("This token is valid but cannot read sources.")
    quiet.append("403")
    give_token(page, TOKENS["read"])
    expect(page.locator("#notice")).to_be_hidden()
    expect(page.locator("#source-status")).to_have_text("Live")
    moves(page)
    assert page.locator("#age").inner_text() != "–"  # a WebSocket's pictures say how old they are
    page.reload()
    moves(page)


def test_read_only_token_disables_changes(page: Page, guarded: str, quiet: list[str]) -> None:
    quiet.append("401")
    page.goto(f"{guarded}/#source={SOURCE}")
    expect(page.locator("#token-form")).to_contain_text("LUMAFLOW_READ_TOKEN allows reading")
    give_token(page, TOKENS["read"])
    expect(page.locator("#controls-note")).to_contain_text(
        "This token is read-only. To use another token, close this tab and open the page again."
    )
    for name in ("Add a camera", "Remove", "Reset all"):
        expect(page.get_by_role("button", name=name, exact=True)).to_be_disabled()
    expect(page.locator('#controls input[value="night"]')).to_be_disabled()
    page.locator('#overlays input[value="hog"]').check(force=True)
    expect(page.locator("#legend")).to_contain_text("This source has no HOG. This token is read-only.")
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    page.get_by_role("link", name="Try an image").click()
    expect(page.locator("#image-limit")).to_contain_text("This token cannot send images.")
    expect(page.locator("#file")).to_be_disabled()
    page.get_by_role("link", name="Metrics").click()
    expect(page.locator("body")).to_contain_text("lumaflow_build_info")
    page.go_back()


def test_mjpeg_is_used_with_a_token_without_websockets(page: Page, guarded: str, quiet: list[str]) -> None:
    quiet.append("401")
    page.add_init_script(NO_WEBSOCKET)
    page.goto(f"{guarded}/#source={SOURCE}")
    give_token(page, TOKENS["read"])
    moves(page)
    assert page.locator("#age").inner_text() == "–"


def test_mjpeg_is_used_without_websockets(page: Page, address: str) -> None:
    page.add_init_script(NO_WEBSOCKET)
    open_source(page, address)
    moves(page)
    assert page.locator("#age").inner_text() == "–"


@pytest.mark.skipif(not webrtc_installed(), reason="the extra is missing; type: pip install -e '.[webrtc]'")
def test_webrtc_can_be_selected(page: Page, address: str) -> None:
    open_source(page, address)
    for transport, age in (("webrtc", "^–$"), ("socket", r"^\d+$")):
        page.locator(f'#transports input[value="{transport}"]').check(force=True)
        expect(page.locator("#age")).to_have_text(re.compile(age))
        moves(page)
    expect(page.locator("#live-note")).to_be_empty()


VIEWS = ["#wall", f"#source={SOURCE}", "#try"]


@pytest.mark.parametrize("view", VIEWS)
def test_axe_finds_nothing(page: Page, address: str, view: str) -> None:
    page.goto(f"{address}/{view}")
    if "source" in view:
        expect(page.locator("#stage")).not_to_have_class(re.compile("blank"))
        page.locator("#controls summary").click()
    else:
        expect(page.locator("main h2:visible").first).to_be_visible()
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()


def test_axe_finds_nothing_on_the_token_form(page: Page, guarded: str, quiet: list[str]) -> None:
    quiet.append("401")
    page.goto(guarded)
    expect(page.get_by_label("Token", exact=True)).to_be_visible()
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()


@pytest.mark.parametrize("width", [360, 3840])
@pytest.mark.parametrize("view", VIEWS)
def test_page_fits_the_window_width(page: Page, address: str, view: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(f"{address}/{view}")
    expect(page.locator("main h2:visible").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
