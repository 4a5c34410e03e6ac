"""The shipped feeder in a simulated process: what its shell does, with a watchdog that is a number."""

from typing import TYPE_CHECKING, Final

from nodemend.agent.feeder import words as w
from nodemend.agent.feeder.machine import Feeder
from nodemend.agent.feeder.records import PUBLISHED
from nodemend.decide.feed_lease import FeedLease
from nodemend.decide.watchdog_class import Physical
from nodemend.kube.agent_lease import AgentLease
from tests.simulation.fencing.surroundings import BrokenError
from tests.simulation.fencing.time_line import Process

if TYPE_CHECKING:
    from tests.simulation.fencing.node import Node

_S: Final = 1_000_000_000
_DEVICE: Final = w.Device("Software Watchdog", 10, magic_close=True, nowayout=False)


LAST_BEHIND_GATE: Final = 0.1
"""Of pings without a lease, before there is an agent: so many are made as late as can be."""
WATCHDOG: Final = 10
"""Seconds: W, as it is published."""


class FeederProcess(Process):
    def __init__(self, node: "Node") -> None:
        super().__init__(node.world.line)
        self._node = node
        self._machine = Feeder(
            w.FeederRules(
                boot_id=node.boot_id,
                lease_length=int(node.world.lease_length * _S),
                wanted_reset=10 * _S,
                ping_every=3 * _S,
                look_every=1 * _S,
                check_every=5 * _S,
                machine=Physical(),
            )
        )
        self._open = False
        self._checked_at = 0
        self._looked = self._files()
        self.do(lambda: self._hear(w.Begun()))

    def die(self) -> None:
        self.alive = False
        if self._open:
            self._node.watchdog.ping()

    def _now(self) -> int:
        return int(self._node.clock.now() * _S)

    def _hear(self, event: w.Event) -> None:
        self._checked_at = self._now()
        for command in self._machine.step(event, self._checked_at):
            self._perform(command)

    def _perform(self, command: w.Command) -> None:
        """Deeds on the device may be late: the process can be paused after it has decided."""
        match command:
            case w.Wait(until):
                self.do(self._look, self._node.clock.true(until / _S))
            case w.Open() | w.SetTimeout() | w.Ping():
                self._be_late()
                self.do(lambda: self._touch(command))
            case w.TakeLock():
                self.do(lambda: self._hear(w.LockTaken()))
            case w.Look():
                self._look()
            case w.Ask():
                self._ask()
            case w.TryReboot():
                # It may fail, but where no watchdog runs somebody will see to it in the end.
                if self._node.chance.random() < 0.5 or not self._node.watchdog.left():
                    self._node.reset("its feeder tries a reboot")
            case w.Tell(status):
                self._node.tell(status)
            case w.ForgetGate():
                self._node.gate_standing = ""
            case w.Exit() | w.Disarm() | w.Note():
                pass

    def _be_late(self) -> None:
        """The process can be paused after it has decided; at the worst until just before the device's end."""
        node, world = self._node, self._node.world
        lease = self._machine.status.lease
        left = node.watchdog.left()
        if node.stubborn and left and lease.until - self._checked_at < 4 * _S and self._is_last():
            world.counts["last ping at the last moment, then a death"] += 1
            self.freeze(0.99 * left)
            world.line.after(0.99 * left + 0.97 * WATCHDOG, self._end_late)
        elif world.hiccups and world.chance.random() < world.hiccups:
            world.counts["pause before a ping"] += 1
            self.freeze(world.chance.uniform(0.0, 15.0))

    def _is_last(self) -> bool:
        """Without a lease, before there is an agent, each ping may be the last, and few are."""
        return self._node.gate_standing != PUBLISHED or self._node.chance.random() < LAST_BEHIND_GATE

    def _end_late(self) -> None:
        if self.alive:
            self._node.restart_feeder(1.0)

    def _look(self) -> None:
        if self._node.feeder is self:
            node, looked = self._node, self._looked
            known = (looked.permitted, looked.gate) == (node.permitted, node.gate_standing)
            if looked.record is not node.lease_file or not known:
                self._looked = self._files()
            self._hear(self._looked)

    def _files(self) -> w.Looked:
        node = self._node
        return w.Looked(node.lease_file, node.permitted, node.gate_standing)

    def _touch(self, command: w.Open | w.SetTimeout | w.Ping) -> None:
        node = self._node
        lease = node.lease_file
        if isinstance(lease, FeedLease) and lease.condemned and not self._was_checked_before(lease):
            raise BrokenError(f"I10: {node.name} is fed after it was condemned")
        node.watchdog.ping()
        match command:
            case w.Open():
                self._open = True
                self._hear(w.Opened(_DEVICE))
            case w.SetTimeout(seconds):
                self._hear(w.TimeoutSet(seconds))
            case w.Ping():
                self._hear(w.Pinged())

    def _was_checked_before(self, _lease: FeedLease) -> bool:
        """Condemned at a time after the check of the ping that is just done."""
        return self._checked_at <= self._node.condemned_at * _S

    def _ask(self) -> None:
        """The check that it makes itself, when half of the lease is over."""
        asked_at, store, name = self._now(), self._node.world.store, self._node.name
        heard = [False]

        def hear(answer: w.Clean | w.Marked | w.OtherMarker | w.CheckFailed) -> None:
            if not heard[0]:
                heard[0] = True
                self.do(lambda: self._hear_answer(w.Answered(answer, asked_at)))

        def judge(lease: AgentLease | None) -> None:
            if lease is None or lease.clean:
                hear(w.Clean())
            elif lease.condemns(self._node.uid, self._node.boot_id):
                hear(w.Marked())
            else:
                hear(w.OtherMarker())

        store.ask(name, lambda: store.read(name), judge)
        self.do(lambda: hear(w.CheckFailed("too late")), self._node.clock.true(asked_at / _S + 3.0))

    def _hear_answer(self, answer: w.Answered) -> None:
        """It comes while the feeder waits; the wait goes on beside what follows."""
        for command in self._machine.step(answer, self._now()):
            if not isinstance(command, w.Look):
                self._perform(command)
