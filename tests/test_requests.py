"""Parsing of requests: media ranges, the format and features of a frame, JSON bodies of sources."""

import pytest
from pydantic import ValidationError

from lumaflow.errors import FrameError, OptionError
from lumaflow.formats import Alignment, PixelFormat, Range
from lumaflow.geometry import MAX_SIDE_PX, Geometry
from lumaflow_service.api.requests import (
    FixedFormat,
    FrameFormat,
    FrameQuery,
    SourcePatch,
    SourcePut,
    content_type_of,
    parse_features,
    parse_media_range,
    weight_of,
)
from lumaflow_service.config.options import Feature
from lumaflow_service.errors import BadFrameError, TooLargeError
from lumaflow_service.ipc.geometry_json import GeometryJson
from lumaflow_service.ipc.media_type import MediaType

RAW_QUERY = {
    "format": "p010",
    "width": "640",
    "height": "360",
    "range": "full",
    "alignment": "msb",
    "matrix": "bt2020",
}
"""A query in which no parameter has its default value."""

# Accept header ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("image/png", ("image/png", 1.0)),
        (" Image/PNG ; Q=0.25 ", ("image/png", 0.25)),
        ("image/png;level=1;q=0.5", ("image/png", 0.5)),
        ("image/png;level=1", ("image/png", 1.0)),
        ("image/png;q=high", ("image/png", 0.0)),
        ("image/png;q=", ("image/png", 0.0)),
        ("*/*;q=0", ("*/*", 0.0)),
    ],
)
def test_a_media_range_has_a_type_and_a_weight(text: str, parsed: tuple[str, float]) -> None:
    assert parse_media_range(text) == parsed


@pytest.mark.parametrize(
    ("ranges", "weight"),
    [
        ([("image/png", 0.2), ("image/*", 0.8), ("*/*", 1.0)], 0.2),
        ([("image/*", 0.3), ("*/*", 0.9)], 0.3),
        ([("*/*", 0.9)], 0.9),
        ([("image/png", 0.2), ("image/png", 0.7)], 0.7),
        ([("image/jpeg", 1.0), ("application/*", 1.0)], 0.0),
        ([], 0.0),
    ],
)
def test_the_most_specific_range_gives_the_weight(ranges: list[tuple[str, float]], weight: float) -> None:
    assert weight_of(MediaType.PNG, ranges) == weight


@pytest.mark.parametrize(
    ("header", "content_type"),
    [
        (None, ""),
        ("", ""),
        ("image/png", "image/png"),
        ("Image/JPEG; charset=utf-8", "image/jpeg"),
        (" application/json ;x=y", "application/json"),
    ],
)
def test_a_content_type_has_no_parameters_and_no_capitals(header: str | None, content_type: str) -> None:
    assert content_type_of(header) == content_type


# format of a raw frame ----------------------------------------------------------------------------


def test_every_parameter_of_a_raw_frame_reaches_its_geometry_and_matrix() -> None:
    frame_format = FrameQuery.model_validate(RAW_QUERY).frame_format(640 * 360)
    assert frame_format.geometry == Geometry(640, 360, PixelFormat.P010, Range.FULL, Alignment.MSB)
    assert frame_format.to_json() == GeometryJson(640, 360, "p010", "full", "msb", "bt2020")
    assert frame_format.frame_bytes == 640 * 360 * 3


@pytest.mark.parametrize("alignment", Alignment)
def test_the_alignment_of_a_raw_frame_reaches_its_geometry(alignment: Alignment) -> None:
    query = FrameQuery.model_validate({"format": "gray10", "width": 4, "height": 2, "alignment": alignment})
    assert query.frame_format(8).geometry.alignment is alignment


@pytest.mark.parametrize(("pixel_format", "range_"), [("i420", "limited"), ("gray8", "full")])
def test_an_unspecified_range_is_limited_for_yuv_and_full_for_gray(pixel_format: str, range_: str) -> None:
    query = FrameQuery.model_validate({"format": pixel_format, "width": 4, "height": 4})
    assert query.frame_format(16).to_json() == GeometryJson(4, 4, pixel_format, range_, "lsb", "unspecified")


@pytest.mark.parametrize("name", ["format", "width", "height"])
def test_an_incomplete_format_is_an_error_that_shows_a_query(name: str) -> None:
    query = FrameQuery.model_validate({key: value for key, value in RAW_QUERY.items() if key != name})
    with pytest.raises(BadFrameError, match=r"add \?format=.*gray8.*&width=\.\.&height=\.\."):
        query.frame_format(1 << 24)


