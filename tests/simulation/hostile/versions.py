"""Data of a later or an earlier version of Nodemend: a lock of an unknown kind, missing fields."""

from typing import Any, Final

from nodemend.api import well_known
from nodemend.api.resources import LEASE, MANUAL_REMEDIATION, METAL3_REMEDIATION, NODE, Resource
from tests.simulation.hostile.fault_context import Around
from tests.simulation.hostile.kinds import Kind

LATER: Final = "FutureRemediation nodemend-system/to-come"
UNKNOWN: Final = "x y/z"
"""A holder whose kind a later version may define, too: its lock is never removed."""
FIELDS: Final = ("hardwareID", "message", "podsLeft", "attachmentsLeft", "conditions")
"""Fields of a status that the first version did not write."""
MANAGER: Final = "nodemend-remediator"
"""Field manager of the remediator's writes."""
LEADERS: Final = ("nodemend-remediator", "nodemend-checker")


def plan(around: Around) -> None:
    if around.machines:
        around.at_some_times(2, lambda: _lock_as_a_later_one(around))
        around.at_some_times(4, lambda: _strip(around))
    around.at_some_times(3, lambda: _lead_as_an_earlier_one(around))


def _lock_as_a_later_one(around: Around) -> None:
    """Create a lock as a later version does. This version must not take it: its holder acts on the node."""
    node = around.api.get(NODE, around.pick())
    if node is None:
        return
    name, token = f"node-{node['metadata']['uid']}", around.token(Kind.VERSIONS)
    if around.api.get(LEASE, name, well_known.SYSTEM_NAMESPACE) is not None:
        return
    around.note(f"a later version locks {node['metadata']['name']}")
    metadata = {"name": name, "annotations": {well_known.HOLDER: LATER}}
    around.api.create(
        LEASE, {"metadata": metadata, "spec": {"holderIdentity": token}}, well_known.SYSTEM_NAMESPACE
    )
    around.counts.make(Kind.VERSIONS, token)
    around.later(lambda: unlock(around, name, token), (60.0, 200.0))


def unlock(around: Around, name: str, token: str) -> None:
    """Delete the lock, unless it has another holder by now."""
    lock = around.api.get(LEASE, name, well_known.SYSTEM_NAMESPACE)
    if lock is not None and lock["spec"].get("holderIdentity") == token:
        around.api.delete(LEASE, name, well_known.SYSTEM_NAMESPACE)


def _strip(around: Around) -> None:
    """Write a status as an earlier version, with a field of a later one. The server may refuse that."""
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
    # With the remediator's field manager: if the manager of the confirmation owned other fields as well, the
    # time of the confirmation would be unknown.
    if around.api.try_patch(kind, name, change, at=(namespace, ""), manager=MANAGER).status == 200:
        around.note(f"an earlier version wrote {metadata['name']}, without {sorted(lost)}")
        around.counts.make(Kind.VERSIONS, token)


def _lead_as_an_earlier_one(around: Around) -> None:
    """Change the leader's Lease: remove this version's annotation, and add one of a later version."""
    name, token = around.chance.choice(LEADERS), around.token(Kind.VERSIONS)
    annotations = {well_known.LEADER_MEMORY: None, "nodemend.io/to-come": token}
    at = (well_known.SYSTEM_NAMESPACE, "")
    if around.api.try_patch(LEASE, name, {"metadata": {"annotations": annotations}}, at=at).status == 200:
        around.note(f"an earlier version renewed {name}")
        around.counts.make(Kind.VERSIONS, token)


def _kinds(around: Around) -> list[Resource]:
    served = around.server._caches
    return [kind for kind in (MANUAL_REMEDIATION, METAL3_REMEDIATION) if kind in served]
