"""Reviewed timelines: the facts about edge-07, and the text and the picture of them.

`python -m tests.unit.cli.timeline.goldens` rewrites them; the reviewer reads the difference and checks the
pictures.
"""

from collections.abc import Iterator
from datetime import UTC, timedelta
from pathlib import Path
from typing import Final

from nodemend.api.manual_remediation import ManualRemediationPhase as ManualPhase
from nodemend.api.metal3_remediation import Metal3RemediationPhase
from nodemend.api.node_health_check import PastRemediation
from nodemend.api.self_remediation import SelfRemediationPhase as SelfPhase
from nodemend.cli.timeline.build import timeline_view
from nodemend.cli.timeline.collect import TimelineFacts, TimelineView
from nodemend.cli.timeline.svg import draw
from nodemend.cli.timeline.text import render
from nodemend.kube.events import EventWire
from nodemend.remediation.metal3.holds import NoMachineReplacement, WaitingForPowerOff
from nodemend.safety.host_power import ActiveAfterPowerOff
from tests.unit.cli.node_cases import (
    CHECKER,
    HOST,
    NODE,
    OUR_TAINT,
    REMEDIATING,
    a_case,
    a_check,
    a_host,
    a_lease,
    a_machine,
    a_node,
    a_power_cycle,
    a_sighting,
    a_volume,
    an_agent_lease,
    by_hand,
    by_itself,
    condition,
    event,
    evidence,
    of_host,
    often,
    written,
)

FOLDER: Final = Path(__file__).with_name("golden")
IN_DOCS: Final = Path(__file__).parents[4] / "docs" / "images" / "timeline.svg"
"""The picture in README.md: that of `healed`."""
DAY: Final = timedelta(hours=24)
OFF: Final = f"BareMetalHost {HOST} is off: its power went off after Nodemend's power-off request."


def _asked(begun: float = 350.0, kind: str = "Metal3Remediation") -> Iterator[EventWire]:
    """Silent at noon, and unhealthy until its remediation starts."""
    yield event(
        50.4,
        "NodeNotReady",
        "Node edge-07 status is now: NodeNotReady",
        reporting_controller="node-controller",
    )
    yield event(50.6, "NodeSuspect", "Ready=Unknown, but not yet for 300 s.", reporting_controller=CHECKER)
    yield event(begun, "NodeUnhealthy", "Ready=Unknown for 300 s.", reporting_controller=CHECKER)
    said = f"nhc/workers created a {kind} in nodemend-system."
    yield event(begun + 0.4, "RemediationStarted", said, reporting_controller=CHECKER)


def _attempt(begun: float) -> Iterator[EventWire]:
    requested = f"Nodemend requested metal3 to power off {HOST}."
    yield event(begun + 1.2, "PowerOffRequested", requested, type="Warning")
    yield of_host(begun + 12.0, "PowerOff", "Host soft powered off")
    yield event(begun + 49.1, "PowerOffConfirmed", OFF, type="Warning")
    said = f"Set the out-of-service taint on edge-07, because BareMetalHost {HOST} is off"
    said = f"{said}: its pods and volumes are released."
    yield event(begun + 49.6, "ReleaseStarted", said, type="Warning")
    yield event(begun + 78.0, "WorkloadsReleased", "All pods and volumes that must leave edge-07 have left.")
    yield event(begun + 78.5, "OutOfServiceTaintRemoved", "Removed the out-of-service taint from edge-07.")
    cleared = f"Nodemend cleared its power-off request on {HOST}: metal3 powers the host on."
    yield event(begun + 79.0, "PowerOnRequested", cleared)
    yield of_host(begun + 80.0, "PowerOn", "Host powered on")


def _back(seconds: float) -> Iterator[EventWire]:
    yield event(
        seconds - 1.0,
        "Rebooted",
        "Node edge-07 has been rebooted, boot id: boot-2",
        type="Warning",
        reporting_controller="kubelet",
    )
    yield event(seconds, "NodeReady", "Node edge-07 status is now: NodeReady", reporting_controller="kubelet")
    yield event(seconds + 2.0, "RemediationSucceeded", "edge-07 is back on a new boot.")
    said = "nhc/workers no longer needs its remediation, and deletes it."
    yield event(seconds + 31.0, "RemediationWithdrawn", said, reporting_controller=CHECKER)
    yield event(seconds + 32.0, "NodeHealthy", "No threshold is met.", reporting_controller=CHECKER)


