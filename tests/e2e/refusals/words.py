"""An operator's confirmation: its author, its subject, and that it is given once."""

from functools import partial
from typing import Any, Final

from tests.e2e.refusals.installed_cluster import REMEDIATIONS, Cluster, remediation
from tests.e2e.refusals.trial import Attempt, Trial

NODE_UID: Final = "5f0c1d3e-0b6a-4c8e-9a53-6d2f1be3a7c4"
BOOT_ID: Final = "0d9a7c52-1c55-4f2b-8a43-7f6f6f0d5b11"
LAST_RENEW_TIME: Final = "2026-01-31T12:00:00.000000Z"


class Remediation:
    """One remediation, and clients of every account."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        self.cluster = cluster
        self.path = f"{REMEDIATIONS}/{name}"

    def confirmation(self, person: str, **other: str) -> dict[str, Any]:
        """A valid confirmation of this user, with these changes."""
        return {
            "by": self.cluster.user_name(person),
            "reason": "I pulled both plugs",
            "nodeUID": NODE_UID,
            "bootID": BOOT_ID,
            "lastRenewTime": LAST_RENEW_TIME,
        } | other

    def confirm(self, person: str, **other: str) -> Attempt:
        change = {"spec": {"confirmation": self.confirmation(person, **other)}}
        return lambda: self.cluster.people[person].patch(self.path, change)

    def withdraw(self, person: str) -> Attempt:
        return lambda: self.cluster.people[person].patch(self.path, {"spec": {"confirmation": None}})

    def change(self, person: str, **content: object) -> Attempt:
        return lambda: self.cluster.people[person].patch(self.path, content)

    def report(self, **status: object) -> Attempt:
        """The remediator writes the status."""
        return lambda: self.cluster.remediator.patch(f"{self.path}/status", {"status": status})


def open_remediation(cluster: Cluster, name: str) -> Remediation:
    """A remediation that waits for the confirmation, brought there as by the checker and the remediator."""
    cluster.checker.create(remediation(name, instructions="Pull both plugs."))
    opened = Remediation(cluster, name)
    cluster.remediator.patch(opened.path, {"metadata": {"finalizers": ["nodemend.io/safe-end"]}})
    opened.report(epoch=7, nodeUID=NODE_UID, bootID=BOOT_ID, lastRenewTime=LAST_RENEW_TIME)()
    return opened


def words(cluster: Cluster, trial: Trial) -> None:
    _not_given_too_early(cluster, trial)
    opened = open_remediation(cluster, "word")
    _own_name_and_right(cluster, trial, opened)
    _for_what_was_shown(trial, opened)
    _once(trial, opened)


def _not_given_too_early(cluster: Cluster, trial: Trial) -> None:
    fresh = Remediation(cluster, "too-early")
    with_confirmation = remediation("too-early", confirmation=fresh.confirmation("chief"))
    trial.refuses(
        "a remediation that is born confirmed",
        lambda: cluster.people["chief"].create(with_confirmation),
        "spec.confirmation",
        "must be absent from a new remediation",
    )
    cluster.checker.create(remediation("too-early"))
    trial.refuses(
        "a word before the remediator looked at the node",
        fresh.confirm("anna"),
        "spec.confirmation.nodeUID must repeat status.nodeUID",
    )
    fresh.report(epoch=7, nodeUID=NODE_UID, bootID=BOOT_ID)()
    trial.refuses(
        "a word while the kubelet still speaks",
        fresh.confirm("anna"),
        "spec.confirmation.lastRenewTime must repeat status.lastRenewTime",
        "not been silent for long enough",
    )


def _own_name_and_right(cluster: Cluster, trial: Trial, opened: Remediation) -> None:
    for person in ("anna", "chief"):
        trial.refuses(
            f"{person}'s word in the name of berta",
            opened.confirm(person, by=cluster.user_name("berta")),
            "spec.confirmation.by must be your own user name",
            cluster.user_name(person),
        )
    for person in ("viewer", "operator"):
        trial.refuses(f"the word of a mere {person}", opened.confirm(person), "cannot patch resource")
    trial.refuses(
        "a word by patch alone, without the right to confirm",
        opened.confirm("meddler"),
        'the verb "confirm" on manualremediations',
        "nodemend-confirmer",
    )
    accounts = (("checker", cluster.checker), ("remediator", cluster.remediator))
    for name, api in accounts:
        confirmation = opened.confirmation(
            "anna", by=f"system:serviceaccount:nodemend-system:nodemend-{name}"
        )
        trial.refuses(
            f"the word of the {name}",
            partial(api.patch, opened.path, {"spec": {"confirmation": confirmation}}),
            "cannot patch resource" if name == "checker" else "denied request",
        )


def _for_what_was_shown(trial: Trial, opened: Remediation) -> None:
    trial.refuses(
        "a word for another node",
        opened.confirm("anna", nodeUID="8c1b1c43-77a3-4a7e-a10b-2f4a0f1b2d90"),
        "spec.confirmation.nodeUID must repeat status.nodeUID",
        "another node",
    )
    trial.refuses(
        "a word for another boot",
        opened.confirm("anna", bootID="3b6cc0b6-3a0c-4c5e-8f2e-9f0e3c1d7a55"),
        "spec.confirmation.bootID must repeat status.bootID",
        "another boot",
    )
    trial.refuses(
        "a word that has seen an older sign of life",
        opened.confirm("anna", lastRenewTime="2026-01-31T11:59:50.000000Z"),
        "spec.confirmation.lastRenewTime must repeat status.lastRenewTime",
        "renewed its Lease since you read the status",
    )
    for field in ("by", "reason", "nodeUID", "bootID", "lastRenewTime"):
        trial.refuses(
            f"a word with an empty {field}",
            opened.confirm("anna", **{field: ""}),
            f"spec.confirmation.{field}",
            "at least 1 chars long",
        )


def _once(trial: Trial, opened: Remediation) -> None:
    trial.accepts("anna's word", opened.confirm("anna"))
    trial.refuses(
        "a second word of anna's",
        opened.confirm("anna", reason="I looked again"),
        "spec.confirmation",
        "withdraw the confirmation, then confirm again",
    )
    trial.refuses(
        "berta's word over anna's",
        opened.confirm("berta"),
        "spec.confirmation",
        "withdraw the confirmation, then confirm again",
    )
    trial.accepts("anna's word withdrawn", opened.withdraw("anna"))
    trial.accepts("berta's word after that", opened.confirm("berta"))
    evidence = opened.confirmation("berta") | {"class": "E5"}
    trial.accepts("the evidence on it", opened.report(evidence=evidence, tainted=True))
    trial.refuses(
        "a word withdrawn during the release",
        opened.withdraw("berta"),
        "spec.confirmation",
        "may be withdrawn only before the release starts",
    )
    trial.accepts("the release", opened.report(released=True, tainted=False))
    trial.refuses(
        "a word withdrawn after the release",
        opened.withdraw("berta"),
        "spec.confirmation",
        "may be withdrawn only before the release starts",
    )
