"""CAPM3's remediations: carried out by ours where CAPM3 is certainly not at work, told in its words."""

from dataclasses import replace

import pytest

from nodemend.api import keys
from nodemend.api.capm3_remediation import Capm3Remediation, Capm3RemediationStatus
from nodemend.api.object_meta import ObjectMeta
from nodemend.api.power_cycle import Metal3Remediation, Metal3RemediationSpec, Metal3RemediationStatus, Phase
from nodemend.decide.capm3_holds import NameTaken, ServedByCapm3, StrategyUnknown
from nodemend.decide.capm3_remediation import (
    PHASES,
    Ask,
    Capm3Facts,
    Step,
    Tell,
    Wish,
    Withdraw,
    decide,
    told,
    translate,
)
from nodemend.decide.facts import Absent, Present, Unreadable
from nodemend.decide.holds import CannotRead, Hold
from nodemend.decide.neighbour_lease import NeighbourLease
from nodemend.decide.remediation_steps import AddFinalizer, Done, DropFinalizer

WISH = Wish("Reboot", 2, 300.0)
SPEC = Metal3RemediationSpec(delete_after_retries=2, power_on_timeout_seconds=300)
NEW = ObjectMeta(name="m1", namespace="metal3", uid="theirs")
BEGUN = NEW.but(finalizers=(keys.SAFE_END,))
THEIR_FINALIZER = (keys.CAPM3_FINALIZER,)
GOING = "2026-01-01T00:00:00Z"
HELD = NeighbourLease("capm3-system/lease", "capm3-0", 15.0, 3.0)
RUNNING = Capm3RemediationStatus(phase="Running", last_remediated="11:00")
STAND_IN = Metal3Remediation(
    metadata=ObjectMeta(name="m1", namespace="metal3", uid="ours", annotations={keys.STAND_IN_FOR: "theirs"})
)
ENDING = STAND_IN.but(metadata=STAND_IN.metadata.but(deletion_timestamp=GOING))
STRANGER = STAND_IN.but(metadata=STAND_IN.metadata.but(annotations={}))
OF_AN_EARLIER = STAND_IN.but(metadata=STAND_IN.metadata.but(annotations={keys.STAND_IN_FOR: "earlier"}))
SERVED = ServedByCapm3("capm3-0 holds the Lease capm3-system/lease")


def facts(
    metadata: ObjectMeta = NEW,
    status: Capm3RemediationStatus = Capm3RemediationStatus(),  # noqa: B008 - frozen
    ours: Metal3Remediation | Unreadable | None = None,
    **changes: object,
) -> Capm3Facts:
    """Nobody else is there, but for what `changes` say."""
    seen = ours if isinstance(ours, Unreadable) else Present(ours) if ours else Absent()
    theirs = Capm3Remediation(metadata=metadata, status=status)
    return replace(Capm3Facts(theirs=theirs, wish=WISH, ours=seen, leases=Present(())), **changes)  # type: ignore[arg-type]


def at(phase: Phase, retries: int = 0) -> Metal3Remediation:
    return STAND_IN.but(status=Metal3RemediationStatus(phase=phase, retry_count=retries))


