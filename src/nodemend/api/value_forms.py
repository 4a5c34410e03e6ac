"""Forms and bounds of values that nodes, peers and other clusters write.

A value that violates its form makes the document that contains it invalid, and no other. The patterns end in
`\\Z`: `$` would also match before a line break.
"""

import re
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import Annotated, Final

from msgspec import Meta

LARGEST_NUMBER: Final = 2**53
"""Exact in every JSON reader. At one renewal a second it lasts for 285 million years."""
LONGEST_NAME: Final = 253
LONGEST_UID: Final = 63
LONGEST_BOOT_ID: Final = 128
LONGEST_ADDRESS: Final = LONGEST_NAME + len(":65535")

_LABEL: Final = "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = rf"{_LABEL}(?:\.{_LABEL})*"
_IDENTIFIER: Final = r"\A[A-Za-z0-9][-A-Za-z0-9._:]*\Z"
_PORT: Final = (
    "[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]"  # 1 to 65535
)
_HOST: Final = rf"\[[0-9A-Fa-f:.]{{2,45}}\]|{_SUBDOMAIN}"
_ADDRESS: Final = rf"\A({_HOST}):({_PORT})\Z"
_NUMERIC_END: Final = re.compile(r"(?:\A|\.)[0-9]+\Z")

NodeName = Annotated[str, Meta(pattern=rf"\A{_SUBDOMAIN}\Z", min_length=1, max_length=LONGEST_NAME)]
"""A DNS subdomain, as the API server requires."""
Uid = Annotated[str, Meta(pattern=_IDENTIFIER, min_length=1, max_length=LONGEST_UID)]
"""The API server gives UUIDs. No reader depends on that form."""
BootId = Annotated[str, Meta(pattern=_IDENTIFIER, min_length=1, max_length=LONGEST_BOOT_ID)]
"""A UUID on Linux. A kubelet on Windows reports a number."""
Number = Annotated[int, Meta(ge=0, le=LARGEST_NUMBER)]
WrittenTime = Annotated[str, Meta(max_length=64)]
AddressText = Annotated[str, Meta(pattern=rf"\A\Z|{_ADDRESS}", max_length=LONGEST_ADDRESS)]
"""HOST:PORT, with brackets around an IPv6 host; or empty. `parse_address` is stricter."""

_ADDRESS_PATTERN: Final = re.compile(_ADDRESS)
_TOKEN_PATTERN: Final = re.compile(_IDENTIFIER)
_NAME_PATTERN: Final = re.compile(rf"\A{_SUBDOMAIN}\Z")


@dataclass(frozen=True, slots=True)
class PeerAddress:
    """The address of an agent. `host` has no brackets."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def parse_address(text: str) -> PeerAddress | None:
    """None for text that is not HOST:PORT with an IPv4 address, an [IPv6 address] or a DNS name."""
    if len(text) > LONGEST_ADDRESS:
        return None
    found = _ADDRESS_PATTERN.match(text)
    if found is None:
        return None
    host, port = found[1], int(found[2])
    try:
        if host.startswith("["):
            # Keep the text: versions of Python print an embedded IPv4 address differently.
            IPv6Address(host[1:-1])
            return PeerAddress(host[1:-1].lower(), port)
        # If the last label is a number, the host must be an IPv4 address: resolvers read 0177.1 as one.
        return PeerAddress(str(IPv4Address(host)) if _NUMERIC_END.search(host) else host, port)
    except AddressValueError:
        return None


def is_node_name(text: str) -> bool:
    return len(text) <= LONGEST_NAME and _NAME_PATTERN.match(text) is not None


def is_boot_id(text: str) -> bool:
    return len(text) <= LONGEST_BOOT_ID and _TOKEN_PATTERN.match(text) is not None
