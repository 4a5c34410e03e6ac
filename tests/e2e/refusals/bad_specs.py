"""Specs with plausible mistakes, and the messages of their refusals: the field, and the correct value."""

from functools import partial
from typing import Final

from controlplane.api import collection
from tests.e2e.refusals.bad_spec import ABSENT, BadSpec
from tests.e2e.refusals.installed_cluster import Cluster
from tests.e2e.refusals.trial import Trial

_VERSION: Final = "nodemend.io/v1alpha1"
CHECK: Final = {
    "apiVersion": _VERSION,
    "kind": "NodeHealthCheck",
    "metadata": {"name": "workers"},
    "spec": {
        "selector": {
            "matchLabels": {"kubernetes.io/os": "linux"},
            "matchExpressions": [{"key": "rack", "operator": "In", "values": ["a"]}],
        },
        "thresholds": [{"type": "Ready", "status": "Unknown", "period": "5m"}],
        "remedies": [
            {
                "template": {
                    "apiVersion": _VERSION,
                    "kind": "ManualRemediationTemplate",
                    "name": "call-the-admin",
                    "namespace": "nodemend-system",
                }
            }
        ],
        "healthyDelay": "30s",
    },
}
POLICY: Final = {
    "apiVersion": _VERSION,
    "kind": "RemediationPolicy",
    "metadata": {"name": "cluster"},
    "spec": {"mode": "DryRun", "maxConcurrent": 1, "pause": {"reason": "storm"}},
}
_TEMPLATE: Final = {
    "apiVersion": _VERSION,
    "kind": "ManualRemediationTemplate",
    "metadata": {"name": "call-the-admin", "namespace": "default"},
    "spec": {"template": {"spec": {"instructions": "Pull both plugs."}}},
}
_REMEDIATION: Final = {
    "apiVersion": _VERSION,
    "kind": "ManualRemediation",
    "metadata": {"name": "node-1", "namespace": "default"},
    "spec": {"instructions": "Pull both plugs."},
}
_ORDER: Final = {
    "apiVersion": _VERSION,
    "kind": "RemediationOrder",
    "metadata": {"name": "node-1"},
    "spec": {
        "by": "system:serviceaccount:people:chief",
        "reason": "bad disk",
        "nodeUID": "a",
        "pastGuard": True,
    },
}
_CONFIRMATION: Final = {"by": "a", "reason": "b", "nodeUID": "c", "bootID": "d", "lastRenewTime": "e"}


def bad_specs(cluster: Cluster, trial: Trial) -> None:
    """Tried as dry runs, as kubectl does: unknown fields are errors."""
    chief = cluster.people["chief"]
    query = {"dryRun": "All", "fieldValidation": "Strict"}
    # The cluster's policy exists by now, and an existing name is refused before anything else.
    cluster.plane.api.delete("/apis/nodemend.io/v1alpha1/remediationpolicies/cluster")
    for good in (CHECK, POLICY, _TEMPLATE, _REMEDIATION, _ORDER):
        trial.accepts(
            f"a good {good['kind']}",
            partial(chief.request, "POST", collection(good), good, query=query),
        )
    for bad in BAD_SPECS:
        manifest = bad.manifest
        trial.refuses(
            bad.title,
            partial(chief.request, "POST", collection(manifest), manifest, query=query),
            *bad.says,
        )


def _check(path: str, value: object, *says: str) -> BadSpec:
    return BadSpec(CHECK, f"spec.{path}", value, says)


def _threshold(field: str, value: object, *says: str) -> BadSpec:
    return _check(f"thresholds.0.{field}", value, f"spec.thresholds[0].{field}", *says)


def _demand(*says: str, **requirement: object) -> BadSpec:
    return _check("selector.matchExpressions.0", requirement, "spec.selector.matchExpressions[0]", *says)


def _template(field: str, value: object, *says: str) -> BadSpec:
    return _check(f"remedies.0.template.{field}", value, f"spec.remedies[0].template.{field}", *says)


