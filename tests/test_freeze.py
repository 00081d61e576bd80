"""Detection of frozen cameras."""

import pytest
from av.video.frame import VideoFrame

from lumaflow_service.camera.freeze import FreezeDetector, luma_sample
from test_slot_format import decoded


@pytest.mark.parametrize("name", ["yuvj420p", "yuv420p10le", "p010le", "gray12le", "nv12"])
def test_the_sample_has_the_upper_eight_bits_of_the_luma(name: str) -> None:
    sample, wanted = luma_sample(decoded(name)), luma_sample(decoded("gray"))
    assert sample.shape == wanted.shape == (8, 12)
    if name in ("yuvj420p", "gray12le"):  # full range, as the gray frame
        assert abs(sample - wanted).max() <= 1
    assert 40 < sample.mean() < 200


def test_an_unchanged_image_is_frozen_after_ten_seconds_and_a_changed_one_is_not() -> None:
    detector, still = FreezeDetector(), decoded("gray")
    assert [detector.is_frozen(still, now) for now in (0.0, 9.9, 10.0, 12.0)] == [False, False, True, True]
    assert not detector.is_frozen(VideoFrame.from_ndarray(255 - still.to_ndarray(), "gray"), 13.0)


def test_another_size_is_not_frozen() -> None:
    detector = FreezeDetector()
    assert not detector.is_frozen(decoded("gray"), 0.0)
    assert not detector.is_frozen(decoded("gray", (96, 64)), 20.0)
