"""A node of the simulated cluster: shipped agent, feeder and boot gate beside a kubelet that runs pods.

An adversary can make it live for as long as the rules allow: see LastMomentFeeder.
"""

from functools import partial
from random import Random
from typing import Final

from nodemend.agent.feeder import words as w
from nodemend.agent.feeder.records import PUBLISHED
from nodemend.api.group_versions import NODE
from nodemend.decide.peer_verdict import Answer
from nodemend.decide.time_proof import USUALLY
from nodemend.entrypoints.agent_shell import HEALTHY_WANTED
from nodemend.testing.cluster.direct import Direct
from nodemend.testing.cluster.machines import Machine
from tests.simulation.fencing.feeder_process import WATCHDOG, FeederProcess
from tests.simulation.fencing.network import API
from tests.simulation.fencing.node import Node
from tests.simulation.fencing.surroundings import BrokenError, Surroundings

_S: Final = 1_000_000_000
NO_NODE: Final = "none"
NODE_AWAITED_EVERY: Final = 5.0
MOMENT: Final = 0.005
"""Seconds: as close as the adversary comes to each limit."""


class LastMomentFeeder(FeederProcess):
    """Where its node is to live as long as can be: every check, ping and end at the last moment.

    The last ping but one is done just before the lease ends. The check after it allows one more, which is
    done just before the device would reset the machine. Then the feeder dies just before that, and the
    kernel pings as it closes the device.
    """

    def _be_late(self) -> None:
        node = self._node
        node.world.counts["lease looked at before a ping"] += 1
        unleased = node.permitted or node.gate_standing == PUBLISHED
        if not unleased and self._checked_at >= self._machine.status.lease.until:
            raise BrokenError(f"I10: {node.name} is fed after its lease has ended")
        if not isinstance(node, FencedNode) or not node.lives_longest:
            super()._be_late()
            return
        ends = node.clock.true(self.fed_until)
        now, left = node.world.line.now, node.watchdog.left()
        if not left or now >= ends:
            return
        if ends - now < 2 * MOMENT:
            self.freeze(left - MOMENT)
            node.world.counts["last ping at the last moment"] += 1
            node.world.line.after(left + node.watchdog_lasts - 2 * MOMENT, self._end_late)
        elif self._is_last_but_one(ends - now):
            self.freeze(ends - now - MOMENT)

    def _perform(self, command: w.Command) -> None:
        """What the kernel is asked for may fail: it proves nothing."""
        node = self._node
        if isinstance(command, w.TryReboot) and isinstance(node, FencedNode) and node.lives_longest:
            return
        super()._perform(command)

    @property
    def fed_until(self) -> float:
        """By its node's clock."""
        return self._machine.status.lease.until / _S

    def _is_last_but_one(self, left: float) -> bool:
        """Another ping is due before the end only if this one was decided so long before."""
        every = 3.0 / self._node.clock.rate
        return every + 2 * MOMENT < left <= 2 * every + 2 * MOMENT


class FencedNode(Node):
    """`machine` has the power, the kubelet and the pods; what ends it is here."""

    def __init__(
        self, machine: Machine, world: Surroundings, api: Direct, chance: Random, *, slowest: bool = False
    ) -> None:
        """`slowest`: its clock, its watchdog and its resets are as slow as they may be."""
        self.machine = machine
        self._api = api
        self.lives_longest = False
        """Until its next boot."""
        self.slowest = slowest
        self.lies_as: Answer | None = None
        """What it tells every peer, whatever it has seen."""
        self.kubelet_apart = False
        """Its kubelet reaches the API server though its agent does not."""
        self.watchdog_lasts = 0.0
        self.ended_at = 0.0
        self.writes_land_until = 0.0
        """What its last boot with an open gate sent to storage has landed by then."""
        self._ending = ""
        super().__init__(machine.name, world, chance, liar=False)
        self.stubborn = False

    # As its clock, its watchdog and its feeder are.

    @property
    def uid(self) -> str:
        node = self._api.get(NODE, self.name)
        return str(node["metadata"]["uid"]) if node is not None else NO_NODE

    def draw_rate(self) -> float:
        return 1 - self.world.clock_error if self.slowest else super().draw_rate()

    def draw_watchdog(self) -> float:
        worst = WATCHDOG / (1 - self.world.watchdog_error)
        self.watchdog_lasts = worst if self.slowest else super().draw_watchdog()
        return self.watchdog_lasts

    def make_feeder(self) -> FeederProcess:
        return LastMomentFeeder(self)

    # Boots.

    def boot(self) -> None:
        if not self.machine.powered:
            self.machine.power_on()
        self.lives_longest = False
        self.machine.gated = True
        super().boot()
        if self.boot_id != self.machine.boot_id:
            raise RuntimeError(f"{self.boot_id} is not {self.machine.boot_id}")

    @property
    def is_guarded(self) -> bool:
        """Also while its watchdog has run out and the reset is not done yet: the boot ends in a moment."""
        return super().is_guarded or self._ending == self.boot_id

    def open_gate(self) -> None:
        super().open_gate()
        self.machine.gated = False

    def _start_agent(self, boot: str) -> None:
        """It is a pod of its Node: without one it waits."""
        if self.uid == NO_NODE:
            self.world.line.after(NODE_AWAITED_EVERY, lambda: self._start_agent(boot))
        else:
            super()._start_agent(boot)

    def follow_node(self) -> None:
        """As an agent does that finds another Node in its token than the one for which it reports.

        Here kubelet renews a token at once; in truth that takes it up to the token's hour.
        """
        if self.agent.alive and self.uid not in (NO_NODE, self.agent.node_uid):
            self.world.counts["agent ended for a Node registered again"] += 1
            self.restart_agent(self.chance.uniform(1.0, 11.0))

    def reset(self, why: str) -> None:
        """Its processes run on until the reset is done, and what they wrote lands later still."""
        if not self.up or self._ending == self.boot_id:
            return
        self._ending = self.boot_id
        takes = USUALLY.reset_takes
        self.world.line.after(
            takes if self.slowest else self.chance.uniform(0.0, takes), partial(self._end, self.boot_id, why)
        )

    def _end(self, boot_id: str, why: str) -> None:
        if self.boot_id != boot_id:
            return
        now, drain = self.world.line.now, USUALLY.drain
        self.ended_at = now
        lands = now + (drain if self.slowest else self.chance.uniform(0.0, drain))
        if self.gate_open:  # Behind a closed gate no pod runs, and nothing is written.
            self.writes_land_until = lands
        super().reset(why)
        self.machine.power_off()

    @property
    def healthy_wanted(self) -> int:
        return HEALTHY_WANTED

    def lie(self) -> Answer | None:
        return self.lies_as or super().lie()

    @property
    def lease_left(self) -> float:
        """Seconds for which its feeder goes on, by its own clock."""
        feeder = self.feeder
        return feeder.fed_until - self.clock.now() if isinstance(feeder, LastMomentFeeder) else 0.0

    @property
    def runs(self) -> bool:
        """Whether pods run on it, or can start at any moment."""
        return self.up and self.gate_open

    def connect(self) -> None:
        """Its kubelet reaches the API server where its agent does."""
        cut = bool({(self.name, API), (API, self.name)} & self.world.network.cut)
        self.machine.connected = self.kubelet_apart or not (cut or self.world.store.down)
