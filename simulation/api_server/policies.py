"""The chart's ValidatingAdmissionPolicies as tables of demands. The first demand that fails is reported."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from nodemend.api.resources import Resource
from nodemend.api.well_known import (
    CHECK,
    CHECK_UID,
    DRILL,
    NO_EXECUTE,
    ORDER,
    ORDERED_BECAUSE,
    ORDERED_BY,
    OUR_TAINT_VALUE,
    OUT_OF_SERVICE,
    PAST_GUARD,
    RELEASE_REVOKED,
    SAFE_END,
)
from simulation.api_server.admission import Attempt, Operation, PolicyDenial, Question

CHECKER: Final = "system:serviceaccount:nodemend-system:nodemend-checker"
REMEDIATOR: Final = "system:serviceaccount:nodemend-system:nodemend-remediator"
OF_AN_ORDER: Final = frozenset({ORDER, ORDERED_BY, ORDERED_BECAUSE, PAST_GUARD})
RECORD: Final = (CHECK_UID, ORDER, ORDERED_BY, ORDERED_BECAUSE, PAST_GUARD, DRILL)
MOVES_BY_ITSELF: Final = ("managedFields", "resourceVersion", "generation")

Part = Mapping[str, Any]
NOTHING: Final[Part] = {}
INVALID: Final = "Invalid"
FORBIDDEN: Final = "Forbidden"


@dataclass(frozen=True, slots=True)
class Write:
    """An attempt with the parts that policies check. On create, `old` is empty or equal to `new`."""

    attempt: Attempt
    new: Part
    old: Part

    @property
    def user(self) -> str:
        return self.attempt.user.name

    @property
    def creates(self) -> bool:
        return self.attempt.operation is Operation.CREATE

    def may(self, verb: str, resource: Resource, namespace: str = "", name: str = "") -> bool:
        return self.attempt.allows(Question(self.attempt.user, verb, resource, namespace, name))

    def may_to_remediations(self, verb: str, name: str = "") -> bool:
        return self.may(verb, self.attempt.resource, self.new["metadata"]["namespace"], name)


Demand = tuple[Callable[[Write], bool], str, str]
"""Condition that must hold, reason of the refusal, and its message.

