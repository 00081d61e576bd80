"""Nothing secret leaves: URLs lose their credentials, and known secrets are struck out everywhere."""

import re
from collections.abc import Iterable, Mapping, MutableMapping
from typing import Any
from urllib.parse import parse_qsl, quote, quote_plus, unquote, unquote_plus, urlsplit

STRUCK = "***"
SHORTEST = 4
"""Shorter secrets are struck out in URLs only: anywhere else they would be part of ordinary words."""
_URL = re.compile(r"\b[a-z][a-z0-9+.-]*://[^\s'\"<>]*", re.IGNORECASE)
_CREDENTIALS = re.compile(r"(?<=://).*@")
_QUERY = re.compile(r"\?[^\s'\"<>]*")


def redact_urls(text: str) -> str:
    """`text` with the credentials and the query of every URL in it struck out.

    All up to the last @ counts as credentials: a password may hold / and @ though it should not.
    """
    return _URL.sub(lambda found: _redact_url(found.group()), text)


def _redact_url(url: str) -> str:
    url = _CREDENTIALS.sub(f"{STRUCK}@", url)
    return _QUERY.sub(f"?{STRUCK}", url)


def secrets_in(url: str) -> set[str]:
    """The password and query values of a URL, each in the spellings it may be found in."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return set()
    credentials = parts.netloc.rpartition("@")[0]
    found = {unquote(credentials.partition(":")[2])}
    found |= {unquote_plus(value) for _, value in parse_qsl(parts.query)}
    found |= {url.partition("://")[2].rpartition("@")[0].partition(":")[2]}
    return {spelling for secret in found if len(secret) >= SHORTEST for spelling in spellings(secret)}


def spellings(secret: str) -> set[str]:
    """A secret as it is, and as it stands in a URL."""
    return {secret, quote(secret), quote(secret, safe=""), quote_plus(secret)}


class Redactor:
    """Strikes out known secrets besides URLs' credentials."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets: set[str] = set(secrets)

    def learn(self, url: str) -> None:
        """Strike out this URL's secrets from now on."""
        self._secrets |= secrets_in(url)

    def text(self, text: str) -> str:
        """`text` without secrets."""
        for secret in sorted(self._secrets, key=len, reverse=True):
            text = text.replace(secret, STRUCK)
        return redact_urls(text)

    def __call__(self, logger: Any, method: str, event: MutableMapping[str, Any]) -> Mapping[str, Any]:
        """As a processor of the log: every text of an event without secrets."""
        return {key: self.text(value) if isinstance(value, str) else value for key, value in event.items()}
