"""Reviewed trees: the facts about edge-07, and the output.

`python -m tests.unit.cli.tree.goldens` rewrites them; the reviewer reads the difference.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from nodemend.api import well_known
from nodemend.api.agent import WatchdogReport
from nodemend.api.manual_remediation import ManualRemediationPhase as ManualPhase
from nodemend.api.meta import ConditionStatus, ObjectMeta
from nodemend.api.metal3_remediation import Metal3RemediationPhase
from nodemend.api.node_health_check import TargetReport
from nodemend.api.remediation_policy import RemediationOrder, RemediationOrderSpec
from nodemend.api.self_remediation import MarkedLease, ProvenPeer
from nodemend.api.self_remediation import SelfRemediationPhase as SelfPhase
from nodemend.cli.listing import Listing
from nodemend.cli.node_report import NodeCase
from nodemend.cli.tree.branches import tree_view
from nodemend.cli.tree.view import TreeView, render
from nodemend.remediation.metal3.holds import NoMachineReplacement, WaitingForPowerOff
from nodemend.remediation.metal3.host_lookup import NoMachine
from nodemend.remediation.self_fencing.decide import AccumulatingProof, NoAgent, ProofContradicted
from nodemend.safety.facts import Absent, Unreadable
from nodemend.safety.holds import HoldReason, WaitingForConfirmation
from nodemend.safety.time_proof import NoTimeProof, needed_for
from tests.unit.cli.node_cases import (
    A_MARKER,
    A_REPORT,
    HOST,
    NODE,
    OUR_TAINT,
    REMEDIATING,
    a_case,
    a_check,
    a_host,
    a_lease,
    a_lock,
    a_machine,
    a_node,
    a_pod,
    a_power_cycle,
    a_sighting,
    a_volume,
    an_agent_lease,
    by_hand,
    by_itself,
    condition,
    evidence,
    written,
)

FOLDER: Final = Path(__file__).with_name("golden")
_FENCED: Final = condition("Fenced", "True", 399.0, "PoweredOff")


def _sick(now: float, **others: Any) -> NodeCase:
    known = {
        "kubelet": a_lease(0.0),
        "lock": a_lock(),
        "all_checks": [a_check(REMEDIATING)],
        "behind": a_machine(),
        "pods": [a_pod("db-0"), a_pod("web-7f", "Pending")],
        "volumes": [a_volume("csi-9f3b")],
        **others,
    }
    return a_case(now, **known)


def _releasing() -> NodeCase:
    cycle = a_power_cycle(
        Metal3RemediationPhase.RELEASE,
        evidence=evidence(0.0, 392.0),
        seen_off=a_sighting(0.0, 392.0),
        tainted=True,
        conditions=(_FENCED,),
    )
    return _sick(
        412.0,
        node=a_node("Unknown", 50.0, OUR_TAINT),
        power=[cycle],
        host=a_host(on=False, wrote=392.0, held=True),
        pods=[a_pod("db-0", ends=430.0)],
        volumes=[a_volume("csi-9f3b", ends=401.0)],
    )


def _waiting_for_off() -> NodeCase:
    said = str(WaitingForPowerOff(str(HOST), 300.0).explain())
    host = a_host(
        on=True,
        wrote=300.0,
        held=True,
        operational_status="error",
        error_type="power management error",
        error_message="no answer from the BMC",
    )
    return _sick(400.0, power=[a_power_cycle(Metal3RemediationPhase.POWER_OFF, message=said)], host=host)


def _failed() -> NodeCase:
    said = str(NoMachineReplacement("nobody owns it").explain())
    cycle = a_power_cycle(Metal3RemediationPhase.FAILED, message=said, retry_count=4)
    return _sick(4000.0, power=[cycle], behind=a_machine(), host=a_host(on=True, wrote=3900.0))


def _confirmation() -> NodeCase:
    said = str(WaitingForConfirmation(NODE).explain())
    waits = by_hand(ManualPhase.WAITING_FOR_CONFIRMATION, message=said)
    return replace(_sick(700.0, manual=[waits]), behind=Absent())


def _recovering() -> NodeCase:
    cycle = a_power_cycle(
        Metal3RemediationPhase.POWER_ON,
        evidence=evidence(0.0, 392.0),
        released=True,
        conditions=(condition("Fenced", "False", 428.0),),
    )
    other = a_host(on=False, wrote=440.0)
    held = other.but(metadata=other.metadata.but(annotations={"reboot.metal3.io/capm3": ""}))
    return _sick(500.0, power=[cycle], host=held)


def _many_pods() -> NodeCase:
    """Nothing remediates it."""
    held = TargetReport(name=NODE, verdict="Held", message="Paused by anna: swap. Resume it.")
    paused = condition("RemediationAllowed", "True", 0.0).but(
        status=ConditionStatus.FALSE, message="Paused by anna: swap. Resume it."
    )
    pods = [a_pod(f"web-{number:02d}") for number in range(30)]
    order = RemediationOrder(
        metadata=ObjectMeta(name=NODE, creation_timestamp=written(600.0)),
        spec=RemediationOrderSpec(by="berta", reason="its disk is failing", node_uid="uid-node"),
    )
    return _sick(700.0, all_checks=[a_check(held, conditions=(paused,))], pods=pods, order=order)


def _gone() -> NodeCase:
    cycle = a_power_cycle(Metal3RemediationPhase.DELETING_MACHINE, retry_count=4)
    case = _sick(900.0, power=[cycle], lock=a_lock("uid-other"), pods=[], volumes=[])
    return replace(case, node=Absent(), kubelet=Absent(), host=Absent())


def _unseen() -> NodeCase:
    hidden = Unreadable("you may not list them")
    case = _sick(900.0)
    return replace(
        case,
        listed=Listing(manual=Absent(), power=hidden),
        host=hidden,
        pods=hidden,
        volumes=hidden,
        lock=hidden,
        kubelet=hidden,
    )


def _no_host() -> NodeCase:
    case = _sick(
        400.0, power=[a_power_cycle(Metal3RemediationPhase.PENDING, begun=390.0)], lock=a_lock("uid-other")
    )
    return replace(case, host=NoMachine("Metal3Machine metal3/workers-7xk2p-infra names none"))


def _excluded() -> NodeCase:
    node = a_node("True", -86_400.0)
    node = node.but(metadata=node.metadata.but(annotations={well_known.EXCLUDE: ""}))
    twice = [a_check(), a_check().but(metadata=ObjectMeta(name="z-all-nodes"))]
    return a_case(10.0, node=node, kubelet=a_lease(5.0), all_checks=twice)


MARKED: Final = MarkedLease(uid="uid-lease-edge-07", version="71")


def _held(reason: HoldReason) -> dict[str, Any]:
    why = reason.reason
    return {"message": str(reason.explain()), "conditions": (condition("Processing", "True", 352.0, why),)}


def _accumulating_proof() -> NodeCase:
    peers = tuple(
        ProvenPeer(name=name, node_uid=f"uid-{name}", boot_id="b", acknowledged=7, milliseconds=passed)
        for name, passed in zip(A_REPORT.peers[0], (31_250, 31_250, 12_000, 31_250), strict=True)
    )
    fencing = by_itself(
        SelfPhase.FENCING,
        marked=MARKED,
        proven=peers,
        proven_seconds=31,
        safe_time_seconds=72,
        **_held(AccumulatingProof(31, 72, 4, 4)),
    )
    agent = an_agent_lease(-2.0, marker=A_MARKER)
    return replace(_sick(385.0, by_itself=[fencing], agent=agent), behind=Absent())


def _by_time() -> NodeCase:
    said = "its marker has been set for at least 72 s (72 s are enough)"
    said = f"{said}; 4 of its peers are proven not to have kept it alive"
    spoken = evidence(0.0, 0.0).but(class_="E4", by="its watchdog", reason=said, host=None)
    releasing = by_itself(
        SelfPhase.RELEASING,
        marked=MARKED,
        evidence=spoken,
        tainted=True,
        proven_seconds=72,
        safe_time_seconds=72,
        conditions=(condition("Fenced", "True", 425.0, "ProvenByTime"),),
    )
    return replace(
        _sick(
            430.0,
            node=a_node("Unknown", 50.0, OUR_TAINT),
            by_itself=[releasing],
            agent=an_agent_lease(-2.0, marker=A_MARKER),
            pods=[a_pod("db-0", ends=430.0)],
        ),
        behind=Absent(),
    )


def _only_a_new_boot() -> NodeCase:
    softdog = WatchdogReport(class_="software", driver="Software Watchdog", written=10.0, effective=10.0)
    report = A_REPORT.but(watchdog=softdog, boot_gate=False)
    held = needed_for(report, by_itself(SelfPhase.FENCING).spec)
    assert isinstance(held, NoTimeProof)
    fencing = by_itself(SelfPhase.FENCING, marked=MARKED, **_held(held))
    return replace(
        _sick(700.0, by_itself=[fencing], agent=an_agent_lease(0.0, report, A_MARKER)), behind=Absent()
    )


def _new_boot() -> NodeCase:
    """It has booted, and its gate keeps its kubelet from starting until the marker is removed."""
    spoken = evidence(0.0, 0.0).but(
        class_="E2", by="its agent", reason="it reports the new boot boot-2", host=None
    )
    releasing = by_itself(
        SelfPhase.RELEASING,
        marked=MARKED,
        evidence=spoken,
        tainted=True,
        conditions=(condition("Fenced", "True", 401.0, "NewBoot"),),
    )
    report = A_REPORT.but(boot_id="boot-2", sequence=3, peers=(A_REPORT.peers[0], ("edge-01", "edge-09")))
    return replace(
        _sick(
            404.0,
            node=a_node("Unknown", 50.0, OUR_TAINT),
            by_itself=[releasing],
            agent=an_agent_lease(402.0, report, A_MARKER),
        ),
        behind=Absent(),
    )


def _no_agent() -> NodeCase:
    waits = by_itself(SelfPhase.PENDING, **_held(NoAgent(NODE)))
    return replace(_sick(400.0, by_itself=[waits], lock=a_lock("uid-other")), behind=Absent())


def _contradicted() -> NodeCase:
    fencing = by_itself(
        SelfPhase.FENCING, marked=MARKED, contradicted=True, **_held(ProofContradicted("boot-1"))
    )
    agent = an_agent_lease(1199.0, marker=A_MARKER)
    return replace(_sick(1200.0, by_itself=[fencing], agent=agent, kubelet=a_lease(1195.0)), behind=Absent())


def _left_marker() -> NodeCase:
    unsupported = WatchdogReport(
        class_="unsupported",
        driver="i6300ESB timer",
        why="a virtual machine can be paused, and its watchdog with it",
    )
    lease = an_agent_lease(8.0, A_REPORT.but(watchdog=unsupported, peers=((),), version=""), A_MARKER)
    return a_case(10.0, node=a_node("True", -86_400.0), kubelet=a_lease(5.0), all_checks=[], agent=lease)


CASES: Final[dict[str, NodeCase]] = {
    "releasing": _releasing(),
    "waiting_for_off": _waiting_for_off(),
    "failed": _failed(),
    "waiting_for_a_word": _confirmation(),
    "recovering": _recovering(),
    "nobody_acts": _many_pods(),
    "the_node_is_gone": _gone(),
    "much_is_hidden": _unseen(),
    "no_host_is_found": _no_host(),
    "healthy_and_left_alone": _excluded(),
    "its_end_is_being_proven": _accumulating_proof(),
    "over_by_time": _by_time(),
    "only_a_new_boot_can_show_it": _only_a_new_boot(),
    "a_new_boot_behind_its_gate": _new_boot(),
    "no_agent": _no_agent(),
    "a_proof_contradicted": _contradicted(),
    "a_marker_left_behind": _left_marker(),
    "nothing_is_installed": a_case(100.0),
}
"""Cases by the name of the golden file."""


def view_of(name: str) -> TreeView:
    return tree_view(CASES[name])


def text(name: str, width: int = 110) -> str:
    return "\n".join((f"$ kubectl mend tree {NODE}", *render(view_of(name), width), ""))


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for case in CASES:
        (FOLDER / f"{case}.txt").write_text(text(case))
