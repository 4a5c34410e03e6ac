"""The feeder's process: parses its arguments, and executes the state machine's commands in one loop.

The loop blocks only in SleepUntil: API checks and the recorder are child processes that it does not wait for.
"""

import os
import select
import sys
import time

from nodemend.agent import exit_codes
from nodemend.agent.watchdog import device
from nodemend.agent.watchdog import model as w
from nodemend.agent.watchdog.device import WatchdogDevice, take_lock
from nodemend.agent.watchdog.feeder import Feeder
from nodemend.agent.watchdog.model import FeederRules, format_status, parse_status
from nodemend.agent.watchdog.records import is_number
from nodemend.agent.watchdog.records_io import (
    read_beginning,
    read_disarm_permission,
    read_gate_status,
    read_lease,
    read_or_empty,
    remove_gate_status,
    write_record,
)
from nodemend.protocol.feed_lease import Lead
from nodemend.protocol.values import SmallValue
from nodemend.protocol.watchdog_drivers import SECOND, Drill, Machine, Physical, Undetermined, Virtual

USAGE = """\
feeder --device PATH --lock PATH --lease PATH --permit PATH --status PATH --boot-id PATH [--...] [-- CHECK...]
  --wanted-reset SECONDS   effective time from the last ping to the reset, at most (10)
  --lease-length SECONDS   how far a lease may reach into the future (35)
  --ping-every SECONDS     (2)
  --check-every SECONDS    interval of CHECK when half of the lease is over (5)
  --sysfs PATH             the device's folder under /sys/class, with what only the kernel knows about it
  --sysrq PATH             the kernel's sysrq trigger, for an attempt to reset a node that must end
  --oom-score PATH         the file that protects this process from the OOM killer
  --power-states PATH      the file in which the kernel lists the sleep states of this machine
  --sleep-target PATH      systemd's unit for it: masked if it leads to /dev/null
  --cpuinfo PATH           the file that shows whether this is a virtual machine
  --machine KIND           physical or virtual, if that file does not show it
  --drill IDENTITY,SECONDS,MILLISECONDS   a reset that was timed: the driver, what was written, what it took
  --recorder COMMAND       run when the device is not fed any more, to keep a record; separated by spaces
"""

_REQUIRED = ("device", "lock", "lease", "permit", "status", "boot-id")
_PATHS = (*_REQUIRED, "sysfs", "sysrq", "oom-score", "cpuinfo", "power-states", "sleep-target")
_SECONDS = {"wanted-reset": "10", "lease-length": "35", "ping-every": "2", "check-every": "5"}
_OTHER = ("machine", "drill", "recorder")
_MACHINES: dict[str, Machine] = {"physical": Physical(), "virtual": Virtual()}


class Arguments(SmallValue):
    """The parsed arguments. Times are nanoseconds; `paths` always has the required ones."""

    paths: dict[str, str]
    wanted_reset: int
    lease_length: int
    ping_every: int
    check_every: int
    machine: Machine
    drill: Drill | None
    check: tuple[str, ...]
    recorder: tuple[str, ...] = ()


class WrongArgumentsError(Exception):
    """The command line is wrong; the message says how."""


def parse_arguments(words: list[str]) -> Arguments:
    """Parse the feeder's arguments. Raises WrongArgumentsError."""
    options, check = _split(words)
    if missing := [name for name in _REQUIRED if name not in options]:
        raise WrongArgumentsError(f"missing: {', '.join(missing)}")
    times = {name: _time(name, options.get(name, usual)) for name, usual in _SECONDS.items()}
    # Two pings must fit, so that one lost to a late wake-up causes no reset.
    if times["ping-every"] * 2 > times["wanted-reset"]:
        raise WrongArgumentsError("ping-every must be at most half of wanted-reset")
    return Arguments(
        paths={name: options[name] for name in _PATHS if name in options},
        wanted_reset=times["wanted-reset"],
        lease_length=times["lease-length"],
        ping_every=times["ping-every"],
        check_every=times["check-every"],
        machine=_parse_machine(options.get("machine")),
        drill=_drill(options.get("drill")),
        check=tuple(check),
        recorder=tuple(options.get("recorder", "").split()),
    )


