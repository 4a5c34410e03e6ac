"""The worlds in which etcd is restored: one sick node, healed by each kind of remediation."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from nodemend.agent.certificate import NotHeld
from nodemend.api import keys
from nodemend.api.group_versions import (
    LEASE,
    MANUAL_REMEDIATION,
    METAL3_REMEDIATION,
    NODE,
    SELF_REMEDIATION,
    Resource,
)
from nodemend.testing.api_server.admission import User
from nodemend.testing.cluster import fenced_machine
from nodemend.testing.cluster.fenced_machine import FencedMachine
from nodemend.testing.cluster.machines import Machine
from nodemend.testing.cluster.world import Account, Shape, World
from nodemend.testing.metal3.furnishing import BY_DELETION, OPERATOR, SPEC, furnish, shaped

SICK: Final = "node-1"
BEGINS: Final = 90.0
"""By then everybody is at work, and agents have their peers."""
OVER_AFTER: Final = 500.0
"""Seconds after the node fell sick its remediation is over, whichever it is."""


@dataclass(slots=True)
class Story:
    """One world with one kind of remediation in it."""

    kind: str
    resource: Resource
    world: World
    close: Callable[[], None]
    accounts: list[Account]
    """Whose requests fail while the API server is away. Kubelets go on, and what they write is lost."""
    fenced: FencedMachine | None = None

    @property
    def sick(self) -> Machine:
        return self.world.machines[SICK]

    def fall_sick(self) -> None:
        self.cut_off()
        if self.fenced is not None:
            self.ask()

    def ask(self) -> None:
        """As a NodeHealthCheck does. The other kinds are asked for by the shipped checker."""
        body: dict[str, Any] = {"metadata": {"name": SICK}, "spec": {}}
        self.world.admin_api.create(SELF_REMEDIATION, body, keys.SYSTEM_NAMESPACE)

    def cut_off(self) -> None:
        """From everybody: what runs there goes on."""
        self.sick.connected = False
        if self.fenced is not None:
            self.fenced.deaf = True

    def hang_kubelet(self) -> None:
        """Its pods and its agent go on."""
        self.sick.hung = True

    def join(self) -> None:
        self.sick.connected = True
        if self.fenced is not None:
            self.fenced.deaf = False

    def give_peers_up(self) -> None:
        """Nobody believes its certificate: it lives on alone, once it has published that."""
        if self.fenced is not None:
            self.fenced.holding = NotHeld()

    @property
    def runs(self) -> bool:
        """Whether the sick machine runs its pods, or would soon."""
        if self.fenced is not None:
            return self.sick.booted and not self.sick.gated
        return self.sick.powered

    @property
    def phase(self) -> tuple[object, ...]:
        """Where its remediation stands, as a backup would show it."""
        found = self.world.admin_api.list(self.resource)
        status: dict[str, Any] = (found[0].get("status") or {}) if found else {}
        node = [one for one in self.world.admin_api.list(NODE) if one["metadata"]["name"] == SICK]
        taints = node[0]["spec"].get("taints", ()) if node else ()
        tainted = any(taint["key"] == keys.OUT_OF_SERVICE for taint in taints)
        told = (status.get(name) for name in ("phase", "released", "seenOff", "marked"))
        confirmed = bool(found and found[0]["spec"].get("confirmation"))
        waits = "evidence" in status and not tainted and not status.get("released")
        return (waits, bool(found), bool(node), tainted, confirmed, self._at_gate, *map(str, told))

    @property
    def _at_gate(self) -> bool:
        """Whether its Lease says that a boot gate holds a new boot back."""
        lease = self.world.admin_api.get(LEASE, SICK, keys.AGENT_NAMESPACE) if self.fenced else None
        told = lease["metadata"].get("annotations", {}).get(keys.AGENT_REPORT, "") if lease else ""
        return '"answers"' in told


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
    nobody = {"selector": {"matchLabels": {"nobody": "checks"}}}
    shape = Shape(people=False, self_fencing=True, machines=5, check=nobody)
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
