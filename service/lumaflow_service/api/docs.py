"""GET /docs: the OpenAPI schema as an HTML page without scripts or external files."""

from html import escape
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

router = APIRouter()

PAGE = """<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <title>lumaflow: HTTP interface</title>
  <link rel="stylesheet" href="style.css">
  <link rel="stylesheet" href="docs.css">
</head>
<body>
<main class="docs">
<h1>lumaflow {version}</h1>
<p>Machine-readable: <a href="openapi.json">openapi.json</a>. Errors are problem details (RFC 9457).</p>
{routes}
</main>
</body>
</html>
"""


@router.get("/docs", include_in_schema=False)
async def docs(request: Request) -> HTMLResponse:
    """Every route with its parameters, bodies and responses."""
    schema = request.app.openapi()
    routes = [
        route_section(method, path, route)
        for path, methods in schema["paths"].items()
        for method, route in methods.items()
    ]
    return HTMLResponse(PAGE.format(version=escape(schema["info"]["version"]), routes="\n".join(routes)))


def route_section(method: str, path: str, route: dict[str, Any]) -> str:
    """The HTML of one route."""
    security = [scopes for requirement in route.get("security", []) for scopes in requirement.values()]
    rows = [row("token", scopes[0], "") for scopes in security]
    rows += [parameter_row(parameter) for parameter in route.get("parameters", [])]
    for media in route.get("requestBody", {}).get("content", {}):
        rows.append(row("body", media, ""))
    rows += [response_row(status, response) for status, response in route["responses"].items()]
    return (
        f"<section><h2><code>{method.upper()} {escape(path)}</code></h2>"
        f"<p>{escape(route.get('description', ''))}</p><table>{''.join(rows)}</table></section>"
    )


def parameter_row(parameter: dict[str, Any]) -> str:
    """One parameter: its place in the request, its name, and its values."""
    schema = parameter["schema"]
    text = parameter.get("description") or " | ".join(schema.get("enum", [])) or schema.get("type", "")
    return row(parameter["in"], parameter["name"], text)


def response_row(status: str, response: dict[str, Any]) -> str:
    """One response: its status, description and media types."""
    return row(status, response["description"], ", ".join(response.get("content", {})))


def row(*cells: str) -> str:
    """One table row."""
    return f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"
