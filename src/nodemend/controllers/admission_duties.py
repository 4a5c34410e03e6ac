"""What each account relies on, and the writes by which it tries it: none of them is ever stored."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from nodemend.api import keys
from nodemend.api.group_versions import (
    BARE_METAL_HOST,
    CAPM3_REMEDIATION,
    LEASE,
    MANUAL_REMEDIATION,
    NODE,
    NODE_HEALTH_CHECK,
    OUR_GROUP,
    REMEDIATION_ORDER,
    SECRET,
    Resource,
)
from nodemend.api.object_meta import ObjectMeta
from nodemend.controllers.admission_proof import AdmissionDuty, Attempt
from nodemend.decide.admission_policies import ALWAYS, OF_ANNOTATIONS, OF_CAPM3, OF_SELF_FENCING, Fingerprint
from nodemend.kube.api_request import (
    EVERYTHING,
    Request,
    Selection,
    apply,
    as_dry_run,
    attempt_change,
    create,
)
from nodemend.kube.machine_dialect import DIALECTS

Shipped = Mapping[str, Sequence[Fingerprint]]

PROBE: Final = "nodemend-policy-probe"
_LABEL: Final[Mapping[str, object]] = {"metadata": {"labels": {keys.POLICY_PROBE: "true"}}}
_TEMPLATE: Final = {
    "apiVersion": "nodemend.io/v1alpha1",
    "kind": "ManualRemediationTemplate",
    "name": PROBE,
    "namespace": PROBE,
}
_CHECK: Final[Mapping[str, object]] = {
    "selector": {"matchLabels": {keys.POLICY_PROBE: "true"}},
    "thresholds": [{"type": "Ready", "status": "Unknown", "period": "5m"}],
    "remedies": [{"template": _TEMPLATE}],
}
_ORDER: Final[Mapping[str, object]] = {"by": PROBE, "reason": PROBE, "nodeUID": PROBE, "pastGuard": True}
_WORD: Final[Mapping[str, object]] = {
    "by": PROBE,
    "reason": PROBE,
    "nodeUID": PROBE,
    "bootID": PROBE,
    "lastRenewTime": PROBE,
}
_ASKED: Final[Mapping[str, object]] = {"metadata": {"annotations": {keys.EXTERNAL_REMEDIATION: PROBE}}}
_REPORT: Final[Mapping[str, object]] = {"metadata": {"annotations": {keys.AGENT_REPORT: "probe"}}}


def duty_of_remediator(
    shipped: Shipped, namespace: str, *, power_cycle: bool, capm3_kinds: bool, self_fencing: bool
) -> AdmissionDuty:
    policies = [*ALWAYS]
    attempts = [
        _anothers_lease(namespace),
        _change("nodemend-nodes", "a label on a Node", NODE, _LABEL),
        _change("nodemend-remediations", "a label on a remediation", MANUAL_REMEDIATION, _LABEL),
        _anothers_word(),
        _setting(),
    ]
    if power_cycle:
        attempts.append(_change("nodemend-hosts", "a label on a host", BARE_METAL_HOST, _LABEL))
    if power_cycle and capm3_kinds:
        policies += OF_CAPM3
        attempts.append(
            _change("nodemend-capm3", "a label on CAPM3's remediation", CAPM3_REMEDIATION, _LABEL)
        )
    if self_fencing:
        policies += OF_SELF_FENCING
        of_agents = Selection(namespace=keys.AGENT_NAMESPACE)
        attempts.append(
            _change("nodemend-agent-leases", "a report in a node's name", LEASE, _REPORT, of_agents)
        )
    return AdmissionDuty(policies, shipped, attempts, namespace)


def duty_of_checker(shipped: Shipped, namespace: str, *, annotations: bool) -> AdmissionDuty:
    policies = [*ALWAYS, *(OF_ANNOTATIONS if annotations else ())]
    drill = {"annotations": {keys.DRILL: PROBE}}
    attempts = [
        _anothers_lease(namespace),
        _creation(
            "nodemend-remediations",
            "a drill in another's name",
            MANUAL_REMEDIATION,
            namespace,
            metadata=drill,
        ),
        _setting(),
        _named("nodemend-orders", "an order in another's name", REMEDIATION_ORDER, _ORDER),
        *(_on_machines() if annotations else ()),
    ]
    return AdmissionDuty(policies, shipped, attempts, namespace)


def duty_of_signer(shipped: Shipped, namespace: str) -> AdmissionDuty:
    secret = _creation("nodemend-agent-trust", "a Secret of another name", SECRET, namespace)
    policies = ("nodemend-accounts", *OF_SELF_FENCING)
    return AdmissionDuty(policies, shipped, (_anothers_lease(namespace), secret), namespace)


def _anothers_lease(namespace: str) -> Attempt:
    return _creation("nodemend-accounts", "a Lease that is not this account's", LEASE, namespace)


def _setting() -> Attempt:
    return _named("nodemend-settings", "a health check by a controller", NODE_HEALTH_CHECK, _CHECK)


def _anothers_word() -> Attempt:
    """On a remediation that has no word yet: one that has is held by its CustomResourceDefinition."""
    change = {"spec": {"confirmation": _WORD}}
    attempt = _change("nodemend-confirmation", "a word in another's name", MANUAL_REMEDIATION, change)
    return replace(attempt, without="confirmation")


def _on_machines() -> Iterator[Attempt]:
    """Of the versions of a kind, those that are not served have no objects."""
    for dialect in DIALECTS:
        machines = Resource(dialect.group, dialect.version, "Machine", "machines")
        yield _change("nodemend-machines", "a label on a Machine", machines, _LABEL)
        yield _change("nodemend-external-remediation", "an annotation that asks", machines, _ASKED)


def _named(policy: str, what: str, resource: Resource, spec: Mapping[str, object]) -> Attempt:
    """By a right for this one name: with that an object is created by server-side apply, and not else."""
    request = as_dry_run(apply(resource, PROBE, fields={"spec": spec}, manager=PROBE))
    return Attempt(policy, what, lambda _: request)


def _creation(
    policy: str, what: str, resource: Resource, namespace: str, **content: Mapping[str, object]
) -> Attempt:
    body = {"apiVersion": resource.api_version, "kind": resource.kind, **content}
    body["metadata"] = {"name": PROBE, "namespace": namespace, **content.get("metadata", {})}
    if resource.group == OUR_GROUP:
        body.setdefault("spec", {})
    return Attempt(policy, what, lambda _: as_dry_run(create(resource, body, namespace, manager=PROBE)))


def _change(
    policy: str, what: str, resource: Resource, change: Mapping[str, object], of: Selection = EVERYTHING
) -> Attempt:
    def write(target: ObjectMeta) -> Request:
        return attempt_change(resource, target.name, target.namespace, change=change, manager=PROBE)

    others = resource.group not in (NODE.group, LEASE.group, OUR_GROUP)
    return Attempt(policy, what, write, resource, of, others=others)
