"""Does what the feeder's machine asks for: one loop, one process, nothing that waits but its own wait."""

import os
import select

from nodemend.agent.feeder import footing_shell
from nodemend.agent.feeder import words as w
from nodemend.agent.feeder.check_shell import Check, Recorder, boottime, raw_time
from nodemend.agent.feeder.device_shell import WatchdogShell
from nodemend.agent.feeder.lock_shell import take_lock
from nodemend.agent.feeder.machine import Feeder
from nodemend.agent.feeder.record_shell import (
    read_lease,
    read_permit,
    read_standing,
    remove_standing,
    write_record,
)
from nodemend.agent.feeder.status_text import format_status
from nodemend.decide.feed_lease import Lead

_MILLISECOND = 1_000_000
_LONGEST_LINE = 512


class FeederShell:
    """`paths` as in the feeder's arguments. Nothing is opened before the machine asks for it."""

    def __init__(
        self,
        rules: w.FeederRules,
        paths: dict[str, str],
        check: tuple[str, ...],
        recorder: tuple[str, ...] = (),
    ) -> None:
        self._boot_id = rules.boot_id
        self._paths = paths
        self._check_command = check
        self._machine = Feeder(rules)
        self._lead = Lead(rules.lease_length)
        self._device = WatchdogShell(paths["device"], paths.get("sysfs"))
        self._recorder = Recorder(recorder)
        self._check: Check | None = None
        self._answered: w.Answered | None = None
        self._lacking: list[str] = []
        self._said = ""
        self._stop_signals = -1
        self._poll = select.poll()

    def run(self) -> str:
        """Until the machine says that it is over; why."""
        self._stop_signals = footing_shell.stop_signals()
        self._poll.register(self._stop_signals, select.POLLIN)
        self._lacking = footing_shell.take_footing(self._paths.get("oom-score"))
        event: w.Event = w.Begun()
        while True:
            follows: w.Event | None = None
            # The clock is read after whatever the event tells was read, so that nothing looks younger than it
            # is.
            for command in self._machine.step(event, boottime()):
                if isinstance(command, w.Exit):
                    self._say(command.why)
                    return command.why
                follows = self._perform(command) or follows
            event = follows or self._look()

    def _perform(self, command: w.Deed) -> w.Event | None:
        match command:
            case w.TakeLock():
                if take_lock(self._paths["lock"]):
                    return w.LockTaken()
                self._say("another feeder has the lock")
                return w.LockRefused()
            case w.Look():
                return self._look()
            case w.Open() | w.SetTimeout() | w.Ping() | w.Disarm():
                return self._use_device(command)
            case w.Ask():
                self._ask()
            case w.Wait(until):
                return self._wait(until)
            case w.ForgetGate() | w.TryReboot() | w.Note() | w.Tell():
                self._leave_word(command)
        return None

    def _leave_word(self, command: w.ForgetGate | w.TryReboot | w.Note | w.Tell) -> None:
        """What nothing follows from."""
        match command:
            case w.ForgetGate():
                remove_standing(self._paths["status"])
            case w.TryReboot():
                self._try_reboot()
            case w.Note():
                if why := self._recorder.start():
                    self._say(f"nothing is recorded of this: {why}")
            case w.Tell(status):
                self._tell(status)

    def _use_device(self, command: w.Open | w.SetTimeout | w.Ping | w.Disarm) -> w.Event:
        try:
            match command:
                case w.Open():
                    return w.Opened(self._device.open())
                case w.SetTimeout(seconds):
                    return w.TimeoutSet(self._device.set_timeout(seconds))
                case w.Ping():
                    self._device.ping()
                    return w.Pinged()
                case w.Disarm():
                    return w.Disarmed(self._device.disarm())
        except OSError as error:
            if isinstance(command, w.Open):
                return w.OpenRefused(f"the device cannot be opened: {error}")
            if isinstance(command, w.Ping):
                return w.PingFailed(str(error))
            raise  # Dying leaves the device armed, and whoever is started next begins anew.

    def _look(self) -> w.Looked:
        permitted = read_permit(self._paths["permit"], self._boot_id)
        gate = read_standing(self._paths["status"], self._boot_id)
        record = read_lease(self._paths["lease"])
        return w.Looked(record, permitted, gate, self._lead.read(boottime(), raw_time()))

    def _wait(self, until: int) -> w.Event:
        """Until then, a signal, or the end of a check."""
        now = boottime()
        milliseconds = max(0, -(-(until - now) // _MILLISECOND))
        ready = {descriptor for descriptor, _ in self._poll.poll(milliseconds)}
        if self._stop_signals in ready:
            os.read(self._stop_signals, 128)
            return w.StopAsked(self._look())
        if self._answered is not None:
            answered, self._answered = self._answered, None
            return answered
        if self._check is not None:
            if self._check.descriptor in ready:
                self._poll.unregister(self._check.descriptor)
                ended, self._check = self._check, None
                return ended.answer()
            self._check.end_if_late(boottime())
        return self._look()

    def _ask(self) -> None:
        try:
            self._check = Check(self._check_command)
        except OSError as error:
            # No process to be had. To be fed is not worth less for it; the lease decides, as after any failed
            # check.
            self._answered = w.Answered(w.CheckFailed(str(error)), boottime())
            return
        self._poll.register(self._check.descriptor, select.POLLIN)

    def _try_reboot(self) -> None:
        self._say("condemned: this boot must end")
        if trigger := self._paths.get("sysrq"):
            footing_shell.try_reboot(trigger)

    def _tell(self, status: w.Status) -> None:
        try:
            write_record(self._paths["status"], format_status(status, self._boot_id, self._lacking))
        except OSError as error:
            self._say(f"the status cannot be written: {error}")
        state = type(status.state).__name__
        self._say(f"{state}: {status.why}" if status.why else state)

    def _say(self, line: str) -> None:
        """To standard error, once, and only if it takes it at once: a feeder does not wait for a log."""
        if line == self._said:
            return
        self._said = line
        ready = select.poll()
        ready.register(2, select.POLLOUT)
        if not ready.poll(0):
            return
        try:
            os.write(2, f"nodemend-feeder: {line}\n".encode("ascii", "replace")[:_LONGEST_LINE])
        except OSError:
            return  # Nobody listens. The status tells the same.
