"""Choosing the media type of an answer."""

import pytest

from lumaflow_service.api.accept import choose
from lumaflow_service.errors import NotAcceptableError
from lumaflow_service.ipc.messages import Media


@pytest.mark.parametrize(
    ("accept", "chosen"),
    [
        ("", Media.PNG),
        ("*/*", Media.PNG),
        ("image/*", Media.PNG),
        ("image/jpeg", Media.JPEG),
        ("IMAGE/JPEG", Media.JPEG),
        ("application/json", Media.JSON),
        ("application/x-npz", Media.NPZ),
        ("application/octet-stream", Media.RAW),
        ("image/jpeg;q=0.5, application/json", Media.JSON),
        ("image/jpeg;q=0.5, image/*;q=0.2", Media.JPEG),
        ("text/html, image/jpeg;q=0.8, */*;q=0.1", Media.JPEG),
        ("image/png;q=0, */*", Media.JPEG),
        ("application/*", Media.RAW),
    ],
)
def test_the_best_liked_type_is_chosen(accept: str, chosen: Media) -> None:
    assert choose(accept, Media.PNG) is chosen


@pytest.mark.parametrize("accept", ["text/html", "image/webp", "image/png;q=0", "image/png;q=no", "*/*;q=0"])
def test_a_client_that_takes_none_of_them_is_told(accept: str) -> None:
    with pytest.raises(NotAcceptableError, match="can be answered as image/jpeg, image/png"):
        choose(accept, Media.PNG)
