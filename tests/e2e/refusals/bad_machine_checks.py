"""Bad specs of Nodemend's MachineHealthCheck."""

from typing import Any, Final

from tests.e2e.refusals.bad_spec import ABSENT, BadSpec

MACHINE_CHECK: Final[dict[str, Any]] = {
    "apiVersion": "cluster.x-k8s.io/v1beta1",
    "kind": "MachineHealthCheck",
    "metadata": {"name": "workers", "namespace": "default"},
    "spec": {
        "clusterName": "prod",
        "selector": {"matchLabels": {"role": "worker"}},
        "unhealthyConditions": [{"type": "Ready", "status": "Unknown", "timeout": "5m"}],
        "unhealthyMachineConditions": [{"type": "BootOK", "status": "False", "timeout": "1h30m"}],
        "maxUnhealthy": "40%",
        "unhealthyRange": "[1-3]",
        "nodeStartupTimeout": "20m",
        "remediationTemplate": {"apiVersion": "fix.io/v1", "kind": "FixTemplate", "name": "reboot"},
    },
}
ALSO_GOOD: Final[dict[str, dict[str, Any]]] = {
    "a startup timeout of just 30s": {"nodeStartupTimeout": "30s"},
    "a startup timeout that is off": {"nodeStartupTimeout": "0"},
    "a startup timeout that is off, with a unit": {"nodeStartupTimeout": "0s"},
    "durations as Go writes them": {"nodeStartupTimeout": "1h0m0.5s"},
    "a limit that is a number": {"maxUnhealthy": 2},
    "a limit of nothing": {"maxUnhealthy": 0},
    "a range of one number": {"unhealthyRange": "[2-2]"},
    "a range of nines and tens": {"unhealthyRange": "[9-10]"},
    "no node conditions": {"unhealthyConditions": None},
    "no machine conditions": {"unhealthyMachineConditions": None},
    "no cluster": {"clusterName": None},
    "a condition at once": {
        "unhealthyConditions": [{"type": "Terminating", "status": "True", "timeout": "0s"}]
    },
    "the template's first name": {
        "remediationTemplate": None,
        "externalRemediationTemplate": MACHINE_CHECK["spec"]["remediationTemplate"],
    },
    "a selector of expressions alone": {
        "selector": {"matchExpressions": [{"key": "role", "operator": "Exists"}]}
    },
    "a selector that names the cluster": {
        "selector": {"matchLabels": {"cluster.x-k8s.io/cluster-name": "prod"}}
    },
}
"""Valid changes of the spec. None removes a field."""


def _wrong(path: str, value: object, *says: str) -> BadSpec:
    return BadSpec(MACHINE_CHECK, f"spec.{path}", value, says)


def _of_node(field: str, value: object, *says: str) -> BadSpec:
    return _wrong(f"unhealthyConditions.0.{field}", value, f"spec.unhealthyConditions[0].{field}", *says)


def _of_machine(field: str, value: object, *says: str) -> BadSpec:
    where = "unhealthyMachineConditions"
    return _wrong(f"{where}.0.{field}", value, f"spec.{where}[0].{field}", *says)


def _template(field: str, value: object, *says: str) -> BadSpec:
    return _wrong(f"remediationTemplate.{field}", value, f"spec.remediationTemplate.{field}", *says)


def _older(bad: BadSpec) -> BadSpec:
    """The same in the other version."""
    return BadSpec({**bad.good, "apiVersion": "cluster.x-k8s.io/v1alpha3"}, bad.path, bad.value, bad.says)


_REQUIRED: Final = "Required value"
_DURATION: Final = "must be a duration such as 90s, 5m or 1h30m, or 0"
_LIMIT: Final = "must be a count such as 3, or a percentage from 0% to 100%, such as 40%"
_RANGE: Final = "must be two numbers in brackets, such as [1-3]"
_STARTUP: Final = "must be at least 30s, or 0 for no limit"
_EMPTY: Final = "must require at least one label: an empty selector would select every Machine"
_STATUSES: Final = 'supported values: "True", "False", "Unknown"'
_REPORTED: Final = ("Ready", "Available", "HealthCheckSucceeded", "OwnerRemediated", "ExternallyRemediated")
_CONDITION: Final = MACHINE_CHECK["spec"]["unhealthyConditions"][0]
_NAMED: Final = MACHINE_CHECK["spec"]["remediationTemplate"]

