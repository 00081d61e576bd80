"""Keeping other sites' pages out: a browser lets any page send requests to any address, this one too."""

import ipaddress
from collections.abc import Collection, Mapping
from urllib.parse import urlsplit

from lumaflow_service.errors import OtherSiteError


class HostNames:
    """The names by which this service may be asked for: loopback's, the address it listens on, and `more`.

    With `anyone`, when a token proves who asks, every name will do unless `more` says which.
    """

    def __init__(self, address: str, more: Collection[str], anyone: bool) -> None:
        self._address = address
        self._more = frozenset(more)
        self._anyone = anyone and not more

    def check_host(self, headers: Mapping[str, str]) -> None:
        """Refuse another site whose name was made to point here (DNS rebinding). Raises OtherSiteError.

        A client that names no host is no browser.
        """
        host = headers.get("host", "")
        if host and not (self._anyone or self._knows(host)):
            raise OtherSiteError(
                f"Host: {host} came, which is no name of this service; LUMAFLOW_HOSTS can make it one"
            )

    def check_origin(self, headers: Mapping[str, str]) -> None:
        """Refuse what another site's page sends. Raises OtherSiteError.

        Another port of this machine is another site; behind a proxy, a page can come from one of `more`.
        """
        origin, host = headers.get("origin"), headers.get("host", "")
        if origin is None:
            return
        sender = origin.partition("://")[2]
        if not sender or (sender != host and hostname(sender) not in self._more):
            raise OtherSiteError(f"a page of {origin} asked; only pages that came from {host} may")

    def _knows(self, host: str) -> bool:
        name = hostname(host)
        return name == self._address or name in self._more or is_loopback(name)


def hostname(host: str) -> str:
    """The name in a Host header, without its port; empty when it is none."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def is_loopback(name: str) -> bool:
    """Whether this is a name or an address of this machine alone."""
    try:
        return name == "localhost" or ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
