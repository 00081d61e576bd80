"""Choosing the media type of an answer."""

import pytest

from lumaflow_service.api.requests import choose_media_type
from lumaflow_service.errors import NotAcceptableError
from lumaflow_service.ipc.media_type import MediaType


@pytest.mark.parametrize(
    ("accept", "chosen"),
    [
        ("", MediaType.PNG),
        ("*/*", MediaType.PNG),
        ("image/*", MediaType.PNG),
        ("image/jpeg", MediaType.JPEG),
        ("IMAGE/JPEG", MediaType.JPEG),
        ("application/json", MediaType.JSON),
        ("application/x-npz", MediaType.NPZ),
        ("application/octet-stream", MediaType.RAW),
        ("image/jpeg;q=0.5, application/json", MediaType.JSON),
        ("image/jpeg;q=0.5, image/*;q=0.2", MediaType.JPEG),
        ("text/html, image/jpeg;q=0.8, */*;q=0.1", MediaType.JPEG),
        ("image/png;q=0, */*", MediaType.JPEG),
        ("application/*", MediaType.RAW),
    ],
)
def test_type_of_highest_weight_is_chosen(accept: str, chosen: MediaType) -> None:
    assert choose_media_type(accept, MediaType.PNG) is chosen


@pytest.mark.parametrize("accept", ["text/html", "image/webp", "image/png;q=0", "image/png;q=no", "*/*;q=0"])
def test_no_acceptable_type_is_an_error(accept: str) -> None:
    with pytest.raises(NotAcceptableError, match="allows image/jpeg, image/png"):
        choose_media_type(accept, MediaType.PNG)