In the message, {user} is replaced by the user name and {resource} by the plural name of the resource.
"""


def first_failed(policy: str, demands: tuple[Demand, ...], write: Write) -> list[PolicyDenial]:
    for holds, reason, message in demands:
        if not holds(write):
            said = message.replace("{user}", write.user).replace("{resource}", write.attempt.resource.plural)
            return [PolicyDenial(policy, policy, said, reason)]
    return []


def same_but(new: Part, old: Part, *free: str) -> bool:
    """Return whether every key except the free ones is equal, or absent, in both."""
    return all(new.get(key) == old.get(key) for key in new.keys() | old.keys() if key not in free)


def of(object_: Part, name: str) -> Part:
    """Return one top-level field, or an empty mapping if it is absent."""
    part: Part = object_.get(name) or NOTHING
    return part


def _confirmation(object_: Part) -> Part:
    return of(of(object_, "spec"), "confirmation")


def _repeats(field: str) -> Callable[[Write], bool]:
    return lambda write: _confirmation(write.new)[field] == of(write.old, "status").get(field, "")


CONFIRMATION: Final[tuple[Demand, ...]] = (
    (
        lambda write: not write.creates,
        INVALID,
        (
            "spec.confirmation must be absent from a new remediation: it is added "
            "later, with kubectl mend confirm"
        ),
    ),
    (
        lambda write: write.user not in {CHECKER, REMEDIATOR},
        FORBIDDEN,
        "spec.confirmation must be written by a user, never by a controller of Nodemend",
    ),
    (
        lambda write: write.may_to_remediations("confirm", write.new["metadata"]["name"]),
        FORBIDDEN,
        (
            'spec.confirmation needs the right to confirm: the verb "confirm" on '
            "manualremediations, as in the "
            "ClusterRole nodemend-confirmer"
        ),
    ),
    (
        lambda write: bool(_confirmation(write.new)["by"] == write.user),
        FORBIDDEN,
        ("spec.confirmation.by must be your own user name, {user}: users can confirm only in their own name"),
    ),
    (
        _repeats("nodeUID"),
        INVALID,
        (
            "spec.confirmation.nodeUID must repeat status.nodeUID: the confirmation is for another node than "
            "this remediation, or the remediator has not read the node yet"
        ),
    ),
    (
        _repeats("bootID"),
        INVALID,
        (
            "spec.confirmation.bootID must repeat status.bootID: the confirmation is for another boot "
            "than the one that must end; check the node again"
        ),
    ),
    (
        _repeats("lastRenewTime"),
        INVALID,
        (
            "spec.confirmation.lastRenewTime must repeat status.lastRenewTime: the kubelet has renewed its "
            "Lease since you read the status, or has not been silent for long enough yet"
        ),
    ),
)


def confirmation_policy(attempt: Attempt) -> list[PolicyDenial]:
    """Only a user confirms, under their own name, with the right to confirm, repeating the current status."""
    if attempt.new is None or attempt.subresource:
        return []
    write = Write(attempt, attempt.new, attempt.old or NOTHING)
    if not _confirmation(write.new) or _confirmation(write.old):
        return []
    return first_failed("nodemend-confirmation", CONFIRMATION, write)


def others_taints(object_: Part) -> list[Part]:
    ours = (OUT_OF_SERVICE, OUR_TAINT_VALUE, NO_EXECUTE)
    taints = of(object_, "spec").get("taints", ())
    return [taint for taint in taints if (taint["key"], taint.get("value", ""), taint["effect"]) != ours]


NODES: Final[tuple[Demand, ...]] = (
    (lambda write: write.user == REMEDIATOR, FORBIDDEN, "Nodemend's checker may not write Nodes"),
    (
        lambda write: write.attempt.operation is Operation.UPDATE and not write.attempt.subresource,
        FORBIDDEN,
        "Nodemend's remediator may neither create nor delete Nodes, nor write their status",
    ),
    (
        lambda write: others_taints(write.new) == others_taints(write.old),
        FORBIDDEN,
        (
            "spec.taints: Nodemend's remediator may add and remove only its own taint, "
            "node.kubernetes.io/out-of-service=nodemend:NoExecute"
        ),
    ),
    (
        lambda write: same_but(of(write.new, "spec"), of(write.old, "spec"), "taints"),
        FORBIDDEN,
        "spec: Nodemend's remediator may change only its own taint",
    ),
    (
        lambda write: same_but(write.new["metadata"], write.old["metadata"], "annotations", *MOVES_BY_ITSELF),
        FORBIDDEN,
        "metadata: Nodemend's remediator may not change labels, finalizers or owners of a Node",
    ),
    (
        lambda write: same_but(
            of(write.new["metadata"], "annotations"),
            of(write.old["metadata"], "annotations"),
            RELEASE_REVOKED,
        ),
        FORBIDDEN,
        "metadata.annotations: Nodemend's remediator may change only its own, nodemend.io/release-revoked",
    ),
)


def nodes_policy(attempt: Attempt) -> list[PolicyDenial]:
    """Limit the writes of Nodemend's accounts on Nodes.

    The remediator writes its own taint and annotation, the checker writes nothing.
    """
    if attempt.user.name not in {CHECKER, REMEDIATOR}:
        return []
    return first_failed(
        "nodemend-nodes", NODES, Write(attempt, attempt.new or NOTHING, attempt.old or NOTHING)
    )


def _only_our_finalizer_moved(write: Write) -> bool:
    metadata, old_metadata = write.new["metadata"], write.old["metadata"]
    mine, theirs = (
        [one for one in part.get("finalizers", ()) if one != SAFE_END] for part in (metadata, old_metadata)
    )
    return mine == theirs and same_but(metadata, old_metadata, "finalizers", *MOVES_BY_ITSELF)


def _only_a_confirmation_given(write: Write) -> bool:
    """Return whether the spec is unchanged except for a new confirmation.

    The policy nodemend-confirmation decides whether the confirmation is allowed.
    """
    free = () if _confirmation(write.old) else ("confirmation",)
    return same_but(of(write.new, "spec"), of(write.old, "spec"), *free)


def _loses_our_finalizer(write: Write) -> bool:
    before, after = (part["metadata"].get("finalizers", ()) for part in (write.old, write.new))
    return SAFE_END in before and SAFE_END not in after


def _drilled_by(write: Write) -> str:
    return str(of(write.new["metadata"], "annotations").get(DRILL, ""))


def _x_structure(object_: Part) -> list[Any]:
    metadata = object_["metadata"]
    annotations = of(metadata, "annotations")
    return [of(metadata, "labels").get(CHECK), *(annotations.get(key) for key in RECORD)]


REMEDIATIONS: Final[tuple[Demand, ...]] = (
    (
        lambda write: (
            not write.creates
            or write.user == CHECKER
            or write.may_to_remediations("request")
            or (_drilled_by(write) != "" and write.may_to_remediations("drill"))
        ),
        FORBIDDEN,
        'only Nodemend\'s checker, and users with the verb "request" on remediations, may create them',
    ),
    (
        lambda write: not write.creates or _drilled_by(write) in ("", write.user),
        FORBIDDEN,
        "metadata.annotations: nodemend.io/drill must be your own user name",
    ),
    (
        lambda write: not write.creates or _drilled_by(write) == "" or write.may_to_remediations("drill"),
        FORBIDDEN,
        (
            "metadata.annotations: nodemend.io/drill resets a healthy node, and needs the verb "
            '"drill", as in the ClusterRole nodemend-driller'
        ),
    ),
    (
        lambda write: (
            not write.creates
            or write.user == CHECKER
            or not of(write.new["metadata"], "annotations").keys() & OF_AN_ORDER
        ),
        FORBIDDEN,
        (
            "metadata.annotations: nodemend.io/order, ordered-by, ordered-because and past-guard are "
            "written by Nodemend's checker when it follows a RemediationOrder; create one by kubectl mend run"
        ),
    ),
    (
        lambda write: write.attempt.subresource != "status" or write.user == REMEDIATOR,
        FORBIDDEN,
        "status: only Nodemend's remediator writes the status of a remediation",
    ),
    (
        lambda write: write.creates or write.user != CHECKER,
        FORBIDDEN,
        "Nodemend's checker creates and deletes remediations, and changes none",
    ),
    (
        lambda write: write.user != REMEDIATOR or _only_a_confirmation_given(write),
        FORBIDDEN,
        "spec: Nodemend's remediator may not change the spec of a remediation",
    ),
    (
        lambda write: write.user != REMEDIATOR or _only_our_finalizer_moved(write),
        FORBIDDEN,
        "metadata: Nodemend's remediator may change only its own finalizer, nodemend.io/safe-end",
    ),
    (
        lambda write: (
            write.user == REMEDIATOR
            or not _loses_our_finalizer(write)
            or write.may_to_remediations("abandon")
        ),
        FORBIDDEN,
        (
            "metadata.finalizers: Nodemend's remediator removes nodemend.io/safe-end once its taint is off "
            'the node; removing it earlier abandons the remediation and needs the verb "abandon" on it'
        ),
    ),
    (
        lambda write: _x_structure(write.new) == _x_structure(write.old),
        INVALID,
        (
            "metadata: the label nodemend.io/check and the annotations nodemend.io/check-uid, order, "
            "ordered-by, ordered-because, past-guard and drill record which check or user requested this "
            "remediation, and cannot be changed"
        ),
    ),
)


def remediations_policy(attempt: Attempt) -> list[PolicyDenial]:
    """Limit writes of remediations and keep the references to their check.

    The checker creates them; the remediator writes their status and ends them.
    """
    if attempt.new is None:
        return []
    write = Write(attempt, attempt.new, attempt.old or attempt.new)
    return first_failed("nodemend-remediations", REMEDIATIONS, write)
