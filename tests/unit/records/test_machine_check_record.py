"""Both shapes of a MachineHealthCheck mean the same."""

from typing import Any

import msgspec
import pytest

from nodemend.api.meta import ConditionStatus
from nodemend.api.resources import Resource
from nodemend.records.machine import MachineCheckWire, as_machine_check
from nodemend.rules.machine import MachineRules, TemplateNamed, WatchedCondition
from nodemend.safety.limits import Between, Count, LimitComparison, LimitSemantics, Percent

CHECKS = Resource("cluster.x-k8s.io", "v1beta2", "MachineHealthCheck", "machinehealthchecks")
REFERENCE = {"apiVersion": "fix.io/v1", "kind": "FixTemplate", "name": "reboot"}
SELECTOR = {"matchLabels": {"role": "worker"}}


def rules(spec: dict[str, Any]) -> MachineRules:
    wire = msgspec.convert(
        {"metadata": {"name": "c", "namespace": "default"}, "spec": spec}, MachineCheckWire
    )
    return as_machine_check(CHECKS, wire).rules


def flat_condition(**wrong: str) -> dict[str, Any]:
    return {"unhealthyConditions": [{"type": "Ready", "status": "False", "timeout": "1m", **wrong}]}


GROUPED = {
    "clusterName": "prod",
    "selector": SELECTOR,
    "checks": {
        "nodeStartupTimeoutSeconds": 300,
        "unhealthyNodeConditions": [{"type": "Ready", "status": "Unknown", "timeoutSeconds": 60}],
        "unhealthyMachineConditions": [{"type": "BootOK", "status": "False", "timeoutSeconds": 5}],
    },
    "remediation": {"templateRef": REFERENCE, "triggerIf": {"unhealthyInRange": "[1-3]"}},
}
FLAT = {
    "clusterName": "prod",
    "selector": SELECTOR,
    "nodeStartupTimeout": "5m0s",
    "unhealthyConditions": [{"type": "Ready", "status": "Unknown", "timeout": "1m"}],
    "unhealthyMachineConditions": [{"type": "BootOK", "status": "False", "timeout": "5s"}],
    "remediationTemplate": {**REFERENCE, "namespace": "default"},
    "unhealthyRange": "[1-3]",
}


def test_both_shapes_read_the_same() -> None:
    read = rules(GROUPED)
    assert read == rules(FLAT)
    assert read.of_node == (WatchedCondition("Ready", ConditionStatus.UNKNOWN, 60.0),)
    assert read.of_machine == (WatchedCondition("BootOK", ConditionStatus.FALSE, 5.0),)
    assert (read.cluster, read.startup, read.gate) == ("prod", 300.0, Between(1, 3))
    assert read.template == TemplateNamed("fix.io/v1", "FixTemplate", "reboot")
    assert read.unread == ()


def test_the_name_that_the_design_first_gave_the_template_is_read_too() -> None:
    assert rules({"externalRemediationTemplate": REFERENCE}).template is not None


@pytest.mark.conforms("A01")
@pytest.mark.parametrize(
    ("spec", "startup"),
    [
        ({}, 600.0),
        ({"nodeStartupTimeout": "0"}, None),
        ({"nodeStartupTimeout": "0s"}, None),
        ({"checks": {"nodeStartupTimeoutSeconds": 0}}, None),
        ({"nodeStartupTimeout": "20m"}, 1200.0),
    ],
)
def test_how_long_a_machine_may_take_to_become_a_node(spec: dict[str, Any], startup: float | None) -> None:
    assert rules(spec).startup == startup


@pytest.mark.conforms("F01", "F09", "F14")
@pytest.mark.parametrize(
    ("spec", "gate", "reading"),
    [
        ({}, None, LimitSemantics.AT_LIMIT),
        ({"maxUnhealthy": 2}, Count(2), LimitSemantics.AT_LIMIT),
        ({"maxUnhealthy": "40%"}, Percent(40), LimitSemantics.AT_LIMIT),
        ({"maxUnhealthy": "10"}, Count(10), LimitSemantics.AT_LIMIT),
        (
            {"remediation": {"triggerIf": {"unhealthyLessThanOrEqualTo": "40%"}}},
            Percent(40),
            LimitSemantics.ABOVE_LIMIT,
        ),
        ({"maxUnhealthy": 2, "unhealthyRange": "[3-5]"}, Between(3, 5), LimitSemantics.AT_LIMIT),
    ],
)
def test_the_limit_and_how_it_is_read(
    spec: dict[str, Any], gate: LimitComparison | None, reading: LimitSemantics
) -> None:
    read = rules(spec)
    assert (read.gate, read.reading, read.unread) == (gate, reading, ())


@pytest.mark.conforms("F02", "F14")
@pytest.mark.parametrize(
    ("spec", "what"),
    [
        ({"maxUnhealthy": "a"}, "'a' is no limit"),
        ({"maxUnhealthy": "a%"}, "'a%' is no limit"),
        ({"maxUnhealthy": "1%0"}, "'1%0' is no limit"),
        ({"maxUnhealthy": -1}, "-1 is no limit"),
        ({"maxUnhealthy": "101%"}, "'101%' is no limit"),
        ({"unhealthyRange": "[5-3]"}, "'[5-3]' is no limit"),
        (flat_condition(status="Unknwon"), "no status 'Unknwon'"),
        (flat_condition(timeout="soon"), "'soon' is no duration"),
        ({"nodeStartupTimeout": "later"}, "'later' is no duration"),
        ({"remediationTemplate": {**REFERENCE, "namespace": "elsewhere"}}, "in elsewhere, not in its own"),
        ({"remediationTemplate": {**REFERENCE, "kind": "Fix"}}, "its template is 'Fix'"),
    ],
)
def test_an_unknown_value_is_kept_as_such(spec: dict[str, Any], what: str) -> None:
    (unread,) = rules(spec).unread
    assert what in unread
