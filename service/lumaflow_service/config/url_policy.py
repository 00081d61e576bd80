"""Which URLs may be opened: schemes, addresses, files. A name is resolved once, judged, and then pinned."""

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
PORTS = {"rtsp": 554, "rtsps": 322, "http": 80, "https": 443}
LOCAL = ("file", "v4l2")
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_DEVICE = re.compile(r"^/dev/(video[0-9]{1,3}|v4l/by-(id|path)/[A-Za-z0-9_.:+-]+)$")
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")


@dataclass(frozen=True, slots=True)
class UrlPolicy:
    """What may be opened.

    networks : addresses that are allowed; empty allows all but loopback, link-local, multicast and the like
    roots : folders that `file:` URLs must lie in; none allows neither files nor devices
    """

    networks: tuple[Network, ...] = ()
    roots: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class ResolvedUrl:
    """A URL that passed: its scheme, and host and port, or the path of a file, folder or device."""

    url: str
    scheme: str
    host: str = ""
    port: int = 0
    path: Path | None = None


def expand(url: str, environment: Mapping[str, str]) -> str:
    """`url` with every ${NAME} replaced; in its credentials the value is percent-encoded.

    Raises UrlError for a variable that is not set.
    """
    end_of_credentials = url.rfind("@")

    def value(found: re.Match[str]) -> str:
        name = found.group(1)
        if name not in environment:
            raise UrlError(f"${{{name}}} is not set in the environment; set it, or write the value")
        raw = environment[name]
        return quote(raw, safe="") if found.start() < end_of_credentials else raw

    return _VARIABLE.sub(value, url)


def has_variable(text: str) -> bool:
    """Whether there is a ${NAME} in it."""
    return _VARIABLE.search(text) is not None


def check_url(url: str, policy: UrlPolicy) -> ResolvedUrl:
    """What a URL names. Raises UrlError when its scheme, spelling, address or path is not allowed."""
    if any(ord(letter) < 0x21 or letter in '\\"<>^`{|}' or ord(letter) == 0x7F for letter in url):
        raise UrlError("a URL with a blank or a control character came; percent-encode what is special")
    if REDACTED in url:
        raise UrlError(f"a URL with {REDACTED} in place of its credentials came; give the real ones")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise UrlError(f"a URL came that cannot be read; see its host, port and brackets ({error})") from None
    if parts.scheme in LOCAL:
        return _local(url, parts, policy)
    if parts.scheme not in PORTS:
        known = ", ".join([*PORTS, *LOCAL])
        raise UrlError(f"the scheme {parts.scheme or '(none)'} came; give a URL of one of {known}")
    if not host:
        raise UrlError(f"{redact_urls(url)} has no host; write {parts.scheme}://HOST/PATH")
    _judge_literal(host, policy)
    return ResolvedUrl(url, parts.scheme, host, port or PORTS[parts.scheme])


def _local(url: str, parts: SplitResult, policy: UrlPolicy) -> ResolvedUrl:
    if not policy.roots:
        raise UrlError(f"{parts.scheme}: URLs are taken from the configuration file only")
    if parts.netloc or parts.query or parts.fragment:
        raise UrlError(f"{redact_urls(url)} came; write {parts.scheme}:PATH")
    name = unquote(parts.path)
    if parts.scheme == "v4l2":
        if not _DEVICE.match(name):
            raise UrlError(f"v4l2:{name} came; give a camera's device, as v4l2:/dev/video0")
        return ResolvedUrl(url, parts.scheme, path=Path(name))
    path = Path(os.path.realpath(policy.roots[0] / name))
    if not any(path.is_relative_to(os.path.realpath(root)) for root in policy.roots):
        raise UrlError(f"file:{name} lies outside the folders of `files`; add its folder there")
    return ResolvedUrl(url, parts.scheme, path=path)


def _judge_literal(host: str, policy: UrlPolicy) -> None:
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return  # a name: judged when it is resolved
    judge(address, policy)


def judge(address: Address, policy: UrlPolicy) -> None:
    """Raise UrlError unless this address may be reached."""
    real = _embedded(address)
    if policy.networks:
        if not any(one.version == real.version and real in one for one in policy.networks):
            raise UrlError(f"the address {address} is in none of the `networks`; add its network there")
        return
    special = (
        real.is_loopback or real.is_link_local or real.is_unspecified or real.is_multicast or real.is_reserved
    )
    if special:
        raise UrlError(
            f"the address {address} is loopback, link-local, multicast or reserved; add it to `networks`"
        )


def _embedded(address: Address) -> Address:
    """The IPv4 address inside an IPv6 one that leads to it."""
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped or address.sixtofour:
            return address.ipv4_mapped or address.sixtofour or address
        if address in _NAT64 or (int(address) >> 32 == 0 and int(address) > 1):
            return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address


def pin(target: ResolvedUrl, policy: UrlPolicy, seconds: float = 5.0) -> str:
    """An address of the target's host; every one that it resolves to is judged.

    Raises CameraError (refused, not_found, timeout).
    """
    addresses = _resolved(target, seconds)
    for address in addresses:
        try:
            judge(ipaddress.ip_address(address.partition("%")[0]), policy)
        except UrlError as error:
            raise CameraError(CameraErrorCode.REFUSED, str(error)) from None
    return addresses[0]


def _resolved(target: ResolvedUrl, seconds: float) -> list[str]:
    """The host's addresses. A resolver has no deadline: it is asked on a thread that may be left behind."""
    answers: SimpleQueue[list[str]] = SimpleQueue()

    def ask() -> None:
        try:
            found = socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError):
            found = []
        answers.put([str(entry[4][0]) for entry in found])

    threading.Thread(target=ask, name="resolver", daemon=True).start()
    try:
        addresses = answers.get(timeout=seconds)
    except Empty:
        raise CameraError(
            CameraErrorCode.TIMEOUT, f"the host's name was not resolved within {seconds:g} s"
        ) from None
    if not addresses:
        raise CameraError(CameraErrorCode.NOT_FOUND, "the host's name cannot be resolved; see its spelling")
    return addresses


def pinned_url(target: ResolvedUrl, address: str) -> str:
    """The target's URL with the address in place of the name; TLS keeps the name, which it verifies."""
    if target.scheme in ("rtsps", "https"):
        return target.url
    parts = urlsplit(target.url)
    credentials, at, _ = parts.netloc.rpartition("@")
    host = f"[{address}]" if ":" in address else address
    return parts._replace(netloc=f"{credentials}{at}{host}:{target.port}").geturl()
