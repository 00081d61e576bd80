"""Validation of source ids."""

import re
from typing import Any

PATTERN = r"^[A-Za-z0-9_-]{1,64}$"


def check_id(value: Any) -> Any:
    """Return a valid id unchanged. Raises ValueError."""
    if not (isinstance(value, str) and re.fullmatch(PATTERN, value)):
        text = repr(value) if len(str(value)) <= 80 else f"{len(str(value))} characters"
        raise ValueError(f"expected an id of 1 to 64 characters from a-z, A-Z, 0-9, - and _, got {text}")
    return value
