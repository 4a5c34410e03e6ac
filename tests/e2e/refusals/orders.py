"""A user's order: its author, its overrides, and that it never changes."""

from functools import partial

from tests.e2e.refusals.installed_cluster import ORDERS, Cluster, order, remediation
from tests.e2e.refusals.trial import Attempt, Trial
from tests.e2e.refusals.words import open_remediation


def orders(cluster: Cluster, trial: Trial) -> None:
    _own_name_and_right(cluster, trial)
    _once(cluster, trial)
    _ended(cluster, trial)
    _recorded(cluster, trial)


def _giving(cluster: Cluster, person: str, name: str, **other: object) -> Attempt:
    """A valid order of this user, with these changes."""
    spec = {"by": cluster.user_name(person), **other}
    return lambda: cluster.people[person].create(order(name, **spec))


def _own_name_and_right(cluster: Cluster, trial: Trial) -> None:
    for person in ("operator", "overrider", "chief"):
        trial.refuses(
            f"{person}'s order in the name of berta",
            _giving(cluster, person, "order", by=cluster.user_name("berta")),
            "spec.by must be your own user name",
            cluster.user_name(person),
        )
    for person in ("viewer", "anna", "meddler", "requester"):
        trial.refuses(f"an order of {person}", _giving(cluster, person, "order"), "cannot create resource")
    trial.refuses(
        "an order past the guard by a mere operator",
        _giving(cluster, "operator", "order", pastGuard=True),
        'the verb "override" on remediationorders',
        "nodemend-overrider",
    )
    for name, api in (("checker", cluster.checker), ("remediator", cluster.remediator)):
        own = order("order", by=f"system:serviceaccount:nodemend-system:nodemend-{name}")
        trial.refuses(f"an order of the {name}", partial(api.create, own), "cannot create resource")
    trial.accepts("an order of the operator", _giving(cluster, "operator", "ordered"))
    trial.accepts("one that is not past the guard", _giving(cluster, "operator", "b", pastGuard=False))
    trial.accepts("an order of the overrider", _giving(cluster, "overrider", "c"))
    trial.accepts("one past the guard", _giving(cluster, "overrider", "past", pastGuard=True))


def _once(cluster: Cluster, trial: Trial) -> None:
    chief = cluster.people["chief"]
    for field, value in (
        ("by", cluster.user_name("chief")),
        ("reason", "another"),
        ("nodeUID", "another"),
        ("pastGuard", True),
    ):
        trial.refuses(
            f"another {field} by the chief",
            partial(chief.patch, f"{ORDERS}/ordered", {"spec": {field: value}}),
            "spec",
            "delete the order, then create a new one",
        )
    trial.refuses(
        "an order changed by the operator",
        lambda: cluster.people["operator"].patch(f"{ORDERS}/ordered", {"spec": {"reason": "another"}}),
        "cannot patch resource",
    )


def _ended(cluster: Cluster, trial: Trial) -> None:
    path, people = f"{ORDERS}/past", cluster.people
    others = {"viewer": people["viewer"], "anna": people["anna"], "the remediator": cluster.remediator}
    for name, api in others.items():
        trial.refuses(f"an end by {name}", partial(api.delete, path), "cannot delete resource")
    trial.accepts("an end by the operator", lambda: people["operator"].delete(path))
    trial.accepts("an end by the checker", lambda: cluster.checker.delete(f"{ORDERS}/ordered"))


def _recorded(cluster: Cluster, trial: Trial) -> None:
    """Only the checker records the author of an order on a remediation, and it cannot be changed."""
    for key in ("order", "ordered-by", "ordered-because", "past-guard"):
        forged = remediation(f"forged-{key}")
        forged["metadata"]["annotations"] = {f"nodemend.io/{key}": "x"}
        for person in ("requester", "chief"):
            trial.refuses(
                f"a remediation by the {person} that says {key}",
                partial(cluster.people[person].create, forged),
                "written by Nodemend's checker when it follows a RemediationOrder",
            )
    opened = open_remediation(cluster, "ordered")
    for key in ("order", "ordered-by", "ordered-because", "past-guard"):
        trial.refuses(
            f"another's {key}",
            opened.change("anna", metadata={"annotations": {f"nodemend.io/{key}": "x"}}),
            "record which check or user requested",
            "cannot be changed",
        )
