"""Checks which URLs may be opened: schemes, addresses and files.

A host name is resolved once, all its addresses are checked, and the connection uses one of them: a second
lookup could return another address (DNS rebinding).
"""

import ipaddress
import os
import re
import socket
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from urllib.parse import SplitResult, quote, unquote, urlsplit

from lumaflow_service.config.camera_errors import CameraError, CameraErrorCode, UrlError
from lumaflow_service.redact import REDACTED, redact_urls

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
DEFAULT_PORTS = {"rtsp": 554, "rtsps": 322, "http": 80, "https": 443}
LOCAL_SCHEMES = ("file", "v4l2")
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_DEVICE = re.compile(r"^/dev/(video[0-9]{1,3}|v4l/by-(id|path)/[A-Za-z0-9_.:+-]+)$")
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")


@dataclass(frozen=True, slots=True)
class UrlPolicy:
    """The addresses and files that may be opened.

    networks : allowed networks; empty allows every address but loopback, link-local, multicast and reserved
    roots : folders that `file:` URLs may refer to; empty allows neither files nor devices
    """

    networks: tuple[Network, ...] = ()
    roots: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class ResolvedUrl:
    """A URL that passed the check: host and port, or the path of a file, folder or device."""

    url: str
    scheme: str
    host: str = ""
    port: int = 0
    path: Path | None = None


def expand(url: str, environment: Mapping[str, str]) -> str:
    """Replace every ${NAME} in a URL; values in its credentials are percent-encoded.

    Raises UrlError when a variable is not set.
    """
    end_of_credentials = url.rfind("@")

    def value(match: re.Match[str]) -> str:
        name = match.group(1)
        if name not in environment:
            raise UrlError(f"${{{name}}} is not set in the environment; set it, or write the value")
        raw = environment[name]
        return quote(raw, safe="") if match.start() < end_of_credentials else raw

    return _VARIABLE.sub(value, url)


def has_variable(text: str) -> bool:
    """Return whether the text contains a ${NAME}."""
    return _VARIABLE.search(text) is not None


def check_url(url: str, policy: UrlPolicy) -> ResolvedUrl:
    """Parse a URL. Raises UrlError when its scheme, syntax, address or path is not allowed."""
    if any(ord(letter) < 0x21 or letter in '\\"<>^`{|}' or ord(letter) == 0x7F for letter in url):
        raise UrlError("the URL contains a space or a special character; percent-encode it")
    if REDACTED in url:
        raise UrlError(f"the URL contains {REDACTED} in place of its credentials; give the real ones")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise UrlError(f"the URL is not valid; check its host, port and brackets ({error})") from None
    if parts.scheme in LOCAL_SCHEMES:
        return _check_local(url, parts, policy)
    if parts.scheme not in DEFAULT_PORTS:
        known = ", ".join([*DEFAULT_PORTS, *LOCAL_SCHEMES])
        raise UrlError(f"expected a URL with one of the schemes {known}, got {parts.scheme or 'no scheme'}")
    if not host:
        raise UrlError(f"{redact_urls(url)} has no host; write {parts.scheme}://HOST/PATH")
    if (address := _literal_address(host)) is not None:
        check_address(address, policy)
    return ResolvedUrl(url, parts.scheme, host, port or DEFAULT_PORTS[parts.scheme])


def _check_local(url: str, parts: SplitResult, policy: UrlPolicy) -> ResolvedUrl:
    if not policy.roots:
        raise UrlError(f"{parts.scheme}: URLs are allowed in the configuration file only")
    if parts.netloc or parts.query or parts.fragment:
        raise UrlError(f"expected {parts.scheme}:PATH, got {redact_urls(url)}")
    name = unquote(parts.path)
    if parts.scheme == "v4l2":
        if not _DEVICE.match(name):
            raise UrlError(f"expected a camera device such as v4l2:/dev/video0, got v4l2:{name}")
        return ResolvedUrl(url, parts.scheme, path=Path(name))
    path = Path(os.path.realpath(policy.roots[0] / name))
    if not any(path.is_relative_to(os.path.realpath(root)) for root in policy.roots):
        raise UrlError(f"file:{name} is outside the folders of `files`; add its folder there")
    return ResolvedUrl(url, parts.scheme, path=path)


def _literal_address(host: str) -> Address | None:
    """Parse a numeric host; None for a name, whose addresses are checked when it is resolved."""
    try:
        return ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return None


def check_address(address: Address, policy: UrlPolicy) -> None:
    """Raise UrlError unless connections to this address are allowed."""
    effective = _embedded_ipv4(address)
    if policy.networks:
        if not any(one.version == effective.version and effective in one for one in policy.networks):
            raise UrlError(f"the address {address} is in none of the `networks`; add its network there")
        return
    if (
        effective.is_loopback
        or effective.is_link_local
        or effective.is_unspecified
        or effective.is_multicast
        or effective.is_reserved
    ):
        raise UrlError(
            f"the address {address} is loopback, link-local, multicast or reserved; add it to `networks`"
        )


def _embedded_ipv4(address: Address) -> Address:
    """Return the IPv4 address that an IPv6 address is routed to, else the address itself."""
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped or address.sixtofour:
            return address.ipv4_mapped or address.sixtofour or address
        if address in _NAT64 or (int(address) >> 32 == 0 and int(address) > 1):
            return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address


def resolve_address(target: ResolvedUrl, policy: UrlPolicy, seconds: float = 5.0) -> str:
    """Resolve the target's host and check all its addresses; return the first.

    Raises CameraError (refused, not_found, timeout).
    """
    addresses = _lookup(target, seconds)
    for address in addresses:
        try:
            check_address(ipaddress.ip_address(address.partition("%")[0]), policy)
        except UrlError as error:
            raise CameraError(CameraErrorCode.REFUSED, str(error)) from None
    return addresses[0]


def _lookup(target: ResolvedUrl, seconds: float) -> list[str]:
    """Call getaddrinfo in a thread, which is abandoned after `seconds`: getaddrinfo has no timeout."""
    results: SimpleQueue[list[str]] = SimpleQueue()

    def resolve() -> None:
        try:
            found = socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError):
            found = []
        results.put([str(entry[4][0]) for entry in found])

    threading.Thread(target=resolve, name="resolver", daemon=True).start()
    try:
        addresses = results.get(timeout=seconds)
    except Empty:
        raise CameraError(
            CameraErrorCode.TIMEOUT, f"the host name was not resolved within {seconds:g} s"
        ) from None
    if not addresses:
        raise CameraError(CameraErrorCode.NOT_FOUND, "the host name cannot be resolved; check its spelling")
    return addresses


def url_with_address(target: ResolvedUrl, address: str) -> str:
    """Replace the host name in the target's URL; URLs with TLS keep it, because TLS verifies the name."""
    if target.scheme in ("rtsps", "https"):
        return target.url
    parts = urlsplit(target.url)
    credentials, at, _ = parts.netloc.rpartition("@")
    host = f"[{address}]" if ":" in address else address
    return parts._replace(netloc=f"{credentials}{at}{host}:{target.port}").geturl()
