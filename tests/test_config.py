"""The configuration file: valid files, and every error with its line."""

import json
from pathlib import Path

import pytest

from lumaflow_service import cli
from lumaflow_service.config.camera_errors import ConfigError
from lumaflow_service.config.loader import load, parse
from lumaflow_service.config.model import schema
from lumaflow_service.config.options import Feature

GOOD = """\
defaults: {mode: clahe, clip_limit: 3.0, tiles: 4x4}
networks: [192.0.2.0/24]
sources:
  gate:
    url: rtsp://${GATE_USER}:${GATE_PASSWORD}@192.0.2.10/stream1
    clip_limit: 2.5
    outputs:
      - record: {path: recordings/gate, segment_seconds: 300, keep_days: 7, keep_free_gb: 5}
      - publish: rtsp://127.0.0.1:8554/gate-enhanced
      - descriptors: {path: described, features: [lbp]}
"""
VARIABLES = {"GATE_USER": "an operator", "GATE_PASSWORD": "p@ss/w:rd"}


def mistakes(text: str, **environment: str) -> str:
    with pytest.raises(ConfigError) as caught:
        parse(text, Path("/nowhere"), environment)
    return str(caught.value)


def test_valid_file_encodes_variables_and_merges_defaults() -> None:
    loaded = parse(GOOD, Path("/nowhere"), VARIABLES)
    gate = loaded.config.sources["gate"]
    assert gate.url == "rtsp://an%20operator:p%40ss%2Fw%3Ard@192.0.2.10/stream1"
    assert [output.kind for output in gate.outputs] == ["record", "publish", "descriptors"]
    assert gate.outputs[1].publish
    assert gate.outputs[1].publish.url == "rtsp://127.0.0.1:8554/gate-enhanced"
    options = gate.options(loaded.config.defaults)
    assert (options.clip_limit, options.tiles, options.features) == (2.5, "4x4", [Feature.LBP])
    assert "p@ss" not in repr(loaded)
    assert "p%40ss" not in repr(loaded)


def test_an_empty_file_has_no_sources() -> None:
    assert parse("", Path("/nowhere"), {}).config.sources == {}


def test_every_error_has_its_line() -> None:
    text = GOOD.replace("clip_limit: 2.5", "clip_limt: 2.5").replace("keep_days", "keep_day")
    text += "  yard:\n    url: ftp://192.0.2.11/x\n    tiles: 99x1\n"
    assert mistakes(text, GATE_USER="u").splitlines() == [
        "line 5: ${GATE_PASSWORD} is not set in the environment; set it, or write the value",
        "line 6: sources.gate.clip_limt: unknown key; did you mean clip_limit?",
        "line 8: sources.gate.outputs.0.record.keep_day: unknown key; did you mean keep_days?",
        "line 12: sources.yard.url: expected a URL with one of the schemes rtsp, rtsps, http, https,"
        " file, v4l2, got ftp",
        "line 13: sources.yard.tiles: expected at most 64x64, got 99x1",
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("sources: {gate: {url: 'rtsp://192.0.2.1/'}\n", "line 2: expected YAML, got an error"),
        ("defaults: {}\ndefaults: {}\n", "line 2: duplicate key defaults; it is also on line 1"),
        (
            "a: &a [x]\nb: [*a]\n",
            "line 1: a: unknown key; known keys: defaults, files, networks, sources",
        ),
        (
            "sources:\n  'a b': {url: 'rtsp://192.0.2.1/'}\n",
            "line 2: sources.a b: expected an id of 1 to 64 characters .*, got 'a b'",
        ),
        ("sources:\n  a: {url: 'rtsp://127.0.0.1/'}\n", "line 2: .*127.0.0.1 is loopback"),
        (
            "networks: [192.0.2.7/24]\n",
            "line 1: networks: expected networks such as .*, got 192.0.2.7/24 has host bits",
        ),
        ("sources:\n  a:\n    url: 'file:../../etc/passwd'\n", "line 3: .*is outside"),
        ("sources:\n  a:\n    url: 'file:a.mp4'\n    mode: ${MODE}\n", "line 4: .*only URLs allow variables"),
        (
            "sources:\n  a:\n    url: 'file:a'\n    outputs:\n    - {record: &p {path: a}, snapshot: *p}\n",
            "line 5: .*expected one kind in an output, got 2",
        ),
        ("sources: {a: {url: 'file:a', delivery: fast}}", "line 1: .*'live' or 'lossless'"),
        (
            "[1, 2]",
            "line 1: file: expected keys with values, got a list; known keys: defaults, files,",
        ),
        (
            "sources: {three: 'rtsp://u:secret@192.0.2.1/'}",
            "sources.three: expected keys with values, got text; known keys: chroma_gain",
        ),
        (
            "sources: {a: {url: 'file:a', tiles: 8}}",
            "line 1: sources.a.tiles: expected COLUMNSxROWS such as 8x8, got '8'",
        ),
        ("clip_limit: 2", "line 1: clip_limit: unknown key; did you mean defaults.clip_limit?"),
        ("sources: {a: {url: 'file:a', loop: maybe}}", "loop: expected true or false, got 'maybe'"),
        ("a: " + "[" * 3 + "*a" + "]" * 3, "line 1: .*undefined alias"),
    ],
)
def test_error_is_a_sentence_with_a_line(text: str, told: str) -> None:
    import re

    assert re.search(told, mistakes(text)), mistakes(text)


def test_duplicate_key_hides_no_other_error() -> None:
    text = "defaults: {mode: loud}\nsources: {}\n[a, b]: 1\nsources: {}\nfils: []\n"
    assert [line.partition(": ")[0] for line in mistakes(text).splitlines()] == [
        f"line {n}" for n in (1, 3, 4, 5)
    ]


def test_publish_url_is_not_in_the_error() -> None:
    output = "{publish: 'rtsp://user:pass word@192.0.2.1/x'}"
    told = mistakes(f"sources: {{a: {{url: 'file:a', outputs: [{output}]}}}}")
    assert "expected a URL of rtsp://" in told
    assert "pass" not in told


def test_alias_bomb_is_rejected() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
    assert "expected at most 50000 values" in mistakes("\n".join(lines))


def test_schema_rejects_unknown_keys_and_lists_every_key() -> None:
    whole = schema()
    assert whole["additionalProperties"] is False
    assert set(whole["properties"]) == {"defaults", "networks", "files", "sources"}
    assert all(
        one.get("additionalProperties") is False for one in whole["$defs"].values() if "properties" in one
    )


def test_check_and_schema_are_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "cameras.yaml"
    file.write_text("sources:\n  a: {url: 'file:a.mp4'}\n")
    assert load(file, {}).config.sources  # a service waits for it
    assert cli.run(["config", "check", str(file)]) == 2
    assert f"line 2: sources.a.url: {tmp_path}/a.mp4 does not exist" in capsys.readouterr().err
    (tmp_path / "a.mp4").touch()
    assert cli.run(["config", "check", str(file)]) == 0
    assert "good, 1 source" in capsys.readouterr().out
    file.write_text("sauces: {}\n")
    assert cli.run(["config", "check", str(file)]) == 2
    assert f"{file}: line 1: sauces: unknown key; did you mean sources?" in capsys.readouterr().err
    assert cli.run(["config", "schema"]) == 0
    assert json.loads(capsys.readouterr().out)["title"] == "lumaflow configuration"


def test_unreadable_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        load(tmp_path / "none.yaml", {})
