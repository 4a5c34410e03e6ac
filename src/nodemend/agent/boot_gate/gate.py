"""When kubelet may start: armed first, then published by a write that met no marker, then go.

In this order. A boot in which kubelet runs, or has only listed its pods, before the watchdog is armed can be
cut off and live on for ever; and a look that was clean before it was armed says nothing of what came in
between. So the look that opens the gate begins after the feeder was seen to feed. And it is a
write, or follows one: a marker that is written later is then for this boot, and for no earlier one.

Where the gate has to stay closed this boot is published all the same: that it is another one is what the
manager waits for.
"""

from nodemend.agent.api_check import exit_codes
from nodemend.decide.self_resets import MayStart, StaysGated
from nodemend.decide.small_value import SmallValue

OPEN = "nodemend.gate=open"
"""On the kernel's command line: a person lets this boot start, unless a look shows a marker."""
FORGET = "nodemend.forget-resets"
"""On the kernel's command line: a person has looked, and this boot may start whatever came before."""


class Closed(SmallValue):
    """Not yet."""

    why: str


class AskNow(SmallValue):
    """The watchdog is fed: a look that begins now counts."""


class Go(SmallValue):
    """Kubelet may start. `unguarded` is why it may though this boot was not published; empty where it was, or
    where nobody was promised anything about this node."""

    unguarded: str = ""


class Asked(SmallValue):
    """What a person, or the first boot of a machine, asks of the gate where no look says anything."""

    by_person: bool = False
    first_boot: bool = False
    """There is no certificate of kubelet, and no gate on this disk has ever opened after a look."""
    answered: bool = False
    """An earlier look of this gate has shown a marker. Its writer may have been told that it is closed."""


_NOTHING = Asked()


def judge_feeder(status: dict[str, str], boot_id: str, now: int) -> AskNow | Closed:
    """By the status that the feeder wrote. `now` is nanoseconds of CLOCK_BOOTTIME."""
    if status.get("boot") != boot_id:
        return Closed("the feeder has not told anything in this boot")
    if status.get("state") != "armed":
        return Closed(f"the feeder is {status.get('state')}: {status.get('why', 'no reason told')}")
    try:
        last_ping, effective = int(status["last-ping"]), int(status["effective"])
    except (KeyError, ValueError):
        return Closed("the feeder does not tell when it fed last")
    # A feeder that was killed leaves its last word behind.
    if not 0 <= now - last_ping < effective:
        return Closed("the feeder was armed, and has not fed for long")
    return AskNow()


MARKED = {
    exit_codes.MARKED: "this boot is marked: it is to end",
    exit_codes.MARKED_FOR_DRILL: "this boot is marked for a drill: it is to end",
    exit_codes.MARKED_FOR_ANOTHER_BOOT: "an earlier boot was marked, and its remediation is not done",
}
WAY_OUT = (
    "To let kubelet start all the same, make sure that nothing of this node runs elsewhere, and: "
    "touch /run/nodemend/open-gate, or boot once with nodemend.gate=open"
)
_GONE_LOOKS = 3
_GONE_FOR = 30.0
_FAILED = "this boot could not be published: see the line above, or the API server did not answer"
_UNGUARDED = {
    exit_codes.NO_NODE: "there is no such Node",
    exit_codes.STOOD_DOWN: "its agent was stopped, and said so",
    exit_codes.UNINSTALLED: "Nodemend is not installed in this cluster any more",
}
"""Nobody relies on this gate: no pod is bound to a Node that is not there, and nothing is released by time,
or for a new boot, of a node whose agent stood down, or in a cluster that has no SelfRemediations."""


def judge_look(exit_code: int) -> Go | Closed:
    """By the exit code of an API check that publishes.

    Without a Lease the gate opens: a node that never published a watchdog was promised to nobody, and a
    marker has nothing to stand on.
    """
    if exit_code in (exit_codes.CLEAN, exit_codes.ABSENT, exit_codes.TAKEN_OVER):
        return Go()
    if exit_code in _UNGUARDED:
        return Go(_UNGUARDED[exit_code])
    return Closed(MARKED.get(exit_code, _FAILED))


def judge(
    feeder: AskNow | Closed, exit_code: int, held_back: str = "", asked: Asked = _NOTHING
) -> Go | Closed:
    """`feeder` is from before the look. A marker is the better reason: it keeps the feeder waiting, too.

    `held_back` is why it stays closed all the same. Opening takes a look in which nobody was told that it is.
    Whoever asks for it to open is heard unless the look has shown a marker. For a person nobody is told that
    it is held back; where an earlier look may have told that, it takes one that is acknowledged. So it does
    where a marker was answered: its writer may release the node's pods while the API server is out of reach.
    """
    looked = judge_look(exit_code)
    if exit_code in MARKED:
        return looked
    if exit_code in (exit_codes.STOOD_DOWN, exit_codes.UNINSTALLED):
        return looked
    published = isinstance(looked, Go)
    told = bool(held_back) or asked.answered
    if asked.by_person and (published or not told):
        return looked if published and isinstance(feeder, AskNow) else Go("a person has asked for it")
    if asked.first_boot and not told:
        return Go("kubelet has no certificate yet: this machine has never been a node")
    if isinstance(feeder, Closed):
        return feeder
    return Closed(held_back) if held_back and published else looked


class Gone(SmallValue):
    """In how many looks nothing of ours was installed, and since when: seconds of a clock that only rises."""

    looks: int = 0
    since: float = 0.0


def count_gone(before: Gone, exit_code: int, now: float) -> Gone:
    """A look without an answer says nothing for or against it; any other answer ends the count."""
    if exit_code == exit_codes.UNINSTALLED:
        return Gone(before.looks + 1, before.since if before.looks else now)
    # Below zero: it was ended by a signal, or never began.
    return before if exit_code == exit_codes.NO_ANSWER or exit_code < 0 else Gone()


def judge_gone(gone: Gone, now: float) -> Closed | None:
    """None once it is believed. The servers of a cluster do not learn of a change at the same moment."""
    if gone.looks >= _GONE_LOOKS and now - gone.since >= _GONE_FOR:
        return None
    return Closed("Nodemend seems not to be installed any more: it looks again for half a minute")


def hold_back(resets: StaysGated | MayStart, command_line: str) -> str:
    """Why a boot whose feeder feeds, and that nobody has marked, waits for a person; empty if it does not."""
    match resets:
        case StaysGated(count, window) if FORGET not in command_line.split():
            return f"it has reset itself {count} times within {window / 60:.0f} minutes: somebody should look"
        case _:
            return ""
