"""The documents: generated pages are current, links exist, every route is named, code blocks run."""

import importlib.util
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import get_args

import pytest

from lumaflow_service.api.app import create_app
from lumaflow_service.bench import commands as bench_commands
from lumaflow_service.config.settings import Settings
from lumaflow_service.ipc.messages import Message
from make_video import make_video

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").glob("*.md")]
LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CODE = re.compile(rf"{FENCE.pattern}|`[^`\n]*`", re.MULTILINE | re.DOTALL)
PATH = re.compile(r"\b((?:docs|tests|docker|pipeline|service)/[\w-][\w./-]*\w)")
NOT_IN_REPOSITORY = ("docker/secrets", "docker/rehearsal")
WEBSOCKETS = ("/v1/sources/{source}/frames", "/v1/sources/{source}/live")
MAX_GLOSSARY_ENTRIES = 20


def name(page):
    return page.name


def code_blocks(page, language):
    return [code for found, code in FENCE.findall(page.read_text()) if found == language]


def anchors(page):
    """Anchors of the headings of a page, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_configuration_page_is_what_the_script_prints():
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs/generate.py")
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    committed = (ROOT / "docs/configuration.md").read_text()
    assert committed == generate.page(), "run: .venv/bin/python docs/generate.py > docs/configuration.md"
    for row in re.findall(r"^\| `.*$", committed, re.MULTILINE):
        assert not row.endswith("|  |"), f"no description in the model: {row}"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_relative_link_leads_to_a_file_and_a_heading(page):
    for link in LINK.findall(CODE.sub("", page.read_text())):
        path, _, anchor = link.partition("#")
        if re.match(r"[a-z]+:", link):
            continue
        target = page.parent / path if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_path_that_a_page_names_exists(page):
    for path in PATH.findall(page.read_text()):
        assert (ROOT / path).exists() or path.startswith(NOT_IN_REPOSITORY), path


def test_every_page_of_the_folder_is_linked_from_the_readme():
    links = {link.partition("#")[0] for link in LINK.findall((ROOT / "README.md").read_text())}
    assert {f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md")} <= links


def test_every_route_is_named_in_the_http_page():
    text = (ROOT / "docs/http.md").read_text()
    paths = create_app(Settings()).openapi()["paths"]
    routes = [f"{method.upper()} {path}" for path, methods in paths.items() for method in methods]
    for route in routes + [f"WS {path}" for path in WEBSOCKETS]:
        assert f"`{route}`" in text, route


def test_every_benchmark_is_in_the_benchmarks_page():
    commands = {command.name for command in bench_commands.app.registered_commands if not command.hidden}
    text = (ROOT / "docs/benchmarks.md").read_text()
    assert set(re.findall(r"^\| `lumaflow bench (\w+)`", text, re.MULTILINE)) == commands


def test_every_layer_is_in_the_architecture_page():
    text = (ROOT / "docs/architecture.md").read_text()
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    rows = re.findall(r"^\| (`.*?) \|", text, re.MULTILINE)
    named = {part for row in rows for part in re.findall(r"`(\w+)`", row)}
    for layers in (contract["layers"] for contract in contracts if "containers" in contract):
        assert {part for layer in layers for part in layer.split(" | ")} <= named


def test_every_message_is_in_the_architecture_page():
    text = (ROOT / "docs/architecture.md").read_text()
    for kind in get_args(Message):
        assert f"| `{kind.__name__}` |" in text


@pytest.mark.parametrize("page", [ROOT / "README.md", ROOT / "docs/python.md"], ids=name)
def test_python_blocks_run(page, tmp_path):
    make_video(tmp_path / "night.mp4", frames=4)
    code = "\n".join(code_blocks(page, "python"))
    assert code
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    for shown in re.findall(r"print\(error\)  # (.*)", code):
        assert shown in done.stdout


def test_the_glossary_is_short():
    text = (ROOT / "docs/glossary.md").read_text()
    assert 10 <= len(re.findall(r"^\*\*", text, re.MULTILINE)) <= MAX_GLOSSARY_ENTRIES


def test_every_figure_page_names_its_machine():
    for page in ("benchmarks.md", "notebook.md", "gpu-runs.md"):
        assert "H200" in (ROOT / "docs" / page).read_text()
