"""The loops of the adaptive modes are compiled before the worker is ready, once on a machine."""

import os
import subprocess
import sys
from pathlib import Path

CACHED = "from lumaflow.backend import cpu_loops_cached; print(cpu_loops_cached())"


def test_an_empty_cache_holds_no_loops(tmp_path: Path) -> None:
    variables = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", CACHED], env=variables, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"


def test_compiled_loops_are_found_in_the_cache() -> None:
    subprocess.run([sys.executable, "-P", "-m", "lumaflow_service.worker.precompile"], check=True)
    done = subprocess.run([sys.executable, "-c", CACHED], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"
