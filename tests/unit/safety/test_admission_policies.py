"""A policy is in force if it is there as shipped, and if it refuses what it must."""

import pytest

from nodemend.safety.facts import Absent, Present, ReadResult, Unreadable
from nodemend.safety.guard_holds import PolicyNotInForce, PolicyNotProven
from nodemend.safety.policies import (
    Admitted,
    Attempted,
    AttemptUnclear,
    DeniedBy,
    Fingerprint,
    PolicySeen,
    evaluate_attempt,
    evaluate_policy,
)

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
            PolicyNotInForce(NAME, "what it is asked about is not as this version ships it"),
        ),
        (
            Present(PolicySeen("scope", "nothing")),
            Present("bound"),
            PolicyNotInForce(NAME, "what it demands is not as this version ships it"),
        ),
    ],
)
def test_a_look(
    policy: ReadResult[PolicySeen],
    binding: ReadResult[str],
    verdict: PolicyNotInForce | PolicyNotProven | None,
) -> None:
    assert evaluate_policy(NAME, policy, binding, SHIPPED) == verdict


def test_one_that_nobody_ships_is_never_in_force() -> None:
    assert isinstance(evaluate_policy("x", AS_SHIPPED, Present("bound"), ()), PolicyNotInForce)


@pytest.mark.parametrize(
    ("attempted", "verdict"),
    [
        (DeniedBy(f"ValidatingAdmissionPolicy '{NAME}' with binding 'b' denied request: no"), None),
        (Admitted(), PolicyNotInForce(NAME, "the API server would let a label pass")),
        (AttemptUnclear("timeout"), PolicyNotProven(NAME, "a label was not answered by it: timeout")),
        (
            DeniedBy(f"ValidatingAdmissionPolicy '{NAME}-2' denied"),
            PolicyNotProven(
                NAME, f"a label was refused by another: ValidatingAdmissionPolicy '{NAME}-2' denied"
            ),
        ),
    ],
)
def test_an_attempt(attempted: Attempted, verdict: PolicyNotInForce | PolicyNotProven | None) -> None:
    assert evaluate_attempt(NAME, "a label", attempted) == verdict
