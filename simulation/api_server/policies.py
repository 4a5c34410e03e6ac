"""The chart's ValidatingAdmissionPolicies as tables of demands, and all of Nodemend's admission rules.

The first demand that fails is reported. Only the rules that decide correctness are here: epoch, ownership,
confirmation, evidence, settings, orders, and permissions on Nodes. Runs against a real server with the real
policies check that each function and its rule agree.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, NamedTuple

from nodemend.api.meta import parse_time
from nodemend.api.resources import (
    LEASE,
    MANUAL_REMEDIATION,
    MANUAL_REMEDIATION_TEMPLATE,
    METAL3_REMEDIATION,
    NODE,
    NODE_HEALTH_CHECK,
    POD,
    REMEDIATION_ORDER,
    REMEDIATION_POLICY,
    SELF_REMEDIATION,
    Resource,
)
from nodemend.api.well_known import (
    AGENT_NAMESPACE,
    CHECK,
    CHECK_UID,
    CONDITION_TAINTS,
    DRILL,
    NO_EXECUTE,
    ORDER,
    ORDERED_BECAUSE,
    ORDERED_BY,
    OUR_TAINT_VALUE,
    OUT_OF_SERVICE,
    PAST_GUARD,
    POLICY_PROBE,
    RELEASE_REVOKED,
    SAFE_END,
    SYSTEM_NAMESPACE,
)
from simulation.api_server.admission import AdmissionRules, Attempt, Operation, PolicyDenial, Question
from simulation.api_server.remediation_rules import (
    order_rules,
    policy_rules,
    power_cycle_rules,
    remediation_rules,
    self_remediation_rules,
    template_rules,
)

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


class Demand(NamedTuple):
    """Condition that must hold, message of the refusal, and its reason.

    In the message, {user} is replaced by the user name and {resource} by the plural name of the resource.
    """

    holds: Callable[[Write], bool]
    message: str
    reason: str = FORBIDDEN


def first_failed(policy: str, demands: tuple[Demand, ...], write: Write) -> list[PolicyDenial]:
    for holds, message, reason in demands:
        if not holds(write):
            said = message.replace("{user}", write.user).replace("{resource}", write.attempt.resource.plural)
            return [PolicyDenial(policy, said, reason)]
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
    Demand(
        lambda write: not write.creates,
        "spec.confirmation must be absent from a new remediation: it is added "
        "later, with kubectl mend confirm",
        INVALID,
    ),
    Demand(
        lambda write: write.user not in {CHECKER, REMEDIATOR},
        "spec.confirmation must be written by a user, never by a controller of Nodemend",
    ),
    Demand(
        lambda write: write.may_to_remediations("confirm", write.new["metadata"]["name"]),
        'spec.confirmation needs the right to confirm: the verb "confirm" on '
        "manualremediations, as in the "
        "ClusterRole nodemend-confirmer",
    ),
    Demand(
        lambda write: bool(_confirmation(write.new)["by"] == write.user),
        "spec.confirmation.by must be your own user name, {user}: users can confirm only in their own name",
    ),
    Demand(
        _repeats("nodeUID"),
        "spec.confirmation.nodeUID must repeat status.nodeUID: the confirmation is for another node than "
        "this remediation, or the remediator has not read the node yet",
        INVALID,
    ),
    Demand(
        _repeats("bootID"),
        "spec.confirmation.bootID must repeat status.bootID: the confirmation is for another boot "
        "than the one that must end; check the node again",
        INVALID,
    ),
    Demand(
        _repeats("lastRenewTime"),
        "spec.confirmation.lastRenewTime must repeat status.lastRenewTime: the kubelet has renewed its "
        "Lease since you read the status, or has not been silent for long enough yet",
        INVALID,
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
    Demand(lambda write: write.user == REMEDIATOR, "Nodemend's checker may not write Nodes"),
    Demand(
        lambda write: write.attempt.operation is Operation.UPDATE and not write.attempt.subresource,
        "Nodemend's remediator may neither create nor delete Nodes, nor write their status",
    ),
    Demand(
        lambda write: others_taints(write.new) == others_taints(write.old),
        "spec.taints: Nodemend's remediator may add and remove only its own taint, "
        "node.kubernetes.io/out-of-service=nodemend:NoExecute",
    ),
    Demand(
        lambda write: same_but(of(write.new, "spec"), of(write.old, "spec"), "taints"),
        "spec: Nodemend's remediator may change only its own taint",
    ),
    Demand(
        lambda write: same_but(write.new["metadata"], write.old["metadata"], "annotations", *MOVES_BY_ITSELF),
        "metadata: Nodemend's remediator may not change labels, finalizers or owners of a Node",
    ),
    Demand(
        lambda write: same_but(
            of(write.new["metadata"], "annotations"),
            of(write.old["metadata"], "annotations"),
            RELEASE_REVOKED,
        ),
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
    Demand(
        lambda write: (
            not write.creates
            or write.user == CHECKER
            or write.may_to_remediations("request")
            or (_drilled_by(write) != "" and write.may_to_remediations("drill"))
        ),
        'only Nodemend\'s checker, and users with the verb "request" on remediations, may create them',
    ),
    Demand(
        lambda write: not write.creates or _drilled_by(write) in ("", write.user),
        "metadata.annotations: nodemend.io/drill must be your own user name",
    ),
    Demand(
        lambda write: not write.creates or _drilled_by(write) == "" or write.may_to_remediations("drill"),
        "metadata.annotations: nodemend.io/drill resets a healthy node, and needs the verb "
        '"drill", as in the ClusterRole nodemend-driller',
    ),
    Demand(
        lambda write: (
            not write.creates
            or write.user == CHECKER
            or not of(write.new["metadata"], "annotations").keys() & OF_AN_ORDER
        ),
        "metadata.annotations: nodemend.io/order, ordered-by, ordered-because and past-guard are "
        "written by Nodemend's checker when it follows a RemediationOrder; create one by kubectl mend run",
    ),
    Demand(
        lambda write: write.attempt.subresource != "status" or write.user == REMEDIATOR,
        "status: only Nodemend's remediator writes the status of a remediation",
    ),
    Demand(
        lambda write: write.creates or write.user != CHECKER,
        "Nodemend's checker creates and deletes remediations, and changes none",
    ),
    Demand(
        lambda write: write.user != REMEDIATOR or _only_a_confirmation_given(write),
        "spec: Nodemend's remediator may not change the spec of a remediation",
    ),
    Demand(
        lambda write: write.user != REMEDIATOR or _only_our_finalizer_moved(write),
        "metadata: Nodemend's remediator may change only its own finalizer, nodemend.io/safe-end",
    ),
    Demand(
        lambda write: (
            write.user == REMEDIATOR
            or not _loses_our_finalizer(write)
            or write.may_to_remediations("abandon")
        ),
        "metadata.finalizers: Nodemend's remediator removes nodemend.io/safe-end once its taint is off "
        'the node; removing it earlier abandons the remediation and needs the verb "abandon" on it',
    ),
    Demand(
        lambda write: _x_structure(write.new) == _x_structure(write.old),
        "metadata: the label nodemend.io/check and the annotations nodemend.io/check-uid, order, "
        "ordered-by, ordered-because, past-guard and drill record which check or user requested this "
        "remediation, and cannot be changed",
        INVALID,
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


_NAME: Final = "nodemend-accounts"


def accounts_policy(attempt: Attempt) -> list[PolicyDenial]:
    """Deny writes by which a Nodemend account could obtain the identity of another account."""
    if attempt.user.name not in {CHECKER, REMEDIATOR}:
        return []
    account = attempt.user.name.rpartition(":")[2]
    kind = attempt.resource.plural + (f"/{attempt.subresource}" if attempt.subresource else "")
    if kind != "leases":
        message = f"{account} may not write this object ({kind}): with it, it could act as another account"
        return [PolicyDenial(_NAME, message, FORBIDDEN)]
    if _is_its_own(attempt, account):
        return []
    others = ", locks (node-UID) and the Leases of nodes" if attempt.user.name == REMEDIATOR else ""
    message = f"{account} may write only its own leader-election Lease{others}"
    return [PolicyDenial(_NAME, message, FORBIDDEN)]


def _is_its_own(attempt: Attempt, account: str) -> bool:
    metadata = (attempt.new or attempt.old or {})["metadata"]
    where = f"{metadata.get('namespace', '')}/{metadata['name']}"
    if where == f"{SYSTEM_NAMESPACE}/{account}":
        return True
    others = (f"{SYSTEM_NAMESPACE}/node-", f"{AGENT_NAMESPACE}/")
    return attempt.user.name == REMEDIATOR and where.startswith(others)


def _pauses_in_own_name(write: Write) -> bool:
    spec, old_spec = of(write.new, "spec"), of(write.old, "spec")
    unchanged = "pause" not in spec or spec["pause"] == old_spec.get("pause")
    return unchanged or spec["pause"].get("by", "") in {"", write.user}


def _may_configure(write: Write) -> bool:
    return write.may("configure", write.attempt.resource, name=write.new["metadata"]["name"])


SETTINGS: Final[tuple[Demand, ...]] = (
    Demand(
        lambda write: write.user not in {CHECKER, REMEDIATOR},
        "spec: only users may change settings, never a controller of Nodemend",
    ),
    Demand(
        lambda write: not write.creates or _may_configure(write),
        'creating one needs the verb "configure" on {resource}, as changing one does',
    ),
    Demand(
        lambda write: (
            write.creates
            or same_but(of(write.new, "spec"), of(write.old, "spec"), "pause")
            or _may_configure(write)
        ),
        'spec: you may change spec.pause only; the rest needs the verb "configure" on {resource}',
    ),
    Demand(_pauses_in_own_name, "spec.pause.by must be your own user name, {user}, or be left out"),
)


def settings_policy(attempt: Attempt) -> list[PolicyDenial]:
    """An operator may pause the cluster or a check; other changes of settings need a separate right."""
    if attempt.new is None or attempt.subresource:
        return []
    return first_failed("nodemend-settings", SETTINGS, Write(attempt, attempt.new, attempt.old or NOTHING))


ORDERS: Final[tuple[Demand, ...]] = (
    Demand(
        lambda write: write.user not in {CHECKER, REMEDIATOR},
        "only a user may order a remediation, never a controller of Nodemend",
    ),
    Demand(
        lambda write: bool(write.new["metadata"]["name"] != "nodemend-policy-probe"),
        "metadata.name: nodemend-policy-probe is reserved for testing this policy; "
        "give the node another name",
        INVALID,
    ),
    Demand(
        lambda write: bool(write.new["spec"]["by"] == write.user),
        "spec.by must be your own user name, {user}: users can give orders only in their own name",
    ),
    Demand(
        lambda write: (
            not write.new["spec"].get("pastGuard")
            or write.may("override", REMEDIATION_ORDER, name=write.new["metadata"]["name"])
        ),
        'spec.pastGuard needs the right to override: the verb "override" on remediationorders, as in the '
        "ClusterRole nodemend-overrider",
    ),
)


def orders_policy(attempt: Attempt) -> list[PolicyDenial]:
    """Only a user gives an order, under their own name; `pastGuard` needs a separate right."""
    if attempt.new is None or attempt.operation is not Operation.CREATE:
        return []
    return first_failed("nodemend-orders", ORDERS, Write(attempt, attempt.new, NOTHING))


LATELY: Final = timedelta(hours=1)
"""Age of a Node to which the remediator may add if the chart's powerCycle.mayDeleteNodes is set."""


