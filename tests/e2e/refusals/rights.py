"""Rights to create, change and end remediations, and to change the cluster's policy."""

from functools import partial

from tests.e2e.refusals.installed_cluster import CHECKS, POLICY, Cluster, health_check, remediation
from tests.e2e.refusals.trial import Trial
from tests.e2e.refusals.words import open_remediation


def rights(cluster: Cluster, trial: Trial) -> None:
    _creation(cluster, trial)
    _drills(cluster, trial)
    _changes(cluster, trial)
    _settings(cluster, trial)
    _checks(cluster, trial)


def _creation(cluster: Cluster, trial: Trial) -> None:
    def attempt_by(person: str) -> None:
        cluster.people[person].create(remediation(f"by-{person}"))

    for person in ("viewer", "operator", "anna"):
        trial.refuses(f"a remediation by {person}", partial(attempt_by, person), "cannot create resource")
    trial.refuses(
        "a remediation by someone who may only create",
        partial(attempt_by, "meddler"),
        "only Nodemend's checker",
        'the verb "request"',
    )
    trial.refuses(
        "a remediation by the remediator",
        lambda: cluster.remediator.create(remediation("by-remediator")),
        "cannot create resource",
    )
    trial.accepts("a remediation by someone who may request it", partial(attempt_by, "requester"))
    trial.accepts("a remediation by the checker", lambda: cluster.checker.create(remediation("by-checker")))


def _drills(cluster: Cluster, trial: Trial) -> None:
    """A user drills in its own name, with a separate right, and only drills."""

    def attempt_by(person: str, *, name: str | None) -> None:
        drilled = {} if name is None else {"annotations": {"nodemend.io/drill": name}}
        cluster.people[person].create(
            {
                "apiVersion": "nodemend.io/v1alpha1",
                "kind": "SelfRemediation",
                "metadata": {"name": f"drill-by-{person}", "namespace": "default", **drilled},
                "spec": {},
            }
        )

    mine = cluster.user_name("driller")
    only = ("only Nodemend's checker", 'the verb "request"')
    trial.refuses("a remediation by a driller", partial(attempt_by, "driller", name=None), *only)
    trial.refuses("a drill of nobody", partial(attempt_by, "driller", name=""), *only)
    trial.refuses("a drill by the operator", partial(attempt_by, "operator", name=mine), "cannot create")
    trial.refuses(
        "a drill in the name of the chief",
        partial(attempt_by, "driller", name=cluster.user_name("chief")),
        "nodemend.io/drill must be your own user name",
    )
    trial.refuses(
        "another kind of remediation as a drill",
        lambda: cluster.people["driller"].create(remediation("no-drill")),
        "cannot create",
    )
    drilled = remediation("drilled")
    drilled["metadata"]["annotations"] = {"nodemend.io/drill": cluster.user_name("requester")}
    trial.refuses(
        "a drill by someone who may request remediations",
        lambda: cluster.people["requester"].create(drilled),
        'needs the verb "drill"',
    )
    trial.accepts("a drill by a driller", partial(attempt_by, "driller", name=mine))
    path = "/apis/nodemend.io/v1alpha1/namespaces/default/selfremediations/drill-by-driller"
    trial.refuses(
        "a drill made a remediation",
        lambda: cluster.people["chief"].patch(
            path, {"metadata": {"annotations": {"nodemend.io/drill": None}}}
        ),
        "record which check or user requested",
    )
    trial.accepts("and its end", lambda: cluster.people["driller"].delete(path))


def _changes(cluster: Cluster, trial: Trial) -> None:
    opened = open_remediation(cluster, "changes")
    trial.refuses(
        "other instructions",
        opened.change("anna", spec={"instructions": "Wait."}),
        "spec.instructions",
        "change the template",
    )
    trial.refuses(
        "no instructions",
        opened.change("anna", spec={"instructions": None}),
        "spec.instructions",
        "cannot be changed",
    )
    tied = ("record which check or user requested", "cannot be changed")
    trial.refuses(
        "another check's label", opened.change("anna", metadata={"labels": {"nodemend.io/check": "x"}}), *tied
    )
    trial.refuses(
        "another check's UID",
        opened.change("anna", metadata={"annotations": {"nodemend.io/check-uid": "x"}}),
        *tied,
    )
    trial.refuses(
        "its finalizer gone by anna's hand",
        opened.change("anna", metadata={"finalizers": []}),
        "metadata.finalizers",
        'the verb "abandon"',
    )
    own_finalizer = "only its own finalizer"
    for what, change in (
        ("a label by the remediator", {"labels": {"done": "yes"}}),
        ("an annotation by the remediator", {"annotations": {"done": "yes"}}),
        ("another's finalizer by the remediator", {"finalizers": ["nodemend.io/safe-end", "x.io/y"]}),
    ):
        trial.refuses(
            what,
            partial(cluster.remediator.patch, opened.path, {"metadata": change}),
            own_finalizer,
        )
    trial.refuses(
        "instructions by the remediator",
        lambda: cluster.remediator.patch(opened.path, {"spec": {"instructions": "Done."}}),
        "spec.instructions",
    )
    trial.refuses(
        "any change by the checker",
        lambda: cluster.checker.patch(opened.path, {"metadata": {"labels": {"a": "b"}}}),
        "cannot patch resource",
    )
    trial.refuses(
        "an end by anna", lambda: cluster.people["anna"].delete(opened.path), "cannot delete resource"
    )
    trial.accepts("an end by the operator", lambda: cluster.people["operator"].delete(opened.path))
    trial.accepts(
        "its finalizer off by the remediator",
        lambda: cluster.remediator.patch(opened.path, {"metadata": {"finalizers": []}}),
    )
    abandoned = open_remediation(cluster, "abandoned")
    trial.accepts(
        "its finalizer off by someone who may abandon it",
        abandoned.change("chief", metadata={"finalizers": []}),
    )


