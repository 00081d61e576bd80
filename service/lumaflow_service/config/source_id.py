"""What a source may be called."""

import re
from typing import Any

PATTERN = r"^[A-Za-z0-9_-]{1,64}$"


def good_id(came: Any) -> Any:
    """An id, or a ValueError that says what one is."""
    if not (isinstance(came, str) and re.fullmatch(PATTERN, came)):
        shown = repr(came) if len(str(came)) <= 80 else f"a name of {len(str(came))} characters"
        raise ValueError(f"{shown} came; an id has 1 to 64 letters of a to z, digits, - and _")
    return came
