"""Every leftover is reported with its reason and with the next step."""

import pytest

from nodemend.api import manual_remediation, well_known
from nodemend.api.manual_remediation import ManualRemediation, ManualRemediationStatus
from nodemend.api.meta import OwnerReference
from nodemend.api.metal3_remediation import Metal3RemediationPhase
from nodemend.cli.listing import AnyRemediation
from nodemend.cli.wind_down.leftovers import (
    Leftover,
    MarkerOnLease,
    NotRead,
    PowerNotRestored,
    PowerOffRequestOnHost,
    Revocation,
    StillOpen,
    StrayLock,
    TaintedNode,
)
from nodemend.cli.wind_down.view import explain, waits_for
from tests.unit.cli.wind_down.scenes import ALIVE, NO_LEADER, WHERE, fences_itself, host, power_cycle

CYCLE = power_cycle("m-1")
LEFT_HOLD = f"{well_known.POWER_OFF_REQUEST_PREFIX}gone"
MACHINE = OwnerReference(api_version="cluster.x-k8s.io/v1beta2", kind="Machine", name="m-1", uid="u")
OPEN = "Metal3Remediation metal3/m-1 (node edge-07) has not ended"

MARKED = (
    "lease edge-07 in nodemend-agents has the marker that ends the boot of node edge-07 and blocks later "
    "boots"
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
            PowerOffRequestOnHost(
                host("rem-m-1"), f"{well_known.POWER_OFF_REQUEST_PREFIX}rem-m-1", CYCLE, ()
            ),
            "host metal3/rack-7 (off) is still held off by Metal3Remediation metal3/m-1",
            "Host metal3/rack-7 is being switched off.",
            "let it end: kubectl mend explain edge-07",
        ),
        (
            PowerOffRequestOnHost(host("gone", powered_on=None), LEFT_HOLD, None, ()),
            "host metal3/rack-7 (power unknown) is still held off by a remediation that is gone (gone)",
            "no remediator released it; one that serves power cycles does when it becomes the leader",
            (
                "kubectl rollout restart deployment nodemend-remediator -n nodemend-system; or by hand: "
                f"kubectl annotate baremetalhost rack-7 -n metal3 {LEFT_HOLD}-"
            ),
        ),
        (
            PowerOffRequestOnHost(host("gone", powered_on=True), LEFT_HOLD, None, ("edge-07",)),
            "host metal3/rack-7 (on) is still held off by a remediation that is gone (gone)",
            "Nodemend's taint is on edge-07; hosts must stay off while it is set",
            f"handle the taint first; then: kubectl annotate baremetalhost rack-7 -n metal3 {LEFT_HOLD}-",
        ),
        (
            MarkerOnLease("edge-07", fences_itself(), "", tainted=False),
            MARKED,
            (
                f"SelfRemediation {WHERE}/edge-07 removes it when it ends: "
                "the node must reset itself, and nothing is released yet"
            ),
            "let it end: kubectl mend explain edge-07",
        ),
        (
            MarkerOnLease("edge-07", None, "", tainted=False),
            MARKED,
            "its remediation is gone, and no remediator removed it; one with --self-fencing on does",
            (
                f"find out why it does not: kubectl logs -n {WHERE} deploy/nodemend-remediator; "
                f"or by hand: {TAKE_OFF}"
            ),
        ),
        (
            MarkerOnLease("edge-07", None, "", tainted=True),
            MARKED,
            "Nodemend's taint is on edge-07; its kubelet must not start before that is removed",
            f"handle the taint first; then: {TAKE_OFF}",
        ),
        (
            MarkerOnLease("edge-07", None, "its marker cannot be read: x", tainted=False),
            MARKED,
            "its marker cannot be read: x",
            TAKE_OFF,
        ),
        (
            TaintedNode("edge-07", None),
            "node edge-07 has Nodemend's out-of-service taint",
            "no remediation is left that would remove it",
            (
                "make sure that the node is down or rebooted, then: kubectl taint node edge-07 "
                "node.kubernetes.io/out-of-service=nodemend:NoExecute-"
            ),
        ),
        (
            TaintedNode("edge-07", CYCLE),
            "node edge-07 has Nodemend's out-of-service taint",
            (
                "Metal3Remediation metal3/m-1 removes it when the node's workloads are gone: "
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
            "it could not be deleted: forbidden",
            "kubectl mend stop edge-07, as a user who may delete it; then: kubectl mend wind-down",
        ),
        (
            still_open(anew=True, owner_references=(MACHINE,)),
            OPEN,
            "it was created after the winding down had begun (it belongs to Machine m-1)",
            "remove Nodemend's templates from that health check, or delete it; then: kubectl mend wind-down",
        ),
        (
            still_open(anew=True, labels={well_known.CHECK: "workers"}),
            OPEN,
            "it was created after the winding down had begun (nhc/workers)",
            "remove Nodemend's templates from that health check, or delete it; then: kubectl mend wind-down",
        ),
        (
            still_open(finalizers=("example.com/theirs",)),
            OPEN,
            "Nodemend's part is done; it waits for example.com/theirs, set by another controller",
            "ask the owner of that finalizer",
        ),
        (
            Revocation("edge-07"),
            "node edge-07 has the annotation nodemend.io/release-revoked",
            "a release was revoked there; only Nodemend uses the annotation",
            "kubectl annotate node edge-07 nodemend.io/release-revoked-",
        ),
        (
            PowerNotRestored("metal3/rack-7", "edge-07", wanted=True),
            "host metal3/rack-7 of node edge-07 is off, and Nodemend does not hold it",
            "metal3 has not switched it on yet",
            "check that it comes back: kubectl get baremetalhost rack-7 -n metal3",
        ),
        (
            PowerNotRestored("metal3/rack-7", "edge-07", wanted=False),
            "host metal3/rack-7 of node edge-07 is off, and Nodemend does not hold it",
            "its owner wants it off (spec.online: false)",
            "check that it comes back: kubectl get baremetalhost rack-7 -n metal3",
        ),
        (
            StrayLock("node-uid"),
            "lock node-uid in nodemend-system",
            "its remediation is gone; it blocks nothing",
            "none; it is deleted with the namespace nodemend-system",
        ),
        (
            NotRead("Nodes", "forbidden"),
            "the Nodes were not read",
            "forbidden",
            "ask a user who may list them in all namespaces to run this again",
        ),
    ],
)
def test_each_is_explained_in_three_sentences(
    left: Leftover, what: str, because: str, next_step: str
) -> None:
    said = explain(left, WHERE)

    assert (said.what, said.because, said.next_step) == (what, because, next_step)


def test_a_missing_leader_is_the_reason() -> None:
    said = explain(StillOpen(CYCLE, refused="", anew=False, leader=NO_LEADER), WHERE)

    assert said.because == "remediator: no replica leads"
    assert said.next_step == (
        "kubectl get pods -n nodemend-system -l app.kubernetes.io/component=remediator; "
        "only a running remediator brings remediations to a safe end"
    )


def test_a_remediation_without_a_message_shows_at_least_its_phase() -> None:
    silent = power_cycle("m-1", message="")

    said = explain(StillOpen(silent, "", anew=False, leader=ALIVE), WHERE)

    assert said.because == "its host must go off, and nothing of the node is released yet"


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
def test_every_phase_has_a_text(silent: AnyRemediation) -> None:
    said = waits_for(silent)

    assert len(said.split()) > 3
