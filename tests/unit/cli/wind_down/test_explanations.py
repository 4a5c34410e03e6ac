"""Every leftover is reported with its reason and with the next step."""

import pytest

from nodemend.api import manual_remediation, well_known
from nodemend.api.manual_remediation import ManualRemediation, ManualRemediationStatus
from nodemend.api.meta import OwnerReference
from nodemend.api.metal3_remediation import Metal3RemediationPhase
from nodemend.cli.listing import AnyRemediation
from nodemend.cli.wind_down.explanations import explain, waits_for
from nodemend.cli.wind_down.leftovers import (
    HeldOffHost,
    HostNotBack,
    Leftover,
    MarkerOnLease,
    NotRead,
    RevocationMark,
    StillOpen,
    StrayLock,
    TaintedNode,
)
from tests.unit.cli.wind_down.scenes import ALIVE, NO_LEADER, WHERE, fences_itself, host, power_cycle

CYCLE = power_cycle("m-1")
LEFT_HOLD = f"{well_known.POWER_OFF_REQUEST_PREFIX}gone"
MACHINE = OwnerReference(api_version="cluster.x-k8s.io/v1beta2", kind="Machine", name="m-1", uid="u")
OPEN = "Metal3Remediation metal3/m-1 (node edge-07) has not ended"

MARKED = (
    "lease edge-07 in nodemend-agents has the marker that ends the boot of node edge-07 and keeps its next "
    "ones waiting"
)
TAKE_OFF = (
    "kubectl annotate lease edge-07 -n nodemend-agents nodemend.io/marker- "
    f"--as=system:serviceaccount:{WHERE}:nodemend-remediator"
)


def still_open(*, refused: str = "", anew: bool = False, **metadata: object) -> StillOpen:
    found = CYCLE.but(metadata=CYCLE.metadata.but(**metadata))
    return StillOpen(found, refused=refused, anew=anew, leader=ALIVE)


