"""`check` compares every admission policy: its scope, its rules and its binding."""

from dataclasses import replace
from typing import Any

import pytest

from nodemend.api import condition_types
from nodemend.api.meta import Condition, ConditionStatus
from nodemend.api.remediation_policy import (
    Mode,
    RemediationPolicy,
    RemediationPolicySpec,
    RemediationPolicyStatus,
)
from nodemend.cli.check.assess import assess
from nodemend.cli.check.facts import CheckCommandFacts
from nodemend.cli.check.view import Level
from nodemend.guard.policies import ALWAYS, PolicySeen
from nodemend.guard.shipped_policies import SHIPPED
from nodemend.safety.facts import Present
from tests.unit.cli.check.sound_facts import SOUND, facts, problems

pytestmark = pytest.mark.attack("S6")


def policies() -> dict[str, PolicySeen]:
    assert isinstance(SOUND.policies, Present)
    return dict(SOUND.policies.value)


def bindings() -> dict[str, str]:
    assert isinstance(SOUND.bindings, Present)
    return dict(SOUND.bindings.value)


def cluster(**changes: Any) -> CheckCommandFacts:
    wrapped: dict[str, Any] = {name: Present(value) for name, value in changes.items()}
    return facts(**wrapped)


def said(of: CheckCommandFacts) -> list[str]:
    return [text for level, text in problems(assess(of)) if level is Level.FAIL]


@pytest.mark.parametrize("name", SHIPPED)
def test_one_that_is_not_bound_as_shipped_is_a_failure(name: str) -> None:
    not_active = f"the admission policy {name} is not in force: "
    unbound = {one: binding for one, binding in bindings().items() if one != name}

    assert said(cluster(bindings=unbound)) == [f"{not_active}it has no binding of its name"]
    assert said(cluster(bindings=bindings() | {name: "narrowed"})) == [
        f"{not_active}its binding is not as this version ships it"
    ]


@pytest.mark.parametrize("name", SHIPPED)
def test_a_policy_with_a_changed_scope_or_rule_is_a_failure(name: str) -> None:
    not_active = f"the admission policy {name} is not in force: "
    shipped = policies()[name]

    assert said(cluster(policies=policies() | {name: replace(shipped, scope="nobody")})) == [
        f"{not_active}its scope is not as this version ships it"
    ]
    assert said(cluster(policies=policies() | {name: replace(shipped, demands="nothing")})) == [
        f"{not_active}its rules are not as this version ships it"
    ]


def test_the_policies_of_every_installation_must_exist() -> None:
    assert said(cluster(policies={}, bindings={})) == [
        f"the admission policy {name} is not in force: it is missing" for name in ALWAYS
    ]


def test_either_form_of_a_policy_will_do() -> None:
    forms = SHIPPED["nodemend-nodes"]
    assert len(forms) == 2
    for one in forms:
        seen = policies() | {"nodemend-nodes": PolicySeen(one.scope, one.demands)}
        assert said(cluster(policies=seen)) == []


def test_the_checker_s_failed_attempt_counts_even_if_all_objects_look_valid() -> None:
    """For example, if the API server has the admission plugin switched off."""
    condition = Condition(
        type=condition_types.ADMISSION_POLICY_UNPROVEN,
        status=ConditionStatus.TRUE,
        reason="PolicyNotInForce",
        message="It lets everything pass.",
        last_transition_time="2026-01-31T12:00:00Z",
    )
    spec = RemediationPolicySpec(mode=Mode.ACT, max_concurrent=2)
    doubted = RemediationPolicy(spec=spec, status=RemediationPolicyStatus(conditions=(condition,)))
    dispelled = doubted.status.but(conditions=(condition.but(status=ConditionStatus.FALSE),))

    assert said(facts(policy=Present(doubted))) == ["the checker holds everything: It lets everything pass."]
    assert said(facts(policy=Present(doubted.but(status=dispelled)))) == []
