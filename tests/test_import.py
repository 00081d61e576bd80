"""`import lumaflow`: quick, and without effect on the process."""

import subprocess
import sys

PROGRAM = """
import os, sys
before = dict(os.environ)
import lumaflow
assert dict(os.environ) == before, "the import changed the environment"
heavy = {"numba", "cupy", "cv2", "av", "torch"} & set(sys.modules)
assert not heavy, f"the import loaded {heavy}"
import numpy
lumaflow.clahe(numpy.zeros((8, 8), numpy.uint8))
assert os.environ["GOMP_SPINCOUNT"] == "1000", "the CPU ran without a limit for spinning threads"
"""


def test_import_loads_no_heavy_module_and_changes_no_environment_variable():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_public_name_exists():
    import lumaflow

    assert all(hasattr(lumaflow, name) for name in lumaflow.__all__)
    assert lumaflow.__all__ == sorted(lumaflow.__all__)
