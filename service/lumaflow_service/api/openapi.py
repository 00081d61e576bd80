"""The OpenAPI schema: that of the routes, plus response models that no route declares as its return type."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel

from lumaflow_service.api.access import required_scope
from lumaflow_service.api.problems import Problem, openapi_problems
from lumaflow_service.api.responses import FrameResult, Histograms

EXTRA_MODELS: tuple[type[BaseModel], ...] = (Problem, FrameResult, Histograms)


def install(app: FastAPI) -> None:
    """Serve the schema at /openapi.json; it is built once."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = build_schema(app)
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def build_schema(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI schema of the application."""
    schema = get_openapi(
        title=app.title, version=app.version, routes=app.routes, separate_input_output_schemas=False
    )
    components = schema.setdefault("components", {}).setdefault("schemas", {})
    for model in EXTRA_MODELS:
        model_schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
        components.update(model_schema.pop("$defs", {}))
        components[model.__name__] = model_schema
    add_security(schema)
    return schema


def add_security(schema: dict[str, Any]) -> None:
    """Add the required scope of each route, and its 401 and 403 responses."""
    schema["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    for path, methods in schema["paths"].items():
        for method, route in methods.items():
            scope = required_scope(method.upper(), path)
            if scope:
                route["security"] = [{"token": [scope]}, {}]  # {}: no token while the service has none
                problems = openapi_problems(401, 403)
                route["responses"].update({str(status): response for status, response in problems.items()})