@pytest.mark.parametrize(
    ("left", "what", "because", "next_step"),
    [
        (
            HeldOffHost(host("rem-m-1"), f"{well_known.POWER_OFF_REQUEST_PREFIX}rem-m-1", CYCLE, ()),
            "host metal3/rack-7 (off) is still held off by Metal3Remediation metal3/m-1",
            "Host metal3/rack-7 is being switched off.",
            "let it end: kubectl mend explain edge-07",
        ),
        (
            HeldOffHost(host("gone", powered_on=None), LEFT_HOLD, None, ()),
            "host metal3/rack-7 (power unknown) is still held off by a remediation that is gone (gone)",
            "no remediator gave it back; one that serves power cycles does when it begins to lead",
            (
                "kubectl rollout restart deployment nodemend-remediator -n nodemend-system; or by hand: "
                f"kubectl annotate baremetalhost rack-7 -n metal3 {LEFT_HOLD}-"
            ),
        ),
        (
            HeldOffHost(host("gone", powered_on=True), LEFT_HOLD, None, ("edge-07",)),
            "host metal3/rack-7 (on) is still held off by a remediation that is gone (gone)",
            "our taint is on edge-07; power must not come back before it is off",
            f"see to the taint first; then: kubectl annotate baremetalhost rack-7 -n metal3 {LEFT_HOLD}-",
        ),
        (
            MarkerOnLease("edge-07", fences_itself(), "", tainted=False),
            MARKED,
            (
                f"SelfRemediation {WHERE}/edge-07 takes it off when it ends: "
                "the node was asked to reset itself, and nothing is released yet"
            ),
            "let it end: kubectl mend explain edge-07",
        ),
        (
            MarkerOnLease("edge-07", None, "", tainted=False),
            MARKED,
            "its remediation is gone, and no remediator took it off; one with --self-fencing on does",
            (
                f"look why it does not: kubectl logs -n {WHERE} deploy/nodemend-remediator; "
                f"or by hand: {TAKE_OFF}"
            ),
        ),
        (
            MarkerOnLease("edge-07", None, "", tainted=True),
            MARKED,
            "our taint is on edge-07; its kubelet must not start before that is off",
            f"see to the taint first; then: {TAKE_OFF}",
        ),
        (
            MarkerOnLease("edge-07", None, "its marker cannot be read: x", tainted=False),
            MARKED,
            "its marker cannot be read: x",
            TAKE_OFF,
        ),
        (
            TaintedNode("edge-07", None),
            "node edge-07 has our out-of-service taint",
            "no remediation is left that would take it off",
            (
                "make sure that the node is down or rebooted, then: kubectl taint node edge-07 "
                "node.kubernetes.io/out-of-service=nodemend:NoExecute-"
            ),
        ),
        (
            TaintedNode("edge-07", CYCLE),
            "node edge-07 has our out-of-service taint",
            (
                "Metal3Remediation metal3/m-1 takes it off when the node's workloads are gone: "
                "Host metal3/rack-7 is being switched off."
            ),
            "let it end: kubectl mend explain edge-07",
        ),
        (
            still_open(),
            OPEN,
            "Host metal3/rack-7 is being switched off.",
            "kubectl mend explain edge-07; then: kubectl mend wind-down --wait 1h",
        ),
        (
            still_open(refused="forbidden"),
            OPEN,
            "it was not told to end: forbidden",
            "kubectl mend stop edge-07, as somebody who may; then: kubectl mend wind-down",
        ),
        (
            still_open(anew=True, owner_references=(MACHINE,)),
            OPEN,
            "somebody asked for it after the winding down had begun (it belongs to Machine m-1)",
            "take our templates out of that health check, or delete it; then: kubectl mend wind-down",
        ),
        (
            still_open(anew=True, labels={well_known.CHECK: "workers"}),
            OPEN,
            "somebody asked for it after the winding down had begun (nhc/workers)",
            "take our templates out of that health check, or delete it; then: kubectl mend wind-down",
        ),
        (
            still_open(finalizers=("example.com/theirs",)),
            OPEN,
            "our part is done; it waits for example.com/theirs, which is not ours",
            "ask whoever put that finalizer there",
        ),
        (
            RevocationMark("edge-07"),
            "node edge-07 has the annotation nodemend.io/release-voided",
            "a release was called off there; the mark means nothing to anybody else",
            "kubectl annotate node edge-07 nodemend.io/release-voided-",
        ),
        (
            HostNotBack("metal3/rack-7", "edge-07", wanted=True),
            "host metal3/rack-7 of node edge-07 is off, and nothing of ours holds it",
            "metal3 has not switched it on yet",
            "see that it comes back: kubectl get baremetalhost rack-7 -n metal3",
        ),
        (
            HostNotBack("metal3/rack-7", "edge-07", wanted=False),
            "host metal3/rack-7 of node edge-07 is off, and nothing of ours holds it",
            "its owner wants it off (spec.online: false)",
            "see that it comes back: kubectl get baremetalhost rack-7 -n metal3",
        ),
        (
            StrayLock("node-uid"),
            "lock node-uid in nodemend-system",
            "its remediation is gone; it keeps nobody from anything",
            "none; it goes with the namespace nodemend-system",
        ),
        (
            NotRead("Nodes", "forbidden"),
            "the Nodes were not looked at",
            "forbidden",
            "ask somebody who may list them in all namespaces to run this again",
        ),
    ],
)
def test_each_is_told_in_three_sentences(left: Leftover, what: str, because: str, next_step: str) -> None:
    said = explain(left, WHERE)

    assert (said.what, said.because, said.next_step) == (what, because, next_step)


def test_where_nobody_leads_that_is_the_reason() -> None:
    said = explain(StillOpen(CYCLE, refused="", anew=False, leader=NO_LEADER), WHERE)

    assert said.because == "remediator: nobody leads"
    assert said.next_step == (
        "kubectl get pods -n nodemend-system -l app.kubernetes.io/component=remediator; "
        "only a running remediator brings remediations to a safe end"
    )


def test_one_that_says_nothing_says_at_least_where_it_stands() -> None:
    silent = power_cycle("m-1", message="")

    said = explain(StillOpen(silent, "", anew=False, leader=ALIVE), WHERE)

    assert said.because == "its host is to go off, and nothing of the node is released yet"


@pytest.mark.parametrize(
    "silent",
    [
        *(power_cycle("m-1", phase=phase, message="") for phase in Metal3RemediationPhase),
        *(
            ManualRemediation(status=ManualRemediationStatus(phase=phase))
            for phase in manual_remediation.ManualRemediationPhase
        ),
    ],
    ids=lambda one: one.status.phase,
)
def test_every_phase_has_words(silent: AnyRemediation) -> None:
    said = waits_for(silent)

    assert len(said.split()) > 3
