"""Static checks of the page: no external files, and scripts, HTML and API use the same names."""

import re
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path
from typing import get_args

import pytest

WEB = Path(str(files("lumaflow_service") / "web"))
HTML = (WEB / "index.html").read_text(encoding="utf-8")
SCRIPTS = {path.name: path.read_text(encoding="utf-8") for path in sorted(WEB.glob("*.js"))}
TEXTS = {**SCRIPTS, **{p.name: p.read_text(encoding="utf-8") for p in WEB.iterdir() if p.suffix != ".js"}}

Tag = tuple[str, dict[str, str | None]]


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[Tag] = []
        self.inline: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.found and self.found[-1][0] in ("script", "style") and data.strip():
            self.inline.append(data)


@pytest.fixture(scope="module")
def page() -> _Tags:
    tags = _Tags()
    tags.feed(HTML)
    return tags


def ids(page: _Tags) -> list[str]:
    return [attrs["id"] or "" for _, attrs in page.found if "id" in attrs]


def test_the_page_has_no_inline_script_style_or_event(page: _Tags) -> None:
    assert page.inline == []
    for tag, attrs in page.found:
        assert tag != "style"
        assert tag != "script" or attrs.get("src")
        assert not [name for name in attrs if name == "style" or name.startswith("on")]


@pytest.mark.parametrize("name", TEXTS)
def test_no_file_refers_to_another_host(name: str) -> None:
    text = TEXTS[name].replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert not re.search(r"(https?:)?//[\w.-]+\.\w", text)
    assert "@import" not in text


@pytest.mark.parametrize("name", SCRIPTS)
def test_no_script_creates_markup_or_code_from_text(name: str) -> None:
    forbidden = (
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|setAttribute\(.style"
    )
    assert not re.search(forbidden, SCRIPTS[name])


def test_every_file_the_page_refers_to_exists(page: _Tags) -> None:
    served_elsewhere = {"docs", "metrics"}
    references = {attrs.get("src") or attrs.get("href") for _, attrs in page.found} - {None}
    local = {r for r in references if r and not r.startswith("#")} - served_elsewhere
    assert {"app.js", "style.css", "icon.svg"} <= local
    assert [name for name in local if not (WEB / name).is_file()] == []


def test_every_module_is_imported_and_every_import_exists() -> None:
    imported = {name for text in SCRIPTS.values() for name in re.findall(r'from "\./([\w.-]+)"', text)}
    assert imported | {"app.js"} == set(SCRIPTS)


def test_every_name_imported_is_exported() -> None:
    for text in SCRIPTS.values():
        for names, module in re.findall(r'import \{ ([^}]+) \} from "\./([\w.-]+)"', text):
            exported = set(re.findall(r"export (?:async )?(?:function|class|const) (\w+)", SCRIPTS[module]))
            assert {name.strip() for name in names.split(",")} <= exported


def test_every_id_the_scripts_use_is_in_the_page_once(page: _Tags) -> None:
    there = ids(page)
    assert len(there) == len(set(there))
    used = {name for text in SCRIPTS.values() for name in re.findall(r'byId\("([\w-]+)"\)', text)}
    used |= {name for text in SCRIPTS.values() for name in re.findall(r'querySelector\("#([\w-]+)"\)', text)}
    assert len(used) > 20
    assert used - set(there) == set()


def test_every_label_and_description_points_at_an_element(page: _Tags) -> None:
    pointing = ("for", "aria-labelledby", "aria-describedby")
    wanted = {value for _, attrs in page.found for key in pointing if (value := attrs.get(key))}
    wanted |= {href[1:] for _, attrs in page.found if (href := attrs.get("href") or "").startswith("#")}
    assert wanted - set(ids(page)) - {"wall", "try"} == set()  # those name pages


def test_the_page_has_landmarks_a_language_and_live_regions(page: _Tags) -> None:
    tags = [tag for tag, _ in page.found]
    assert tags.count("main") == 1
    assert {"header", "nav", "h1"} <= set(tags)
    assert ("html", {"lang": "en"}) in page.found
    roles = {attrs.get("role") for _, attrs in page.found}
    assert {"status", "alert"} <= roles
    assert all("alt" in attrs for tag, attrs in page.found if tag == "img")


def test_every_option_and_value_has_a_label() -> None:
    from lumaflow_service.config.options import SourceOptions

    schema = SourceOptions.model_json_schema()
    words = SCRIPTS["options.js"]
    for name in schema["properties"]:
        assert re.search(rf"^  {name}: {{", words, re.MULTILINE), name
    for choice in (value for part in schema["$defs"].values() for value in part.get("enum", [])):
        assert re.search(rf"\b{choice}: \"", words), choice


def test_every_camera_error_code_has_a_text() -> None:
    from lumaflow_service.api.responses import CameraState

    causes = {cause for cause in get_args(CameraState.model_fields["cause"].annotation) if cause}
    assert set(re.findall(r"^  (\w+): \"", SCRIPTS["status-text.js"], re.MULTILINE)) == causes


def test_every_stage_of_the_pipeline_has_a_colour() -> None:
    from lumaflow.stage import Stage

    coloured = set(re.findall(r'^\[data-stage="(\w+)"\] \{', TEXTS["stats.css"], re.MULTILINE))
    assert coloured == {stage.value for stage in Stage}


def test_every_field_the_scripts_read_is_in_the_api_models() -> None:
    from lumaflow_service.api.responses import Histograms, SourceState

    read = {name for text in SCRIPTS.values() for name in re.findall(r"\bsource\.([a-z_]+)", text)}
    assert {"frames_per_second", "stage_latency", "options", "geometry"} <= read
    assert read <= set(SourceState.model_fields)
    drawn = set(re.findall(r"#last\.([a-z_]+)", SCRIPTS["histogram.js"]))
    assert drawn == {"before", "after", "mapping"}
    assert drawn <= set(Histograms.model_fields)
