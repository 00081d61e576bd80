"""/docs: the OpenAPI description as a plain page, which needs no script and no other host."""

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
<p>The same for programs: <a href="openapi.json">openapi.json</a>. Errors are problem details (RFC 9457).</p>
{routes}
</main>
</body>
</html>
"""


@router.get("/docs", include_in_schema=False)
async def docs(request: Request) -> HTMLResponse:
    """Every route with its parameters, bodies and answers."""
    description = request.app.openapi()
    routes = [
        section(method, path, route)
        for path, methods in description["paths"].items()
        for method, route in methods.items()
    ]
    return HTMLResponse(PAGE.format(version=escape(description["info"]["version"]), routes="\n".join(routes)))


def section(method: str, path: str, route: dict[str, Any]) -> str:
    """One route."""
    rows = [row("token", scopes[0], "") for demand in route.get("security", []) for scopes in demand.values()]
    rows += [parameter_row(parameter) for parameter in route.get("parameters", [])]
    for media in route.get("requestBody", {}).get("content", {}):
        rows.append(row("body", media, ""))
    rows += [answer_row(status, answer) for status, answer in route["responses"].items()]
    return (
        f"<section><h2><code>{method.upper()} {escape(path)}</code></h2>"
        f"<p>{escape(route.get('description', ''))}</p><table>{''.join(rows)}</table></section>"
    )


def parameter_row(parameter: dict[str, Any]) -> str:
    """One parameter: where it stands, its name, what it may be."""
    schema = parameter["schema"]
    text = parameter.get("description") or " | ".join(schema.get("enum", [])) or schema.get("type", "")
    return row(parameter["in"], parameter["name"], text)


def answer_row(status: str, answer: dict[str, Any]) -> str:
    """One answer: its status, what it means, its media types."""
    return row(status, answer["description"], ", ".join(answer.get("content", {})))


def row(*cells: str) -> str:
    """One row of a table."""
    return f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"