def _policy(path: str, value: object, *says: str) -> BadSpec:
    return BadSpec(POLICY, f"spec.{path}", value, says)


_REQUIRED: Final = "Required value"
_DURATION: Final = "must be a duration longer than zero, such as 90s, 5m or 1h30m"
_LIMIT: Final = "must be a count such as 3, or a percentage from 0% to 100%, such as 40%"
_NO_LIMITS: Final = ("half", "101%", "-1", -1, "1.5%", "40 %")
_TRUE_FALSE_UNKNOWN: Final = 'supported values: "True", "False", "Unknown"'
_READY: Final = {"type": "Ready", "status": "Unknown", "period": "5m"}
_REMEDY: Final = CHECK["spec"]["remedies"][0]  # type: ignore[index]

_SWITCH_ON: Final = {**_REMEDY["template"], "apiVersion": "example.com/v1", "kind": "SwitchOnTemplate"}

_CHECKS: Final = (
    BadSpec(CHECK, "spec", ABSENT, ("spec", _REQUIRED)),
    _check("selector", ABSENT, "spec.selector", _REQUIRED),
    _check("selector", "all", "spec.selector", "must be of type object"),
    _check("thresholds", ABSENT, "spec.thresholds", _REQUIRED),
    _check("thresholds", [], "spec.thresholds", "at least 1 items"),
    _check(
        "thresholds",
        [{"type": f"C{i}", "status": "True", "period": "5m"} for i in range(17)],
        "spec.thresholds",
        "at most 16 items",
    ),
    _check("thresholds.1", _READY, "spec.thresholds[1]", "Duplicate value", "Ready"),
    _check("remedies", ABSENT, "spec.remedies", _REQUIRED),
    _check("remedies", [], "spec.remedies", "at least 1 items"),
    _check("remedies.1", _REMEDY, "spec.remedies", "must have a different kind"),
    _check("remedies", [_REMEDY] * 9, "spec.remedies", "at most 8 items"),
    _check("remedies.0.timeout", "59s", "spec.remedies[0].timeout", "must be at least 1m"),
    _check("remedies.0.timeout", "never", "spec.remedies[0].timeout", _DURATION),
    _check("recovery", {}, "spec.recovery.template", _REQUIRED),
    _check("recovery", {"template": _SWITCH_ON, "timeout": "59s"}, "spec.recovery.timeout", "at least 1m"),
    _check("recovery", {"template": _SWITCH_ON, "timeout": "soon"}, "spec.recovery.timeout", _DURATION),
    _check(
        "recovery",
        {"template": _REMEDY["template"]},
        "spec.recovery.template",
        "must not be ManualRemediationTemplate: it requests that a node is powered off",
    ),
    _check(
        "recovery",
        {"template": {**_SWITCH_ON, "kind": "SwitchOn"}},
        "spec.recovery.template.kind",
        "must be the kind of a template, which ends in Template",
    ),
    _check("tresholds", [], 'unknown field "spec.tresholds"'),
    _check("healthyDelay", "soon", "spec.healthyDelay", _DURATION),
    _check("healthyDelay", "0s", "spec.healthyDelay", _DURATION),
    _check("healthyDelay", 30, "spec.healthyDelay", "must be of type string"),
    *(_check("maxUnhealthy", bad, "spec.maxUnhealthy", _LIMIT) for bad in _NO_LIMITS),
    _check("dryRun", "yes", "spec.dryRun", "must be of type boolean"),
    _check("pause", {"by": "anna"}, "spec.pause.reason", _REQUIRED),
    _check("pause", {"reason": "x", "until": "noon"}, "spec.pause.until", "must be of type date-time"),
    _check(
        "maintenance", [{"type": "is broken"}], "spec.maintenance[0].type", "must be the type of a condition"
    ),
    _check("maintenance", [{"type": "M", "status": "On"}], "spec.maintenance[0].status", _TRUE_FALSE_UNKNOWN),
    _threshold("type", ABSENT, _REQUIRED),
    _threshold("type", "", "at least 1 chars long"),
    _threshold("type", "not ready", "must be the type of a condition, such as Ready"),
    _threshold("status", ABSENT, _REQUIRED),
    _threshold("status", "NotReady", _TRUE_FALSE_UNKNOWN),
    _threshold("status", "unknown", _TRUE_FALSE_UNKNOWN),
    _threshold("status", True, "must be of type string"),
    _threshold("status", "True", "a node that is Ready is not unhealthy"),
    _threshold("period", ABSENT, _REQUIRED),
    _threshold("period", "5 min", _DURATION),
    _threshold("period", "1.5h", _DURATION),
    _threshold("period", "-5m", _DURATION),
    _threshold("period", "30m1h", _DURATION),
    _threshold("period", "0m", _DURATION),
    _threshold("period", "1234567s", _DURATION),
    _threshold("period", "5", "at least 2 chars long"),
    _threshold("period", "99999999999999999s", "may not be more than 16"),
    _threshold("period", 300, "must be of type string"),
    _threshold("period", "39s", "must be at least 40s for the condition Ready", "acceptShortPeriod"),
    _threshold("acceptShortPeriod", "yes", "must be of type boolean"),
    _check("thresholds.0.timeout", "5m", 'unknown field "spec.thresholds[0].timeout"'),
)
_SELECTORS: Final = (
    _demand(".key", _REQUIRED, operator="Exists"),
    _demand(".operator", _REQUIRED, key="rack"),
    _demand(
        ".key", "must be a label key, such as topology.kubernetes.io/zone", key="my rack", operator="Exists"
    ),
    _demand(".operator", '"In", "NotIn", "Exists", "DoesNotExist"', key="rack", operator="Like"),
    _demand(".values", "at least one value for the operators In and NotIn", key="rack", operator="In"),
    _demand(
        ".values",
        "at least one value for the operators In and NotIn",
        key="rack",
        operator="NotIn",
        values=[],
    ),
    _demand(".values", "must be empty for the operators Exists", key="rack", operator="Exists", values=["a"]),
    _demand(".values", "must be empty for the operators", key="rack", operator="DoesNotExist", values=["a"]),
    _demand(".values[1]", "must be a label value", key="rack", operator="In", values=["a", "-b"]),
    _demand(".values[0]", "may not be more than 63", key="rack", operator="In", values=["a" * 64]),
    _check("selector.matchLabels./my rack", "a", "spec.selector.matchLabels", "each key must be a label key"),
    _check("selector.matchLabels./rack", "a b", "spec.selector.matchLabels[rack]", "must be a label value"),
    _check(
        "selector.matchLabels", {f"l{i}": "" for i in range(33)}, "spec.selector.matchLabels", "at most 32"
    ),
)
_TEMPLATES_NAMED: Final = (
    _check("remedies.0.template", ABSENT, "spec.remedies[0].template", _REQUIRED),
    _template("apiVersion", "v1", "must be group and version, such as nodemend.io/v1alpha1"),
    _template("kind", "Pod", "must be the kind of a template, which ends in Template"),
    _template("kind", "ManualRemediation", "must be the kind of a template, which ends in Template"),
    _template("name", ABSENT, _REQUIRED),
    _template("name", "Call the admin", "must be the name of an object"),
    _template("namespace", ABSENT, _REQUIRED),
    _template("namespace", "nodemend.system", "must be the name of a namespace"),
)
_POLICIES: Final = (
    BadSpec(POLICY, "metadata.name", "default", ("metadata.name must be cluster",)),
    _policy("mode", "Off", "spec.mode", '"DryRun", "Act"'),
    _policy("mode", "act", "spec.mode", '"DryRun", "Act"'),
    _policy("maxConcurrent", 0, "spec.maxConcurrent", "greater than or equal to 1"),
    _policy("maxConcurrent", 100_001, "spec.maxConcurrent", "less than or equal to 100000"),
    _policy("maxConcurrent", "10%", "spec.maxConcurrent", "must be of type integer"),
    _policy("pause", True, "spec.pause", "must be of type object"),
    _policy("pause.reason", ABSENT, "spec.pause.reason", _REQUIRED),
    _policy("pause.reason", "", "spec.pause.reason", "at least 1 chars long"),
    _policy("pause.until", "tomorrow", "spec.pause.until", "must be of type date-time"),
    _policy("maxConcurrentPercent", 0, "spec.maxConcurrentPercent", "greater than or equal to 1"),
    _policy("maxConcurrentPercent", 101, "spec.maxConcurrentPercent", "less than or equal to 100"),
    *(_policy("maxUnhealthy", bad, "spec.maxUnhealthy", _LIMIT) for bad in _NO_LIMITS),
    _policy("maxUnhealthy", True, "spec.maxUnhealthy", "must be of type integer,string"),
    _policy("settleTime", "0s", "spec.settleTime", _DURATION),
    _policy("settleTime", "a while", "spec.settleTime", _DURATION),
    _policy("minInterval", "fast", "spec.minInterval", _DURATION),
    _policy("failureDomains", {"key": "my zone"}, "spec.failureDomains.key", "must be a label key"),
    _policy("failureDomains", {"maxUnhealthy": "half"}, "spec.failureDomains.maxUnhealthy", _LIMIT),
    _policy("failureDomains", {"minNodes": 0}, "spec.failureDomains.minNodes", "greater than or equal to 1"),
    _policy("failureDomains", {"maxConcurrent": 0}, "spec.failureDomains.maxConcurrent", "equal to 1"),
    _policy("dryRun", False, 'unknown field "spec.dryRun"'),
    _policy("machines", {"limitReading": "Exact"}, "spec.machines.limitReading", '"AtLimit", "AboveLimit"'),
    _policy("machines", {"deleteMachines": "yes"}, "spec.machines.deleteMachines", "must be of type boolean"),
    _policy("machines", {"healthyDelay": "0s"}, "spec.machines.healthyDelay", _DURATION),
)
_TEMPLATES: Final = (
    BadSpec(
        _TEMPLATE,
        "spec.template.spec.confirmation",
        _CONFIRMATION,
        ("spec.template.spec.confirmation", "must be absent from a template"),
    ),
    BadSpec(
        _TEMPLATE,
        "spec.template.spec.instructions",
        "x" * 4097,
        ("spec.template.spec.instructions", "may not be more than 4096"),
    ),
    BadSpec(_TEMPLATE, "spec.spec", {}, ('unknown field "spec.spec"',)),
)
_REMEDIATIONS: Final = (
    BadSpec(
        _REMEDIATION, "spec.confirmation", _CONFIRMATION, ("spec.confirmation", "must be absent from a new")
    ),
    BadSpec(_REMEDIATION, "spec.instructions", 7, ("spec.instructions", "must be of type string")),
    BadSpec(_REMEDIATION, "spec.confirmed", True, ('unknown field "spec.confirmed"',)),
)
_ORDERS: Final = (
    BadSpec(_ORDER, "spec", ABSENT, ("spec", _REQUIRED)),
    *(BadSpec(_ORDER, f"spec.{f}", ABSENT, (f"spec.{f}", _REQUIRED)) for f in ("by", "reason", "nodeUID")),
    *(
        BadSpec(_ORDER, f"spec.{f}", "", (f"spec.{f}", "at least 1 chars long"))
        for f in ("by", "reason", "nodeUID")
    ),
    BadSpec(_ORDER, "spec.reason", "x" * 1025, ("spec.reason", "may not be more than 1024")),
    BadSpec(_ORDER, "spec.pastGuard", "yes", ("spec.pastGuard", "must be of type boolean")),
    BadSpec(_ORDER, "spec.until", "12:00", ('unknown field "spec.until"',)),
)

BAD_SPECS: Final = (
    *_CHECKS,
    *_SELECTORS,
    *_TEMPLATES_NAMED,
    *_POLICIES,
    *_TEMPLATES,
    *_REMEDIATIONS,
    *_ORDERS,
)
