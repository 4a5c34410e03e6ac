"""The feeder's status as text: a line a fact, its name first. For the agent, the boot gate, and people."""

from nodemend.agent.feeder.records import VERSION as RECORDS
from nodemend.agent.feeder.records import is_number
from nodemend.agent.feeder.words import (
    Armed,
    Condemned,
    Ended,
    LockedOut,
    Starving,
    State,
    Status,
    StoodDown,
    Waiting,
)
from nodemend.decide.watchdog_class import Hardware, Software, Unsupported, WatchdogClass

_KIND = "nodemend-feeder-status"
VERSION = f"{_KIND} 1"
"""A later version may add facts, and never changes what one of these names means."""


def format_status(status: Status, boot_id: str, lacking: list[str]) -> bytes:
    """Times are nanoseconds of CLOCK_BOOTTIME; a fact that there is not has no line."""
    device = status.device
    facts: dict[str, object] = {
        "boot": boot_id,
        "reads": RECORDS,
        "state": _state(status.state),
        "why": status.why,
        "lease-until": status.lease.until,
        "lease-length": status.lease_length,
        "lease-by": "agent" if status.renewed_by_agent else "feeder",
        "class": _class(status.watchdog_class),
        "lacking": ",".join(lacking),
        "effective": status.effective,
        "last-ping": status.last_ping,
    }
    if isinstance(status.state, Starving):
        facts["starving-since"] = status.state.since
        facts["for-good"] = _yes(status.state.for_good)
    if isinstance(status.watchdog_class, Unsupported):
        facts["unsupported-because"] = status.watchdog_class.why
    if device is not None:
        facts["driver"] = device.identity
        facts["written-seconds"] = device.timeout_seconds
        facts["magic-close"] = _yes(device.magic_close)
        facts["nowayout"] = "unknown" if device.nowayout is None else _yes(device.nowayout)
    told = [f"{name} {value}" for name, value in facts.items() if value not in (None, "")]
    lines = [line.replace("\n", " ") for line in told]
    return "\n".join([VERSION, *lines, ""]).encode("ascii", "replace")


def parse_status(text: bytes) -> dict[str, str]:
    """The facts by name; none at all if it is not such a text."""
    # Not splitlines, for which more than a line feed ends a line.
    first, *lines = text.decode("ascii", "replace").split("\n")
    kind, _, version = first.partition(" ")
    if kind != _KIND or not is_number(version) or int(version) < 1:
        return {}
    return {name: value for name, _, value in (line.partition(" ") for line in lines if line)}


def _state(state: State) -> str:
    match state:
        case LockedOut():
            return "locked-out"
        case Waiting():
            return "waiting"
        case Armed():
            return "armed"
        case StoodDown():
            return "stood-down"
        case Starving():
            return "starving"
        case Condemned():
            return "condemned"
        case Ended():
            return "ended"


def _class(found: WatchdogClass) -> str:
    match found:
        case Hardware():
            return "hardware"
        case Software():
            return "software"
        case Unsupported():
            return "unsupported"


def _yes(holds: bool) -> str:
    return "yes" if holds else "no"
