"""The real feeder in a simulated process: the actions of its I/O layer, with a simulated watchdog."""

from typing import TYPE_CHECKING, Final

from nodemend.agent.watchdog import model as w
from nodemend.agent.watchdog.feeder import Feeder
from nodemend.agent.watchdog.records import PUBLISHED
from nodemend.protocol.feed_lease import FeedLease
from nodemend.protocol.watchdog_drivers import Physical
from nodemend.records.agent_lease import AgentLease
from tests.simulation.self_fencing.fencing_cluster import BrokenError
from tests.simulation.self_fencing.time_line import Process

if TYPE_CHECKING:
    from tests.simulation.self_fencing.node import Node

_S: Final = 1_000_000_000
_DEVICE: Final = w.Device("Software Watchdog", 10, magic_close=True, nowayout=False)


LAST_BEHIND_GATE: Final = 0.1
"""Share of pings without a lease, before an agent runs, that are made as late as possible."""
WATCHDOG: Final = 10
"""W in seconds, as it is published."""


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
                read_interval=1 * _S,
                check_every=5 * _S,
                machine=Physical(),
            )
        )
        self._open = False
        self._checked_at = 0
        self._looked = self._files()
        self.do(lambda: self._hear(w.FeederStarted()))

    def die(self) -> None:
        self.alive = False
        if self._open:
            self._node.watchdog.ping()

    def _now(self) -> int:
        return int(self._node.clock.now() * _S)

    def _hear(self, event: w.FeederEvent) -> None:
        self._checked_at = self._now()
        for command in self._machine.step(event, self._checked_at):
            self._perform(command)

    def _perform(self, command: w.FeederCommand) -> None:
        """Execute a command.

        The process can be paused after its decision, so actions on the device may be late.
        """
        match command:
            case w.SleepUntil(until):
                self.do(self._read_files, self._node.clock.true(until / _S))
            case w.Open() | w.SetTimeout() | w.Ping():
                self._be_late()
                self.do(lambda: self._touch(command))
            case w.TakeDeviceLock():
                self.do(lambda: self._hear(w.LockTaken()))
            case w.ReadFiles():
                self._read_files()
            case w.RunMarkerCheck():
                self._ask()
            case w.TryReboot():
                # The reboot may fail. Without a running watchdog it succeeds, because an operator does it
                # eventually.
                if self._node.chance.random() < 0.5 or not self._node.watchdog.left():
                    self._node.reset("its feeder tries a reboot")
            case w.WriteStatus(status):
                self._node.tell(status)
            case w.ForgetGate():
                self._node.gate_status = ""
            case w.Exit() | w.Disarm() | w.KeepResetLog():
                pass

    def _be_late(self) -> None:
        """Pause the process after its decision; in the worst case until just before the watchdog expires."""
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
        """True if this ping is treated as the last one.

        Without a lease, before an agent runs, every ping may be the last, and few are.
        """
        return self._node.gate_status != PUBLISHED or self._node.chance.random() < LAST_BEHIND_GATE

    def _end_late(self) -> None:
        if self.alive:
            self._node.restart_feeder(1.0)

    def _read_files(self) -> None:
        if self._node.feeder is self:
            node, looked = self._node, self._looked
            known = (looked.permitted, looked.gate) == (node.permitted, node.gate_status)
            if looked.record is not node.lease_file or not known:
                self._looked = self._files()
            self._hear(self._looked)

    def _files(self) -> w.FilesRead:
        node = self._node
        return w.FilesRead(node.lease_file, node.permitted, node.gate_status)

    def _touch(self, command: w.Open | w.SetTimeout | w.Ping) -> None:
        node = self._node
        lease = node.lease_file
        if isinstance(lease, FeedLease) and lease.fence_requested and not self._was_checked_before(lease):
            raise BrokenError(f"I10: {node.name} is fed after it was condemned")
        node.watchdog.ping()
        match command:
            case w.Open():
                self._open = True
                self._hear(w.DeviceOpened(_DEVICE))
            case w.SetTimeout(seconds):
                self._hear(w.TimeoutSet(seconds))
            case w.Ping():
                self._hear(w.Pinged())

    def _was_checked_before(self, _lease: FeedLease) -> bool:
        """True if the order to fence came after the check that precedes the current ping."""
        return self._checked_at <= self._node.fence_requested_at * _S

    def _ask(self) -> None:
        """Do the feeder's own API check, which is due when half of the lease is over."""
        asked_at, store, name = self._now(), self._node.world.store, self._node.name
        heard = [False]

        def hear(answer: w.Clean | w.Marked | w.OtherMarker | w.CheckFailed) -> None:
            if not heard[0]:
                heard[0] = True
                self.do(lambda: self._hear_answer(w.Answered(answer, asked_at)))

        def evaluate(lease: AgentLease | None) -> None:
            if lease is None or lease.clean:
                hear(w.Clean())
            elif lease.fences(self._node.uid, self._node.boot_id):
                hear(w.Marked())
            else:
                hear(w.OtherMarker())

        store.ask(name, lambda: store.read(name), evaluate)
        self.do(lambda: hear(w.CheckFailed("too late")), self._node.clock.true(asked_at / _S + 3.0))

    def _hear_answer(self, answer: w.Answered) -> None:
        """Deliver an answer while the feeder waits. The wait continues beside the resulting commands."""
        for command in self._machine.step(answer, self._now()):
            if not isinstance(command, w.ReadFiles):
                self._perform(command)
