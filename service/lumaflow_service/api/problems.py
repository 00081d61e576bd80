"""Errors as RFC 9457 problem details."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Self

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, HTTPConnection

from lumaflow.errors import LumaflowError
from lumaflow_service.config.schema import keys_at
from lumaflow_service.config.validation import Location, format_validation_error
from lumaflow_service.redact import redact_urls

JSON = "application/json"
MEDIA_TYPE = "application/problem+json"
HEADERS: dict[int, dict[str, str]] = {
    408: {"Connection": "close"},
    413: {"Connection": "close"},
    429: {"Retry-After": "1", "Connection": "close"},
    503: {"Retry-After": "1"},
    504: {"Retry-After": "1"},
}
"""Headers of a status. A busy service closes the connection of a client that must wait."""


class Problem(BaseModel):
    """The body of an error response (RFC 9457)."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    instance: str

    @classmethod
    def create(cls, status: int, detail: str, instance: str) -> Self:
        """A problem of a request for `instance`. Credentials in `detail` are removed."""
        return cls(
            title=HTTPStatus(status).phrase, status=status, detail=redact_urls(detail), instance=instance
        )


def problem_response(
    request: HTTPConnection, status: int, detail: str, headers: Mapping[str, str] | None = None
) -> JSONResponse:
    """A response with a problem as its body."""
    body = Problem.create(status, detail, request.url.path)
    return JSONResponse(
        body.model_dump(), status, {**HEADERS.get(status, {}), **(headers or {})}, media_type=MEDIA_TYPE
    )


def status_of(app: FastAPI, error: Exception) -> int:
    """The HTTP status of an error; 500 if the application's table does not list it."""
    table: Mapping[type[Exception], int] = app.state.statuses
    return next((table[kind] for kind in type(error).__mro__ if kind in table), 500)


def openapi_problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The OpenAPI responses of a route for these error statuses."""
    return {
        status: {
            "description": HTTPStatus(status).phrase,
            "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
        for status in statuses
    }


def install(app: FastAPI, table: Mapping[type[LumaflowError], int], routes_hint: str) -> None:
    """Answer every error with a problem.

    table : the HTTP status of each error
    routes_hint : added to the detail of a 404
    """
    app.state.statuses, app.state.routes_hint = table, routes_hint

    async def handle_error(request: Request, error: Exception) -> JSONResponse:
        return problem_response(request, status_of(app, error), str(error))

    async def handle_http_error(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, HTTPException)
        return problem_response(request, error.status_code, http_detail(request, error), error.headers)

    async def handle_validation_error(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, RequestValidationError)
        return problem_response(request, 422, validation_detail(request, error))

    async def handle_bug(request: Request, error: Exception) -> JSONResponse:
        return problem_response(request, 500, "internal error; see the log of the service")

    async def handle_disconnect(request: Request, error: Exception) -> Response:
        return Response(status_code=400)  # the client does not receive it

    app.add_exception_handler(ClientDisconnect, handle_disconnect)
    app.add_exception_handler(LumaflowError, handle_error)
    app.add_exception_handler(HTTPException, handle_http_error)
    app.add_exception_handler(RequestValidationError, handle_validation_error)
    app.add_exception_handler(Exception, handle_bug)


def http_detail(request: Request, error: HTTPException) -> str:
    """The detail of an error that the framework raises."""
    path = request.url.path
    if error.status_code == 404:
        return f"no route {path}; {request.app.state.routes_hint}"
    if error.status_code == 405:
        allowed = (error.headers or {}).get("Allow", "other methods")
        return f"{path} expected {allowed}, got {request.method}; use an allowed method"
    return str(error.detail)


def validation_detail(request: Request, error: RequestValidationError) -> str:
    """Every validation error of a request, with suggestions for unknown keys."""

    def known_keys(location: Location) -> list[str]:
        schema = request.app.openapi()
        route = schema["paths"].get(request.scope["route"].path, {}).get(request.method.lower(), {})
        content = route.get("requestBody", {}).get("content", {}).get(JSON, {})
        return keys_at(schema, location, content.get("schema", {}))

    return "; ".join(
        _body_detail(one) or format_validation_error(one, "body", known_keys) for one in error.errors()
    )


def _body_detail(error: Mapping[str, Any]) -> str:
    """The detail of a body that is not JSON; empty for other errors."""
    if error["type"] == "json_invalid":
        return (
            f"body: expected JSON, got an error at character {error['loc'][-1]}: {error['ctx']['error']};"
            " correct it there"
        )
    if error["loc"] == ("body",) and isinstance(error["input"], bytes):
        return f"body: expected JSON, got another media type; send it with Content-Type: {JSON}"
    return ""
