"""The command line: exit status, one-line errors, no partial files."""

import errno
import json
import os
import re
import signal
import subprocess
import sys
import time
import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lumaflow_service.api.app
from lumaflow_service.cli import run
from lumaflow_service.config.settings import Settings
from lumaflow_service.doctor import as_text
from lumaflow_service.media.codec import encode_png
from make_video import dim_frame, make_audio, make_video

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _restore_sigterm() -> Any:
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.fixture
def photo(tmp_path: Path) -> Path:
    path = tmp_path / "photo.png"
    path.write_bytes(encode_png(dim_frame(0)))
    return path


def test_help_lists_every_command(capsys: Capture) -> None:
    for arguments in ([], ["--help"]):
        assert run(arguments) == 0
        out = capsys.readouterr().out
        assert all(name in out for name in ("serve", "enhance", "features", "doctor", "bench"))


@pytest.mark.parametrize("command", ["serve", "enhance", "features", "doctor", "bench"])
def test_every_command_has_help(command: str, capsys: Capture) -> None:
    assert run([command, "--help"]) == 0
    assert f"lumaflow {command}" in capsys.readouterr().out


def test_version_is_the_installed_one(capsys: Capture) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"lumaflow {version('lumaflow')}\n"


def test_help_loads_no_decoder_and_no_compiler() -> None:
    code = (
        "import sys; from lumaflow_service.cli import run; run(['--help']);"
        "sys.exit(bool({'cv2', 'av', 'numba', 'fastapi'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == 0


def test_enhance_an_image(photo: Path, tmp_path: Path, capsys: Capture) -> None:
    assert run(["enhance", str(photo), str(tmp_path / "out.png"), "--device", "cpu"]) == 0
    said = capsys.readouterr()
    assert said.out.startswith(f"{tmp_path / 'out.png'}: 96x64, 1 frame in ")
    assert said.err == ""


def test_enhance_a_video_with_features(tmp_path: Path, capsys: Capture) -> None:
    video = make_video(tmp_path / "in.mp4", frames=3)
    arguments = ["enhance", str(video), str(tmp_path / "out.mp4"), "--features", str(tmp_path / "out.npz")]
    assert run([*arguments, "--mode", "equalize", "--color", "luma", "--side-by-side"]) == 0
    assert "3 frames" in capsys.readouterr().out
    with np.load(tmp_path / "out.npz") as npz:
        assert "hog/000002" in npz.files


def test_enhance_a_folder_with_a_broken_file_is_a_failure(
    photo: Path, tmp_path: Path, capsys: Capture
) -> None:
    (tmp_path / "broken.jpg").write_bytes(b"\xff\xd8")
    assert run(["enhance", str(tmp_path), str(tmp_path / "out")]) == 1
    said = capsys.readouterr()
    assert said.out.startswith("1 enhanced, 1 failed, 0 not media")
    assert said.err.startswith("lumaflow: ")
    assert said.err.count("broken.jpg") == 1


def test_features_of_an_image(photo: Path, tmp_path: Path, capsys: Capture) -> None:
    assert run(["features", str(photo), "-o", str(tmp_path / "out.npz")]) == 0
    assert "features of 1 frame, on cpu" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "status", "what"),
    [
        (["enhance"], 2, "INPUT"),
        (["nonsense"], 2, "nonsense"),
        (["enhance", "missing.mp4", "out.mp4"], 2, "missing.mp4 does not exist"),
        (["enhance", "photo.png", "photo.png", "--force"], 2, "input itself"),
        (["enhance", "photo.png", "there.png"], 2, "--force"),
        (["enhance", "photo.png", "no/where.png"], 2, "does not exist"),
        (["enhance", "photo.png", "out.gif"], 2, ".jpg, .png or .tif"),
        (["enhance", "photo.png", "out.png", "--tiles", "8"], 2, "COLUMNSxROWS"),
        (["enhance", "photo.png", "out.png", "--tiles", "99x1"], 2, "from 1 to 64"),
        (["enhance", "photo.png", "out.png", "--clip-limit", "-1"], 2, "clip_limit"),
        (["enhance", "photo.png", "out.png", "--mode", "magic"], 2, "magic"),
        (["enhance", "photo.png", "out.png", "--device", "tpu"], 2, "tpu"),
        (["enhance", ".", "out", "--features", "f.npz"], 2, "--features"),
        (["features", ".", "-o", "out.npz"], 2, "folder"),
        (["features", "photo.png"], 2, "--output"),
        (["serve", "--port", "99999"], 2, "port"),
        (["enhance", "empty.mp4", "out.mp4"], 2, "empty.mp4 is empty"),
        (["enhance", "junk.mp4", "out.mp4"], 2, "junk.mp4 is neither a video nor a readable image"),
        (["enhance", "page.jpg", "out.jpg"], 2, "page.jpg is not an image, despite its name"),
        (["enhance", "README.md", "out.mp4"], 2, "JPEG, PNG, AVIF"),
        (["enhance", "sound.m4a", "out.mp4"], 2, "has no video stream, only audio"),
        (["enhance", "cut.png", "out.png"], 1, "cut.png: the PNG is truncated"),
        (["enhance", "photo.png", "out.png", "--features", "n.txt"], 2, "expected a name that ends in .npz"),
        (["enhance", "photo.png", "out.png", "--features", "photo.npz", "-f"], 2, "input itself"),
        (["features", "photo.png", "-o", "n.txt"], 2, "expected a name that ends in .npz"),
        (["enhance", ".", "out.mp4"], 2, "leave .mp4 out"),
        (["probe", "missing.mp4"], 2, "missing.mp4: nothing exists there"),
        (["probe", "."], 2, ". is a folder; name one of its files"),
        (["probe", "junk.mp4"], 2, "junk.mp4: "),
    ],
)
def test_error_is_one_line_with_its_exit_status(
    arguments: list[str],
    status: int,
    what: str,
    photo: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Capture,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.png").touch()
    (tmp_path / "empty.mp4").touch()
    (tmp_path / "junk.mp4").write_bytes(bytes(range(256)) * 9)
    (tmp_path / "page.jpg").write_text("<!doctype html><title>Not found</title>" * 9)
    (tmp_path / "README.md").write_text("# A project\n")
    (tmp_path / "cut.png").write_bytes(photo.read_bytes()[:200])
    (tmp_path / "photo.npz").symlink_to("photo.png")
    make_audio(tmp_path / "sound.m4a")
    before = sorted(tmp_path.iterdir())
    assert run(arguments) == status
    said = capsys.readouterr()
    assert said.err.startswith("lumaflow: ")
    assert said.err.count("\n") == 1
    assert what in said.err
    assert said.out == ""
    assert sorted(tmp_path.iterdir()) == before


def test_full_disk_error_names_the_target(
    photo: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, data: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", refuse)
    assert run(["enhance", str(photo), str(tmp_path / "out.png")]) == 1
    told = f"lumaflow: {tmp_path / 'out.png'} cannot be written: No space left on device\n"
    assert capsys.readouterr().err == told


def test_a_folder_that_is_not_writable_gives_one_error_before_any_work(
    photo: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "more.png").write_bytes(photo.read_bytes())
    monkeypatch.setattr(os, "access", lambda path, mode: not mode & os.W_OK)  # root may write everywhere
    for target in (tmp_path / "out.png", tmp_path / "out"):
        assert run(["enhance", str(photo if target.suffix else tmp_path), str(target)]) == 2
        told = f"the folder {tmp_path} is not writable; change its mode, or give another folder"
        assert capsys.readouterr().err == f"lumaflow: {told}\n"
        assert not target.exists()


def test_dev_rejects_an_unknown_command() -> None:
    dev = Path(__file__).parents[1] / "dev"
    done = subprocess.run([dev, "nope"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "unknown command nope" in done.stderr


def test_every_mentioned_extra_exists() -> None:
    root = Path(__file__).parents[1]
    extras = tomllib.loads((root / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    sources = [path for folder in ("pipeline", "service") for path in (root / folder).rglob("*.py")]
    text = "".join(path.read_text() for path in (root / "README.md", *(root / "docs").glob("*.md"), *sources))
    assert {"cuda12", "plot"} <= set(re.findall(r"'\.\[(\w+)\]'", text)) <= set(extras)
    assert "lumaflow[" not in text  # of no package index


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signal_leaves_no_partial_files(tmp_path: Path, number: int, status: int) -> None:
    video = make_video(tmp_path / "in.mp4", frames=1500)
    command = [sys.executable, "-m", "lumaflow_service", "enhance", str(video), str(tmp_path / "out.mp4")]
    running = subprocess.Popen(
        [*command, "--features", str(tmp_path / "out.npz")],
        stderr=subprocess.PIPE,
        text=True,
        # Whoever runs the tests in the background has them inherit an ignored SIGINT.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob(".out.mp4.*.part")) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert running.poll() is None
    os.kill(running.pid, number)
    _, err = running.communicate(timeout=60)
    assert running.returncode == status
    assert err == ""
    assert [path.name for path in tmp_path.iterdir()] == ["in.mp4"]


def test_serve_passes_its_arguments_to_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Settings] = []
    monkeypatch.setattr(lumaflow_service.api.app, "serve", seen.append)
    monkeypatch.setenv("LUMAFLOW_PORT", "8123")
    assert run(["serve", "--host", "127.0.0.2", "--demo"]) == 0
    assert run(["serve", "--port", "9000", "--device", "cpu"]) == 0
    assert (seen[0].host, seen[0].port, seen[0].demo, seen[0].device) == ("127.0.0.2", 8123, True, "auto")
    assert (seen[1].port, seen[1].demo, seen[1].device) == (9000, False, "cpu")


def test_doctor_json_has_the_device_and_the_reason(capsys: Capture) -> None:
    assert run(["doctor", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["device"]["auto picks"] in facts["device"]["available"]
    assert facts["device"]["because"]
    assert "libx264" in facts["video"]["encodes"]
    assert "h264" in facts["video"]["decodes"]
    assert int(facts["machine"]["cores"]) >= 1
    assert facts["packages"]["lumaflow"] == version("lumaflow")


def test_doctor_text_has_every_section(capsys: Capture) -> None:
    assert run(["doctor"]) == 0
    out = capsys.readouterr().out
    assert all(
        f"\n{section}\n" in f"\n{out}" for section in ("device", "machine", "gpus", "packages", "video")
    )
    assert as_text({"device": {"a": "1", "long": "2"}, "gpus": {}}) == "device\n  a     1\n  long  2\n\ngpus"
