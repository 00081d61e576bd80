"""Dashboards: Prometheus accepts each query, every queried series exists, and every panel has data."""

import json
import os
import re
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from prometheus_client import CollectorRegistry

from conftest import RunningService, finish
from lumaflow_service.control.metrics import Metrics
from prometheus import DOCKER, RULES, needs_prometheus, promtool, rules

GRAFANA = DOCKER / "grafana"
BOARDS = {path.stem: json.loads(path.read_text()) for path in sorted(GRAFANA.glob("dashboards/*.json"))}
VARIABLES = {"$source": "gate", "$device": "cpu", "$__rate_interval": "10s"}
PANELS = [(name, panel) for name, board in BOARDS.items() for panel in board["panels"]]
READ_TOKEN, INGEST_TOKEN = "read-0123456789abcdef", "ingest-0123456789abcdef"
ANSWER_SECONDS = 30.0
"""Time until every panel has data after the first frame; it takes about ten seconds."""


def queries() -> list[tuple[str, str]]:
    """(panel, query) of every query, as Grafana sends it for the source `gate` on the device `cpu`."""
    found = []
    for name, panel in PANELS:
        for target in panel["targets"]:
            query = target["expr"]
            for variable, value in VARIABLES.items():
                query = query.replace(variable, value)
            found.append((f"{name}: {panel['title']} {target['refId']}", query))
    return found


def metric_names() -> set[str]:
    """Every series of the service."""
    suffixes = {"counter": ["_total"], "histogram": ["_bucket", "_sum", "_count"], "gauge": [""]}
    families = Metrics(CollectorRegistry()).registry.collect()
    return {family.name + suffix for family in families for suffix in suffixes[family.type]}


def asked_names(query: str) -> set[str]:
    """The lumaflow metrics and recorded series in a query, without strings."""
    return {
        name for name in re.findall(r"[A-Za-z_:][\w:]*", re.sub(r'"[^"]*"', "", query)) if "lumaflow" in name
    }


@needs_prometheus
def test_promtool_accepts_every_query(tmp_path: Path) -> None:
    recorded = [{"record": f"query_{i}", "expr": query} for i, (_, query) in enumerate(queries())]
    rule_file = tmp_path / "queries.yml"
    rule_file.write_text(json.dumps({"groups": [{"name": "queries", "rules": recorded}]}))
    assert f"{len(recorded)} rules found" in promtool("check", "rules", rule_file)


def test_every_queried_series_exists() -> None:
    there = metric_names() | {rule["record"] for rule in rules("record")}
    asked = [query for _, query in queries()]
    asked += [rule["expr"] for kind in ("alert", "record") for rule in rules(kind)]
    asked += [v["query"]["query"] for board in BOARDS.values() for v in board["templating"]["list"]]
    missing = {name for query in asked for name in asked_names(query)} - there
    assert not missing


def test_every_metric_is_on_a_dashboard() -> None:
    asked = " ".join([query for _, query in queries()] + [rule["expr"] for rule in rules("record")])
    shown = asked_names(asked)
    unseen = {re.sub("_(bucket|sum|count)$", "", name) for name in metric_names()} - {
        re.sub("_(bucket|sum|count)$", "", name) for name in shown
    }
    assert not unseen


@pytest.mark.parametrize(("board", "panel"), PANELS, ids=lambda value: str(value)[:40])
def test_every_panel_has_a_description_and_the_datasource(board: str, panel: dict[str, Any]) -> None:
    (source,) = yaml.safe_load((GRAFANA / "provisioning/datasources/prometheus.yml").read_text())[
        "datasources"
    ]
    assert panel["title"]
    assert panel["description"].endswith(".")
    assert {target["datasource"]["uid"] for target in panel["targets"]} == {source["uid"]}


