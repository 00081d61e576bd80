"""docker/compose.yaml: only loopback is open, everything mounted is there, and the parts fit together."""

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from lumaflow_service.config.loader import load
from lumaflow_service.config.settings import SECRETS_DIR, Settings

DOCKER = Path(__file__).parents[1] / "docker"
COMPOSE = yaml.safe_load((DOCKER / "compose.yaml").read_text())
SERVICES: dict[str, Any] = COMPOSE["services"]
OURS = ["cpu", "gpu"]
MEBIBYTE = 1 << 20


@pytest.mark.parametrize("name", SERVICES)
class TestService:
    """Rules for every service."""

    def test_it_is_in_a_profile(self, name: str) -> None:
        assert set(SERVICES[name]["profiles"]) <= {"cpu", "gpu", "monitoring"}

    def test_its_ports_are_published_on_loopback_only(self, name: str) -> None:
        assert SERVICES[name]["ports"]
        assert all(port.startswith("127.0.0.1:") for port in SERVICES[name]["ports"])

    def test_it_has_no_capabilities(self, name: str) -> None:
        assert SERVICES[name]["cap_drop"] == ["ALL"]
        assert SERVICES[name]["security_opt"] == ["no-new-privileges:true"]

    def test_its_image_names_no_registry_and_has_a_tag(self, name: str) -> None:
        assert re.fullmatch(r"[a-z]+(/[a-z]+)?:[\w.]+", SERVICES[name]["image"])

    def test_every_mounted_file_exists(self, name: str) -> None:
        for volume in SERVICES[name].get("volumes", []):
            source = volume.split(":")[0]
            if source.startswith("."):
                assert (DOCKER / source).exists(), source
                assert volume.endswith(":ro")
            else:
                assert source in COMPOSE["volumes"]


@pytest.mark.parametrize("name", OURS)
def test_root_is_read_only_and_every_volume_is_mounted(name: str) -> None:
    assert SERVICES[name]["read_only"] is True
    dockerfile = (DOCKER.parent / SERVICES[name]["build"]["dockerfile"]).read_text()
    kept = {volume.split(":")[1] for volume in SERVICES[name]["volumes"]}
    assert set(json.loads(re.findall(r"^VOLUME (.*)$", dockerfile, re.M)[0])) <= kept


@pytest.mark.parametrize("name", OURS)
def test_all_slots_fit_into_half_of_the_memory(name: str) -> None:
    settings = Settings()
    gibibytes = int(SERVICES[name]["mem_limit"].removesuffix("g"))
    assert settings.slots * 4 * settings.slot_bytes <= gibibytes * 1024 * MEBIBYTE / 2


@pytest.mark.parametrize("name", OURS)
def test_prometheus_target_is_the_alias_of_the_service(name: str) -> None:
    (alias,) = SERVICES[name]["networks"]["default"]["aliases"]
    config = yaml.safe_load((DOCKER / "prometheus.yml").read_text())
    assert config["scrape_configs"][0]["static_configs"][0]["targets"] == [f"{alias}:8000"]


def test_every_token_is_a_docker_secret(tmp_path: Path) -> None:
    for name, secret in COMPOSE["secrets"].items():
        assert secret == {"file": f"./secrets/{name}"}
        (tmp_path / name).write_text(f"{name}-0123456789\n")
    settings = Settings(_secrets_dir=tmp_path)
    assert settings.tokens == {
        scope: f"lumaflow_{scope}_token-0123456789" for scope in ("ingest", "read", "admin")
    }
    for name in OURS:
        assert set(SERVICES[name]["secrets"]) == set(COMPOSE["secrets"])
    config = yaml.safe_load((DOCKER / "prometheus.yml").read_text())
    (secret,) = SERVICES["prometheus"]["secrets"]
    assert config["scrape_configs"][0]["authorization"] == {
        "type": "Bearer",
        "credentials_file": f"{SECRETS_DIR}/{secret}",
    }


def test_example_configuration_is_valid() -> None:
    loaded = load(DOCKER / "lumaflow.yaml", os.environ)
    assert list(loaded.config.sources) == ["gate"]
    recorded = [output.record for output in loaded.config.sources["gate"].outputs if output.record]
    assert all(record.path.startswith("/data/") for record in recorded)


def test_docker_compose_accepts_the_file() -> None:
    command = ["docker", "compose"]
    try:
        found = subprocess.run([*command, "version"], capture_output=True).returncode == 0
    except FileNotFoundError:
        found = False
    if not found:
        pytest.skip("the Docker client has no compose plugin here")
    check = [*command, "--file", DOCKER / "compose.yaml", "--profile", "*", "config", "--quiet"]
    answer = subprocess.run(check, capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr
