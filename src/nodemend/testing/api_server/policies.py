"""The ValidatingAdmissionPolicies of the chart: each a list of demands, the first that fails speaks."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from nodemend.api.group_versions import MANUAL_REMEDIATION, REMEDIATION_POLICY
from nodemend.api.keys import (
    CHECK,
    CHECK_UID,
    NO_EXECUTE,
    OUR_TAINT_VALUE,
    OUT_OF_SERVICE,
    POLICY_NAME,
    RELEASE_VOIDED,
    SAFE_END,
)
from nodemend.testing.api_server.admission import Attempt, Operation, PolicyDenial, Question

CHECKER: Final = "system:serviceaccount:nodemend-system:nodemend-checker"
REMEDIATOR: Final = "system:serviceaccount:nodemend-system:nodemend-remediator"
MOVES_BY_ITSELF: Final = frozenset({"managedFields", "resourceVersion", "generation"})

Part = Mapping[str, Any]
NOTHING: Final[Part] = {}
Demand = tuple[Callable[[], bool], str, str]
"""What must hold, the reason of the refusal, its message."""


def _first_failed(policy: str, demands: Iterable[Demand]) -> list[PolicyDenial]:
    for holds, reason, message in demands:
        if not holds():
            return [PolicyDenial(policy, policy, message, reason)]
    return []


def _same_but(new: Part, old: Part, *free: str) -> bool:
    """Every key but the free ones has the same value, or is absent, in both."""
    return all(new.get(key) == old.get(key) for key in new.keys() | old.keys() if key not in free)


def confirmation_policy(attempt: Attempt) -> list[PolicyDenial]:
    """A word is given by a person, in their own name, by a right of its own, for what they were shown."""
    if attempt.new is None or attempt.subresource:
        return []
    old = attempt.old or NOTHING
    word = (attempt.new.get("spec") or NOTHING).get("confirmation")
    if word is None or (old.get("spec") or NOTHING).get("confirmation") is not None:
        return []
    shown: Part = old.get("status") or NOTHING
    metadata, user = attempt.new["metadata"], attempt.user
    right = Question(user, "confirm", MANUAL_REMEDIATION, metadata["namespace"], metadata["name"])
    mine = f"spec.confirmation.by must be your own user name, {user.name}"
    return _first_failed(
        "nodemend-confirmation",
        (
            (
                lambda: attempt.operation is not Operation.CREATE,
                "Invalid",
                "spec.confirmation must be absent from a new remediation: the word is given later, "
                "by kubectl mend confirm",
            ),
            (
                lambda: user.name not in {CHECKER, REMEDIATOR},
                "Forbidden",
                "spec.confirmation must be written by a person, never by a controller of Nodemend",
            ),
            (
                lambda: attempt.allows(right),
                "Forbidden",
                'spec.confirmation needs the right to confirm: the verb "confirm" on manualremediations, as in '
                "the ClusterRole nodemend-confirmer",
            ),
            (
                lambda: word["by"] == user.name,
                "Forbidden",
                f"{mine}: nobody gives their word in the name of another",
            ),
            (
                lambda: word["nodeUID"] == shown.get("nodeUID", ""),
                "Invalid",
                "spec.confirmation.nodeUID must repeat status.nodeUID: the word is for another node than this "
                "remediation, or the remediation has not looked at its node yet",
            ),
            (
                lambda: word["bootID"] == shown.get("bootID", ""),
                "Invalid",
                "spec.confirmation.bootID must repeat status.bootID: the word is for another boot than the one "
                "that must end; look at the node again",
            ),
            (
                lambda: word["lastRenewTime"] == shown.get("lastRenewTime", ""),
                "Invalid",
                "spec.confirmation.lastRenewTime must repeat status.lastRenewTime: the kubelet has given a sign "
                "of life since you looked, or has not been silent for long enough yet",
            ),
        ),
    )


def nodes_policy(attempt: Attempt) -> list[PolicyDenial]:
    """Our accounts on Nodes: the remediator its own taint and annotation, the checker nothing."""
    user = attempt.user.name
    if user not in {CHECKER, REMEDIATOR}:
        return []
    new, old = attempt.new or NOTHING, attempt.old or NOTHING
    spec, old_spec = new.get("spec", NOTHING), old.get("spec", NOTHING)
    metadata, old_metadata = new.get("metadata", NOTHING), old.get("metadata", NOTHING)
    return _first_failed(
        "nodemend-nodes",
        (
            (lambda: user == REMEDIATOR, "Forbidden", "Nodemend's checker writes no Nodes"),
            (
                lambda: attempt.operation is Operation.UPDATE and not attempt.subresource,
                "Forbidden",
                "Nodemend's remediator neither creates nor deletes Nodes, nor writes their status",
            ),
            (
                lambda: _others_taints(spec) == _others_taints(old_spec),
                "Forbidden",
                "spec.taints: Nodemend's remediator may add and remove only its own taint, "
                "node.kubernetes.io/out-of-service=nodemend:NoExecute",
            ),
            (
                lambda: _same_but(spec, old_spec, "taints"),
                "Forbidden",
                "spec: Nodemend's remediator may change nothing but its own taint",
            ),
            (
                lambda: _same_but(metadata, old_metadata, "annotations", *MOVES_BY_ITSELF),
                "Forbidden",
                "metadata: Nodemend's remediator may change no label, finalizer or owner of a Node",
            ),
            (
                lambda: _same_but(
                    metadata.get("annotations", NOTHING),
                    old_metadata.get("annotations", NOTHING),
                    RELEASE_VOIDED,
                ),
                "Forbidden",
                "metadata.annotations: Nodemend's remediator may change only its own, nodemend.io/release-voided",
            ),
        ),
    )


def _others_taints(spec: Part) -> list[Part]:
    ours = (OUT_OF_SERVICE, OUR_TAINT_VALUE, NO_EXECUTE)
    taints = spec.get("taints", ())
    return [taint for taint in taints if (taint["key"], taint.get("value", ""), taint["effect"]) != ours]


def remediations_policy(attempt: Attempt) -> list[PolicyDenial]:
    """The checker creates, the remediator reports and ends, and what ties it to its check stays."""
    if attempt.new is None:
        return []
    new, old = attempt.new, attempt.old or attempt.new
    user, create = attempt.user.name, attempt.operation is Operation.CREATE
    metadata, old_metadata = new["metadata"], old["metadata"]
    finalizers, old_finalizers = metadata.get("finalizers", []), old_metadata.get("finalizers", [])

    def may(verb: str) -> bool:
        return attempt.allows(Question(attempt.user, verb, MANUAL_REMEDIATION, metadata["namespace"]))

    return _first_failed(
        "nodemend-remediations",
        (
            (
                lambda: not create or user == CHECKER or may("request"),
                "Forbidden",
                'remediations are created by Nodemend\'s checker, or by whoever has the verb "request" on '
                "manualremediations",
            ),
            (
                lambda: attempt.subresource != "status" or user == REMEDIATOR,
                "Forbidden",
                "status: only Nodemend's remediator writes the status of a remediation",
            ),
            (
                lambda: create or user != CHECKER,
                "Forbidden",
                "Nodemend's checker creates and deletes remediations, and changes none",
            ),
            (
                lambda: user != REMEDIATOR or new.get("spec") == old.get("spec"),
                "Forbidden",
                "spec: Nodemend's remediator may not change what a remediation is asked to do",
            ),
            (
                lambda: user != REMEDIATOR or _only_our_finalizer_moved(metadata, old_metadata),
                "Forbidden",
                "metadata: Nodemend's remediator may change only its own finalizer, nodemend.io/safe-end",
            ),
            (
                lambda: (
                    user == REMEDIATOR
                    or SAFE_END not in old_finalizers
                    or SAFE_END in finalizers
                    or may("abandon")
                ),
                "Forbidden",
                "metadata.finalizers: nodemend.io/safe-end is removed by Nodemend's remediator once its taint is "
                'off the node; to abandon a remediation without that needs the verb "abandon" on manualremediations',
            ),
            (
                lambda: _ties(metadata) == _ties(old_metadata),
                "Invalid",
                "metadata: the label nodemend.io/check and the annotation nodemend.io/check-uid say which check "
                "asked for this remediation, and cannot be changed",
            ),
        ),
    )


def _only_our_finalizer_moved(metadata: Part, old_metadata: Part) -> bool:
    others = [
        [one for one in part.get("finalizers", ()) if one != SAFE_END] for part in (metadata, old_metadata)
    ]
    return others[0] == others[1] and _same_but(metadata, old_metadata, "finalizers", *MOVES_BY_ITSELF)


def _ties(metadata: Part) -> tuple[Any, Any]:
    labels, annotations = metadata.get("labels", NOTHING), metadata.get("annotations", NOTHING)
    return labels.get(CHECK), annotations.get(CHECK_UID)


def settings_policy(attempt: Attempt) -> list[PolicyDenial]:
    """Pausing is an operator's work; the rest needs a right of its own."""
    if attempt.new is None or attempt.subresource:
        return []
    spec: Part = attempt.new.get("spec") or NOTHING
    old_spec: Part = (attempt.old or NOTHING).get("spec") or NOTHING
    user = attempt.user
    configure = Question(user, "configure", REMEDIATION_POLICY, name=POLICY_NAME)
    pause: Part = spec.get("pause") or NOTHING
    return _first_failed(
        "nodemend-settings",
        (
            (
                lambda: _same_but(spec, old_spec, "pause") or attempt.allows(configure),
                "Forbidden",
                'spec: you may change spec.pause only; the rest needs the verb "configure" on remediationpolicies',
            ),
            (
                lambda: (
                    "pause" not in spec
                    or spec.get("pause") == old_spec.get("pause")
                    or pause.get("by", "") in {"", user.name}
                ),
                "Forbidden",
                f"spec.pause.by must be your own user name, {user.name}, or be left out",
            ),
        ),
    )