def _healed() -> TimelineFacts:
    past = PastRemediation(
        node=NODE, kind="Metal3Remediation", began=written(350), ended=written(662), outcome="Healed"
    )
    case = a_case(
        900.0,
        node=a_node("True", 630.0),
        kubelet=a_lease(895.0),
        all_checks=[a_check(history=(past,))],
        power=[],
        host=a_host(on=True, wrote=441.0),
    )
    return TimelineFacts(case, (*_asked(), *_attempt(350.0), *_back(630.0)))


def _releasing() -> TimelineFacts:
    cycle = a_power_cycle(
        Metal3RemediationPhase.RELEASE,
        evidence=evidence(0.0, 392.0),
        seen_off=a_sighting(0.0, 392.0),
        tainted=True,
        pods_left=1,
        attachments_left=1,
        conditions=(condition("Processing", "True", 350.0), condition("Fenced", "True", 399.0, "PoweredOff")),
    )
    case = a_case(
        412.0,
        node=a_node("Unknown", 50.0, OUR_TAINT),
        kubelet=a_lease(0.0),
        all_checks=[a_check(REMEDIATING)],
        power=[cycle],
        behind=a_machine(),
        host=a_host(on=False, wrote=392.0, held=True),
        volumes=[a_volume("csi-9f3b", ends=401.0)],
    )
    attempt = [
        one
        for one in _attempt(350.0)
        if one.reason in ("PowerOffRequested", "PowerOff", "PowerOffConfirmed", "ReleaseStarted")
    ]
    return TimelineFacts(case, (*_asked(), *attempt))


def _never_off() -> TimelineFacts:
    """Each attempt times out, and then the remediation fails."""
    message = str(NoMachineReplacement("no controller owns it").explain())
    cycle = a_power_cycle(
        Metal3RemediationPhase.FAILED,
        retry_count=2,
        message=message,
        conditions=(
            condition("Processing", "False", 1062.0),
            condition("Succeeded", "False", 1062.0, "NoMachineReplacement"),
        ),
    )
    said = str(WaitingForPowerOff(str(HOST), 300.0).explain())
    case = a_case(
        1100.0,
        kubelet=a_lease(0.0),
        all_checks=[a_check(REMEDIATING)],
        power=[cycle],
        host=a_host(on=True, wrote=-600.0),
    )
    events = (
        event(351.2, "PowerOffRequested", f"Nodemend requested metal3 to power off {HOST}.", type="Warning"),
        event(352.0, "RemediationHeld", said, type="Warning", series=often(140, 650.0)),
        event(651.5, "PowerCycleFailed", f"{said} Nodemend tries again after a pause.", type="Warning"),
        event(
            652.0,
            "PowerOnRequested",
            f"Nodemend cleared its power-off request on {HOST}: metal3 powers the host on.",
        ),
        event(702.0, "PowerOffRequested", f"Nodemend requested metal3 to power off {HOST}.", type="Warning"),
        event(
            1002.0,
            "PowerOnRequested",
            f"Nodemend cleared its power-off request on {HOST}: metal3 powers the host on.",
        ),
        event(1062.0, "RemediationFailed", message, type="Warning"),
    )
    return TimelineFacts(case, (*_asked(), *events))


def _confirmation() -> TimelineFacts:
    spoken = evidence(0.0, 0.0).but(
        class_="E5", by="anna@example.com", reason="I pulled both plugs", host=None
    )
    manual = by_hand(
        ManualPhase.RECOVERING,
        evidence=spoken,
        released=True,
        last_renew_time=spoken.last_renew_time,
        conditions=(
            condition("Fenced", "True", 1301.0, "OperatorConfirmed"),
            condition("WorkloadReleased", "True", 1330.0, "WorkloadsGone"),
        ),
    )
    case = a_case(1500.0, kubelet=a_lease(0.0), all_checks=[a_check(REMEDIATING)], manual=[manual])
    events = (
        event(
            352.0,
            "RemediationHeld",
            "Waiting for an operator to confirm that edge-07 is off.",
            type="Warning",
            series=often(63, 1290.0),
        ),
        event(
            1300.8,
            "OperatorConfirmedOff",
            "anna@example.com confirmed that edge-07 is down: I pulled both plugs",
            type="Warning",
        ),
        event(
            1301.3,
            "ReleaseStarted",
            "Set the out-of-service taint on edge-07, because anna confirmed that it is down: its pods and "
            "volumes are released.",
            type="Warning",
        ),
        event(1330.2, "WorkloadsReleased", "All pods and volumes that must leave edge-07 have left."),
    )
    return TimelineFacts(case, (*_asked(), *events))


