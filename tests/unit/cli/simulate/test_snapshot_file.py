"""Snapshots as kubectl prints them, and as users write them."""

import json
from datetime import UTC, datetime

import pytest
import yaml

from nodemend.api.resources import MANUAL_REMEDIATION
from nodemend.cli.simulate.engine import simulate
from nodemend.cli.simulate.input import DocumentsError, read_documents, read_snapshot
from nodemend.cli.simulate.output import build_view
from tests.unit.cli.simulate.clusters import as_list, check, edge_cluster, node, policy, remediation
from tests.unit.cli.simulate.simulated import NOON, a_plan

WRITTEN = """\
kind: Node
apiVersion: v1
metadata: {name: n1}
---
---
apiVersion: v1
kind: Node
metadata: {name: n2, labels: {rack: r1}}
status:
  conditions:
    - {type: Ready, status: "Unknown", lastTransitionTime: 2026-01-31T11:00:00Z}
"""


def test_machine_health_checks_are_counted_to_be_named_as_left_out() -> None:
    others = [
        {"apiVersion": f"{group}/v1beta1", "kind": "MachineHealthCheck", "metadata": {"name": "workers"}}
        for group in ("cluster.x-k8s.io", "machine.openshift.io")
    ]
    snapshot = read_snapshot(as_list([*edge_cluster(), *others]), "x", NOON)
    plan = a_plan("edge-a1@0s")
    view = build_view(snapshot, plan, simulate(snapshot, plan))

    assert "2 MachineHealthChecks are left out: only NodeHealthChecks act here." in view.assumed
    alone = read_snapshot(as_list(edge_cluster()), "x", NOON)
    assert not [one for one in build_view(alone, plan, simulate(alone, plan)).assumed if "Machine" in one]


def test_a_list_in_json_and_in_yaml_is_the_same() -> None:
    listed = as_list(edge_cluster())
    in_yaml = yaml.safe_dump(json.loads(listed)).encode()

    from_json, from_yaml = (read_snapshot(content, "x", NOON) for content in (listed, in_yaml))

    assert dict(from_json.nodes).keys() == dict(from_yaml.nodes).keys()
    assert (from_json.checks, from_json.policy) == (from_yaml.checks, from_yaml.policy)
    assert len(from_json.nodes) == 27
    assert [found.metadata.name for found in from_json.checks] == ["workers", "control-plane"]


def test_a_file_written_by_hand() -> None:
    snapshot = read_snapshot(WRITTEN.encode(), "x", NOON)

    assert {name: found.uid for name, found in snapshot.nodes.items()} == {"n1": "n1", "n2": "n2"}
    assert snapshot.nodes["n2"].labels == {"rack": "r1"}
    assert snapshot.taken_at == datetime(2026, 1, 31, 11, tzinfo=UTC)
    assert (snapshot.checks, snapshot.policy, snapshot.remediations) == ((), None, ())


def test_the_items_of_a_typed_list_are_of_its_kind() -> None:
    items = [{key: value for key, value in node("n1").items() if key not in ("kind", "apiVersion")}]
    listed = {"kind": "NodeList", "apiVersion": "v1", "items": items}

    assert list(read_snapshot(json.dumps(listed).encode(), "x", NOON).nodes) == ["n1"]


def test_the_snapshot_time_is_the_newest_kubelet_heartbeat() -> None:
    late = node(
        "n2", conditions=[{"type": "X", "status": "True", "lastHeartbeatTime": "2026-01-31T12:00:07Z"}]
    )
    nothing = node("n3")
    nothing["status"] = {}

    assert read_snapshot(as_list([node("n1"), late]), "x", NOON).taken_at == NOON.replace(second=7)
    assert read_snapshot(as_list([nothing]), "x", NOON.replace(hour=3)).taken_at == NOON.replace(hour=3)


def test_running_remediations_are_included() -> None:
    objects = [node("n1"), check("workers"), policy(), remediation("n1"), {"apiVersion": "v1", "kind": "Pod"}]
    (found,) = read_snapshot(as_list(objects), "x", NOON).remediations

    assert (found.name, found.resource.kind) == ("n1", MANUAL_REMEDIATION.kind)


def test_a_policy_with_another_name_is_ignored() -> None:
    other = policy()
    other["metadata"]["name"] = "mine"
    assert read_snapshot(as_list([node("n1"), other]), "x", NOON).policy is None


@pytest.mark.parametrize(
    ("content", "wrong"),
    [
        (b"", "has no nodes in it"),
        (b"{", "is no list of objects"),
        (b"- a\n- b\n", "is no list of objects"),
        (b"{a: [", "is no list of objects"),
        (b"a: [", "is neither JSON nor YAML"),
        (b"{}", "does not say its kind"),
        (as_list([policy()]), "has no nodes in it"),
        (b"a: !!timestamp x", "is neither JSON nor YAML"),
        (b"a: !!int x", "is neither JSON nor YAML"),
        (b"a: !!timestamp 99999-01-01", "is neither JSON nor YAML"),
        (b"? [a]\n: b", "is neither JSON nor YAML"),
        (b"a: &a [*a]", "is neither JSON nor YAML"),
        (
            as_list([node("n1"), check("c", remedies=[])]),
            "has a NodeHealthCheck of nodemend.io/v1alpha1 that",
        ),
    ],
)
@pytest.mark.attack("S18")
def test_an_unreadable_file_is_reported_in_a_sentence(content: bytes, wrong: str) -> None:
    with pytest.raises(DocumentsError, match=wrong):
        read_snapshot(content, "x", NOON)


def test_the_order_of_fields_does_not_matter() -> None:
    turned = json.dumps(
        {"items": [{"metadata": {"name": "n1"}, "kind": "Node", "apiVersion": "v1"}], "kind": "List"}
    )
    (found,) = read_documents(turned.encode())
    assert (found.api_version, found.kind) == ("v1", "Node")


@pytest.mark.attack("S18")
@pytest.mark.parametrize(
    "since", ["yesterday", "2026-01-31T12:00:00", "0000-01-01T00:00:00Z", "9999-12-31T23:59:59-14:00"]
)
def test_a_node_with_a_time_that_cannot_be_read_is_a_node(since: str) -> None:
    found = read_snapshot(as_list([node("n1"), node("n2", since=since)]), "x", NOON)

    assert set(found.nodes) == {"n1", "n2"}
