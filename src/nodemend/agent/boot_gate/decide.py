"""Decides when kubelet may start: after the watchdog is armed, and a write then met no marker.

The order matters. If kubelet runs, or has only listed its pods, before the watchdog is armed, the node can be
cut off and run forever; and an API check that was clean before the watchdog was armed says nothing about the
time in between. So the API check that opens the gate starts after the feeder was observed to feed. It is a
write, or follows one, so that a later marker is for this boot and not for an earlier one.

A gate that must stay closed publishes this boot all the same, because the remediator waits for the new boot.
"""

from nodemend.agent import exit_codes
from nodemend.agent.watchdog.records import is_number
from nodemend.protocol.self_resets import MayStart, StaysGated
from nodemend.protocol.values import SmallValue

OPEN = "nodemend.gate=open"
"""On the kernel's command line: an operator lets this boot start, unless an API check shows a marker."""
FORGET = "nodemend.forget-resets"
"""On the kernel's command line: an operator has investigated, and earlier resets do not keep this boot
waiting."""


class GateClosed(SmallValue):
    """The gate stays closed for now."""

    why: str


class CheckNow(SmallValue):
    """The watchdog is fed: an API check that starts now counts."""


class GateOpen(SmallValue):
    """Kubelet may start.

    `unguarded` is the reason to start although this boot was not published. It is empty if the boot was
    published, or if the node has no Lease, so that no release relies on it.
    """

    unguarded: str = ""


class GateOptions(SmallValue):
    """Reasons to open if no API check decides: an operator's request, or the first boot of a machine."""

    by_person: bool = False
    first_boot: bool = False
    """Kubelet has no certificate, and no gate on this disk has ever opened after an API check."""
    answered: bool = False
    """An earlier API check of this gate has shown a marker, so the marker's writer may have read that the
    gate is closed."""


_NOTHING = GateOptions()


def evaluate_feeder(status: dict[str, str], boot_id: str, now: int) -> CheckNow | GateClosed:
    """Evaluate the status that the feeder wrote. `now` is CLOCK_BOOTTIME in nanoseconds."""
    if status.get("boot") != boot_id:
        return GateClosed("the feeder has not reported anything in this boot")
    if status.get("state") != "armed":
        return GateClosed(f"the feeder is {status.get('state')}: {status.get('why', 'no reason reported')}")
    last_ping, effective = status.get("last-ping", ""), status.get("effective", "")
    if not (is_number(last_ping) and is_number(effective)):
        return GateClosed("the feeder does not report when it last fed")
    # A feeder that was killed leaves its last status behind.
    if not 0 <= now - int(last_ping) < int(effective):
        return GateClosed("the feeder was armed, and has not fed for long")
    return CheckNow()


MARKED = {
    exit_codes.MARKED: "this boot is marked: it is to end",
    exit_codes.MARKED_FOR_DRILL: "this boot is marked for a drill: it is to end",
    exit_codes.MARKED_FOR_ANOTHER_BOOT: "an earlier boot was marked, and its remediation is not done",
}
WAY_OUT = (
    "To let kubelet start all the same, make sure that nothing of this node runs elsewhere, and: "
    "touch /run/nodemend/open-gate, or boot once with nodemend.gate=open"
)
_ABSENCE_CHECKS = 3
_GONE_FOR = 30.0
_FAILED = "this boot could not be published: see the line above, or the API server did not answer"
_UNGUARDED = {
    exit_codes.NO_NODE: "there is no such Node",
    exit_codes.STOPPED_GRACEFULLY: "its agent was stopped, and said so",
    exit_codes.UNINSTALLED: "Nodemend is not installed in this cluster any more",
}
"""Reasons for which no release relies on this gate: no pod is bound to a Node that does not exist, and there
is no release by time, or for a new boot, of a node whose agent stopped gracefully or in a cluster without
SelfRemediations."""


def evaluate_check(exit_code: int) -> GateOpen | GateClosed:
    """Evaluate the exit code of an API check that publishes.

    Without a Lease the gate opens: no release relies on a node that never published a watchdog, and there is
    no object that could carry a marker.
    """
    if exit_code in (exit_codes.CLEAN, exit_codes.ABSENT, exit_codes.TAKEN_OVER):
        return GateOpen()
    if exit_code in _UNGUARDED:
        return GateOpen(_UNGUARDED[exit_code])
    return GateClosed(MARKED.get(exit_code, _FAILED))


def evaluate_gate(
    feeder: CheckNow | GateClosed, exit_code: int, held_back: str = "", asked: GateOptions = _NOTHING
) -> GateOpen | GateClosed:
    """Combine the feeder's state from before the API check with the check's exit code.

    A marker is the reason that is reported first, because it also keeps the feeder waiting. `held_back` is
    the reason to stay closed in spite of a clean check.

    The remediator may rely on a gate that was published as held back. So the gate opens only by a check that
    did not publish this. A request in `asked` opens the gate unless the check has shown a marker. For an
    operator's request the check does not publish that the gate is held back. If an earlier check may have
    published that, the operator's request needs an acknowledged check, and the first boot is no reason to
    open. The same holds if the gate has answered a marker: the marker's writer may release the node's pods
    while the API server is unreachable.
    """
    looked = evaluate_check(exit_code)
    if exit_code in MARKED:
        return looked
    if exit_code in (exit_codes.STOPPED_GRACEFULLY, exit_codes.UNINSTALLED):
        return looked
    published = isinstance(looked, GateOpen)
    reported = bool(held_back) or asked.answered
    if asked.by_person and (published or not reported):
        return looked if published and isinstance(feeder, CheckNow) else GateOpen("a person has asked for it")
    if asked.first_boot and not reported:
        return GateOpen("kubelet has no certificate yet: this machine has never been a node")
    if isinstance(feeder, GateClosed):
        return feeder
    return GateClosed(held_back) if held_back and published else looked


class NothingInstalled(SmallValue):
    """Consecutive checks that found Nodemend uninstalled, and the monotonic time of the first, in seconds."""

    checks: int = 0
    since: float = 0.0


def count_absence(before: NothingInstalled, exit_code: int, now: float) -> NothingInstalled:
    """Count a check. A check without an answer changes nothing; any answer but Uninstalled ends the count."""
    if exit_code == exit_codes.UNINSTALLED:
        return NothingInstalled(before.checks + 1, before.since if before.checks else now)
    # Negative: a signal ended the check, or it never started.
    return before if exit_code == exit_codes.NO_ANSWER or exit_code < 0 else NothingInstalled()


def evaluate_absence(gone: NothingInstalled, now: float) -> GateClosed | None:
    """Return None once the uninstallation is certain; until then the gate stays closed.

    It takes several checks, because the servers of a cluster do not learn of a change at the same moment.
    """
    if gone.checks >= _ABSENCE_CHECKS and now - gone.since >= _GONE_FOR:
        return None
    return GateClosed("Nodemend seems not to be installed any more: it looks again for half a minute")


def hold_back(resets: StaysGated | MayStart, command_line: str) -> str:
    """Return why an unmarked boot with a fed watchdog waits for an operator; empty if it does not."""
    match resets:
        case StaysGated(count, window) if FORGET not in command_line.split():
            within = f"{count} times within {window / 60:.0f} minutes"
            return f"it has reset itself {within}: an operator must check it"
        case _:
            return ""