def _forgotten() -> TimelineFacts:
    """Two hours later all events have expired; the objects still have their status."""
    cycle = a_power_cycle(
        Metal3RemediationPhase.POWER_ON,
        evidence=evidence(0.0, 392.0),
        seen_off=a_sighting(0.0, 392.0),
        released=True,
        conditions=(
            condition("Fenced", "False", 428.0, "PowerRestored"),
            condition("WorkloadReleased", "True", 428.0, "WorkloadsGone"),
        ),
    )
    case = a_case(
        7600.0,
        kubelet=a_lease(0.0),
        all_checks=[a_check(REMEDIATING)],
        power=[cycle],
        host=a_host(on=True, wrote=441.0),
    )
    return TimelineFacts(case)


def _revoked() -> TimelineFacts:
    """The kubelet renewed its Lease after the host was observed off, so the release is revoked."""
    cycle = a_power_cycle(
        Metal3RemediationPhase.POWER_OFF,
        message="Nothing is released.",
        conditions=(condition("Fenced", "False", 401.0, "WaitingForEvidence"),),
    )
    case = a_case(
        420.0,
        kubelet=a_lease(398.0),
        all_checks=[a_check(REMEDIATING)],
        power=[cycle],
        host=a_host(on=False, wrote=392.0, held=True),
    )
    attempt = [
        one for one in _attempt(350.0) if one.reason in ("PowerOffRequested", "PowerOff", "PowerOffConfirmed")
    ]
    revoked = event(
        401.0,
        "EvidenceRevoked",
        str(ActiveAfterPowerOff(str(HOST), written(398.0)).explain()),
        type="Warning",
    )
    return TimelineFacts(case, (*_asked(), *attempt, revoked))


BY_TIME: Final = (
    "its marker has been set for at least 72 s (72 s are enough); 4 of its peers are proven not to have kept "
    "it alive"
)


def _marked() -> EventWire:
    said = (
        "Nodemend set the marker for boot boot-1 of edge-07: its agent stops feeding the watchdog, which "
        "resets the node."
    )
    return event(352.1, "SelfFencingRequested", said, type="Warning")


def _end_of_marker(seconds: float) -> EventWire:
    said = "Removed the marker of edge-07: its boot gate lets the kubelet start."
    return event(seconds, "MarkerRemoved", said)


def _fenced_itself() -> TimelineFacts:
    """The node was cut off, time proved that it was down, and it came back with a new boot."""
    over = f"Boot boot-1 of edge-07 has ended (its watchdog): {BY_TIME}."
    past = PastRemediation(
        node=NODE, kind="SelfRemediation", began=written(350), ended=written(662), outcome="Healed"
    )
    case = a_case(
        900.0,
        node=a_node("True", 630.0),
        kubelet=a_lease(895.0),
        agent=an_agent_lease(898.0),
        all_checks=[a_check(history=(past,))],
        by_itself=[],
    )
    held = "The node must reset itself: 0 s of 72 s are proven."
    released = (
        "Set the out-of-service taint on edge-07, because of evidence E4: its pods and volumes are released."
    )
    events = (
        _marked(),
        event(353.0, "RemediationHeld", held, type="Warning", series=often(35, 423.0)),
        event(424.9, "BootEndProven", over),
        event(425.4, "ReleaseStarted", released, type="Warning"),
        event(451.0, "WorkloadsReleased", "All pods and volumes that must leave edge-07 have left."),
        event(451.5, "OutOfServiceTaintRemoved", "Removed the out-of-service taint from edge-07."),
        _end_of_marker(452.0),
    )
    return TimelineFacts(case, (*_asked(kind="SelfRemediation"), *events, *_back(630.0)))


