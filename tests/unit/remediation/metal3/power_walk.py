"""A tiny world that carries out the steps of a power cycle: one machine, its host object, its Node.

The host operator behaves as recorded (lab/metal3): a power request takes 4 s, and its event is emitted after
11 s. A detached host keeps its last status, and its status counts again before the operator has checked the
machine. All writes name the version that the decision used, and conflict if it has changed.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

import msgspec

from nodemend.api.meta import ConditionStatus
from nodemend.api.metal3_remediation import (
    Metal3RemediationPhase,
    Metal3RemediationSpec,
    Metal3RemediationStatus,
    NodeBackup,
    PowerOffEvent,
)
from nodemend.remediation.metal3.decide import decide
from nodemend.remediation.metal3.model import (
    AskOwner,
    ClearPowerOff,
    ClearRevokedPowerOff,
    DeleteNode,
    ForgetBackup,
    MarkHost,
    OwnerMachineFacts,
    PowerFacts,
    RequestPowerOff,
    Restore,
    RevokePowerOff,
    StatusStep,
    Step,
)
from nodemend.remediation.metal3.status import after, tells
from nodemend.safety.facts import Absent, LeaseFacts, NodeFacts, PolicyFacts, Present, Unreadable
from nodemend.safety.holds import Hold
from nodemend.safety.host_power import HostFacts
from nodemend.safety.identity import Matched
from nodemend.safety.lifecycle import (
    AddFinalizer,
    ClearRevocation,
    DropFinalizer,
    DropLock,
    LockHolder,
    NothingLeft,
    Release,
    RemainingWorkloads,
    RemoveTaint,
    RevokeRelease,
    TakeLock,
)
from simulation.api_server.remediation_rules import POWER_CYCLE
from tests.unit.remediation.metal3.power_worlds import ESCALATING, HOST, remediation
from tests.unit.safety.worlds import ACTING, OUR_TAINT, SILENT_NODE, switch

NodeStep = Release | DeleteNode | RemoveTaint | RevokeRelease | ClearRevocation | Restore
RECHECK_INTERVAL: Final = 5.0
COLLECTED_AFTER: Final = 45.0
A_WRITE: Final = 0.2
BOOT_TAKES: Final = 30.0
LEASE_LASTS: Final = 40.0
NEW: Final = Metal3RemediationStatus()
BELONGINGS: Final = NodeBackup(labels={"rack": "7"}, annotations={"team": "storage"})
BARE: Final = NodeBackup()
FIRST_HOST: Final = replace(HOST, version="1")
FIRST_NODE: Final = replace(SILENT_NODE, version="1")


class UnsafeError(AssertionError):
    """Workloads were released while their machine could run them."""


@dataclass(frozen=True, slots=True)
class Write:
    """A write under way, with the version of the remediation that the decision used."""

    step: Step
    version: int


@dataclass
class World:
    spec: Metal3RemediationSpec = ESCALATING
    boots_well: bool = True
    """True if its kubelet starts when the machine is powered on."""
    obeys: bool = True
    """True if the machine can be powered off."""
    now: float = 1000.0
    status: Metal3RemediationStatus = NEW
    version: int = 1
    finalizer: bool = False
    deleting: bool = False
    gone: bool = False
    epoch: int = 7
    locked: bool = False
    """True while the lock exists.

    A lock that is written after the end is an orphan, which any remediation may take.
    """
    policy: PolicyFacts = ACTING
    host: HostFacts | None = FIRST_HOST
    node: NodeFacts | None = FIRST_NODE
    mark: str = ""
    has: NodeBackup = BELONGINGS
    """Fields that other controllers have written on the Node."""
    deleted: bool = False
    """Nodemend deleted its Node, and no new Node has its restored fields yet."""
    pods: int = 2
    renewed: float = 0.0
    lease_readable: bool = True
    asked_owner: bool = False
    power: bool = True
    """Power of the machine itself, regardless of its host object."""
    speaks: bool = False
    boots: int = 1
    reported: list[Step] = field(default_factory=list)
    power_offs: list[PowerOffEvent] = field(default_factory=list)
    _boots_at: float | None = None
    _order: tuple[float, float, bool] | None = None
    _next_poll_at: float | None = None
    _leaves_at: float = 0.0
    _seen: dict[str, tuple[object, float]] = field(default_factory=dict)

    def delete(self) -> None:
        self.deleting = True
        self.version += 1
        self.gone = not self.finalizer

    def facts(self) -> PowerFacts:
        about = remediation(self.status, spec=self.spec, deleting=self.deleting)
        finalizers = about.metadata.finalizers if self.finalizer else ()
        metadata = about.metadata.but(resource_version=str(self.version), finalizers=finalizers)
        held = self.host is not None and self.host.held_by_us
        ending = self.deleting or self.status.released
        phase = (self.status.phase, self.status.retry_count, self.deleting, held if ending else None)
        lease = LeaseFacts(str(self.renewed), LEASE_LASTS, self._unchanged_for("lease", self.renewed))
        return PowerFacts(
            remediation=about.but(metadata=metadata),
            epoch=self.epoch,
            remembers_from=0,
            node=Present(self.node) if self.node else Absent(),
            revocation=self.mark,
            belongings=self.has if self.node else None,
            may_delete_nodes=True,
            lease=Present(lease) if self.lease_readable else Unreadable("500"),
            lock=Present(LockHolder(ours=True, holder="us")) if self.locked else Absent(),
            policy=Present(self.policy),
            switch=switch(Present(self.policy)),
            left=Present(RemainingWorkloads(self.pods, 0)),
            host=Present(self.host) if self.host else Absent(),
            identity=Matched(("provider ID",)),
            machine=Present(OwnerMachineFacts("Machine m/n1", asked=self.asked_owner)),
            in_phase_for=self._unchanged_for("phase", phase),
            host_unchanged_for=self._unchanged_for("host", self.host.version if self.host else ""),
            power_offs=Present(tuple(self.power_offs)),
        )

    def _unchanged_for(self, what: str, value: object) -> float:
        known, since = self._seen.get(what, (None, self.now))
        if known != value:
            since = self.now
        self._seen[what] = (value, since)
        return self.now - since

    def think(self) -> Write:
        return Write(decide(self.facts()), self.version)

    def go_on(self) -> Step:
        """One pass: decide, write, and let time pass."""
        write = self.think()
        self.land(write)
        self.pass_time(RECHECK_INTERVAL if isinstance(write.step, Hold) else A_WRITE)
        return write.step

    def change_leaders(self) -> None:
        self.epoch += 1
        self._seen.clear()

    def land(self, write: Write) -> None:
        """Apply the write as the API server does; a conflict changes nothing."""
        self.reported.append(write.step)
        match write.step:
            case (
                Release()
                | DeleteNode()
                | RemoveTaint()
                | RevokeRelease()
                | ClearRevocation()
                | Restore() as step
            ):
                self._write_node(step)
            case (
                RequestPowerOff(host)
                | ClearPowerOff(host)
                | RevokePowerOff(host)
                | ClearRevokedPowerOff(host)
                | MarkHost(host) as step
            ):
                if self.host and self.host.version == host.version:
                    self._write_host(step)
            case TakeLock() | DropLock() as step:
                self.locked = isinstance(step, TakeLock) and not self.gone
            case AskOwner():
                self.asked_owner = True
            case NothingLeft():
                pass
            case AddFinalizer() | DropFinalizer() as step:
                if write.version == self.version and not self.gone:
                    self.finalizer = isinstance(step, AddFinalizer)
                    self.version += 1
                    self.gone = self.deleting and not self.finalizer
            case step:
                if write.version == self.version and not self.gone:
                    self._write_status(step)

    def _write_status(self, step: StatusStep) -> None:
        if isinstance(step, Hold) and tells(self.status, step):
            return
        before = {"spec": None, "status": msgspec.to_builtins(self.status)}
        self.status = after(self.status, step, epoch=self.epoch, generation=1, now="now")
        now = {"spec": None, "status": msgspec.to_builtins(self.status)}
        assert [rule.field for rule in POWER_CYCLE if not rule.holds(now, before)] == []
        self.version += 1
        if isinstance(step, ForgetBackup) and self.has == BELONGINGS:
            self.deleted = False

    def _write_node(self, step: NodeStep) -> None:
        if isinstance(step, Release | DeleteNode):
            named = (step.ticket.node_uid, step.ticket.node_version)
        else:
            named = (step.node.uid, step.node.version)
        if self.node is None or (self.node.uid, self.node.version) != named:
            return
        match step:
            case Release():
                self._must_be_off()
                self._node(taints=(OUR_TAINT,))
                self._leaves_at = self.now + RECHECK_INTERVAL
            case DeleteNode():
                self._must_be_off()
                assert self.status.backup == self.has, "deleted, and not backed up"
                self.lose_node()
                self.deleted = True
                self._leaves_at = self.now + COLLECTED_AFTER
            case RemoveTaint():
                self._node(taints=())
            case RevokeRelease(_, mark):
                self.mark = mark
                self._node()
            case ClearRevocation():
                self.mark = ""
                self._node()
            case Restore(_, missing):
                self.has = missing
                self._node()

    def _must_be_off(self) -> None:
        if self.power or self.host is None or not self.host.held_by_us:
            raise UnsafeError(f"released at {self.now} while {self.host} runs, or may")

    def lose_node(self) -> None:
        """Delete the Node with all fields that were written on it."""
        self.node, self.mark, self.has = None, "", BARE

    def _write_host(
        self, step: RequestPowerOff | ClearPowerOff | RevokePowerOff | ClearRevokedPowerOff | MarkHost
    ) -> None:
        if isinstance(step, ClearPowerOff) and self.deleted and self.node is None and self.pods:
            raise UnsafeError(f"let on at {self.now}, while its pods are being collected")
        match step:
            case MarkHost():
                self.touch(marked_unhealthy=True)
            case RevokePowerOff() | ClearRevokedPowerOff():
                self.touch(revoked_by_us=isinstance(step, RevokePowerOff))
            case RequestPowerOff() | ClearPowerOff():
                self.touch(held_by_us=isinstance(step, RequestPowerOff))

    def _node(self, **changes: object) -> None:
        if self.node is not None:
            self.node = replace(self.node, version=str(int(self.node.version) + 1), **changes)  # type: ignore[arg-type]

    def node_writes(self) -> None:
        """Another controller writes to the Node."""
        self._node()

    def touch(self, **changes: object) -> None:
        """Another controller writes to the host's spec or annotations."""
        if self.host is not None:
            self.host = replace(self.host, version=str(int(self.host.version) + 1), **changes)  # type: ignore[arg-type]

    def say(self, **changes: object) -> None:
        """The operator writes the host's status."""
        self.touch(last_updated=f"{self.now:.0f}", **changes)

    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        self._operate()
        self._run()
        leaving = self.node is None or OUR_TAINT in self.node.taints
        if leaving and self.pods and self.now >= self._leaves_at:
            self.pods -= 1
            self._leaves_at = self.now + RECHECK_INTERVAL

    def _operate(self) -> None:
        host = self.host
        if host is None or host.paused:
            return
        if host.detached:
            self._order = None
            if host.operational_status != "detached":
                self.say(operational_status="detached")
        elif host.operational_status == "detached":
            self.say(operational_status="OK")
            self._next_poll_at = self.now + 21.0
        elif self._next_poll_at is not None:
            if self.now >= self._next_poll_at:
                self._next_poll_at = None
                if host.powered_on is not self.power:
                    self.say(powered_on=self.power)
        elif host.operational_status == "OK":
            self._manage_power(host)

    def _manage_power(self, host: HostFacts) -> None:
        wanted = host.online and not host.held_by_us and not host.held_by_others
        if self._order is None and host.powered_on is not wanted:
            self._order = (self.now + 4.0, self.now + 11.0, wanted)
            if not wanted:
                self.power_offs.append(PowerOffEvent(uid=f"event-{self.now}"))
        if self._order is None:
            return
        at, reported_at, on = self._order
        if self.now >= at and (on or self.obeys):
            self.switch(on=on)
        if self.now >= reported_at:
            self._order = None
            if self.power is on:
                self.say(powered_on=on)

    def switch(self, *, on: bool) -> None:
        if on and not self.power:
            self._boots_at = self.now + BOOT_TAKES
        self.power = on
        if not on:
            self.speaks, self._boots_at = False, None

    def _run(self) -> None:
        """The machine, and the node controller."""
        if self._boots_at is not None and self.now >= self._boots_at and self.boots_well:
            self._boots_at = None
            self.boots += 1
            self.speaks = True
        if self.speaks:
            self.renewed = self.now
            self._report(f"boot-{self.boots}", ConditionStatus.TRUE)
        elif self.node and self.now - self.renewed > LEASE_LASTS:
            self._report(self.node.boot_id, ConditionStatus.UNKNOWN)

    def _report(self, boot: str, ready: ConditionStatus) -> None:
        if self.node is None:
            self.node, self.has = NodeFacts("n1", f"uid-{self.now}", "1", boot, ready), BARE
        elif (self.node.boot_id, self.node.ready) != (boot, ready):
            self._node(boot_id=boot, ready=ready)


Fault = Callable[[World], None]


def orphaned(world: World) -> list[str]:
    """Leftovers of Nodemend, and missing power that was never reported."""
    found = []
    if world.node and OUR_TAINT in world.node.taints:
        found.append("our taint")
    if world.mark:
        found.append("our mark")
    if world.host and world.host.held_by_us:
        found.append("our hold")
    if world.host and world.host.revoked_by_us:
        found.append("what voids our hold")
    if world.locked:
        found.append("our lock")
    lost = [step for step in world.reported if isinstance(step, DropFinalizer) and step.lost]
    if world.deleted and world.node and world.has != BELONGINGS and not lost:
        found.append("a Node without what it had")
    reported = any(isinstance(step, DropFinalizer) and step.still_off for step in world.reported)
    if not world.power and not reported and world.status.phase is not Metal3RemediationPhase.FAILED:
        found.append("a machine that is off, and nobody was told")
    return found