_WHOM: Final = (
    BadSpec(MACHINE_CHECK, "spec", ABSENT, ("spec", _REQUIRED)),
    _wrong("selector", ABSENT, "spec.selector", _REQUIRED),
    _wrong("selector", {}, "spec.selector", _EMPTY),
    _wrong("selector", {"matchLabels": {}}, "spec.selector", _EMPTY),
    _wrong("selector", {"matchExpressions": []}, "spec.selector", _EMPTY),
    _wrong("selector.matchLabels./my role", "a", "spec.selector.matchLabels", "each key must be a label key"),
    _wrong("selector.matchLabels./role", "a b", "spec.selector.matchLabels[role]", "must be a label value"),
    _wrong(
        "selector",
        {"matchLabels": {"cluster.x-k8s.io/cluster-name": "test"}},
        "spec.selector.matchLabels",
        "must not select the Machines of another cluster",
    ),
    _wrong(
        "selector",
        {"matchExpressions": [{"key": "role", "operator": "In"}]},
        "spec.selector.matchExpressions[0].values",
        "must name at least one value for the operators In and NotIn",
    ),
    _wrong("clusterName", "", "spec.clusterName", "at least 1 chars long"),
    _wrong("clusterName", "My Cluster", "spec.clusterName", "must be the name of an object"),
    _wrong("clusterName", "a" * 64, "spec.clusterName", "may not be more than 63"),
)
_WHAT: Final = (
    _of_node("type", ABSENT, _REQUIRED),
    _of_node("type", "not ready", "must be the type of a condition, such as Ready"),
    _of_node("status", ABSENT, _REQUIRED),
    _of_node("status", "Unknwon", _STATUSES),
    _of_node("status", True, "must be of type string"),
    _of_node("status", "True", "a node that is Ready is not unhealthy"),
    _of_node("timeout", ABSENT, _REQUIRED),
    _of_node("timeout", "soon", _DURATION),
    _of_node("timeout", "5", _DURATION),
    _of_node("timeout", "-5m", _DURATION),
    _of_node("timeout", "5 m", _DURATION),
    _of_node("timeout", 300, "must be of type string"),
    _of_node("timeoutSeconds", 300, "unknown field"),
    _wrong("unhealthyConditions.1", _CONDITION, "spec.unhealthyConditions[1]", "Duplicate value", "Ready"),
    _wrong(
        "unhealthyConditions",
        [{**_CONDITION, "type": f"C{number}"} for number in range(101)],
        "spec.unhealthyConditions",
        "at most 100 items",
    ),
    *(
        _of_machine("type", reported, f"must not be {_REPORTED[0]}", "health checks write these")
        for reported in _REPORTED
    ),
    _of_machine("status", "Bad", _STATUSES),
    _of_machine("timeout", "later", _DURATION),
    _wrong("nodeStartupTimeout", "29s", "spec.nodeStartupTimeout", _STARTUP),
    _wrong("nodeStartupTimeout", "1ms", "spec.nodeStartupTimeout", _STARTUP),
    _wrong("nodeStartupTimeout", "-10m", "spec.nodeStartupTimeout", _DURATION),
    _wrong("nodeStartupTimeout", "never", "spec.nodeStartupTimeout", _DURATION),
    _wrong("nodeStartupTimeout", 600, "spec.nodeStartupTimeout", "must be of type string"),
)
_HOW: Final = (
    *(
        _wrong("maxUnhealthy", bad, "spec.maxUnhealthy", _LIMIT)
        for bad in (-1, "-1", "half", "101%", "1%0", "40 %")
    ),
    _wrong("maxUnhealthy", True, "spec.maxUnhealthy", "must be of type integer,string"),
    *(
        _wrong("unhealthyRange", bad, "spec.unhealthyRange", _RANGE)
        for bad in ("1-3", "[1-]", "[a-b]", "[-1-3]", "[1 - 3]", "[10%-40%]")
    ),
    _wrong("unhealthyRange", "[5-3]", "spec.unhealthyRange", "must have the lower number first"),
    _wrong("unhealthyRange", "[10-9]", "spec.unhealthyRange", "must have the lower number first"),
    _template("apiVersion", "v1", "must be group and version, such as"),
    _template("kind", "Fix", "must be the kind of a template, which ends in Template"),
    _template("kind", ABSENT, _REQUIRED),
    _template("name", ABSENT, _REQUIRED),
    _template("name", "Re boot", "must be the name of an object"),
    _template("namespace", "my.space", "must be the name of a namespace"),
    _wrong(
        "externalRemediationTemplate",
        _NAMED,
        "spec.externalRemediationTemplate",
        "must be absent if remediationTemplate is set: these are two names of one field",
    ),
    # Fields of Cluster API's newer form.
    _wrong("checks", {"nodeStartupTimeoutSeconds": 600}, 'unknown field "spec.checks"'),
    _wrong("remediation", {"templateRef": _NAMED}, 'unknown field "spec.remediation"'),
)

BAD_MACHINE_CHECKS: Final = (
    *_WHOM,
    *_WHAT,
    *_HOW,
    _older(_wrong("selector", {}, "spec.selector", _EMPTY)),
    _older(_wrong("maxUnhealthy", -1, "spec.maxUnhealthy", _LIMIT)),
    _older(_wrong("unhealthyRange", "[5-3]", "spec.unhealthyRange", "must have the lower number first")),
)
