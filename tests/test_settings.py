"""Settings: from the environment and from arguments."""

import pytest
from pydantic import ValidationError

from service.settings import Settings


def test_defaults_listen_on_loopback() -> None:
    assert (Settings().host, Settings().port, Settings().device) == ("127.0.0.1", 8000, "auto")


def test_environment_sets_and_arguments_win(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LUMAFLOW_PORT", "9000")
    monkeypatch.setenv("LUMAFLOW_QUEUE_DEPTH", "7")
    settings = Settings(port=9001)
    assert (settings.port, settings.queue_depth) == (9001, 7)


@pytest.mark.parametrize(("name", "value"), [("SLOTS", "0"), ("PORT", "70000"), ("JPEG_QUALITY", "high")])
def test_values_out_of_range_are_refused(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(f"LUMAFLOW_{name}", value)
    with pytest.raises(ValidationError, match=name.lower()):
        Settings()


def test_settings_do_not_change() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        Settings().port = 1  # type: ignore[misc]
