"""The final state of a world, without the parts that may differ between runs: times and UIDs."""

import re
from collections.abc import Iterator
from typing import Any, Final

from nodemend.api import well_known
from nodemend.api.resources import NODE_HEALTH_CHECK, REMEDIATION_ORDER, REMEDIATION_POLICY, Resource
from simulation.cluster.direct import Object
from tests.simulation.checks.world import CHECK, FIX, MACHINE, ChecksWorld

_OURS: Final = (NODE_HEALTH_CHECK, REMEDIATION_ORDER, REMEDIATION_POLICY, CHECK, FIX, MACHINE)
_ANOTHER_TIME: Final = {
    "lastTransitionTime",
    "began",
    "ended",
    "since",
    "creationTimestamp",
    "deletionTimestamp",
    "resourceVersion",
    "managedFields",
    "uid",
    "generation",
    # It records observations: a change that began and ended between two leaders is missing (decision 26).
    "machineHistory",
    # It names the holds at that moment, and a new leader first waits for the start interval.
    well_known.PAST_GUARD,
}
_UID: Final = re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
_SECONDS: Final = re.compile(r"\b\d+ s\b")

End = dict[str, Object]
"""By kind, namespace and name."""


def end_of(world: ChecksWorld, kinds: tuple[Resource, ...]) -> End:
    """Return the final state. `kinds` are served in addition to the usual ones."""
    return dict(pair for kind in (*_OURS, *kinds) for pair in _of_kind(world, kind))


def without_history(end: End) -> End:
    """Return the state without history: a checker that was down cannot know how a deleted object ended."""
    return {
        name: {**found, "status": {**found["status"], "history": []}} if "status" in found else found
        for name, found in end.items()
    }


def _of_kind(world: ChecksWorld, kind: Resource) -> Iterator[tuple[str, Object]]:
    for found in world.api.list(kind):
        metadata = found["metadata"]
        deleting = {"deleting": "deletionTimestamp" in metadata}
        yield f"{kind.kind} {metadata.get('namespace', '')}/{metadata['name']}", _plain(found) | deleting


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items() if key not in _ANOTHER_TIME}
    if isinstance(value, list):
        return sorted((_plain(part) for part in value), key=repr)
    return _SECONDS.sub("N s", _UID.sub("a UID", value)) if isinstance(value, str) else value


def differences(wanted: Any, found: Any, where: str = "") -> Iterator[str]:
    """Yield one line for each difference."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        for key in sorted(wanted.keys() | found.keys()):
            yield from differences(wanted.get(key), found.get(key), f"{where} {key}".strip())
    elif isinstance(wanted, list) and isinstance(found, list):
        more = [one for one in found if one not in wanted]
        less = [one for one in wanted if one not in found]
        if more or less or len(wanted) != len(found):
            yield f"{where}: {more} instead of {less}"
    elif wanted != found:
        yield f"{where}: {found} instead of {wanted}"
