"""A policy is in force if it is there as shipped, and if it refuses what it must."""

import pytest

from nodemend.guard.policies import (
    Admitted,
    Attempted,
    AttemptUnclear,
    DeniedBy,
    Fingerprint,
    PolicySeen,
    evaluate_attempt,
    evaluate_policy,
)
from nodemend.safety.facts import Absent, Present, ReadResult, Unreadable
from nodemend.safety.guard_holds import PolicyNotInForce, PolicyNotProven

pytestmark = pytest.mark.attack("S6")

NAME = "nodemend-nodes"
SHIPPED = (Fingerprint("scope", "demands", "bound"), Fingerprint("scope", "other demands", "bound"))
AS_SHIPPED = Present(PolicySeen("scope", "demands"))


@pytest.mark.parametrize(
    ("policy", "binding", "verdict"),
    [
        (AS_SHIPPED, Present("bound"), None),
        (Present(PolicySeen("scope", "other demands")), Present("bound"), None),
        (Absent(), Present("bound"), PolicyNotInForce(NAME, "it is missing")),
        (AS_SHIPPED, Absent(), PolicyNotInForce(NAME, "it has no binding of its name")),
        (Unreadable("no"), Absent(), PolicyNotProven(NAME, "it cannot be read: no")),
        (AS_SHIPPED, Unreadable("no"), PolicyNotProven(NAME, "its binding cannot be read: no")),
        (
            AS_SHIPPED,
            Present("narrowed"),
            PolicyNotInForce(NAME, "its binding is not as this version ships it"),
        ),
        (
            Present(PolicySeen("nobody", "demands")),
            Present("bound"),
            PolicyNotInForce(NAME, "its scope is not as this version ships it"),
        ),
        (
            Present(PolicySeen("scope", "nothing")),
            Present("bound"),
            PolicyNotInForce(NAME, "its rules are not as this version ships it"),
        ),
    ],
)
def test_one_evaluation(
    policy: ReadResult[PolicySeen],
    binding: ReadResult[str],
    verdict: PolicyNotInForce | PolicyNotProven | None,
) -> None:
    assert evaluate_policy(NAME, policy, binding, SHIPPED) == verdict


def test_a_policy_that_is_not_shipped_is_never_in_force() -> None:
    assert isinstance(evaluate_policy("x", AS_SHIPPED, Present("bound"), ()), PolicyNotInForce)


@pytest.mark.parametrize(
    ("attempted", "verdict"),
    [
        (DeniedBy(f"ValidatingAdmissionPolicy '{NAME}' with binding 'b' denied request: no"), None),
        (Admitted(), PolicyNotInForce(NAME, "the API server would let a label pass")),
        (
            AttemptUnclear("timeout"),
            PolicyNotProven(NAME, "the API server did not report its decision about a label: timeout"),
        ),
        (
            DeniedBy(f"ValidatingAdmissionPolicy '{NAME}-2' denied"),
            PolicyNotProven(
                NAME, f"another policy refused a label: ValidatingAdmissionPolicy '{NAME}-2' denied"
            ),
        ),
    ],
)
def test_an_attempt(attempted: Attempted, verdict: PolicyNotInForce | PolicyNotProven | None) -> None:
    assert evaluate_attempt(NAME, "a label", attempted) == verdict
