"""etcd is restored from a backup, as in `tests/campaigns/restore`: with revisions used again, or raised.

Machines, hosts and users are not restored. Changes that were reverted after the backup are back; an admin
removes them when all faults end.
"""

from collections import deque
from collections.abc import Callable
from typing import Any, Final

from nodemend.api import well_known
from nodemend.api.resources import (
    BARE_METAL_HOST,
    LEASE,
    MANUAL_REMEDIATION,
    METAL3_REMEDIATION,
    NODE,
    REMEDIATION_POLICY,
    SELF_REMEDIATION,
    Resource,
)
from nodemend.kube.request import Selection
from simulation.api_server.storage import Snapshot
from simulation.cluster.world import FOREIGN_TAINT
from tests.simulation.hostile.attribution import taints_of
from tests.simulation.hostile.fault_context import Around
from tests.simulation.hostile.kinds import Kind
from tests.simulation.hostile.versions import LATER, UNKNOWN

EVERY: Final = 15.0
BACK: Final = (5.0, 30.0, 90.0, 300.0)
BUMPED: Final = 0.4
"""Share of restores after which all revisions are higher than any before."""
READ: Final = (NODE, LEASE, MANUAL_REMEDIATION, METAL3_REMEDIATION, SELF_REMEDIATION)
"""Kinds whose restored versions show that the shipped code read restored objects."""


class Restores:
    """Restores etcd. `restored` is called after each restore: recorded writes may never have happened."""

    def __init__(self, around: Around, restored: Callable[[], None]) -> None:
        self._around = around
        self._restored = restored
        self._backups: deque[tuple[float, Snapshot]] = deque(maxlen=int(max(BACK) / EVERY) + 1)

    def plan(self) -> None:
        self._around.scheduler.after(EVERY, self._back_up)
        self._around.at_some_times(2, self._restore)
        self._around.scheduler.at(self._around.ceases, self._clean_up)

    def _back_up(self) -> None:
        if self._around.now < self._around.ceases:
            self._backups.append((self._around.now, self._around.server.snapshot()))
            self._around.scheduler.after(EVERY, self._back_up)

    def _restore(self) -> None:
        around, server = self._around, self._around.server
        if not self._backups:
            return
        wanted = around.now - around.chance.choice(BACK)
        taken, snapshot = min(self._backups, key=lambda backup: abs(backup[0] - wanted))
        raised = server.revision - snapshot.revision + 1_000_000
        bump = raised if around.chance.random() < BUMPED else 0
        around.note(f"etcd is restored to {taken:.0f} s, revisions raised by {bump}")
        versions = self._versions()
        # All API servers are stopped for it, and requests that they had not handled yet are lost.
        for replica in around.replicas:
            replica.link.drop_requests()
        server.restore(snapshot, bump=bump)
        # Backups from after this one belong to another history.
        self._backups = deque((one for one in self._backups if one[0] <= taken), self._backups.maxlen)
        back = sorted(self._versions() - versions)
        around.counts.make(Kind.RESTORES, *(f'"resourceVersion":"{one}"' for one in back[:100]))
        for name, machine in around.machines.items():
            if around.api.get(NODE, name) is None:
                machine.restart_kubelet()
        self._restored()
        for replica in around.replicas:
            # If revisions are used again, a watch may receive nothing for long: an admin restarts all
            # replicas.
            if bump == 0 or around.chance.random() < 0.25:
                around.later(lambda one=replica: one.process.crash(), (0.5, 20.0, 60.0))  # type: ignore[misc]

    def _versions(self) -> set[str]:
        return {
            one["metadata"]["resourceVersion"]
            for kind in READ
            if self._serves(kind)
            for one in self._around.api.list(kind)
        }

    def _serves(self, kind: Resource) -> bool:
        return kind in self._around.server._caches

    def _clean_up(self) -> None:
        api = self._around.api
        api.patch(REMEDIATION_POLICY, well_known.POLICY_NAME, {"spec": {"pause": None}})
        for name, machine in self._around.machines.items():
            if api.get(NODE, name) is None:
                machine.restart_kubelet()
            self._clean_node(name)
        for kind in (MANUAL_REMEDIATION, SELF_REMEDIATION, METAL3_REMEDIATION):
            for one in api.list(kind) if self._serves(kind) else ():
                if _is_by_hand(one, kind):
                    api.delete(kind, one["metadata"]["name"], one["metadata"]["namespace"])
        for lock in api.list(LEASE, Selection(namespace=well_known.SYSTEM_NAMESPACE)):
            if lock["metadata"].get("annotations", {}).get(well_known.HOLDER) in (LATER, UNKNOWN):
                api.delete(LEASE, lock["metadata"]["name"], well_known.SYSTEM_NAMESPACE)
        for host in api.list(BARE_METAL_HOST) if self._serves(BARE_METAL_HOST) else ():
            self._clean_host(host)
        self._restored()

    def _clean_node(self, name: str) -> None:
        """Clean the Node when it exists: a hung machine registers only after its power cycle."""
        node = self._around.api.get(NODE, name)
        if node is None:
            self._around.scheduler.after(3.0, lambda: self._clean_node(name))
            return
        taints = [one for one in taints_of(node) if not _is_left(one)]
        if FOREIGN_TAINT not in taints:
            taints.append(FOREIGN_TAINT)
        self._around.api.patch(NODE, name, {"spec": {"taints": taints, "unschedulable": None}})

    def _clean_host(self, host: dict[str, Any]) -> None:
        metadata = host["metadata"]
        left = [
            key
            for key in metadata.get("annotations", {})
            if key in (well_known.HOST_PAUSED, well_known.HOST_DETACHED)
            or (
                key.startswith(well_known.HOLD_PREFIX)
                and not key.startswith(well_known.POWER_OFF_REQUEST_PREFIX)
            )
        ]
        spec = {"online": True, "disablePowerOff": False}
        change = {"metadata": {"annotations": dict.fromkeys(left)}, "spec": spec}
        self._around.api.patch(BARE_METAL_HOST, metadata["name"], change, at=(metadata["namespace"], ""))


def _is_left(taint: dict[str, Any]) -> bool:
    theirs = taint["key"] == well_known.OUT_OF_SERVICE and taint.get("value") != well_known.OUR_TAINT_VALUE
    return theirs or taint["key"] == "node.kubernetes.io/unschedulable"


def _is_by_hand(remediation: dict[str, Any], kind: Resource) -> bool:
    metadata = remediation["metadata"]
    return (
        kind is SELF_REMEDIATION
        or metadata["namespace"] != well_known.SYSTEM_NAMESPACE
        or well_known.TIMED_OUT in metadata.get("annotations", {})
    )
