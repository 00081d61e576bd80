"""Removes secrets from logs and messages: the credentials of URLs, and known secrets in any text."""

import re
from collections.abc import Iterable, Mapping, MutableMapping
from typing import Any
from urllib.parse import parse_qsl, quote, quote_plus, unquote, unquote_plus, urlsplit

REDACTED = "***"
MIN_SECRET_LENGTH = 4
"""Shorter secrets are redacted in URLs only, because they also occur inside ordinary words."""
_URL = re.compile(r"\b[a-z][a-z0-9+.-]*://[^\s'\"<>]*", re.IGNORECASE)
_CREDENTIALS = re.compile(r"(?<=://).*@")
_QUERY = re.compile(r"\?[^\s'\"<>]*")


def redact_urls(text: str) -> str:
    """`text` with the credentials and the query of every URL replaced by `***`.

    Everything before the last @ counts as credentials: some passwords contain / or @ unquoted.
    """
    return _URL.sub(lambda found: _redact_url(found.group()), text)


def _redact_url(url: str) -> str:
    url = _CREDENTIALS.sub(f"{REDACTED}@", url)
    return _QUERY.sub(f"?{REDACTED}", url)


def secrets_in(url: str) -> set[str]:
    """The password and the query values of a URL, in all their spellings."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return set()
    credentials = parts.netloc.rpartition("@")[0]
    found = {unquote(credentials.partition(":")[2])}
    found |= {unquote_plus(value) for _, value in parse_qsl(parts.query)}
    found |= {url.partition("://")[2].rpartition("@")[0].partition(":")[2]}
    return {
        spelling for secret in found if len(secret) >= MIN_SECRET_LENGTH for spelling in spellings(secret)
    }


def spellings(secret: str) -> set[str]:
    """A secret as plain text and percent-encoded."""
    return {secret, quote(secret), quote(secret, safe=""), quote_plus(secret)}


class Redactor:
    """Replaces known secrets and the credentials of URLs by `***`."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets: set[str] = set(secrets)

    def add_url(self, url: str) -> None:
        """Redact the secrets of this URL from now on."""
        self._secrets |= secrets_in(url)

    def text(self, text: str) -> str:
        """`text` with its secrets replaced."""
        for secret in sorted(self._secrets, key=len, reverse=True):
            text = text.replace(secret, REDACTED)
        return redact_urls(text)

    def __call__(self, logger: Any, method: str, event: MutableMapping[str, Any]) -> Mapping[str, Any]:
        """The structlog processor: redacts all strings of an event."""
        return {key: self.text(value) if isinstance(value, str) else value for key, value in event.items()}
