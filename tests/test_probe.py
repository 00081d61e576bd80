"""`lumaflow probe`: what is this stream."""

import json
import time
from pathlib import Path

import httpx
import pytest

from browser import FrameSender, scene
from cameras import rtsp_server
from lumaflow_service import cli
from lumaflow_service.media.codec import encode_jpeg
from make_video import make_video


def probe_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, object]:
    assert cli.run(["probe", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_video_file_is_described(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    film = make_video(tmp_path / "a.mp4", 24, audio="aac")
    found = probe_json(capsys, str(film))
    expected = {"codec": "h264", "width": 96, "height": 64, "pixel_format": "yuv420p", "range": "limited"}
    expected |= {"frames": 24, "corrupt": 0, "frames_per_second": 12.5, "key_frame_seconds": 0.48}
    expected |= {"sound": "aac", "interlaced": False, "decodes": True}
    assert {name: found[name] for name in expected} == expected


def test_the_rate_of_a_stream_without_times_is_measured(
    client: httpx.Client, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    film = FrameSender(
        str(client.base_url), "slow", [encode_jpeg(scene(n)) for n in range(8)], frames_per_second=8
    )
    try:
        while client.get("/v1/sources/slow").status_code != 200:
            time.sleep(0.02)
        found = probe_json(capsys, f"{client.base_url}v1/sources/slow/live.mjpg", "--seconds", "3")
    finally:
        film.stop()
    assert (found["codec"], found["width"]) == ("mjpeg", 320)
    assert found["frames_per_second"] == pytest.approx(8, abs=3)  # FFmpeg says 25
    bare = probe_json(capsys, str(make_video(tmp_path / "a.h264", 5, container="h264")))
    assert (bare["frames"], bare["frames_per_second"], bare["key_frame_seconds"]) == (5, None, None)


def test_the_default_output_is_lines_of_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["probe", str(make_video(tmp_path / "a.mkv", 5))]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "  size                 96x64" in lines
    assert "  decodes              yes" in lines


def test_a_damaged_file_does_not_decode(shared_data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = probe_json(capsys, str(shared_data / "videos" / "car_ts_packet_loss.ts"))
    assert found["decodes"] is False
    assert isinstance(found["corrupt"], int)
    assert found["corrupt"] > 0


def test_a_camera_is_described_without_its_password(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CAMERA_PASSWORD", "s3cretWord")
    with rtsp_server(["/live=secret:joe:s3cretWord"]) as server:
        found = probe_json(capsys, server.url("live", "joe:${CAMERA_PASSWORD}@"), "--seconds", "3")
        assert (found["codec"], found["width"], found["sound"]) == ("h264", 160, "pcm_alaw")
        assert found["url"] == server.url("live", "***@")
        assert found["frames_per_second"] == pytest.approx(10, rel=0.05)
        assert found["key_frame_seconds"] == pytest.approx(1, rel=0.1)
        assert cli.run(["probe", server.url("live", "joe:wr0ngWord@")]) == 1
    stderr = capsys.readouterr().err
    where = server.url("live", "***@")
    assert stderr == f"lumaflow: {where}: user or password is wrong; check the URL's credentials\n"


@pytest.mark.parametrize("url", ["ftp://192.0.2.1/a", "rtsp://joe:${NOT_SET_ANYWHERE}@192.0.2.1/"])
def test_a_url_that_cannot_be_opened_exits_with_2(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["probe", url]) == 2
    assert capsys.readouterr().err.count("\n") == 1