@pytest.mark.parametrize("name", BOARDS)
def test_panels_fill_the_width_and_do_not_overlap(name: str) -> None:
    covered: set[tuple[int, int]] = set()
    for panel in BOARDS[name]["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not covered & cells, panel["title"]
        assert all(x < 24 for x, _ in cells), panel["title"]
        covered |= cells
    assert len({panel["id"] for panel in BOARDS[name]["panels"]}) == len(BOARDS[name]["panels"])


def test_every_metric_is_in_the_operators_guide() -> None:
    page = (DOCKER.parent / "docs/operators.md").read_text()
    for name in metric_names():
        assert re.search(rf"`{re.sub('_(bucket|sum|count)$', '', name)}[`{{]", page), name


# against a real Prometheus that scrapes a real service ---------------------------------------------


CAMERAS = """
networks: [127.0.0.0/8]
sources:
  porch:
    url: rtsp://127.0.0.1:{port}/nobody-is-there
    outputs: [snapshot: {{path: snapshots}}]
"""


@pytest.fixture(scope="module")
def busy_service(
    open_service: Callable[..., RunningService], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningService]:
    """A service that gets ten frames a second of the source `gate`, every fourth of them garbage.

    Its one camera, `porch`, is not there; its configuration was read again.
    """
    config = tmp_path_factory.mktemp("config") / "lumaflow.yaml"
    config.write_text(CAMERAS.format(port=free_port()))
    running = open_service(config=config, read_token=READ_TOKEN, ingest_token=INGEST_TOKEN)
    running.client.headers["Authorization"] = f"Bearer {INGEST_TOKEN}"
    running.wait_ready()
    running.process.send_signal(signal.SIGHUP)
    done = threading.Event()
    sender = threading.Thread(target=keep_sending, args=(running.client, done))
    sender.start()
    yield running
    done.set()
    sender.join()


def keep_sending(client: httpx.Client, done: threading.Event) -> None:
    """Post frames until `done`; they are rejected while the worker restarts."""
    number = 0
    while not done.wait(0.1):
        number += 1
        body = bytes(64 * 64) if number % 4 else b"garbage"
        client.post(
            "/v1/sources/gate/frames?format=gray8&width=64&height=64",
            content=body,
            headers={"Content-Type": "application/octet-stream"},
        )


@pytest.fixture(scope="module")
def prometheus(
    busy_service: RunningService, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[httpx.Client]:
    """Prometheus with the rules, scraping that service every second; the worker was killed once."""
    folder = tmp_path_factory.mktemp("prometheus")
    config = yaml.safe_load((DOCKER / "prometheus.yml").read_text())
    config["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    (folder / "read_token").write_text(f"{READ_TOKEN}\n")
    config["scrape_configs"][0]["authorization"]["credentials_file"] = str(folder / "read_token")
    config["rule_files"] = [str(path) for path in RULES]
    url = busy_service.client.base_url
    config["scrape_configs"][0]["static_configs"][0]["targets"] = [f"{url.host}:{url.port}"]
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    address = f"127.0.0.1:{free_port()}"
    process = subprocess.Popen(
        [
            "prometheus",
            f"--config.file={folder}/prometheus.yml",
            f"--storage.tsdb.path={folder}/data",
            f"--web.listen-address={address}",
            "--log.level=error",
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        with httpx.Client(base_url=f"http://{address}", timeout=10) as client:
            wait_for(client, 'lumaflow_frames_total{source="gate",outcome="ok"} > 0')
            wait_for(client, "sum(lumaflow_worker_restarts_total) == 0")
            os.kill(busy_service.worker, signal.SIGKILL)
            yield client
    finally:
        finish(process)


def free_port() -> int:
    """A free port of loopback."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def wait_for(client: httpx.Client, query: str) -> list[Any]:
    """The result of a query, as soon as it has a number."""
    end = time.monotonic() + ANSWER_SECONDS
    while True:
        try:
            answer = client.get("/api/v1/query", params={"query": query}).json()
            assert answer["status"] == "success", answer
            result: list[Any] = answer["data"]["result"]
            if any(sample["value"][1] != "NaN" for sample in result):
                return result
        except httpx.TransportError:
            pass  # it starts
        assert time.monotonic() < end, f"no answer within {ANSWER_SECONDS:g} s to: {query}"
        time.sleep(0.2)


ONLY_CAMERAS = re.compile("lumaflow_(reconnects|output_up)")
"""What a client that sends by itself has no numbers of."""


def of_a_camera(query: str) -> str:
    """The query for the camera where a client has no answer."""
    return query.replace('"gate"', '"porch"') if ONLY_CAMERAS.search(query) else query


@needs_prometheus
@pytest.mark.parametrize(
    "query",
    [pytest.param(of_a_camera(query), id=panel) for panel, query in queries()],
)
def test_every_panel_has_data_from_a_real_service(prometheus: httpx.Client, query: str) -> None:
    assert wait_for(prometheus, query)


@needs_prometheus
def test_killed_worker_lost_frames_and_absent_camera_raise_alerts(
    prometheus: httpx.Client,
) -> None:
    fired = wait_for(prometheus, 'ALERTS{alertname="LumaflowWorkerRestarted",alertstate="firing"}')
    assert fired[0]["metric"]["reason"] == "signal"
    assert wait_for(prometheus, 'ALERTS{alertname="LumaflowFramesLost",source="gate"}')
    assert wait_for(prometheus, 'ALERTS{alertname="LumaflowCameraDown",source="porch"}')


@needs_prometheus
def test_promtool_accepts_the_metrics(prometheus: httpx.Client) -> None:
    assert wait_for(prometheus, 'up{job="lumaflow"}')[0]["value"][1] == "1"
    assert wait_for(prometheus, "scrape_samples_post_metric_relabeling > 50")
