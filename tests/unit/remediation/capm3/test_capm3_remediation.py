"""CAPM3's remediations: a delegate serves them if CAPM3 certainly does not run, in CAPM3's status."""

from dataclasses import replace

import pytest

from nodemend.api import well_known
from nodemend.api.meta import ObjectMeta
from nodemend.api.metal3_remediation import (
    Capm3Remediation,
    Capm3RemediationStatus,
    Metal3Remediation,
    Metal3RemediationPhase,
    Metal3RemediationSpec,
    Metal3RemediationStatus,
)
from nodemend.remediation.capm3.decide import (
    PHASES,
    Capm3Facts,
    Capm3Request,
    CreateDelegate,
    DeleteDelegate,
    NameTaken,
    ServedByCapm3,
    Step,
    StrategyUnknown,
    WriteCapm3Status,
    decide,
    translate,
    with_status,
)
from nodemend.rules.request import ExternalLease
from nodemend.safety.facts import Absent, Present, Unreadable
from nodemend.safety.holds import CannotRead, Hold
from nodemend.safety.lifecycle import AddFinalizer, DropFinalizer, NothingLeft

WISH = Capm3Request("Reboot", 2, 300.0)
SPEC = Metal3RemediationSpec(delete_after_retries=2, power_on_timeout_seconds=300)
NEW = ObjectMeta(name="m1", namespace="metal3", uid="theirs")
BEGUN = NEW.but(finalizers=(well_known.SAFE_END,))
THEIR_FINALIZER = (well_known.CAPM3_FINALIZER,)
GOING = "2026-01-01T00:00:00Z"
HELD = ExternalLease("capm3-system/lease", "capm3-0", 15.0, 3.0)
RUNNING = Capm3RemediationStatus(phase="Running", last_remediated="11:00")
DELEGATE = Metal3Remediation(
    metadata=ObjectMeta(
        name="m1", namespace="metal3", uid="ours", annotations={well_known.DELEGATE_OF: "theirs"}
    )
)
ENDING = DELEGATE.but(metadata=DELEGATE.metadata.but(deletion_timestamp=GOING))
STRANGER = DELEGATE.but(metadata=DELEGATE.metadata.but(annotations={}))
OF_AN_EARLIER = DELEGATE.but(metadata=DELEGATE.metadata.but(annotations={well_known.DELEGATE_OF: "earlier"}))
SERVED = ServedByCapm3("capm3-0 holds the Lease capm3-system/lease")


def facts(
    metadata: ObjectMeta = NEW,
    status: Capm3RemediationStatus = Capm3RemediationStatus(),  # noqa: B008 - frozen
    ours: Metal3Remediation | Unreadable | None = None,
    **changes: object,
) -> Capm3Facts:
    """Facts without any other controller, with these changes."""
    seen = ours if isinstance(ours, Unreadable) else Present(ours) if ours else Absent()
    theirs = Capm3Remediation(metadata=metadata, status=status)
    return replace(Capm3Facts(theirs=theirs, wish=WISH, ours=seen, leases=Present(())), **changes)  # type: ignore[arg-type]


def at(phase: Metal3RemediationPhase, retries: int = 0) -> Metal3Remediation:
    return DELEGATE.but(status=Metal3RemediationStatus(phase=phase, retry_count=retries))


