"""The PyTorch example of docs/examples, on the CPU and on a GPU."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from lumaflow import functions

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install torch")


@pytest.fixture(scope="module")
def ops():
    path = Path(__file__).parents[1] / "docs" / "examples" / "torch_ops.py"
    spec = importlib.util.spec_from_file_location("torch_ops", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["torch_ops"] = module
    spec.loader.exec_module(module)
    return torch.ops.lumaflow


def test_operators_equal_the_functions(ops, device, rng):
    luma = rng.integers(0, 90, (137, 201), np.uint8)
    tensor = torch.from_numpy(luma).to(device)
    shown, hog, lbp = ops.clahe(tensor, 3.0, 4, 2), ops.hog(tensor), ops.lbp(tensor)
    assert {one.device for one in (shown, hog, lbp)} == {tensor.device}
    wanted = functions.clahe(luma, functions.Equalization(clip_limit=3.0, tiles=(4, 2)))
    np.testing.assert_array_equal(shown.cpu().numpy(), wanted)
    np.testing.assert_allclose(hog.cpu().numpy(), functions.hog(luma), rtol=0, atol=2e-6)
    np.testing.assert_array_equal(lbp.cpu().numpy(), functions.lbp(luma))


def test_operators_have_shape_functions(ops, device):
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        luma = torch.empty((48, 64), dtype=torch.uint8, device=device)
        assert ops.clahe(luma, 2.0, 8, 8).shape == (48, 64)
        assert ops.hog(luma).shape == (5, 7, 36)
        assert ops.lbp(luma).shape == (3, 4, 59)