def _settings(cluster: Cluster, trial: Trial) -> None:
    operator = cluster.people["operator"]

    def set_policy(**spec: object) -> None:
        operator.patch(POLICY, {"spec": spec})

    may_only_pause = ("you may change spec.pause only", 'the verb "configure"')
    trial.refuses("Act by the operator", lambda: set_policy(mode="Act"), *may_only_pause)
    trial.refuses("more at once by the operator", lambda: set_policy(maxConcurrent=50), *may_only_pause)
    trial.refuses(
        "a pause in the name of the chief",
        lambda: set_policy(pause={"reason": "storm", "by": cluster.user_name("chief")}),
        "spec.pause.by must be your own user name",
        cluster.user_name("operator"),
    )
    own = {"reason": "storm", "by": cluster.user_name("operator")}
    trial.accepts("a pause by the operator", lambda: set_policy(pause=own))
    trial.accepts("and its end", lambda: set_policy(pause=None))
    trial.refuses(
        "a pause by a viewer",
        lambda: cluster.people["viewer"].patch(POLICY, {"spec": {"pause": own}}),
        "cannot patch resource",
    )
    trial.accepts(
        "Act by the chief", lambda: cluster.people["chief"].patch(POLICY, {"spec": {"mode": "Act"}})
    )


def _checks(cluster: Cluster, trial: Trial) -> None:
    """An operator may pause a check, and may not change anything else of it."""
    chief, operator = cluster.people["chief"], cluster.people["operator"]
    trial.accepts("a check by the chief", lambda: chief.create(health_check("paused-now-and-then")))
    path = f"{CHECKS}/paused-now-and-then"

    def set_check(**spec: object) -> None:
        operator.patch(path, {"spec": spec})

    may_only_pause = ("you may change spec.pause only", 'the verb "configure" on nodehealthchecks')
    for what, change in (
        ("another limit", {"maxUnhealthy": "90%"}),
        ("all nodes", {"selector": {"matchLabels": None}}),
        ("no dry run", {"dryRun": False}),
        ("a pause and another limit", {"pause": {"reason": "x"}, "maxUnhealthy": "90%"}),
    ):
        trial.refuses(f"{what} of a check by the operator", partial(set_check, **change), *may_only_pause)
    trial.refuses(
        "a pause of a check in the name of the chief",
        lambda: set_check(pause={"reason": "storm", "by": cluster.user_name("chief")}),
        "spec.pause.by must be your own user name",
        cluster.user_name("operator"),
    )
    own = {"reason": "storm", "by": cluster.user_name("operator")}
    trial.accepts("a pause of a check by the operator", lambda: set_check(pause=own))
    trial.accepts("and its end", lambda: set_check(pause=None))
    trial.refuses(
        "a pause of a check by a viewer",
        lambda: cluster.people["viewer"].patch(path, {"spec": {"pause": own}}),
        "cannot patch resource",
    )
    trial.refuses(
        "a check by the operator", lambda: operator.create(health_check("theirs")), "cannot create resource"
    )
    # A user that may create checks, but not configure them, could change one by deleting and recreating it.
    author = cluster.people["author"]
    needs = ("creating one needs the verb", '"configure" on nodehealthchecks')
    trial.refuses("a check by someone who may create", lambda: author.create(health_check("theirs")), *needs)
    unnamed = health_check("")
    unnamed["metadata"] = {"generateName": "the-author-s-"}
    trial.refuses("one whose name is made up", lambda: author.request("POST", CHECKS, unnamed), *needs)
    only_a_pause = {**health_check("theirs"), "spec": {"pause": {"reason": "x"}}}
    trial.refuses("one that is a pause alone", lambda: author.create(only_a_pause))
    trial.accepts("the end of one", lambda: author.delete(path))
    trial.refuses("another of its name", lambda: author.create(health_check("paused-now-and-then")), *needs)
    trial.accepts("the one that they may configure", lambda: author.create(health_check("the-author-s")))
    trial.accepts("a check by the chief", lambda: chief.create(health_check("paused-now-and-then")))
    trial.accepts("another limit by the chief", lambda: chief.patch(path, {"spec": {"maxUnhealthy": 3}}))
