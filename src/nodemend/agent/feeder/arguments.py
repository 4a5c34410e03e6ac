"""The feeder's command line. Every path is an argument without a default: nothing is opened by accident."""

from nodemend.decide.small_value import SmallValue
from nodemend.decide.watchdog_class import SECOND, Drill, Machine, Physical, Undetermined, Virtual

USAGE = """\
feeder --device PATH --lock PATH --lease PATH --permit PATH --status PATH --boot-id PATH [--...] [-- CHECK...]
  --wanted-reset SECONDS   effective time from the last ping to the reset, at most (10)
  --lease-length SECONDS   how far ahead a lease may reach (35)
  --ping-every SECONDS     (2)
  --check-every SECONDS    how often CHECK is run when half of the lease is over (5)
  --sysfs PATH             the device's folder under /sys/class, for what only the kernel knows of it
  --sysrq PATH             where a condemned node may ask for a reset, as an attempt
  --oom-score PATH         where protection from the OOM killer is asked for
  --power-states PATH      where the kernel says whether this machine can sleep
  --sleep-target PATH      systemd's unit for it: masked where it leads to /dev/null
  --cpuinfo PATH           where it stands whether this is a virtual machine
  --machine KIND           physical or virtual, where that file cannot tell
  --drill IDENTITY,SECONDS,MILLISECONDS   a reset that was timed: the driver, what was written, what it took
  --recorder COMMAND       run when the device is not fed any more, to keep a record; words apart by spaces
"""

_REQUIRED = ("device", "lock", "lease", "permit", "status", "boot-id")
_PATHS = (*_REQUIRED, "sysfs", "sysrq", "oom-score", "cpuinfo", "power-states", "sleep-target")
_SECONDS = {"wanted-reset": "10", "lease-length": "35", "ping-every": "2", "check-every": "5"}
_OTHER = ("machine", "drill", "recorder")
_MACHINES: dict[str, Machine] = {"physical": Physical(), "virtual": Virtual()}


class Arguments(SmallValue):
    """As given. Times are nanoseconds; `paths` has the required ones in any case."""

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
    """The message says which."""


def parse_arguments(words: list[str]) -> Arguments:
    """Raises WrongArgumentsError."""
    options, check = _split(words)
    if missing := [name for name in _REQUIRED if name not in options]:
        raise WrongArgumentsError(f"missing: {', '.join(missing)}")
    times = {name: _time(name, options.get(name, usual)) for name, usual in _SECONDS.items()}
    # Two pings must fit: one may be lost to a late wake-up without a reset.
    if times["ping-every"] * 2 > times["wanted-reset"]:
        raise WrongArgumentsError("ping-every must be at most half of wanted-reset")
    return Arguments(
        paths={name: options[name] for name in _PATHS if name in options},
        wanted_reset=times["wanted-reset"],
        lease_length=times["lease-length"],
        ping_every=times["ping-every"],
        check_every=times["check-every"],
        machine=_machine(options.get("machine")),
        drill=_drill(options.get("drill")),
        check=tuple(check),
        recorder=tuple(options.get("recorder", "").split()),
    )


def _split(words: list[str]) -> tuple[dict[str, str], list[str]]:
    """The options by name, and what follows `--`."""
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


def _machine(text: str | None) -> Machine:
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


def judge_cpuinfo(text: bytes) -> Machine:
    """By the flag that hypervisors set for their guests. Processors that have no such flags tell nothing."""
    for line in text.splitlines(keepends=True):
        name, _, flags = line.partition(b":")
        # A line without its end was cut off, and the flag with it.
        if name.strip() == b"flags" and line.endswith(b"\n"):
            return Virtual() if b"hypervisor" in flags.split() else Physical()
    return Undetermined()
