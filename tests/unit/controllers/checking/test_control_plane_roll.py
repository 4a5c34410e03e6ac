"""Who is the control plane."""

import pytest

from nodemend.controllers.checking.control_plane_roll import ControlPlaneRoll
from nodemend.decide.guard_facts import ControlPlane
from tests.unit.controllers.node_health_check.node_worlds import a_node

CONTROL_PLANE = "node-role.kubernetes.io/control-plane"


def a_roll(**ready: str) -> ControlPlaneRoll:
    roll = ControlPlaneRoll()
    for name, status in ready.items():
        roll.observe(a_node(name, {CONTROL_PLANE: ""}, Ready=status))
    return roll


def test_a_worker_is_no_part_of_it() -> None:
    roll = a_roll(a="True")
    roll.observe(a_node("w", {"node-role.kubernetes.io/worker": ""}, Ready="True"))
    assert roll.around("w", frozenset()) is None


@pytest.mark.parametrize(
    "role", [CONTROL_PLANE, "node-role.kubernetes.io/master", "node-role.kubernetes.io/etcd"]
)
def test_each_of_these_roles_makes_a_member(role: str) -> None:
    roll = ControlPlaneRoll()
    roll.observe(a_node("a", {role: ""}, Ready="True"))
    assert roll.around("a", frozenset()) == ControlPlane(total=1, others_ready=0, busy="")


@pytest.mark.conforms("N14")
def test_only_the_others_that_are_ready_count() -> None:
    roll = a_roll(a="Unknown", b="True", c="False", d="True")
    assert roll.around("a", frozenset()) == ControlPlane(total=4, others_ready=2, busy="")
    assert roll.around("b", frozenset()) == ControlPlane(total=4, others_ready=1, busy="")


def test_another_member_under_remediation_is_named_and_a_worker_is_not() -> None:
    roll = a_roll(a="Unknown", b="True", c="True")
    assert roll.around("a", frozenset({"a", "w", "c", "b"})) == ControlPlane(3, 2, busy="b")
    assert roll.around("a", frozenset({"a", "w"})) == ControlPlane(3, 2, busy="")


def test_who_changes_or_goes_is_counted_no_more() -> None:
    roll = a_roll(a="True", b="True", c="True")
    roll.observe(a_node("b", {}, Ready="True"))
    roll.forget("c")
    roll.forget("never-seen")
    assert roll.around("a", frozenset()) == ControlPlane(total=1, others_ready=0, busy="")
    assert roll.around("b", frozenset()) is None