STORIES: list[tuple[str, Capm3Facts, Step]] = [
    ("a finalizer first", facts(), AddFinalizer()),
    ("then the stand-in", facts(BEGUN), CreateDelegate(SPEC)),
    (
        "which is told",
        facts(BEGUN, ours=at(Metal3RemediationPhase.PENDING)),
        WriteCapm3Status("Running", 0, again=True),
    ),
    ("once", facts(BEGUN, RUNNING, at(Metal3RemediationPhase.RELEASE)), NothingLeft()),
    (
        "power is back",
        facts(BEGUN, RUNNING, at(Metal3RemediationPhase.POWER_ON)),
        WriteCapm3Status("Waiting", 0, again=False),
    ),
    (
        "the next attempt is dated",
        facts(BEGUN, RUNNING.but(phase="Waiting", retry_count=1), at(Metal3RemediationPhase.POWER_OFF, 1)),
        WriteCapm3Status("Running", 1, again=True),
    ),
    (
        "it was handed over",
        facts(BEGUN, RUNNING, at(Metal3RemediationPhase.DELETING_MACHINE, 3)),
        WriteCapm3Status("Deleting machine", 3, again=False),
    ),
    (
        "it has failed",
        facts(BEGUN, RUNNING, at(Metal3RemediationPhase.FAILED, 3)),
        WriteCapm3Status("Failed", 3, again=False),
    ),
    (
        "CAPM3's finalizer is on it",
        facts(NEW.but(finalizers=THEIR_FINALIZER)),
        Hold(ServedByCapm3("its finalizer is on it")),
    ),
    (
        "somebody wrote its status, and it was not us",
        facts(NEW, RUNNING),
        Hold(ServedByCapm3("another controller has written its phase, Running")),
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
        "one that lasts no time, too",
        facts(leases=Present((replace(HELD, lasts=0.0, unchanged_for=9999.0),))),
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
        facts(BEGUN, RUNNING, at(Metal3RemediationPhase.POWER_ON), leases=Unreadable("403")),
        WriteCapm3Status("Waiting", 0, again=False),
    ),
    (
        "not knowing the stand-in",
        facts(BEGUN, ours=Unreadable("500")),
        Hold(CannotRead("its delegate, the Metal3Remediation", "500")),
    ),
    ("its name is taken", facts(ours=STRANGER), Hold(NameTaken("m1"))),
    ("after it began, too", facts(BEGUN, ours=STRANGER), Hold(NameTaken("m1"))),
    ("by an earlier one's that is ending", facts(BEGUN, ours=OF_AN_EARLIER), Hold(NameTaken("m1"))),
    (
        "an unknown strategy touches nothing",
        facts(wish=None),
        Hold(StrategyUnknown("spec.strategy is missing")),
    ),
    (
        "the stand-in was stopped: it is not made anew",
        facts(BEGUN, RUNNING),
        WriteCapm3Status("Failed", 0, again=False),
    ),
    ("and that was it", facts(BEGUN, RUNNING.but(phase="Failed")), NothingLeft()),
    (
        "CAPM3 turns up later: ours is taken back",
        facts(BEGUN.but(finalizers=(well_known.SAFE_END, well_known.CAPM3_FINALIZER)), RUNNING, DELEGATE),
        DeleteDelegate(DELEGATE),
    ),
    ("by its Lease, too", facts(BEGUN, RUNNING, DELEGATE, leases=Present((HELD,))), DeleteDelegate(DELEGATE)),
    ("its end is waited for", facts(BEGUN, RUNNING, ENDING, leases=Present((HELD,))), NothingLeft()),
    ("then nothing of ours is on it", facts(BEGUN, RUNNING, leases=Present((HELD,))), DropFinalizer()),
    ("deleted", facts(BEGUN.but(deletion_timestamp=GOING), RUNNING, DELEGATE), DeleteDelegate(DELEGATE)),
    ("deleted, and ending", facts(BEGUN.but(deletion_timestamp=GOING), RUNNING, ENDING), NothingLeft()),
    ("deleted, and ended", facts(BEGUN.but(deletion_timestamp=GOING), RUNNING), DropFinalizer()),
    (
        "deleted, and the stranger stays",
        facts(BEGUN.but(deletion_timestamp=GOING), RUNNING, STRANGER),
        DropFinalizer(),
    ),
    ("deleted before it began", facts(NEW.but(deletion_timestamp=GOING)), NothingLeft()),
]


@pytest.mark.parametrize(
    ("world", "expected"), [pytest.param(world, step, id=name) for name, world, step in STORIES]
)
def test_next_step(world: Capm3Facts, expected: Step) -> None:
    assert decide(world) == expected


def test_every_phase_has_a_capm3_phase() -> None:
    assert PHASES.keys() == set(Metal3RemediationPhase)
    assert set(PHASES.values()) <= {"Running", "Waiting", "Deleting machine", "Failed"}


@pytest.mark.parametrize(
    ("wish", "spec"),
    [
        (WISH, SPEC),
        (Capm3Request("Reboot", 0, None), Metal3RemediationSpec(delete_after_retries=1)),
        (Capm3Request("Reboot", 1, 0.0), Metal3RemediationSpec(delete_after_retries=1)),
        (
            Capm3Request("Reboot", 1, 10.0),
            Metal3RemediationSpec(delete_after_retries=1, power_on_timeout_seconds=60),
        ),
        (
            Capm3Request("Reboot", 1000, 1e9),
            Metal3RemediationSpec(delete_after_retries=100, power_on_timeout_seconds=86_400),
        ),
    ],
)
def test_a_request_is_translated(wish: Capm3Request, spec: Metal3RemediationSpec) -> None:
    assert translate(wish) == spec


@pytest.mark.parametrize(
    ("wish", "said"),
    [
        (None, "spec.strategy is missing"),
        (Capm3Request("", 1, None), "spec.strategy.type is missing, and Reboot is the only one"),
        (Capm3Request("Pray", 1, None), "spec.strategy.type is Pray, and Reboot is the only one"),
        (Capm3Request("Reboot", 1, "spec.strategy.timeout: odd"), "spec.strategy.timeout: odd"),
    ],
)
def test_an_unsupported_request_is_refused_with_a_message(wish: Capm3Request | None, said: str) -> None:
    assert translate(wish) == StrategyUnknown(said)


def test_only_a_new_attempt_is_dated() -> None:
    assert with_status(
        RUNNING, WriteCapm3Status("Waiting", 1, again=False), "12:00"
    ) == Capm3RemediationStatus(phase="Waiting", retry_count=1, last_remediated="11:00")
    assert (
        with_status(RUNNING, WriteCapm3Status("Running", 2, again=True), "12:00").last_remediated == "12:00"
    )
