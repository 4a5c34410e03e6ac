"""What each event means for the story of a node: its lane, and what begins with it. A table."""

from dataclasses import dataclass
from typing import Final

from nodemend.cli.timeline import drafts as states
from nodemend.cli.timeline.drafts import OVER, Begin
from nodemend.cli.timeline.view import Lane, Mark
from nodemend.telemetry import event_reasons as ours

_NODE, _CHECK, _REMEDIATION, _HOST, _WORKLOADS = Lane


@dataclass(frozen=True, slots=True)
class Story:
    """`key` names what a status may tell as well."""

    lane: Lane
    begins: tuple[Begin, ...] = ()
    key: str = ""
    mark: Mark = Mark.PLAIN
    evidence: str = ""
    means: str = ""
    """Said before the event's own words, where those alone would be taken for more than they are."""


STORIES: Final[dict[str, Story]] = {
    ours.NODE_SUSPECT.word: Story(_CHECK, ((_CHECK, states.SUSPECT),)),
    ours.NODE_UNHEALTHY.word: Story(_CHECK, ((_CHECK, states.UNHEALTHY),), "unhealthy"),
    ours.NODE_HEALTHY.word: Story(_CHECK, ((_CHECK, OVER),), "healthy"),
    ours.MACHINE_UNHEALTHY.word: Story(_CHECK, ((_CHECK, states.UNHEALTHY),), "unhealthy"),
    ours.MACHINE_HEALTHY.word: Story(_CHECK, ((_CHECK, OVER),), "healthy"),
    ours.CHECK_OVERLAPPED.word: Story(_CHECK, mark=Mark.TROUBLE),
    ours.CHECK_STALLED.word: Story(_CHECK, mark=Mark.TROUBLE),
    ours.REMEDIATION_UNSERVED.word: Story(_CHECK, mark=Mark.TROUBLE),
    ours.REMEDIATION_ORDERED.word: Story(_CHECK),
    ours.OVERRIDE_USED.word: Story(_CHECK, mark=Mark.TROUBLE),
    ours.ORDER_LAPSED.word: Story(_CHECK),
    ours.POLICY_NOT_PROVEN.word: Story(_REMEDIATION, mark=Mark.TROUBLE),
    ours.REMEDIATION_STARTED.word: Story(
        _CHECK, ((_CHECK, states.REMEDIATING), (_REMEDIATION, states.FENCE)), "started"
    ),
    ours.REMEDIATION_WITHDRAWN.word: Story(_CHECK, ((_CHECK, OVER),), "withdrawn"),
    ours.REMEDIATION_ESCALATED.word: Story(_CHECK, ((_CHECK, states.UNHEALTHY),), mark=Mark.TROUBLE),
    ours.STAND_IN_MADE.word: Story(_REMEDIATION),
    ours.STAND_IN_WITHDRAWN.word: Story(_REMEDIATION),
    ours.ASKING_SETTLED.word: Story(_CHECK),
    ours.ASKING_UNHEEDED.word: Story(_CHECK, mark=Mark.TROUBLE),
    ours.REMEDIATION_HELD.word: Story(_REMEDIATION),
    ours.STILL_HELD.word: Story(_CHECK),
    ours.RECOVERY_STARTED.word: Story(_CHECK),
    ours.RECOVERY_SUCCEEDED.word: Story(_CHECK),
    ours.RECOVERY_FAILED.word: Story(_CHECK, mark=Mark.TROUBLE),
    ours.RECOVERY_WITHDRAWN.word: Story(_CHECK),
    ours.HUMAN_CONFIRMED_OFF.word: Story(
        _REMEDIATION, ((_REMEDIATION, states.RELEASE),), "evidence", Mark.EVIDENCE, "E5"
    ),
    ours.POWER_OFF_REQUESTED.word: Story(
        _REMEDIATION, ((_REMEDIATION, states.FENCE), (_HOST, states.GOING_OFF)), "held-off"
    ),
    ours.POWER_OFF_CONFIRMED.word: Story(
        _REMEDIATION,
        ((_REMEDIATION, states.RELEASE), (_HOST, states.OFF)),
        "evidence",
        Mark.EVIDENCE,
        "E1",
    ),
    ours.POWER_ON_REQUESTED.word: Story(_HOST, ((_HOST, states.GOING_ON),), "let-on"),
    ours.POWER_NOT_BACK.word: Story(_HOST, ((_REMEDIATION, OVER),), mark=Mark.TROUBLE),
    ours.HOLD_LEFT_BEHIND.word: Story(_HOST, mark=Mark.TROUBLE),
    ours.POWER_CYCLE_FAILED.word: Story(
        _REMEDIATION, ((_REMEDIATION, states.BACK_OFF),), "attempt-failed", Mark.TROUBLE
    ),
    ours.REMEDIATION_FAILED.word: Story(
        _REMEDIATION, ((_REMEDIATION, states.FAILED),), "failed", Mark.TROUBLE
    ),
    ours.HOST_MARKED_UNHEALTHY.word: Story(_HOST, mark=Mark.TROUBLE),
    ours.MACHINE_HANDED_OVER.word: Story(
        _REMEDIATION, ((_REMEDIATION, states.HAND_OVER),), "handed-over", Mark.TROUBLE
    ),
    # It may be said again after there is evidence: no phase begins with it.
    ours.SELF_FENCING_ASKED.word: Story(_REMEDIATION, key="asked-to-end"),
    ours.BOOT_PROVEN_OVER.word: Story(
        _REMEDIATION, ((_REMEDIATION, states.RELEASE),), "evidence", Mark.EVIDENCE, "E4"
    ),
    ours.NEW_BOOT_SEEN.word: Story(
        _REMEDIATION, ((_REMEDIATION, states.RELEASE),), "evidence", Mark.EVIDENCE, "E2"
    ),
    ours.MARKER_TAKEN_OFF.word: Story(_REMEDIATION, key="marker-off"),
    ours.EVIDENCE_VOIDED.word: Story(
        _REMEDIATION, ((_REMEDIATION, states.FENCE), (_WORKLOADS, states.HELD_AGAIN)), "voided", Mark.TROUBLE
    ),
    ours.RELEASE_STARTED.word: Story(_WORKLOADS, ((_WORKLOADS, states.LEAVING),), "release", Mark.RELEASE),
    ours.WORKLOADS_RELEASED.word: Story(
        _WORKLOADS, ((_WORKLOADS, states.ELSEWHERE), (_REMEDIATION, states.RECOVER)), "gone"
    ),
    ours.OUT_OF_SERVICE_TAINT_REMOVED.word: Story(_WORKLOADS),
    ours.NODE_RESTORED.word: Story(_NODE),
    ours.NODE_NOT_RESTORED.word: Story(_NODE, mark=Mark.TROUBLE),
    ours.NODE_CONTRADICTED_EVIDENCE.word: Story(_NODE, key="contradicted", mark=Mark.TROUBLE),
    ours.REMEDIATION_SUCCEEDED.word: Story(_REMEDIATION, ((_REMEDIATION, OVER), (_HOST, OVER)), "succeeded"),
    ours.REMEDIATION_STOPPED.word: Story(_REMEDIATION, ((_REMEDIATION, OVER), (_HOST, OVER)), "stopped"),
    # Of the kubelet and of Kubernetes' own controllers.
    "NodeNotReady": Story(_NODE, ((_NODE, states.NOT_READY), (_WORKLOADS, states.HELD)), "not-ready"),
    "NodeReady": Story(_NODE, ((_NODE, states.READY), (_WORKLOADS, OVER)), "ready"),
    "Rebooted": Story(_NODE, key="rebooted"),
    # Of metal3's operator, which tells of an order that was taken, and not of power: nothing begins with it.
    "PowerOff": Story(_HOST, means="Its operator ordered it off"),
    "PowerOn": Story(_HOST, means="Its operator ordered it on"),
    "PowerManagementError": Story(_HOST, mark=Mark.TROUBLE),
    "BMCCredentialError": Story(_HOST, mark=Mark.TROUBLE),
}
"""By the reason of the event."""

ELSE: Final = {"Node": Story(_NODE), "BareMetalHost": Story(_HOST), "Machine": Story(_NODE)}
"""By the kind of what it regards, for every other."""
