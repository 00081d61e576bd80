"""Print docs/configuration.md: `.venv/bin/python docs/generate.py > docs/configuration.md`.

Every row comes from the pydantic models, so the page cannot differ from the code; a test compares them.
"""

import json
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

from lumaflow_service.config.model import (
    CameraConfig,
    Config,
    DescriptorsConfig,
    PublishConfig,
    RecordConfig,
    SnapshotConfig,
)
from lumaflow_service.config.options import RegionOption, SourceOptions
from lumaflow_service.config.presets import DEFAULTS, Preset, preset_values
from lumaflow_service.config.settings import PREFIX, Settings

INTRODUCTION = """\
# Configuration

Generated from the code by `docs/generate.py`; do not edit. [operators.md](operators.md) explains tokens,
outputs and containers.

- The **configuration file** (YAML, `lumaflow serve --config FILE`) lists cameras, their options and their
  outputs. `lumaflow config check FILE` lists every error with its line; `lumaflow config schema` prints the
  JSON schema for editors. SIGHUP or `POST /v1/config/reload` reloads it: only changed cameras restart, and
  an invalid file changes nothing.
- The **settings** (`LUMAFLOW_*` variables) configure the service: address, tokens, limits. They are read
  once, at startup.

## Configuration file

```yaml
defaults: {mode: clahe, clip_limit: 2.0}
networks: [192.0.2.0/24]
sources:
  gate:
    url: rtsp://${GATE_USER}:${GATE_PASSWORD}@192.0.2.10/stream1
    orientation: rotate180
    outputs:
      - record: {path: recordings/gate, keep_days: 7}
      - publish: rtsp://127.0.0.1:8554/gate-enhanced
```

An unknown key is an error. Relative paths start at the folder of the file. `${NAME}` in a `url` or a
`publish` is replaced by the environment variable, percent-encoded inside credentials; no other value has
variables. A source id matches `^[A-Za-z0-9_-]{1,64}$`.
"""

CAMERA = """\
A camera also has every [option](#options), which overrides `defaults`. Without `networks` a camera URL may
point to any address except loopback, link-local, multicast and reserved ones. A `live` camera clamps values
above the bit depth unless `clamp` is set. A `file:` URL may name a folder, whose files are played one after
the other. Cameras that clients add over HTTP cannot use `file:` and `v4l2:`.
"""

PRESET = """\
A preset sets every option of this table. An option given next to it, in the same request or the same part of
the file, overrides it; a camera's preset overrides all of `defaults`. A `mode` given later without a preset
sets `preset` to null.
"""

OUTPUTS = """\
Each entry of `outputs` has exactly one of the keys `record`, `publish`, `snapshot` and `descriptors`. Files
are named by their time; files with other names are never deleted. `publish: URL` is short for `publish:
{url: URL}`.
"""

SETTINGS = """\
`lumaflow serve` and `lumaflow ingest` read these variables; the options `--config`, `--host`, `--port`,
`--device` and `--preset` (and `--demo` of `serve`) override them. A file in `/run/secrets` with the name of
a setting in lower case, for example `lumaflow_admin_token`, sets it too; the environment overrides it. A
variable whose name resembles a setting causes a warning. Without a token the service listens on loopback
only.
"""

Schema = dict[str, Any]
TYPE_NAMES = {"object": "keys", "string": "text", "boolean": "true or false"}


def page() -> str:
    """The whole page."""
    options = set(SourceOptions.model_fields)
    parts = [
        INTRODUCTION,
        "### Top level\n",
        table(Config),
        "### `sources`: cameras\n",
        CAMERA,
        table(CameraConfig, leave_out=options),
        "### Options\n",
        "Of `defaults`, of a camera, and of a source over HTTP ([spec.md](spec.md) has the formulas).\n",
        table(SourceOptions),
        "#### `preset`\n",
        PRESET,
        preset_table(),
        "#### `region`\n",
        "A rectangle in pixels of the frame after `orientation`.\n",
        table(RegionOption),
        "### Outputs\n",
        OUTPUTS,
    ]
    for name, model in {
        "record": RecordConfig,
        "publish": PublishConfig,
        "snapshot": SnapshotConfig,
        "descriptors": DescriptorsConfig,
    }.items():
        parts += [f"#### `{name}`\n", f"{model.__doc__}\n", table(model)]
    parts += ["## Settings\n", SETTINGS, table(Settings, PREFIX, upper=True)]
    return "\n".join(parts)


def table(
    model: type[BaseModel], prefix: str = "", upper: bool = False, leave_out: set[str] | None = None
) -> str:
    """A table of the fields of a model."""
    schema = model.model_json_schema()
    required = set(schema.get("required", ()))
    rows = ["| key | type | default | meaning |", "|---|---|---|---|"]
    for name, field in schema["properties"].items():
        if name not in (leave_out or set()):
            key = prefix + (name.upper() if upper else name)
            kind = ", ".join(dict.fromkeys(types(field, schema))).replace("|", "\\|")
            default = "required" if name in required else default_of(field)
            rows.append(f"| `{key}` | {kind} | {default} | {meaning(field)} |")
    return "\n".join(rows) + "\n"


def preset_table() -> str:
    """A table of the presets: the option values of each."""
    rows = [
        f"| preset | {' | '.join(f'`{name}`' for name in DEFAULTS)} |",
        f"|{'---|' * (len(DEFAULTS) + 1)}",
    ]
    for preset in Preset:
        values = (json.dumps(value).strip('"') for value in preset_values(preset).values())
        rows.append(f"| `{preset}` | {' | '.join(f'`{value}`' for value in values)} |")
    return "\n".join(rows) + "\n"


def types(field: Schema, root: Schema) -> Iterator[str]:
    """The types that a field accepts, with their ranges."""
    if "$ref" in field:
        target = root["$defs"][field["$ref"].rpartition("/")[2]]
        yield from types(target, root)
    elif "anyOf" in field:
        for one in field["anyOf"]:
            yield from types(one, root)
    elif "enum" in field:
        yield " ".join(f"`{value}`" for value in field["enum"])
    elif field.get("type") == "array":
        yield f"list of {', '.join(types(field['items'], root))}"
    elif field.get("type") != "null":
        yield TYPE_NAMES.get(field["type"], field["type"]) + limits(field)


def limits(field: Schema) -> str:
    """The range of a number."""
    low, high = field.get("minimum"), field.get("maximum")
    if low is not None and high is not None:
        return f" {low:,} to {high:,}"
    if low is not None:
        return f" from {low:,}"
    return f" above {field['exclusiveMinimum']:,}" if "exclusiveMinimum" in field else ""


def default_of(field: Schema) -> str:
    """The default value as YAML."""
    value = field.get("default")
    if value is None or value == "" or isinstance(value, dict):
        return ""
    return f"`{json.dumps(value).strip(chr(34))}`"


def meaning(field: Schema) -> str:
    """The description of a field, or of the type that it wraps."""
    texts = [field.get("description", ""), *(one.get("description", "") for one in field.get("anyOf", ()))]
    return next((text for text in texts if text), "").replace("\n", " ").replace("|", "\\|")


if __name__ == "__main__":
    print(page(), end="")
