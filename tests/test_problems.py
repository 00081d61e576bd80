"""Problem details: the status of every error, its headers, and its text."""

import json

import pytest
from fastapi import FastAPI
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

import lumaflow.errors
from asgi import AsgiResponse, call_app, http_scope
from lumaflow.errors import LumaflowError
from lumaflow_service import errors
from lumaflow_service.api import problems
from lumaflow_service.api.app import ROUTES_HINT, STATUS
from lumaflow_service.api.problems import MEDIA_TYPE, openapi_problems, status_of
from lumaflow_service.config import camera_errors

STATUS_OF_EVERY_ERROR = {
    "BadFrameError": 400,
    "BadOfferError": 400,
    "FrameError": 400,
    "UnauthorizedError": 401,
    "ForbiddenError": 403,
    "OtherSiteError": 403,
    "FeatureOffError": 404,
    "UnknownImageError": 404,
    "UnknownPeerError": 404,
    "UnknownSourceError": 404,
    "NotAcceptableError": 406,
    "SlowBodyError": 408,
    "GeometryConflictError": 409,
    "NoConfigError": 409,
    "TooLargeError": 413,
    "UnsupportedMediaError": 415,
    "ConfigError": 422,
    "OptionError": 422,
    "UrlError": 422,
    "BusyError": 429,
    "MissingExtraError": 501,
    "DeviceError": 503,
    "DeviceLostError": 503,
    "DeviceMemoryError": 503,
    "WorkerUnavailableError": 503,
    "WorkerStuckError": 504,
    # never the answer to a request, else a bug
    "AddressError": 500,
    "CameraError": 500,
    "LumaflowError": 500,
    "OutputError": 500,
    "StateError": 500,
}
"""The public interface: clients depend on these numbers."""
HEADERS_OF_STATUS = {
    408: {"connection": "close"},
    413: {"connection": "close"},
    429: {"connection": "close", "retry-after": "1"},
    503: {"retry-after": "1"},
    504: {"retry-after": "1"},
}
"""The headers that depend on the status alone."""


class Body(BaseModel):
    """A JSON body."""

    width: int = 0
    height: int = 0


def error_classes() -> dict[str, type[LumaflowError]]:
    """Every error of the modules that define errors, by its name."""
    return {
        name: kind
        for module in (lumaflow.errors, errors, camera_errors)
        for name, kind in vars(module).items()
        if isinstance(kind, type) and issubclass(kind, LumaflowError)
    }


def make_error(name: str, text: str = "expected this, got that; do it") -> LumaflowError:
    """An error of the class with this name."""
    kind = error_classes()[name]
    return kind("timeout", text) if name == "CameraError" else kind(text)


def raising_app(error: Exception) -> FastAPI:
    """An application whose routes raise `error`."""
    app = FastAPI()
    problems.install(app, STATUS, ROUTES_HINT)

    @app.get("/fail")
    async def fail() -> None:
        raise error

    @app.put("/body")
    async def body(body: Body) -> None: ...

    return app


def fail_with(error: Exception) -> AsgiResponse:
    """The response to a request whose route raises `error`."""
    return call_app(raising_app(error), http_scope(path="/fail"))


def put(content: bytes, content_type: str = "application/json") -> AsgiResponse:
    """The response to a PUT with this body."""
    scope = http_scope("PUT", "/body", {"Content-Type": content_type, "Host": "h"})
    return call_app(raising_app(ValueError()), scope, [content])


def test_the_table_of_this_test_names_every_error() -> None:
    assert set(error_classes()) == set(STATUS_OF_EVERY_ERROR)


@pytest.mark.parametrize(("name", "status"), STATUS_OF_EVERY_ERROR.items())
def test_every_error_has_its_status(name: str, status: int) -> None:
    response = fail_with(make_error(name))
    assert response.status == status
    assert response.headers["content-type"] == MEDIA_TYPE
    assert json.loads(response.body) == {
        "type": "about:blank",
        "title": json.loads(response.body)["title"],
        "status": status,
        "detail": "expected this, got that; do it",
        "instance": "/fail",
    }


@pytest.mark.parametrize(("name", "status"), STATUS_OF_EVERY_ERROR.items())
def test_every_status_has_its_headers(name: str, status: int) -> None:
    headers = fail_with(make_error(name)).headers
    found = {key: headers[key] for key in ("connection", "retry-after") if key in headers}
    assert found == HEADERS_OF_STATUS.get(status, {})


def test_a_subclass_of_an_error_has_the_status_of_its_nearest_ancestor() -> None:
    class NewFrameError(errors.BadFrameError): ...

    class NewError(LumaflowError): ...

    app = raising_app(ValueError())
    assert status_of(app, NewFrameError()) == 400
    assert status_of(app, NewError()) == 500


def test_credentials_in_an_error_text_are_removed() -> None:
    response = fail_with(errors.BadOfferError("cannot open rtsp://user:s3cret@camera/1"))
    assert b"s3cret" not in response.body
    assert b"camera/1" in response.body


def test_the_text_of_a_bug_is_not_sent() -> None:
    app = raising_app(ZeroDivisionError("division of a secret"))
    response = AsgiResponse()
    with pytest.raises(ZeroDivisionError):  # raised again after the response: the server logs it
        call_app(app, http_scope(path="/fail"), response=response)
    detail = json.loads(response.body)["detail"]
    assert (response.status, detail) == (500, "internal error; see the log of the service")


def test_a_client_that_disconnects_gets_no_problem() -> None:
    response = fail_with(ClientDisconnect())
    assert (response.status, response.body) == (400, b"")


def test_the_headers_of_an_http_error_are_kept() -> None:
    response = fail_with(HTTPException(429, "slow down", {"Retry-After": "9", "X-Own": "kept"}))
    assert (response.headers["retry-after"], response.headers["x-own"]) == ("9", "kept")
    assert json.loads(response.body)["detail"] == "slow down"


@pytest.mark.parametrize(
    ("method", "path", "status", "detail"),
    [
        ("GET", "/none", 404, "no route /none; /docs lists all routes"),
        ("DELETE", "/body", 405, "/body expected PUT, got DELETE; use an allowed method"),
    ],
)
def test_a_wrong_route_is_explained(method: str, path: str, status: int, detail: str) -> None:
    response = call_app(raising_app(ValueError()), http_scope(method, path))
    assert (response.status, json.loads(response.body)["detail"]) == (status, detail)


@pytest.mark.parametrize(
    ("content", "content_type", "words"),
    [
        (b"{", "application/json", ["body: expected JSON, got an error at character 1", "correct it there"]),
        (b"a: 1", "text/yaml", ["got another media type; send it with Content-Type: application/json"]),
        (b'{"width": "x", "height": "y"}', "application/json", ["width", "; ", "height"]),
    ],
)
def test_a_wrong_body_is_explained(content: bytes, content_type: str, words: list[str]) -> None:
    response = put(content, content_type)
    detail = json.loads(response.body)["detail"]
    assert response.status == 422
    assert [word for word in words if word not in detail] == []


def test_the_problems_of_a_route_refer_to_one_schema() -> None:
    found = openapi_problems(404, 429)
    assert {status: problem["description"] for status, problem in found.items()} == {
        404: "Not Found",
        429: "Too Many Requests",
    }
    assert found[404]["content"] == {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
