"""Evidence E4: whether a marked boot has certainly been reset by its own watchdog."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor
from typing import Final

from nodemend.api.agent_lease import HARDWARE, SOFTWARE, UNTESTED, AgentReport
from nodemend.api.self_remediation import SelfRemediationSpec, Weakness
from nodemend.decide.explanation import spell_count
from nodemend.decide.fencing_holds import NoTimeProof
from nodemend.decide.proven_seconds import Look, PeerProof, Proof, enough, proven
from nodemend.decide.reboot_deadline import CLOCK_ERROR, FencingTimes, TooShort, judge_deadline

_BY_HAND: Final = "Switch it off yourself if it does not come back."


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumptions:
    """What is taken for granted of clocks, parts and peers. Times are in seconds."""

    clock_error: float = CLOCK_ERROR
    watchdog_error: float = 0.02
    reset_takes: float = 1.0
    drain: float = 5.0
    liars: int = 1
    """So many peers of a node may say anything to it, and yet no boot that lives on is released."""


USUALLY: Final = Assumptions()


@dataclass(frozen=True, slots=True)
class Over:
    """The boot that was marked is over, and a new one is held back from the node's pods."""


@dataclass(frozen=True, slots=True)
class Progress:
    """What is counted so far; `needed` seconds prove that the boot is over."""

    counted: Mapping[str, PeerProof]
    seconds: int
    """Whole seconds for which every list that the node may go by has enough peers covered."""
    needed: int
    covered: int
    """Peers that are covered at this moment."""
    done: bool


def needed_for(
    report: AgentReport, spec: SelfRemediationSpec, assumed: Assumptions = USUALLY
) -> int | NoTimeProof:
    """Whole seconds after which a marked boot is over; or why time proves nothing for this node."""
    if weak := _weakness(report, spec) or _loneliness(report, assumed):
        return weak
    if min(report.feed_lease, report.watchdog.effective) <= 0:
        return NoTimeProof("it reports times that prove nothing", "Look at what its agent logs.")
    times = FencingTimes(
        feed_lease=report.feed_lease,
        watchdog=report.watchdog.effective,
        clock_error=assumed.clock_error,
        watchdog_error=assumed.watchdog_error,
        reset_takes=assumed.reset_takes,
        drain=assumed.drain,
    )
    wanted = judge_deadline(spec.safe_time_seconds or None, times)
    if isinstance(wanted, TooShort):
        return NoTimeProof(str(wanted), "Raise spec.safeTimeSeconds in its template, or leave it out.")
    return ceil(wanted)


def _weakness(report: AgentReport, spec: SelfRemediationSpec) -> NoTimeProof | None:
    watchdog = report.watchdog
    if watchdog.class_ not in (HARDWARE, SOFTWARE, UNTESTED):
        why = watchdog.why or f"its watchdog is {watchdog.class_}"
        return NoTimeProof(why, _BY_HAND)
    if watchdog.class_ == SOFTWARE and Weakness.SOFTWARE_WATCHDOG not in spec.accept:
        return _weak("its watchdog is the kernel's own, which hangs with it", Weakness.SOFTWARE_WATCHDOG)
    if watchdog.class_ == UNTESTED and Weakness.UNTESTED_WATCHDOG not in spec.accept:
        return NoTimeProof(
            "its watchdog was never seen to reset it",
            f"Drill it (kubectl mend drill), or say {Weakness.UNTESTED_WATCHDOG.value} in spec.accept of its "
            "template.",
        )
    if not report.boot_gate and Weakness.NO_BOOT_GATE not in spec.accept:
        return _weak("no boot gate holds its kubelet back when it returns", Weakness.NO_BOOT_GATE)
    return None


def _weak(why: str, weakness: Weakness) -> NoTimeProof:
    return NoTimeProof(why, f"If you accept that, say {weakness.value} in spec.accept of its template.")


def _loneliness(report: AgentReport, assumed: Assumptions) -> NoTimeProof | None:
    """Nothing can be proven by peers of whom all may lie."""
    fewest, needed = min((len(names) for names in report.peers), default=0), assumed.liars + 1
    if fewest >= needed:
        return None
    why = f"it has {spell_count(fewest, 'peer')}, and with less than {needed} nothing is certain"
    return NoTimeProof(why, f"{_BY_HAND} Four nodes with agents are enough, or three of a control plane.")


def unvouched(report: AgentReport, looks: Mapping[str, Look], assumed: Assumptions) -> NoTimeProof | None:
    """Why the last report of a node may not be the last that it made, where too few peers vouch for that.

    Each of those must have remembered since before this report. Where all of them have booted since, or have
    noticed that etcd was restored, the node may have promised something else after what is seen here.
    """
    vouching = sum(look.contact.outlasts(report.replaces) for look in looks.values())
    if vouching > assumed.liars:
        return None
    why = (
        f"only {vouching} of its peers have been up since before its last report, and that needs "
        f"{assumed.liars + 1}: etcd may have been restored since then"
    )
    return NoTimeProof(why, _BY_HAND)


def weigh_time(
    counted: Proof,
    looks: Mapping[str, Look],
    now: float,
    lists: Sequence[Sequence[str]],
    needed: int,
    liars: int = USUALLY.liars,
) -> Progress:
    """`counted` is up to a moment before the looks; these cover what came since, up to `now`."""

    def is_enough(seconds: float) -> bool:
        return enough(proven(counted, looks, now, seconds), lists, liars)

    reached = sorted({floor(one.seconds) for one in counted.values()}, reverse=True)
    seconds = next((one for one in reached if is_enough(one)), 0)
    covered = proven(counted, looks, now, 0.0)
    of_the_node = {name for names in lists for name in names}
    return Progress(counted, seconds, needed, len(covered & of_the_node), done=is_enough(needed))
