"""The modes of lumaflow as methods: BGR in, BGR out, through the public API."""

from collections.abc import Sequence

import numpy as np

import lumaflow
from lumaflow_service.bench.quality.model import BgrImage, EnhanceClip, Method


def lumaflow_methods(device: str) -> list[Method]:
    """All modes except the identity; modes that `device` (cpu, cuda or cuda:N) lacks are skipped."""
    modes = [mode for mode in lumaflow.Mode if mode is not lumaflow.Mode.IDENTITY]
    return [_method(f"lumaflow {mode}", device, lumaflow.Equalization(mode)) for mode in modes]


def _method(name: str, device: str, equalization: lumaflow.Equalization) -> Method:
    enhance = _enhancer(device, lumaflow.Options(equalization))
    try:
        enhance([np.zeros((8, 8, 3), np.uint8)])
    except lumaflow.OptionError as error:
        return Method(name, None, str(error))
    return Method(name, enhance)


def _enhancer(device: str, options: lumaflow.Options) -> EnhanceClip:
    def enhance(frames: Sequence[BgrImage]) -> list[BgrImage]:
        results = lumaflow.enhance_frames(frames, options, device=device)
        return [result.frame.pixels.copy() for result in results]

    return enhance
