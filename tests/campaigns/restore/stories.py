"""The worlds in which etcd is restored: one unhealthy node, healed by each kind of remediation."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from nodemend.agent.certificates import NoCertificate
from nodemend.api import well_known
from nodemend.api.resources import (
    LEASE,
    MANUAL_REMEDIATION,
    METAL3_REMEDIATION,
    NODE,
    SELF_REMEDIATION,
    Resource,
)
from simulation.api_server.admission import User
from simulation.cluster import fenced_machine
from simulation.cluster.fenced_machine import FencedMachine
from simulation.cluster.machines import Machine
from simulation.cluster.world import Account, Shape, World
from simulation.metal3.rack import BY_DELETION, OPERATOR, SPEC, furnish, shaped

SICK: Final = "node-1"
BEGINS: Final = 90.0
"""By then all components run, and agents have their peers."""
OVER_AFTER: Final = 500.0
"""Seconds after the node's failure until its remediation is over, for every kind."""


@dataclass(slots=True)
class Story:
    """One world with one kind of remediation in it."""

    kind: str
    resource: Resource
    world: World
    close: Callable[[], None]
    accounts: list[Account]
    """The accounts whose requests fail while the API server is down.

    Kubelets continue, and their writes are lost.
    """
    fenced: FencedMachine | None = None

    @property
    def sick(self) -> Machine:
        return self.world.machines[SICK]

    def fall_sick(self) -> None:
        self.cut_off()
        if self.fenced is not None:
            self.ask()

    def ask(self) -> None:
        """Create it as a NodeHealthCheck does. The shipped checker creates the other kinds."""
        body: dict[str, Any] = {"metadata": {"name": SICK}, "spec": {}}
        self.world.admin_api.create(SELF_REMEDIATION, body, well_known.SYSTEM_NAMESPACE)

    def cut_off(self) -> None:
        """Cut it off from the API server and its peers; its workloads continue."""
        self.sick.connected = False
        if self.fenced is not None:
            self.fenced.deaf = True

    def hang_kubelet(self) -> None:
        """Its pods and its agent continue."""
        self.sick.hung = True

    def join(self) -> None:
        self.sick.connected = True
        if self.fenced is not None:
            self.fenced.deaf = False

    def give_peers_up(self) -> None:
        """Its certificate becomes invalid: it continues without peers, once it has published that."""
        if self.fenced is not None:
            self.fenced.holding = NoCertificate()

    @property
    def runs(self) -> bool:
        """True if the unhealthy machine runs its pods, or would soon."""
        if self.fenced is not None:
            return self.sick.booted and not self.sick.gated
        return self.sick.powered

    @property
    def phase(self) -> tuple[object, ...]:
        """The state of its remediation, as a backup would contain it."""
        found = self.world.admin_api.list(self.resource)
        status: dict[str, Any] = (found[0].get("status") or {}) if found else {}
        node = [one for one in self.world.admin_api.list(NODE) if one["metadata"]["name"] == SICK]
        taints = node[0]["spec"].get("taints", ()) if node else ()
        tainted = any(taint["key"] == well_known.OUT_OF_SERVICE for taint in taints)
        reported = (status.get(name) for name in ("phase", "released", "seenOff", "marked"))
        confirmed = bool(found and found[0]["spec"].get("confirmation"))
        waits = "evidence" in status and not tainted and not status.get("released")
        return (waits, bool(found), bool(node), tainted, confirmed, self._at_gate, *map(str, reported))

    @property
    def _at_gate(self) -> bool:
        """True if its Lease says that a boot gate holds a new boot back."""
        lease = self.world.admin_api.get(LEASE, SICK, well_known.AGENT_NAMESPACE) if self.fenced else None
        reported = lease["metadata"].get("annotations", {}).get(well_known.AGENT_REPORT, "") if lease else ""
        return '"answers"' in reported


def _by_hand(seed: str, *, keep_trace: bool) -> Story:
    world = World(seed, Shape(machines=3), keep_trace=keep_trace)
    return Story("manual", MANUAL_REMEDIATION, world, world.close, [world.checker, world.remediator])


def _by_power(seed: str, *, keep_trace: bool, deletion: bool = False) -> Story:
    world = World(seed, shaped(machines=3, node_deletion=deletion), keep_trace=keep_trace)
    rack = furnish(world, BY_DELETION if deletion else SPEC)

    def close() -> None:
        rack.close()
        world.close()

    accounts = [world.checker, world.remediator, world.account(OPERATOR)]
    return Story("deletion" if deletion else "power", METAL3_REMEDIATION, world, close, accounts)


def _by_itself(seed: str, *, keep_trace: bool) -> Story:
    selects_none = {"selector": {"matchLabels": {"nobody": "checks"}}}
    shape = Shape(people=False, self_fencing=True, machines=5, check=selects_none)
    world = World(seed, shape, keep_trace=keep_trace)
    agents = Account(world.server, User("agents"))
    rack = fenced_machine.Rack(world.admin_api, agents, world.scheduler)
    for machine in world.machines.values():
        rack.fence(machine)

    def close() -> None:
        rack.close()
        world.close()

    accounts = [world.checker, world.remediator, agents]
    return Story("fencing", SELF_REMEDIATION, world, close, accounts, rack.members[SICK])


KINDS: Final = ("manual", "power", "deletion", "fencing", "fencing")


def begin(kind: str, seed: str, *, keep_trace: bool = False) -> Story:
    match kind:
        case "manual":
            return _by_hand(seed, keep_trace=keep_trace)
        case "power":
            return _by_power(seed, keep_trace=keep_trace)
        case "deletion":
            return _by_power(seed, keep_trace=keep_trace, deletion=True)
        case _:
            return _by_itself(seed, keep_trace=keep_trace)


def draw(chance: Random) -> str:
    return chance.choice(KINDS)
