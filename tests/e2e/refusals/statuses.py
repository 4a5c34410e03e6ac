"""Changes of a remediation's status that are refused even from its remediator."""

from functools import partial

from tests.e2e.refusals.installed_cluster import Cluster
from tests.e2e.refusals.trial import Trial
from tests.e2e.refusals.words import BOOT_ID, Remediation, open_remediation

_OTHER: str = "3b6cc0b6-3a0c-4c5e-8f2e-9f0e3c1d7a55"


def statuses(cluster: Cluster, trial: Trial) -> None:
    opened = open_remediation(cluster, "status")
    _by_the_remediator_alone(cluster, trial, opened)
    _epochs(trial, opened)
    _targets(trial, opened)
    _evidence_on_a_confirmation(cluster, trial, opened)
    _what_was_released(trial, opened)


def _by_the_remediator_alone(cluster: Cluster, trial: Trial, opened: Remediation) -> None:
    change = {"status": {"epoch": 8}}
    for name, api in {**cluster.people, "checker": cluster.checker}.items():
        says = "only Nodemend's remediator writes the status" if name == "chief" else "cannot patch resource"
        trial.refuses(f"a status by {name}", partial(api.patch, f"{opened.path}/status", change), says)


def _epochs(trial: Trial, opened: Remediation) -> None:
    trial.accepts("a higher epoch", opened.report(epoch=9))
    trial.accepts("the same epoch", opened.report(epoch=9, message="still waiting"))
    for what, epoch in (("a lower epoch", 8), ("epoch zero", 0), ("no epoch", None)):
        trial.refuses(
            what, opened.report(epoch=epoch), "status.epoch", "must not decrease", "no longer leads"
        )
    trial.refuses(
        "a status wiped out",
        lambda: opened.cluster.remediator.patch(f"{opened.path}/status", {"status": None}),
        "must not decrease",
    )
    trial.refuses("a negative epoch", opened.report(epoch=-1), "status.epoch", "greater than or equal to 0")


def _targets(trial: Trial, opened: Remediation) -> None:
    for what, uid in (("another node", _OTHER), ("no node any more", None)):
        trial.refuses(what, opened.report(nodeUID=uid), "status.nodeUID", "cannot be changed once it is set")
    trial.refuses("no boot any more", opened.report(bootID=None), "status.bootID", "cannot be removed")
    trial.accepts("the node's next boot, without evidence", opened.report(bootID=_OTHER))
    trial.accepts("and the first again", opened.report(bootID=BOOT_ID))
    trial.refuses("an unknown phase", opened.report(phase="Rebooting"), "status.phase", "supported values")
    trial.refuses("less than no pods", opened.report(podsLeft=-1), "status.podsLeft", "equal to 0")
    condition = {
        "type": "Processing",
        "status": "True",
        "reason": "InProgress",
        "lastTransitionTime": "2026-01-31T12:00:00Z",
    }
    trial.accepts("a condition", opened.report(conditions=[condition]))
    for what, conditions, says in (
        ("a condition of no type", [condition | {"type": "in progress"}], "must be the type of a condition"),
        ("a condition of no time", [condition | {"lastTransitionTime": "noon"}], "date-time"),
        ("a condition twice", [condition, condition], "Duplicate value"),
    ):
        trial.refuses(what, opened.report(conditions=conditions), "status.conditions", says)


def _evidence_on_a_confirmation(cluster: Cluster, trial: Trial, opened: Remediation) -> None:
    evidence = opened.confirmation("anna") | {"class": "E5"}
    on_evidence_alone = "workloads are released on evidence alone"
    trial.refuses("a taint on nothing", opened.report(tainted=True), "status.tainted", on_evidence_alone)
    trial.refuses("a release on nothing", opened.report(released=True), "status.released", on_evidence_alone)
    no_confirmation = "must repeat spec.confirmation"
    trial.refuses(
        "evidence without a word", opened.report(evidence=evidence), "status.evidence", no_confirmation
    )
    opened.confirm("anna")()
    for field in ("by", "reason", "lastRenewTime"):
        embellished = opened.report(evidence=evidence | {field: "something else"})
        trial.refuses(f"evidence with another {field}", embellished, "status.evidence", no_confirmation)
    for field in ("nodeUID", "bootID"):
        misplaced = opened.report(evidence=evidence | {field: _OTHER})
        trial.refuses(
            f"evidence with another {field}", misplaced, "status.evidence", "for the node and the boot"
        )
    unheard_of = opened.report(evidence=evidence | {"class": "E9"})
    trial.refuses("evidence of no known class", unheard_of, "status.evidence.class", '"E1"')
    trial.accepts("evidence that repeats the word", opened.report(evidence=evidence, tainted=True))


def _what_was_released(trial: Trial, opened: Remediation) -> None:
    evidence = opened.confirmation("anna") | {"class": "E5"}
    trial.refuses(
        "another boot under the evidence", opened.report(bootID=_OTHER), "status.bootID", "while evidence is"
    )
    trial.refuses(
        "evidence touched up",
        opened.report(evidence=evidence | {"reason": "I was sure"}),
        "status.evidence",
        "it is recorded once",
    )
    trial.refuses("evidence lost under the taint", opened.report(evidence=None), "status", "evidence")
    trial.accepts("evidence forgotten with the taint", opened.report(evidence=None, tainted=False))
    trial.accepts("evidence recorded anew", opened.report(evidence=evidence, tainted=True))
    trial.accepts("the release", opened.report(released=True))
    trial.accepts("the taint off", opened.report(tainted=False))
    trial.refuses(
        "a release undone", opened.report(released=False), "status.released", "cannot be reset to false"
    )
    trial.refuses(
        "evidence lost after the release",
        opened.report(evidence=None),
        "status.evidence",
        "nor after the release",
    )