def _is_deletion(write: Write) -> bool:
    return write.attempt.operation is Operation.DELETE


def _updated(holds: Callable[[Write], bool]) -> Callable[[Write], bool]:
    return lambda write: _is_deletion(write) or holds(write)


def _is_ready(node: Part) -> bool:
    conditions = of(node, "status").get("conditions", ())
    return any((one["type"], one["status"]) == ("Ready", "True") for one in conditions)


def _registered_lately(node: Part) -> bool:
    """True if the kubelet sent no heartbeat later than one hour after the registration of the Node."""
    born = parse_time(node["metadata"]["creationTimestamp"])
    beats = (one.get("lastHeartbeatTime") for one in of(node, "status").get("conditions", ()))
    return all(parse_time(beat) - born <= LATELY for beat in beats if beat)


def _taints_stay(write: Write) -> bool:
    new, old = others_taints(write.new), others_taints(write.old)
    added = [taint["key"] for taint in new if taint not in old]
    may_add = _registered_lately(write.old) and not any(key.startswith(CONDITION_TAINTS) for key in added)
    return all(taint in new for taint in old) and (not added or may_add)


def _spec_stays(write: Write) -> bool:
    new, old = of(write.new, "spec"), of(write.old, "spec")
    cordons = new.get("unschedulable") is True and _registered_lately(write.old)
    stays = bool(new.get("unschedulable")) == bool(old.get("unschedulable"))
    return same_but(new, old, "taints", "unschedulable") and (stays or cordons)


