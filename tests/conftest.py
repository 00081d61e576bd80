"""Fixtures shared by all tests."""

import os
import zlib
from pathlib import Path

import numpy as np
import pytest

from pipeline.backend import available_devices

SHARED = Path(os.environ.get("LUMAFLOW_SHARED", Path(__file__).parents[2] / "shared"))


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real test media, which is not part of the repository."""
    if not (SHARED / "data").is_dir():
        pytest.skip(f"no test media at {SHARED / 'data'}; set LUMAFLOW_SHARED to the folder that has data/")
    return SHARED / "data"


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """Random numbers that are the same in every run of this test."""
    return np.random.default_rng(zlib.crc32(request.node.nodeid.encode()))


@pytest.fixture(params=["cpu", "cuda"])
def device(request: pytest.FixtureRequest) -> str:
    """Every kind of device; skipped only where there is no such device."""
    found = [name for name in available_devices() if name.startswith(request.param)]
    if not found:
        pytest.skip(f"no {request.param} device here: see `lumaflow doctor`")
    return found[0]
