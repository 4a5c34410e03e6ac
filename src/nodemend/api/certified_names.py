"""By which name a node's agent is certified, and which node such a name is of."""

from typing import Final

from nodemend.api.value_forms import is_node_name

_SUFFIX: Final = ".agent.nodemend.io"
"""Behind a node's name, so that no name of a node reads as an address."""


def certified_name(node: str) -> str:
    """The DNS name in the certificate of this node's agent."""
    return node + _SUFFIX


def node_of(names: tuple[str, ...]) -> str | None:
    """Which node a certificate with these DNS names is of; None unless it is of exactly one."""
    found = [name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX)]
    return found[0] if len(found) == 1 == len(names) and is_node_name(found[0]) else None
