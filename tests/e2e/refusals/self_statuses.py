"""Changes of a SelfRemediation's status that are refused even from its remediator."""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from tests.e2e.refusals.installed_cluster import Cluster
from tests.e2e.refusals.trial import Attempt, Trial
from tests.e2e.refusals.words import BOOT_ID, NODE_UID

_PATH: Final = "/apis/nodemend.io/v1alpha1/namespaces/default/selfremediations/fenced"
_OTHER: Final = "3b6cc0b6-3a0c-4c5e-8f2e-9f0e3c1d7a55"
_MARKED: Final = {"uid": _OTHER, "version": "71"}
_BY_TIME: Final = {"class": "E4", "nodeUID": NODE_UID, "bootID": BOOT_ID}
_PROVEN: Final = {"provenSeconds": 72, "safeTimeSeconds": 72}

Report = Callable[..., Attempt]


def self_statuses(cluster: Cluster, trial: Trial) -> None:
    body = {
        "apiVersion": "nodemend.io/v1alpha1",
        "kind": "SelfRemediation",
        "metadata": {"name": "fenced", "namespace": "default", "labels": {"nodemend.io/check": "workers"}},
        "spec": {},
    }
    cluster.checker.create(body)

    def report(**status: Any) -> Attempt:
        return lambda: cluster.remediator.patch(f"{_PATH}/status", {"status": status})

    report(epoch=7, nodeUID=NODE_UID, bootID=BOOT_ID)()
    _who(cluster, trial)
    _targets(trial, report)
    _time(trial, report)
    _release(trial, report)


def _who(cluster: Cluster, trial: Trial) -> None:
    change = {"status": {"provenSeconds": 9}}
    for name, api in {**cluster.people, "checker": cluster.checker}.items():
        says = "only Nodemend's remediator writes the status" if name == "chief" else "cannot patch resource"
        trial.refuses(f"proven seconds by {name}", partial(api.patch, f"{_PATH}/status", change), says)
    trial.refuses(
        "another spec while it is under way",
        lambda: cluster.people["chief"].patch(_PATH, {"spec": {"accept": ["NoBootGate"]}}),
        "spec",
        "cannot be changed",
    )


def _targets(trial: Trial, report: Report) -> None:
    trial.refuses("a lower epoch", report(epoch=6), "status.epoch", "must not decrease")
    trial.refuses("another node", report(nodeUID=_OTHER), "status.nodeUID", "cannot be changed")
    trial.refuses("no boot any more", report(bootID=None), "status.bootID", "cannot be removed")
    trial.accepts("the node's next boot, before it is marked", report(bootID=_OTHER))
    trial.refuses("a marker for it at once", report(bootID=BOOT_ID, marked=_MARKED), "status.bootID")
    trial.accepts("and the first again", report(bootID=BOOT_ID))
    trial.accepts("under a marker", report(marked=_MARKED))
    trial.refuses(
        "another boot under the marker", report(bootID=_OTHER), "status.bootID", "once it is marked"
    )


def _time(trial: Trial, report: Report) -> None:
    early = "must not be E4 before status.provenSeconds reaches status.safeTimeSeconds"
    for what, status in (
        ("time that nobody proved", {}),
        ("a second too few", {"provenSeconds": 71, "safeTimeSeconds": 72}),
        ("nothing to reach", {"provenSeconds": 72, "safeTimeSeconds": 0}),
        ("no marker", {**_PROVEN, "marked": None}),
        ("a boot that spoke again", {**_PROVEN, "contradicted": True}),
    ):
        trial.refuses(what, report(evidence=_BY_TIME, **status), "status.evidence", early)
    for class_ in ("E1", "E3", "E5"):
        other = report(evidence=_BY_TIME | {"class": class_}, **_PROVEN)
        trial.refuses(
            f"evidence {class_}", other, "status.evidence", "a new boot (E2) or a proof by time (E4)"
        )
    for field in ("nodeUID", "bootID"):
        misplaced = report(evidence=_BY_TIME | {field: _OTHER}, **_PROVEN)
        trial.refuses(
            f"evidence with another {field}", misplaced, "status.evidence", "for the node and the boot"
        )


def _release(trial: Trial, report: Report) -> None:
    alone = "workloads are released on evidence alone"
    trial.refuses("a taint on nothing", report(tainted=True), "status.tainted", alone)
    trial.refuses("a release on nothing", report(released=True), "status.released", alone)
    trial.accepts("evidence once the time is proven", report(evidence=_BY_TIME, tainted=True, **_PROVEN))
    trial.refuses(
        "other evidence in its place",
        report(evidence=_BY_TIME | {"class": "E2"}),
        "status.evidence",
        "cannot be changed",
    )
    trial.refuses(
        "no evidence under the taint", report(evidence=None), "status.evidence", "cannot be removed"
    )
    trial.accepts(
        "evidence that is forgotten, and why", report(evidence=None, tainted=False, contradicted=True)
    )
    trial.refuses(
        "a boot that is believed again", report(contradicted=False), "status.contradicted", "same boot"
    )
    new_boot = _BY_TIME | {"class": "E2"}
    trial.accepts("a new boot", report(evidence=new_boot, tainted=True))
    trial.accepts("a release", report(released=True, tainted=False))
    trial.refuses("a release undone", report(released=False), "status.released", "cannot be reset to false")
    trial.refuses("evidence gone after it", report(evidence=None), "status.evidence", "after the release")
