"""Who is the control plane."""

import pytest

from nodemend.controllers.checking.control_plane_roll import ControlPlaneRoll
from nodemend.decide.facts import Present
from nodemend.decide.guard_facts import ControlPlane
from nodemend.decide.storm_guard import spare_quorum
from tests.unit.controllers.node_health_check.node_worlds import a_node

NODES = {name: a_node(name, Ready="True") for name in "abc"}
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


def hosting(*names: str) -> ControlPlaneRoll:
    """A roll that only Pods have told of members; `a`, `b` and `c` are Ready nodes without a role."""
    roll = ControlPlaneRoll()
    for node in NODES.values():
        roll.observe(node)
    roll.note_etcd(frozenset(names), NODES.get)
    return roll


@pytest.mark.conforms("N14")
def test_a_static_pod_of_etcd_makes_a_member_where_no_label_does() -> None:
    roll = hosting("a", "b")
    assert roll.around("a", frozenset({"b"})) == ControlPlane(total=2, others_ready=1, busy="b")
    assert roll.around("c", frozenset()) is None


def test_it_does_not_matter_whether_pods_or_nodes_are_seen_first() -> None:
    roll = ControlPlaneRoll()
    roll.note_etcd(frozenset("ab"), lambda _: None)
    assert roll.around("a", frozenset()) == ControlPlane(total=2, others_ready=0, busy="")
    for node in NODES.values():
        roll.observe(node)
    assert roll.around("a", frozenset()) == ControlPlane(total=2, others_ready=1, busy="")


def test_labels_and_pods_tell_of_the_same_member_once_and_one_of_them_is_enough() -> None:
    roll = hosting("a", "b")
    roll.observe(a_node("a", {CONTROL_PLANE: ""}, Ready="True"))
    assert roll.around("b", frozenset()) == ControlPlane(total=2, others_ready=1, busy="")
    roll.note_etcd(frozenset("b"), NODES.get)
    assert roll.has("a")
    roll.observe(a_node("a", {}, Ready="True"))
    assert not roll.has("a")


def test_a_member_whose_pod_goes_while_it_is_ready_is_one_no_more() -> None:
    roll = hosting("a", "b")
    roll.note_etcd(frozenset("b"), NODES.get)
    assert roll.around("b", frozenset()) == ControlPlane(total=1, others_ready=0, busy="")


def test_a_member_whose_pod_goes_while_it_is_silent_stays_one_until_its_kubelet_speaks() -> None:
    roll, silent = hosting("a", "b"), a_node("a", Ready="Unknown")
    roll.observe(silent)
    roll.note_etcd(frozenset("b"), {**NODES, "a": silent}.get)
    assert roll.around("b", frozenset()) == ControlPlane(total=2, others_ready=0, busy="")
    roll.observe(NODES["a"])
    assert not roll.has("a")


def test_a_pod_whose_node_is_gone_counts_as_a_member_that_is_not_ready() -> None:
    roll = hosting("a", "b")
    roll.forget("a")
    assert roll.around("b", frozenset()) == ControlPlane(total=2, others_ready=0, busy="")
    roll.note_etcd(frozenset("b"), {"b": NODES["b"]}.get)
    assert not roll.has("a")


@pytest.mark.attack("S18")
def test_kubelets_that_claim_to_run_etcd_make_up_no_majority_for_a_labelled_member() -> None:
    """Two of three members are lost; ten workers make a mirror Pod each that looks like etcd's."""
    roll = a_roll(a="Unknown", b="Unknown", c="True")
    workers = {f"w{number}": a_node(f"w{number}", Ready="True") for number in range(10)}
    for worker in workers.values():
        roll.observe(worker)
    roll.note_etcd(frozenset(workers), workers.get)

    assert roll.around("a", frozenset()) == ControlPlane(total=3, others_ready=1, busy="")
    assert spare_quorum(Present(roll.around("c", frozenset()) or NONE)) is not None
    assert roll.around("w0", frozenset()) == ControlPlane(total=13, others_ready=10, busy="")


NONE = ControlPlane(total=0, others_ready=0, busy="")
