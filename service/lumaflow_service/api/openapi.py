"""The OpenAPI description: the routes', and the shapes that only their answers mention."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel

from lumaflow_service.api.access import needed
from lumaflow_service.api.frame_result import FrameResult, Histograms
from lumaflow_service.api.problems import Problem, problems

SHAPES: tuple[type[BaseModel], ...] = (Problem, FrameResult, Histograms)


def install(app: FastAPI) -> None:
    """Describe this application at /openapi.json, once made and then kept."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = describe(app)
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def describe(app: FastAPI) -> dict[str, Any]:
    """The description with the schemas of SHAPES in it."""
    description = get_openapi(
        title=app.title, version=app.version, routes=app.routes, separate_input_output_schemas=False
    )
    schemas = description.setdefault("components", {}).setdefault("schemas", {})
    for shape in SHAPES:
        schema = shape.model_json_schema(ref_template="#/components/schemas/{model}")
        schemas.update(schema.pop("$defs", {}))
        schemas[shape.__name__] = schema
    secure(description)
    return description


def secure(description: dict[str, Any]) -> None:
    """Say of every route which scope its token needs, and how it refuses others."""
    description["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    for path, methods in description["paths"].items():
        for method, route in methods.items():
            scope = needed(method.upper(), path)
            if scope:
                route["security"] = [{"token": [scope]}, {}]  # without: while the service has no token
                route["responses"].update(
                    {str(status): answer for status, answer in problems(401, 403).items()}
                )
