"""Health checks, metrics, page, documentation; and modules that the API process must not import."""

import json
import re
import subprocess
import sys

import httpx
import pytest


def test_service_is_alive_and_ready(client: httpx.Client) -> None:
    assert client.get("/livez").json()["status"] == "ok"
    assert client.get("/readyz").json() == {"status": "ok", "device": "cpu"}


def test_metrics_contain_every_stage(client: httpx.Client) -> None:
    client.put("/v1/sources/measured", json={"options": {"features": ["hog", "lbp"]}})
    answer = client.post(
        "/v1/sources/measured/frames",
        content=bytes(64 * 64),
        params={"format": "gray8", "width": 64, "height": 64},
        headers={"Content-Type": "application/octet-stream"},
    )
    assert answer.status_code == 200
    metrics = client.get("/metrics")
    assert metrics.headers["Content-Type"].startswith("text/plain")
    for stage in ("upload", "histogram", "lut", "apply", "hog", "lbp", "download"):
        assert f'lumaflow_stage_seconds_count{{device="cpu",stage="{stage}"}}' in metrics.text
    assert 'lumaflow_frames_total{outcome="ok",source="measured"} 1.0' in metrics.text
    assert 'lumaflow_source_up{source="measured"} 1.0' in metrics.text
    assert 'lumaflow_queue_depth{source="measured"} 0.0' in metrics.text
    assert re.search(r'lumaflow_slots_in_use\{device="cpu"\} 0\.0', metrics.text)
    assert re.search(r'lumaflow_build_info\{version="[\d.]+"\} 1\.0', metrics.text)


def test_api_process_imports_no_decoder_and_no_compiler() -> None:
    program = (
        "import json, sys, lumaflow_service.api.app; from lumaflow_service.config.settings import Settings;"
        "lumaflow_service.api.app.create_app(Settings()); print(json.dumps(sorted(sys.modules)))"
    )
    loaded = json.loads(subprocess.check_output([sys.executable, "-c", program]))
    assert "lumaflow_service.control.engine" in loaded
    assert not {"cv2", "cupy", "numba", "simplejpeg", "av"} & set(loaded)


def test_every_response_has_security_headers(client: httpx.Client) -> None:
    for path in ("/", "/docs", "/livez", "/v1/sources", "/nothing"):
        headers = client.get(path).headers
        assert headers["Content-Security-Policy"].startswith("default-src 'self';")
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert headers["X-Content-Type-Options"] == "nosniff"


def test_page_and_its_files_are_served(client: httpx.Client) -> None:
    page = client.get("/")
    assert page.headers["Content-Type"].startswith("text/html")
    named = re.findall(r'(?:src|href)="([^"#:]+)"', page.text)
    assert {"app.js", "style.css"} <= set(named)
    for name in named:
        assert client.get(f"/{name}").status_code == 200, name


@pytest.mark.parametrize("path", ["/../pyproject.toml", "/..%2fapp.py", "/%2e%2e/app.py", "/app.js%00"])
def test_no_other_file_is_served(client: httpx.Client, path: str) -> None:
    assert client.get(path).status_code == 404


def test_docs_name_every_route_and_no_other_host(client: httpx.Client) -> None:
    page = client.get("/docs").text
    for path in client.get("/openapi.json").json()["paths"]:
        assert path in page
    assert "<script" not in page
    assert not re.search(r'(?:src|href)="(?:https?:)?//', page)


def test_openapi_schema_is_complete(client: httpx.Client) -> None:
    description = client.get("/openapi.json").json()
    named = set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(description)))
    assert named <= set(description["components"]["schemas"])
    frames = description["paths"]["/v1/sources/{source}/frames"]["post"]
    assert set(frames["requestBody"]["content"]) == {"image/jpeg", "image/png", "application/octet-stream"}
    assert set(frames["responses"]["200"]["content"]) == {
        "image/jpeg",
        "image/png",
        "application/octet-stream",
        "application/json",
        "application/x-npz",
    }
    refusals = {"400", "406", "408", "409", "413", "415", "422", "429", "503", "504"}
    assert refusals <= set(frames["responses"])