STORIES: list[tuple[str, Capm3Facts, Step]] = [
    ("a finalizer first", facts(), AddFinalizer()),
    ("then the stand-in", facts(BEGUN), Ask(SPEC)),
    ("which is told", facts(BEGUN, ours=at(Phase.PENDING)), Tell("Running", 0, again=True)),
    ("once", facts(BEGUN, RUNNING, at(Phase.RELEASE)), Done()),
    ("power is back", facts(BEGUN, RUNNING, at(Phase.POWER_ON)), Tell("Waiting", 0, again=False)),
    (
        "the next attempt is dated",
        facts(BEGUN, RUNNING.but(phase="Waiting", retry_count=1), at(Phase.POWER_OFF, 1)),
        Tell("Running", 1, again=True),
    ),
    (
        "it was handed over",
        facts(BEGUN, RUNNING, at(Phase.DELETING_MACHINE, 3)),
        Tell("Deleting machine", 3, again=False),
    ),
    ("it has failed", facts(BEGUN, RUNNING, at(Phase.FAILED, 3)), Tell("Failed", 3, again=False)),
    (
        "CAPM3's finalizer is on it",
        facts(NEW.but(finalizers=THEIR_FINALIZER)),
        Hold(ServedByCapm3("its finalizer is on it")),
    ),
    (
        "somebody wrote its status, and it was not us",
        facts(NEW, RUNNING),
        Hold(ServedByCapm3("somebody has written its phase, Running")),
    ),
    ("CAPM3's leader Lease is held", facts(leases=Present((HELD,))), Hold(SERVED)),
    (
        "one of several is enough",
        facts(leases=Present((replace(HELD, holder=""), HELD))),
        Hold(SERVED),
    ),
    ("a Lease that nobody has", facts(leases=Present((replace(HELD, holder=""),))), AddFinalizer()),
    (
        "one that was seen silent for its whole duration",
        facts(leases=Present((replace(HELD, unchanged_for=15.0),))),
        AddFinalizer(),
    ),
    (
        "one that does not say how long it lasts may be held for ever",
        facts(leases=Present((replace(HELD, lasts=None, unchanged_for=9999.0),))),
        Hold(SERVED),
    ),
    (
        "not knowing is no leave to begin",
        facts(leases=Unreadable("403")),
        Hold(CannotRead("the Leases by which CAPM3 elects a leader", "403")),
    ),
    (
        "nor to make the stand-in",
        facts(BEGUN, leases=Unreadable("403")),
        Hold(CannotRead("the Leases by which CAPM3 elects a leader", "403")),
    ),
    (
        "what goes on goes on",
        facts(BEGUN, RUNNING, at(Phase.POWER_ON), leases=Unreadable("403")),
        Tell("Waiting", 0, again=False),
    ),
    (
        "not knowing the stand-in",
        facts(BEGUN, ours=Unreadable("500")),
        Hold(CannotRead("the Metal3Remediation that stands in for it", "500")),
    ),
    ("its name is taken", facts(ours=STRANGER), Hold(NameTaken("m1"))),
    ("after it began, too", facts(BEGUN, ours=STRANGER), Hold(NameTaken("m1"))),
    ("by an earlier one's that is ending", facts(BEGUN, ours=OF_AN_EARLIER), Hold(NameTaken("m1"))),
    (
        "an unknown strategy touches nothing",
        facts(wish=None),
        Hold(StrategyUnknown("spec.strategy is missing")),
    ),
    ("the stand-in was stopped: it is not made anew", facts(BEGUN, RUNNING), Tell("Failed", 0, again=False)),
    ("and that was it", facts(BEGUN, RUNNING.but(phase="Failed")), Done()),
    (
        "CAPM3 turns up later: ours is taken back",
        facts(BEGUN.but(finalizers=(keys.SAFE_END, keys.CAPM3_FINALIZER)), RUNNING, STAND_IN),
        Withdraw(STAND_IN),
    ),
    ("by its Lease, too", facts(BEGUN, RUNNING, STAND_IN, leases=Present((HELD,))), Withdraw(STAND_IN)),
    ("its end is waited for", facts(BEGUN, RUNNING, ENDING, leases=Present((HELD,))), Done()),
    ("then nothing of ours is on it", facts(BEGUN, RUNNING, leases=Present((HELD,))), DropFinalizer()),
    ("deleted", facts(BEGUN.but(deletion_timestamp=GOING), RUNNING, STAND_IN), Withdraw(STAND_IN)),
    ("deleted, and ending", facts(BEGUN.but(deletion_timestamp=GOING), RUNNING, ENDING), Done()),
    ("deleted, and ended", facts(BEGUN.but(deletion_timestamp=GOING), RUNNING), DropFinalizer()),
    (
        "deleted, and the stranger stays",
        facts(BEGUN.but(deletion_timestamp=GOING), RUNNING, STRANGER),
        DropFinalizer(),
    ),
    ("deleted before it began", facts(NEW.but(deletion_timestamp=GOING)), Done()),
]


@pytest.mark.parametrize(
    ("world", "expected"), [pytest.param(world, step, id=name) for name, world, step in STORIES]
)
def test_next_step(world: Capm3Facts, expected: Step) -> None:
    assert decide(world) == expected


def test_every_phase_has_a_word_of_capm3s() -> None:
    assert PHASES.keys() == set(Phase)
    assert set(PHASES.values()) <= {"Running", "Waiting", "Deleting machine", "Failed"}


@pytest.mark.parametrize(
    ("wish", "spec"),
    [
        (WISH, SPEC),
        (Wish("Reboot", 0, None), Metal3RemediationSpec(delete_after_retries=1)),
        (Wish("Reboot", 1, 0.0), Metal3RemediationSpec(delete_after_retries=1)),
        (
            Wish("Reboot", 1, 10.0),
            Metal3RemediationSpec(delete_after_retries=1, power_on_timeout_seconds=60),
        ),
        (
            Wish("Reboot", 1000, 1e9),
            Metal3RemediationSpec(delete_after_retries=100, power_on_timeout_seconds=86_400),
        ),
    ],
)
def test_a_wish_is_translated(wish: Wish, spec: Metal3RemediationSpec) -> None:
    assert translate(wish) == spec


@pytest.mark.parametrize(
    ("wish", "said"),
    [
        (None, "spec.strategy is missing"),
        (Wish("", 1, None), "spec.strategy.type is missing, and Reboot is the only one"),
        (Wish("Pray", 1, None), "spec.strategy.type is Pray, and Reboot is the only one"),
        (Wish("Reboot", 1, "spec.strategy.timeout: odd"), "spec.strategy.timeout: odd"),
    ],
)
def test_or_refused_in_words(wish: Wish | None, said: str) -> None:
    assert translate(wish) == StrategyUnknown(said)


def test_only_a_new_attempt_is_dated() -> None:
    assert told(RUNNING, Tell("Waiting", 1, again=False), "12:00") == Capm3RemediationStatus(
        phase="Waiting", retry_count=1, last_remediated="11:00"
    )
    assert told(RUNNING, Tell("Running", 2, again=True), "12:00").last_remediated == "12:00"
