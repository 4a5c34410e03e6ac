"""What a later or an earlier version of us left: a lock of a kind to come, fields that are missing."""

from typing import Any, Final

from nodemend.api import keys
from nodemend.api.group_versions import LEASE, MANUAL_REMEDIATION, METAL3_REMEDIATION, NODE, Resource
from tests.simulation.hostile.kinds import Kind
from tests.simulation.hostile.surroundings import Around

LATER: Final = "FutureRemediation nodemend-system/to-come"
UNKNOWN: Final = "x y/z"
"""A holder of a kind that may be to come as well: its lock is never swept."""
FIELDS: Final = ("hardwareID", "message", "podsLeft", "attachmentsLeft", "conditions")
"""Of a status, which the first version did not write."""
MANAGER: Final = "nodemend-remediator"
"""What fields it writes are owned by."""
LEADERS: Final = ("nodemend-remediator", "nodemend-checker")


def plan(around: Around) -> None:
    if around.machines:
        around.at_some_times(2, lambda: _lock_as_a_later_one(around))
        around.at_some_times(4, lambda: _strip(around))
    around.at_some_times(3, lambda: _lead_as_an_earlier_one(around))


def _lock_as_a_later_one(around: Around) -> None:
    """Nobody of this version may take that lock: its holder is at work on the node."""
    node = around.api.get(NODE, around.pick())
    if node is None:
        return
    name, token = f"node-{node['metadata']['uid']}", around.token(Kind.VERSIONS)
    if around.api.get(LEASE, name, keys.SYSTEM_NAMESPACE) is not None:
        return
    around.note(f"a later version locks {node['metadata']['name']}")
    metadata = {"name": name, "annotations": {keys.HOLDER: LATER}}
    around.api.create(LEASE, {"metadata": metadata, "spec": {"holderIdentity": token}}, keys.SYSTEM_NAMESPACE)
    around.tally.make(Kind.VERSIONS, token)
    around.later(lambda: unlock(around, name, token), (60.0, 200.0))


def unlock(around: Around, name: str, token: str) -> None:
    """Unless it is another's by now."""
    lock = around.api.get(LEASE, name, keys.SYSTEM_NAMESPACE)
    if lock is not None and lock["spec"].get("holderIdentity") == token:
        around.api.delete(LEASE, name, keys.SYSTEM_NAMESPACE)


def _strip(around: Around) -> None:
    """A status as an earlier version wrote it, with a field of a later one; the server may refuse that."""
    found = [(kind, one) for kind in _kinds(around) for one in around.api.list(kind)]
    if not found:
        return
    kind, remediation = around.chance.choice(found)
    metadata, token = remediation["metadata"], around.token(Kind.VERSIONS)
    lost: dict[str, Any] = {field: None for field in FIELDS if around.chance.random() < 0.5}
    name, namespace = metadata["name"], metadata["namespace"]
    status = {"status": {**lost, "toCome": token}}
    around.api.try_patch(kind, name, status, at=(namespace, "status"), manager=MANAGER)
    change = {"metadata": {"annotations": {"nodemend.io/to-come": token}}, "spec": {"toCome": token}}
    # Under its own name: of one who owns other fields beside the word, nobody knows when it was given.
    if around.api.try_patch(kind, name, change, at=(namespace, ""), manager=MANAGER).status == 200:
        around.note(f"an earlier version wrote {metadata['name']}, without {sorted(lost)}")
        around.tally.make(Kind.VERSIONS, token)


def _lead_as_an_earlier_one(around: Around) -> None:
    """The leader's Lease without what this version notes on it, and with what a later one does."""
    name, token = around.chance.choice(LEADERS), around.token(Kind.VERSIONS)
    annotations = {keys.LEADER_MEMORY: None, "nodemend.io/to-come": token}
    at = (keys.SYSTEM_NAMESPACE, "")
    if around.api.try_patch(LEASE, name, {"metadata": {"annotations": annotations}}, at=at).status == 200:
        around.note(f"an earlier version renewed {name}")
        around.tally.make(Kind.VERSIONS, token)


def _kinds(around: Around) -> list[Resource]:
    served = around.server._caches
    return [kind for kind in (MANUAL_REMEDIATION, METAL3_REMEDIATION) if kind in served]