def _stay(part: str, *free: str) -> Callable[[Write], bool]:
    """Return a check that all existing entries of this map keep their values."""

    def holds(write: Write) -> bool:
        new, old = of(write.new["metadata"], part), of(write.old["metadata"], part)
        added = new.keys() - old.keys() - set(free)
        may_add = _registered_lately(write.old) and POLICY_PROBE not in added
        return all(new.get(key) == value for key, value in old.items() if key not in free) and (
            not added or may_add
        )

    return holds


DELETABLE_NODES: Final[tuple[Demand, ...]] = (
    Demand(lambda write: write.user == REMEDIATOR, "Nodemend's checker may not write Nodes"),
    Demand(
        lambda write: not write.creates and not write.attempt.subresource,
        "Nodemend's remediator may neither create Nodes nor write their status",
    ),
    Demand(
        lambda write: not _is_deletion(write) or not _is_ready(write.old),
        "Nodemend's remediator may not delete a Node that is Ready",
    ),
    Demand(
        _updated(_taints_stay),
        "spec.taints: Nodemend's remediator may add taints to a Node that was registered within the last "
        "hour, and remove only its own, node.kubernetes.io/out-of-service=nodemend:NoExecute",
    ),
    Demand(
        _updated(_spec_stays),
        "spec: Nodemend's remediator may add taints and a cordon to a Node that was registered within the"
        " last hour, and may change nothing else",
    ),
    Demand(
        _updated(
            lambda write: same_but(
                write.new["metadata"], write.old["metadata"], "annotations", "labels", *MOVES_BY_ITSELF
            )
        ),
        "metadata: Nodemend's remediator may not change finalizers or owners of a Node",
    ),
    Demand(
        _updated(_stay("labels")),
        "metadata.labels: Nodemend's remediator may add labels to a Node that was registered within the"
        " last hour, and may not change existing labels",
    ),
    Demand(
        _updated(_stay("annotations", RELEASE_REVOKED)),
        "metadata.annotations: Nodemend's remediator may add annotations to a Node that was registered "
        "within the last hour, and change only its own, nodemend.io/release-revoked",
    ),
)