def test_the_pixel_limit_is_inclusive() -> None:
    query = FrameQuery.model_validate({"format": "gray8", "width": 5, "height": 3})
    assert query.frame_format(15).frame_bytes == 15
    with pytest.raises(TooLargeError, match="at most 14 pixels, got 5x3 = 15; send a smaller frame"):
        query.frame_format(14)


@pytest.mark.parametrize(
    "wrong",
    [{"width": 0}, {"height": 0}, {"width": MAX_SIDE_PX + 1}, {"format": "cmyk"}, {"matrix": "bt2100"}],
)
def test_an_impossible_query_value_is_rejected(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError, match=next(iter(wrong))):
        FrameQuery.model_validate({**RAW_QUERY, **wrong})


def test_an_rgb_frame_of_limited_range_is_a_frame_error() -> None:
    query = FrameQuery.model_validate({"format": "bgr24", "width": 5, "height": 4, "range": "limited"})
    with pytest.raises(FrameError, match="expected full range for bgr24"):
        query.frame_format(100)


def test_a_fixed_format_is_checked_when_it_is_set() -> None:
    wrong = {"width": 5, "height": 4, "format": "bgr24", "range": "limited"}
    FrameFormat.model_validate(wrong)
    with pytest.raises(ValidationError, match="expected full range for bgr24"):
        FixedFormat.model_validate(wrong)
    with pytest.raises(ValidationError, match="colour"):
        FrameFormat.model_validate({"width": 4, "height": 4, "format": "i420", "colour": "bt709"})


def test_a_format_read_from_a_message_equals_the_sent_one() -> None:
    sent = FrameFormat(width=6, height=4, format="gray10", range="limited", alignment="msb", matrix="bt709")
    assert FrameFormat.from_json(sent.to_json()) == sent
    assert FrameFormat.from_json(None) is None


# features -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "features"),
    [
        (None, None),
        ("", []),
        (" , ", []),
        ("hog", [Feature.HOG]),
        ("heatmap, lbp ,histogram", [Feature.HEATMAP, Feature.LBP, Feature.HISTOGRAM]),
    ],
)
def test_features_are_a_comma_separated_list(text: str | None, features: list[Feature] | None) -> None:
    assert parse_features(text) == features


@pytest.mark.parametrize("text", ["HOG", "hog;lbp", "hog,sift"])
def test_an_unknown_feature_is_an_error(text: str) -> None:
    with pytest.raises(OptionError, match=f"got features={text}; correct the list"):
        parse_features(text)


# JSON bodies --------------------------------------------------------------------------------------


def test_a_source_with_a_url_is_a_camera_with_the_given_fields() -> None:
    body = SourcePut.model_validate(
        {
            "url": "rtsp://camera/1",
            "transport": "udp",
            "delivery": "lossless",
            "deinterlace": True,
            "verify_tls": False,
            "options": {"mode": "equalize"},
        }
    )
    camera = body.camera()
    assert camera is not None
    assert (camera.url, camera.transport, camera.delivery) == ("rtsp://camera/1", "udp", "lossless")
    assert (camera.deinterlace, camera.verify_tls) == (True, False)


def test_a_source_without_a_url_is_no_camera() -> None:
    assert SourcePut.model_validate({}).camera() is None
    assert (
        SourcePut.model_validate({"geometry": {"width": 2, "height": 2, "format": "gray8"}}).camera() is None
    )


@pytest.mark.parametrize("fields", [{"transport": "udp"}, {"deinterlace": False}, {"verify_tls": True}])
def test_a_camera_field_without_a_url_is_an_error(fields: dict[str, object]) -> None:
    with pytest.raises(OptionError, match=f"expected a url with {next(iter(fields))}, got none"):
        SourcePut.model_validate(fields).camera()


@pytest.mark.parametrize(
    "body", [{"url": ""}, {"url": "x" * 2049}, {"path": "/"}, {"options": {"mod": "clahe"}}]
)
@pytest.mark.parametrize("model", [SourcePut, SourcePatch])
def test_a_wrong_body_is_rejected(model: type[SourcePut | SourcePatch], body: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        model.model_validate(body)


def test_a_patch_without_a_geometry_differs_from_a_geometry_of_null() -> None:
    assert "geometry" not in SourcePatch.model_validate({}).model_fields_set
    assert "geometry" in SourcePatch.model_validate({"geometry": None}).model_fields_set
    assert SourcePatch.model_validate({"url": "rtsp://camera/2"}).camera_fields() == {
        "url": "rtsp://camera/2"
    }