def _split(words: list[str]) -> tuple[dict[str, str], list[str]]:
    """Return the options by name, and the arguments after `--`."""
    options: dict[str, str] = {}
    rest = list(words)
    while rest:
        name = rest.pop(0)
        if name == "--":
            return options, rest
        known = name.startswith("--") and name[2:] in (*_PATHS, *_SECONDS, *_OTHER)
        if not known or name[2:] in options or not rest:
            raise WrongArgumentsError(f"unknown, given twice, or without a value: {name}")
        options[name[2:]] = rest.pop(0)
    return options, []


def _time(name: str, text: str) -> int:
    whole, _, part = text.partition(".")
    if not (whole.isdigit() and len(part) <= 3 and (part.isdigit() or not part)):
        raise WrongArgumentsError(f"{name} must be seconds, not {text!r}")
    time = int(whole) * SECOND + int(part.ljust(3, "0")) * (SECOND // 1000)
    if not time:
        raise WrongArgumentsError(f"{name} must be more than nothing")
    return time


def _parse_machine(text: str | None) -> Machine:
    if text is None:
        return Undetermined()
    if text not in _MACHINES:
        raise WrongArgumentsError(f"machine must be physical or virtual, not {text!r}")
    return _MACHINES[text]


def _drill(text: str | None) -> Drill | None:
    if not text:
        return None
    match text.split(","):
        case [identity, written, taken] if written.isdigit() and taken.isdigit():
            return Drill(identity, int(written), int(taken) * (SECOND // 1000))
        case _:
            raise WrongArgumentsError("drill must be IDENTITY,SECONDS,MILLISECONDS")


def evaluate_cpuinfo(text: bytes) -> Machine:
    """Return the kind of machine by the hypervisor flag; Undetermined if the processor lists no flags."""
    for line in text.splitlines(keepends=True):
        name, _, flags = line.partition(b":")
        # A line without its end was cut, possibly before the flag.
        if name.strip() == b"flags" and line.endswith(b"\n"):
            return Virtual() if b"hypervisor" in flags.split() else Physical()
    return Undetermined()


_LONGEST_CHECK = 10_000_000_000
"""Nanoseconds. A check ends itself long before that; the feeder kills one that hangs in the kernel."""
_ANSWERS: dict[int, w.Clean | w.Marked | w.OtherMarker] = {
    exit_codes.CLEAN: w.Clean(),
    exit_codes.MARKED: w.Marked(),
    # No Lease: this node has published no watchdog and no times, so no release relies on its reset, and there
    # is no object that could carry a marker. The admission policy prevents the deletion of a marked Lease,
    # and the remediator releases only while it reads the marker that it wrote.
    exit_codes.ABSENT: w.Clean(),
    # A marker for another boot neither ends this boot nor lets it continue. In a drill the lease must run
    # out: a reboot by the kernel would be timed instead of the watchdog's reset.
    exit_codes.MARKED_FOR_ANOTHER_BOOT: w.OtherMarker(),
    exit_codes.MARKED_FOR_DRILL: w.OtherMarker(),
    # All other exit codes are no answer, as for the agent.
}


def boottime() -> int:
    """CLOCK_BOOTTIME in nanoseconds. It advances while the machine sleeps."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def raw_time() -> int:
    """CLOCK_MONOTONIC_RAW in nanoseconds: never slewed, and stopped while the machine sleeps."""
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)


class Check:
    """A child process that checks the API server. `asked_at` is from before its start. Raises OSError."""

    def __init__(self, command: tuple[str, ...]) -> None:
        self.asked_at = boottime()
        # Not posix_spawn: it waits until the program is loaded, which never ends if the disk hangs.
        self._pid = os.fork()
        if self._pid == 0:
            _become(command)
        try:
            self.descriptor = os.pidfd_open(self._pid)
        except OSError:
            os.kill(self._pid, 9)
            os.waitpid(self._pid, 0)
            raise

    def answer(self) -> w.Answered:
        """Return the check's answer. Call it once the descriptor is readable."""
        os.close(self.descriptor)
        _, ended = os.waitpid(self._pid, 0)
        code = os.waitstatus_to_exitcode(ended)
        return w.Answered(_ANSWERS.get(code, w.CheckFailed(f"the check ended with {code}")), self.asked_at)

    def end_if_late(self, now: int) -> None:
        if now - self.asked_at > _LONGEST_CHECK:
            os.kill(self._pid, 9)


class ResetLogProcess:
    """A process that keeps a record while the device starves, and ends by itself. At most one runs."""

    def __init__(self, command: tuple[str, ...]) -> None:
        self._command = command
        self._pid = 0

    def start(self) -> str:
        """Return why no recorder runs; empty if one runs, or none is configured."""
        try:
            if not self._command or (self._pid and os.waitpid(self._pid, os.WNOHANG) == (0, 0)):
                return ""
            self._pid = os.fork()
        except OSError as error:
            return str(error)
        if self._pid == 0:
            _become(self._command)
        return ""


def _become(command: tuple[str, ...]) -> None:
    """Execute the command in the child. Never returns."""
    try:
        device.restore_process()
        os.execve(command[0], command, {})  # noqa: S606 - a program by its path, no shell
    finally:
        os._exit(exit_codes.FAILED)


_MILLISECOND = 1_000_000
_LONGEST_LINE = 512


class FeederRunner:
    """`paths` is as in the feeder's arguments. Nothing is opened before the state machine requests it."""

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
        self._device = WatchdogDevice(paths["device"], paths.get("sysfs"))
        self._recorder = ResetLogProcess(recorder)
        self._check: Check | None = None
        self._answered: w.Answered | None = None
        self._lacking: list[str] = []
        self._said = ""
        self._stop_signals = -1
        self._poll = select.poll()

    def run(self) -> str:
        """Run until the state machine exits; return its reason."""
        self._stop_signals = device.stop_signals()
        self._poll.register(self._stop_signals, select.POLLIN)
        self._lacking = device.harden_process(self._paths.get("oom-score"))
        event: w.FeederEvent = w.FeederStarted()
        while True:
            follows: w.FeederEvent | None = None
            # Read the clock after the event's data, so that no data counts as newer than it is.
            for command in self._machine.step(event, boottime()):
                if isinstance(command, w.Exit):
                    self._say(command.why)
                    return command.why
                follows = self._perform(command) or follows
            event = follows or self._read_files()

    def _perform(self, command: w.FeederOperation) -> w.FeederEvent | None:
        match command:
            case w.TakeDeviceLock():
                return self._take_lock()
            case w.ReadFiles():
                return self._read_files()
            case w.Open() | w.SetTimeout() | w.Ping() | w.Disarm():
                return self._use_device(command)
            case w.RunMarkerCheck():
                self._ask()
            case w.SleepUntil(until):
                return self._wait(until)
            case w.ForgetGate():
                remove_gate_status(self._paths["status"])
            case w.TryReboot():
                self._try_reboot()
            case w.KeepResetLog():
                if why := self._recorder.start():
                    self._say(f"nothing is recorded of this: {why}")
            case w.WriteStatus(status):
                self._tell(status)
        return None

    def _take_lock(self) -> w.LockTaken | w.LockRefused:
        if take_lock(self._paths["lock"]):
            return w.LockTaken()
        self._say("another feeder has the lock")
        return w.LockRefused()

    def _use_device(self, command: w.Open | w.SetTimeout | w.Ping | w.Disarm) -> w.FeederEvent:
        try:
            match command:
                case w.Open():
                    return w.DeviceOpened(self._device.open())
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
            # Dying leaves the device armed, and the next feeder starts over.
            raise

    def _read_files(self) -> w.FilesRead:
        permitted = read_disarm_permission(self._paths["permit"], self._boot_id)
        gate = read_gate_status(self._paths["status"], self._boot_id)
        record = read_lease(self._paths["lease"])
        return w.FilesRead(record, permitted, gate, self._lead.read(boottime(), raw_time()))

    def _wait(self, until: int) -> w.FeederEvent:
        """Wait until `until`, a stop signal, or the end of a check."""
        now = boottime()
        milliseconds = max(0, -(-(until - now) // _MILLISECOND))
        ready = {descriptor for descriptor, _ in self._poll.poll(milliseconds)}
        if self._stop_signals in ready:
            os.read(self._stop_signals, 128)
            return w.FeederStopRequested(self._read_files())
        if self._answered is not None:
            answered, self._answered = self._answered, None
            return answered
        if self._check is not None:
            if self._check.descriptor in ready:
                self._poll.unregister(self._check.descriptor)
                ended, self._check = self._check, None
                return ended.answer()
            self._check.end_if_late(boottime())
        return self._read_files()

    def _ask(self) -> None:
        try:
            self._check = Check(self._check_command)
        except OSError as error:
            # No process could be started. This does not end the feeding: as after any failed check, the lease
            # decides.
            self._answered = w.Answered(w.CheckFailed(str(error)), boottime())
            return
        self._poll.register(self._check.descriptor, select.POLLIN)

    def _try_reboot(self) -> None:
        self._say("fence requested: this boot must end")
        if trigger := self._paths.get("sysrq"):
            device.try_reboot(trigger)

    def _tell(self, status: w.FeederStatus) -> None:
        try:
            write_record(self._paths["status"], format_status(status, self._boot_id, self._lacking))
        except OSError as error:
            self._say(f"the status cannot be written: {error}")
        state = status.state.name
        self._say(f"{state}: {status.why}" if status.why else state)

    def _say(self, line: str) -> None:
        """Write a line to standard error, once, and only if that does not block."""
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
            return  # Standard error has no reader. The status has the same facts.


_READS_PER_PING = 4
_WRONG_USAGE = 2


def run(words: list[str], make: type[FeederRunner] = FeederRunner) -> int:
    """Run the feeder. Returns 0 after an orderly end, also with the device armed; 2 for wrong arguments."""
    try:
        arguments = parse_arguments(words)
    except WrongArgumentsError as error:
        os.write(2, f"{error}\n{USAGE}".encode())
        return _WRONG_USAGE
    make(_rules(arguments), arguments.paths, arguments.check, arguments.recorder).run()
    return 0


def _rules(arguments: Arguments) -> FeederRules:
    boot_id = read_beginning(arguments.paths["boot-id"]).decode("ascii").strip()
    longest_timeout, effective = _given_before(arguments.paths["status"], boot_id)
    ping_every = arguments.ping_every if effective is None else min(arguments.ping_every, effective // 2)
    return FeederRules(
        boot_id=boot_id,
        lease_length=arguments.lease_length,
        wanted_reset=arguments.wanted_reset,
        ping_every=ping_every,
        read_interval=ping_every // _READS_PER_PING,
        check_every=arguments.check_every if arguments.check else None,
        machine=_find_machine(arguments),
        drill=arguments.drill,
        may_sleep=_may_sleep(arguments),
        longest_timeout=longest_timeout,
    )


def _given_before(path: str, boot_id: str) -> tuple[int | None, int | None]:
    """Return the timeout (seconds) that a feeder of this boot wrote, and its W (ns); None if none did.

    W is published, and a machine that is cut off cannot publish another: with longer times it would outlive
    what the remediator relies on.
    """
    reported = parse_status(read_or_empty(path))
    written, effective = reported.get("written-seconds", ""), reported.get("effective", "")
    if reported.get("boot") != boot_id or not (is_number(written) and is_number(effective)):
        return None, None
    return max(1, int(written)), max(2, int(effective))


def _may_sleep(arguments: Arguments) -> bool:
    """True if the kernel can suspend this machine and systemd may do so. False without --power-states."""
    if "power-states" not in arguments.paths:
        return False
    # A kernel that cannot sleep has no such file.
    states = read_or_empty(arguments.paths["power-states"])
    try:
        masked = os.readlink(arguments.paths.get("sleep-target", "")) == os.devnull
    except OSError:
        masked = False
    return bool(states.strip()) and not masked


def _find_machine(arguments: Arguments) -> Machine:
    if "cpuinfo" not in arguments.paths:
        return arguments.machine
    found = evaluate_cpuinfo(read_beginning(arguments.paths["cpuinfo"]))
    # The processor's flag outweighs the configured kind of machine.
    return arguments.machine if isinstance(found, Undetermined) else found


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