def deletable_nodes_policy(attempt: Attempt) -> list[PolicyDenial]:
    """Limit the writes of Nodemend's accounts on Nodes if the chart's powerCycle.mayDeleteNodes is set.

    The remediator may delete Nodes that are not Ready. On a Node that was registered within the last hour, it
    may add taints, labels, annotations and a cordon, but not change existing ones.

    The real policy also requires that a deletion names the version of its Node. This is not simulated,
    because an Attempt does not contain the delete options.
    """
    if attempt.user.name not in {CHECKER, REMEDIATOR}:
        return []
    write = Write(attempt, attempt.new or NOTHING, attempt.old or NOTHING)
    return first_failed("nodemend-nodes", DELETABLE_NODES, write)


def our_rules(*, node_deletion: bool = False) -> AdmissionRules:
    """Return the rules of a server with Nodemend. With `node_deletion`, Nodemend may delete Nodes."""
    return {
        MANUAL_REMEDIATION: (remediation_rules, confirmation_policy, remediations_policy),
        MANUAL_REMEDIATION_TEMPLATE: (template_rules,),
        METAL3_REMEDIATION: (power_cycle_rules, remediations_policy),
        SELF_REMEDIATION: (self_remediation_rules, remediations_policy),
        REMEDIATION_POLICY: (policy_rules, settings_policy),
        NODE_HEALTH_CHECK: (settings_policy,),
        REMEDIATION_ORDER: (order_rules, orders_policy),
        NODE: (deletable_nodes_policy if node_deletion else nodes_policy,),
        POD: (accounts_policy,),
        LEASE: (accounts_policy,),
    }
