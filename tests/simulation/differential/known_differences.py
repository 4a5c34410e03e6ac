"""Known differences between the two servers, with the reasons why they are acceptable. Kept short.

Three more are not compared at all (see `comparing`): the messages of 400 and 422, bookmarks that depend only
on time, and the leading slash of the key in a continue token.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

POLICY: Final = re.compile(r"ValidatingAdmissionPolicy '([^']+)'")


@dataclass(frozen=True, slots=True)
class KnownDifference:
    name: str
    reason: str
    applies: Callable[[dict[str, Any], dict[str, Any]], bool]


def _two_policies_deny(real: dict[str, Any], simulated: dict[str, Any]) -> bool:
    said = [POLICY.search(str(one["body"].get("message", ""))) for one in (real, simulated)]
    return all(said) and said[0][1] != said[1][1]  # type: ignore[index]


KNOWN: Final = (
    KnownDifference(
        "another policy speaks",
        "When two admission policies deny a write, the real server names whichever it happened to ask first. "
        "The write is denied by both, so nothing else differs.",
        _two_policies_deny,
    ),
)


def known_difference(real: dict[str, Any], simulated: dict[str, Any]) -> KnownDifference | None:
    """Return the known difference that explains two different answers, as {"status", "body"}, or None."""
    if not isinstance(real["body"], dict) or not isinstance(simulated["body"], dict):
        return None
    return next((one for one in KNOWN if one.applies(real, simulated)), None)
