"""Every error as RFC 9457 problem details."""

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
from lumaflow_service.config.schema import names_at
from lumaflow_service.config.validation import Place, format_validation_error
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
"""Headers that come with a status. A client told to wait must hang up, or it keeps a connection busy."""


class Problem(BaseModel):
    """What went wrong, as RFC 9457 has it."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    instance: str

    @classmethod
    def of(cls, status: int, detail: str, instance: str) -> Self:
        """What to say about a request for `instance`; credentials in the text are struck out."""
        return cls(
            title=HTTPStatus(status).phrase, status=status, detail=redact_urls(detail), instance=instance
        )


def problem(
    request: HTTPConnection, status: int, detail: str, headers: Mapping[str, str] | None = None
) -> JSONResponse:
    """A problem as a response."""
    body = Problem.of(status, detail, request.url.path)
    return JSONResponse(
        body.model_dump(), status, {**HEADERS.get(status, {}), **(headers or {})}, media_type=MEDIA_TYPE
    )


def status_of(app: FastAPI, error: Exception) -> int:
    """The status of an error by the application's table; any other is ours, 500."""
    table: Mapping[type[Exception], int] = app.state.statuses
    return next((table[kind] for kind in type(error).__mro__ if kind in table), 500)


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The refusals of a route, for its OpenAPI description."""
    return {
        status: {
            "description": HTTPStatus(status).phrase,
            "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
        for status in statuses
    }


def install(app: FastAPI, table: Mapping[type[LumaflowError], int], there: str) -> None:
    """Answer every error with a problem; `table` says which status is whose, `there` what there is to ask."""
    app.state.statuses, app.state.there = table, there

    async def of_error(request: Request, error: Exception) -> JSONResponse:
        return problem(request, status_of(app, error), str(error))

    async def of_http(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, HTTPException)
        return problem(request, error.status_code, detail_of(request, error), error.headers)

    async def of_validation(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, RequestValidationError)
        return problem(request, 422, told(request, error))

    async def of_bug(request: Request, error: Exception) -> JSONResponse:
        return problem(request, 500, "the service failed at this request; its log says why")

    async def of_leaver(request: Request, error: Exception) -> Response:
        return Response(status_code=400)  # nobody is there to read it

    app.add_exception_handler(ClientDisconnect, of_leaver)
    app.add_exception_handler(LumaflowError, of_error)
    app.add_exception_handler(HTTPException, of_http)
    app.add_exception_handler(RequestValidationError, of_validation)
    app.add_exception_handler(Exception, of_bug)


def detail_of(request: Request, error: HTTPException) -> str:
    """A sentence for the errors of the framework itself."""
    if error.status_code == 404:
        return f"there is nothing at {request.url.path}; {request.app.state.there}"
    if error.status_code == 405:
        allowed = (error.headers or {}).get("Allow", "other methods")
        return f"{request.method} came; {request.url.path} takes {allowed}"
    return str(error.detail)


def told(request: Request, error: RequestValidationError) -> str:
    """What is wrong with a request, and what it may have been meant to be."""

    def names(place: Place) -> list[str]:
        whole = request.app.openapi()
        route = whole["paths"].get(request.scope["route"].path, {}).get(request.method.lower(), {})
        content = route.get("requestBody", {}).get("content", {}).get(JSON, {})
        return names_at(whole, place, content.get("schema", {}))

    return "; ".join(
        _of_body(one) or format_validation_error(one, "the body", names) for one in error.errors()
    )


def _of_body(error: Mapping[str, Any]) -> str:
    """What is wrong with a body that was not even read as JSON; empty where that is not the matter."""
    if error["type"] == "json_invalid":
        return (
            f"the body is not JSON: {error['ctx']['error']} (at character {error['loc'][-1]}); mend it there"
        )
    if error["loc"] == ("body",) and isinstance(error["input"], bytes):
        return f"the body came as something else than JSON; send it with Content-Type: {JSON}"
    return ""
