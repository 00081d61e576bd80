"""Settings: from the environment and from arguments."""

import pytest
from pydantic import ValidationError

from lumaflow_service.cli import run
from lumaflow_service.config.settings import Settings


def test_defaults_listen_on_loopback() -> None:
    assert (Settings().host, Settings().port, Settings().device) == ("127.0.0.1", 8000, "auto")


def test_arguments_override_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LUMAFLOW_PORT", "9000")
    monkeypatch.setenv("LUMAFLOW_QUEUE_DEPTH", "7")
    settings = Settings(port=9001)
    assert (settings.port, settings.queue_depth) == (9001, 7)


@pytest.mark.parametrize(("name", "value"), [("SLOTS", "0"), ("PORT", "70000"), ("JPEG_QUALITY", "high")])
def test_values_out_of_range_are_rejected(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(f"LUMAFLOW_{name}", value)
    with pytest.raises(ValidationError, match=name.lower()):
        Settings()


def test_error_names_the_argument_or_variable(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LUMAFLOW_SLOTS", "0")
    monkeypatch.setenv("LUMAFLOW_READ_TOKEN", "too-short")
    assert run(["serve", "--port", "99999"]) == 2
    told = capsys.readouterr().err
    assert "--port: expected at most 65535, got 99999" in told
    assert "LUMAFLOW_SLOTS: expected at least 4, got '0'" in told
    assert "LUMAFLOW_READ_TOKEN: expected 16 to 512 printable" in told
    assert "too-short" not in told


def test_misspelled_variable_is_a_warning(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("lumaflow_service.api.app.serve", lambda settings: None)
    monkeypatch.setenv("LUMAFLOW_JPEG_QUALTY", "80")
    monkeypatch.setenv("LUMAFLOW_GATE_PASSWORD", "a configuration's own")
    assert run(["serve"]) == 0
    told = "unknown setting LUMAFLOW_JPEG_QUALTY is ignored; did you mean LUMAFLOW_JPEG_QUALITY?"
    assert capsys.readouterr().err == f"lumaflow: {told}\n"


def test_settings_are_immutable() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        Settings().port = 1  # type: ignore[misc]
