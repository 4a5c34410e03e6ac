"""Membership of the control plane."""

import pytest

from nodemend.guard.state import ControlPlaneIndex
from nodemend.safety.facts import Present
from nodemend.safety.guard import ControlPlane, check_quorum
from tests.unit.health.node.node_worlds import a_node

NODES = {name: a_node(name, Ready="True") for name in "abc"}
CONTROL_PLANE = "node-role.kubernetes.io/control-plane"


def a_control_plane_index(**ready: str) -> ControlPlaneIndex:
    control_plane_index = ControlPlaneIndex()
    for name, status in ready.items():
        control_plane_index.observe(a_node(name, {CONTROL_PLANE: ""}, Ready=status))
    return control_plane_index


def test_a_worker_is_no_part_of_it() -> None:
    control_plane_index = a_control_plane_index(a="True")
    control_plane_index.observe(a_node("w", {"node-role.kubernetes.io/worker": ""}, Ready="True"))
    assert control_plane_index.around("w", frozenset()) is None


@pytest.mark.parametrize(
    "role", [CONTROL_PLANE, "node-role.kubernetes.io/master", "node-role.kubernetes.io/etcd"]
)
def test_each_of_these_roles_makes_a_member(role: str) -> None:
    control_plane_index = ControlPlaneIndex()
    control_plane_index.observe(a_node("a", {role: ""}, Ready="True"))
    assert control_plane_index.around("a", frozenset()) == ControlPlane(total=1, others_ready=0, busy="")


@pytest.mark.conforms("N14")
def test_only_the_other_ready_members_count() -> None:
    control_plane_index = a_control_plane_index(a="Unknown", b="True", c="False", d="True")
    assert control_plane_index.around("a", frozenset()) == ControlPlane(total=4, others_ready=2, busy="")
    assert control_plane_index.around("b", frozenset()) == ControlPlane(total=4, others_ready=1, busy="")


def test_another_member_under_remediation_is_named_and_a_worker_is_not() -> None:
    control_plane_index = a_control_plane_index(a="Unknown", b="True", c="True")
    assert control_plane_index.around("a", frozenset({"a", "w", "c", "b"})) == ControlPlane(3, 2, busy="b")
    assert control_plane_index.around("a", frozenset({"a", "w"})) == ControlPlane(3, 2, busy="")


def test_a_changed_or_deleted_member_is_no_longer_counted() -> None:
    control_plane_index = a_control_plane_index(a="True", b="True", c="True")
    control_plane_index.observe(a_node("b", {}, Ready="True"))
    control_plane_index.forget("c")
    control_plane_index.forget("never-seen")
    assert control_plane_index.around("a", frozenset()) == ControlPlane(total=1, others_ready=0, busy="")
    assert control_plane_index.around("b", frozenset()) is None


def hosting(*names: str) -> ControlPlaneIndex:
    """An index whose only members come from Pods; `a`, `b` and `c` are Ready nodes without a role."""
    control_plane_index = ControlPlaneIndex()
    for node in NODES.values():
        control_plane_index.observe(node)
    control_plane_index.note_etcd(frozenset(names), NODES.get)
    return control_plane_index


@pytest.mark.conforms("N14")
def test_a_static_pod_of_etcd_makes_a_member_where_no_label_does() -> None:
    control_plane_index = hosting("a", "b")
    assert control_plane_index.around("a", frozenset({"b"})) == ControlPlane(
        total=2, others_ready=1, busy="b"
    )
    assert control_plane_index.around("c", frozenset()) is None


def test_it_does_not_matter_whether_pods_or_nodes_are_seen_first() -> None:
    control_plane_index = ControlPlaneIndex()
    control_plane_index.note_etcd(frozenset("ab"), lambda _: None)
    assert control_plane_index.around("a", frozenset()) == ControlPlane(total=2, others_ready=0, busy="")
    for node in NODES.values():
        control_plane_index.observe(node)
    assert control_plane_index.around("a", frozenset()) == ControlPlane(total=2, others_ready=1, busy="")


def test_labels_and_pods_count_the_same_member_once_and_one_of_them_is_enough() -> None:
    control_plane_index = hosting("a", "b")
    control_plane_index.observe(a_node("a", {CONTROL_PLANE: ""}, Ready="True"))
    assert control_plane_index.around("b", frozenset()) == ControlPlane(total=2, others_ready=1, busy="")
    control_plane_index.note_etcd(frozenset("b"), NODES.get)
    assert control_plane_index.has("a")
    control_plane_index.observe(a_node("a", {}, Ready="True"))
    assert not control_plane_index.has("a")


def test_a_ready_member_whose_pod_is_deleted_is_no_member_any_longer() -> None:
    control_plane_index = hosting("a", "b")
    control_plane_index.note_etcd(frozenset("b"), NODES.get)
    assert control_plane_index.around("b", frozenset()) == ControlPlane(total=1, others_ready=0, busy="")


def test_a_silent_member_whose_pod_is_deleted_stays_a_member_until_its_kubelet_reports() -> None:
    control_plane_index, silent = hosting("a", "b"), a_node("a", Ready="Unknown")
    control_plane_index.observe(silent)
    control_plane_index.note_etcd(frozenset("b"), {**NODES, "a": silent}.get)
    assert control_plane_index.around("b", frozenset()) == ControlPlane(total=2, others_ready=0, busy="")
    control_plane_index.observe(NODES["a"])
    assert not control_plane_index.has("a")


def test_a_pod_of_a_deleted_node_counts_as_a_member_that_is_not_ready() -> None:
    control_plane_index = hosting("a", "b")
    control_plane_index.forget("a")
    assert control_plane_index.around("b", frozenset()) == ControlPlane(total=2, others_ready=0, busy="")
    control_plane_index.note_etcd(frozenset("b"), {"b": NODES["b"]}.get)
    assert not control_plane_index.has("a")


@pytest.mark.attack("S18")
def test_kubelets_that_claim_to_run_etcd_make_up_no_majority_for_a_labelled_member() -> None:
    """Two of three members are lost; ten workers each report a mirror Pod that resembles etcd's."""
    control_plane_index = a_control_plane_index(a="Unknown", b="Unknown", c="True")
    workers = {f"w{number}": a_node(f"w{number}", Ready="True") for number in range(10)}
    for worker in workers.values():
        control_plane_index.observe(worker)
    control_plane_index.note_etcd(frozenset(workers), workers.get)

    assert control_plane_index.around("a", frozenset()) == ControlPlane(total=3, others_ready=1, busy="")
    assert check_quorum(Present(control_plane_index.around("c", frozenset()) or NONE)) is not None
    assert control_plane_index.around("w0", frozenset()) == ControlPlane(total=13, others_ready=10, busy="")


NONE = ControlPlane(total=0, others_ready=0, busy="")