def _new_boot() -> TimelineFacts:
    """It received its marker, and reports a new boot from behind its gate. No kubelet runs there yet."""
    spoken = evidence(0.0, 0.0).but(
        class_="E2", by="its agent", reason="it reports a new boot, boot-2", host=None
    )
    releasing = by_itself(
        SelfPhase.RELEASING,
        evidence=spoken,
        tainted=True,
        conditions=(condition("Fenced", "True", 401.0, "NewBoot"),),
    )
    case = a_case(
        412.0,
        node=a_node("Unknown", 50.0, OUR_TAINT),
        kubelet=a_lease(0.0),
        agent=an_agent_lease(409.0),
        all_checks=[a_check(REMEDIATING)],
        by_itself=[releasing],
    )
    seen = "Boot boot-1 of edge-07 has ended: its agent reports the new boot boot-2."
    released = (
        "Set the out-of-service taint on edge-07, because of evidence E2: its pods and volumes are released."
    )
    events = (
        _marked(),
        event(401.2, "NewBootObserved", seen),
        event(401.7, "ReleaseStarted", released, type="Warning"),
    )
    return TimelineFacts(case, (*_asked(kind="SelfRemediation"), *events))


def _cut_off() -> TimelineFacts:
    """Two hours later all events have expired. Its agent and its kubelet fell silent together."""
    spoken = evidence(0.0, 0.0).but(class_="E4", by="its watchdog", reason=BY_TIME, host=None)
    recovering = by_itself(
        SelfPhase.RECOVERING,
        evidence=spoken,
        released=True,
        conditions=(
            condition("Fenced", "True", 425.0, "ProvenByTime"),
            condition("WorkloadReleased", "True", 451.0, "WorkloadsGone"),
        ),
    )
    case = a_case(
        7600.0,
        kubelet=a_lease(0.0),
        agent=an_agent_lease(3.0),
        all_checks=[a_check(REMEDIATING)],
        by_itself=[recovering],
    )
    return TimelineFacts(case)


def _busy() -> TimelineFacts:
    """More than forty events in five attempts, with long names."""
    long = "a-namespace-with-a-rather-long-name/and-a-host-whose-name-is-longer-still-rack-117-unit-042"
    events = [*_asked()]
    for number in range(5):
        begun = 350.0 + 400.0 * number
        events += [one.but(note=one.note.replace(str(HOST), long)) for one in _attempt(begun)]
        events.append(
            event(
                begun + 320.0,
                "PowerCycleFailed",
                "edge-07 was not Ready on a new boot in time. Nodemend tries again after a pause.",
                type="Warning",
            )
        )
    case = a_case(
        2500.0,
        kubelet=a_lease(0.0),
        all_checks=[a_check(REMEDIATING)],
        power=[a_power_cycle(Metal3RemediationPhase.BACKING_OFF)],
        host=a_host(on=True, wrote=2041.0),
    )
    return TimelineFacts(case, tuple(events))


WORLDS: Final = {
    "healed": _healed(),
    "releasing": _releasing(),
    "never_off": _never_off(),
    "a_persons_word": _confirmation(),
    "events_forgotten": _forgotten(),
    "evidence_voided": _revoked(),
    "fenced_itself": _fenced_itself(),
    "a_new_boot": _new_boot(),
    "cut_off_and_forgotten": _cut_off(),
    "busy": _busy(),
    "nothing_happened": TimelineFacts(
        a_case(3600.0, node=a_node("True", -90_000.0), kubelet=a_lease(3595.0), all_checks=[a_check()])
    ),
}
"""Facts by the name of the golden files."""


def view_of(name: str) -> TimelineView:
    return timeline_view(WORLDS[name], DAY)


def text(name: str, width: int = 110) -> str:
    return "\n".join((f"$ kubectl mend timeline {NODE}", *render(view_of(name), width, UTC), ""))


def picture(name: str) -> str:
    return draw(view_of(name), UTC)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for world in WORLDS:
        (FOLDER / f"{world}.txt").write_text(text(world))
        (FOLDER / f"{world}.svg").write_text(picture(world))
    IN_DOCS.write_text(picture("healed"))
