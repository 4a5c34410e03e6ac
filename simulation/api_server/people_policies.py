"""The chart's ValidatingAdmissionPolicies for writes by users: settings and orders."""

from typing import Final

from nodemend.api.resources import REMEDIATION_ORDER
from simulation.api_server.admission import Attempt, Operation, PolicyDenial
from simulation.api_server.policies import (
    CHECKER,
    FORBIDDEN,
    INVALID,
    NOTHING,
    REMEDIATOR,
    Demand,
    Write,
    first_failed,
    of,
    same_but,
)


def _pauses_in_own_name(write: Write) -> bool:
    spec, old_spec = of(write.new, "spec"), of(write.old, "spec")
    unchanged = "pause" not in spec or spec["pause"] == old_spec.get("pause")
    return unchanged or spec["pause"].get("by", "") in {"", write.user}


def _may_configure(write: Write) -> bool:
    return write.may("configure", write.attempt.resource, name=write.new["metadata"]["name"])


SETTINGS: Final[tuple[Demand, ...]] = (
    (
        lambda write: write.user not in {CHECKER, REMEDIATOR},
        FORBIDDEN,
        "spec: only users may change settings, never a controller of Nodemend",
    ),
    (
        lambda write: not write.creates or _may_configure(write),
        FORBIDDEN,
        'creating one needs the verb "configure" on {resource}, as changing one does',
    ),
    (
        lambda write: (
            write.creates
            or same_but(of(write.new, "spec"), of(write.old, "spec"), "pause")
            or _may_configure(write)
        ),
        FORBIDDEN,
        'spec: you may change spec.pause only; the rest needs the verb "configure" on {resource}',
    ),
    (
        _pauses_in_own_name,
        FORBIDDEN,
        "spec.pause.by must be your own user name, {user}, or be left out",
    ),
)


def settings_policy(attempt: Attempt) -> list[PolicyDenial]:
    """An operator may pause the cluster or a check; other changes of settings need a separate right."""
    if attempt.new is None or attempt.subresource:
        return []
    return first_failed("nodemend-settings", SETTINGS, Write(attempt, attempt.new, attempt.old or NOTHING))


ORDERS: Final[tuple[Demand, ...]] = (
    (
        lambda write: write.user not in {CHECKER, REMEDIATOR},
        FORBIDDEN,
        "only a user may order a remediation, never a controller of Nodemend",
    ),
    (
        lambda write: bool(write.new["metadata"]["name"] != "nodemend-policy-probe"),
        INVALID,
        (
            "metadata.name: nodemend-policy-probe is reserved for testing this policy; "
            "give the node another name"
        ),
    ),
    (
        lambda write: bool(write.new["spec"]["by"] == write.user),
        FORBIDDEN,
        "spec.by must be your own user name, {user}: users can give orders only in their own name",
    ),
    (
        lambda write: (
            not write.new["spec"].get("pastGuard")
            or write.may("override", REMEDIATION_ORDER, name=write.new["metadata"]["name"])
        ),
        FORBIDDEN,
        (
            'spec.pastGuard needs the right to override: the verb "override" on remediationorders, as in the '
            "ClusterRole nodemend-overrider"
        ),
    ),
)


def orders_policy(attempt: Attempt) -> list[PolicyDenial]:
    """Only a user gives an order, under their own name; `pastGuard` needs a separate right."""
    if attempt.new is None or attempt.operation is not Operation.CREATE:
        return []
    return first_failed("nodemend-orders", ORDERS, Write(attempt, attempt.new, NOTHING))
