"""The recorded fields of a Node, and which differences count as a change."""

import gc
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from nodemend.api.meta import written_moment
from nodemend.records.node import NodeConditionRecord, NodeRecord, NodeTaintRecord, NodeWire, node_records

_DECODER = msgspec.json.Decoder(NodeWire)


def _node(**changes: Any) -> dict[str, Any]:
    """A Node as the API server writes it; `changes` replace parts by dotted path, with _ for the dot."""
    node: dict[str, Any] = {
        "kind": "Node",
        "metadata": {
            "name": "n1",
            "uid": "u1",
            "resourceVersion": "7",
            "creationTimestamp": "2026-01-02T03:04:05Z",
            "labels": {"kubernetes.io/hostname": "n1", "zone": "a"},
            "annotations": {"kept": "yes", "noise": "x"},
        },
        "spec": {"providerID": "metal://1", "taints": [{"key": "k", "effect": "NoSchedule"}]},
        "status": {
            "conditions": [
                {
                    "type": "Ready",
                    "status": "True",
                    "lastHeartbeatTime": "2026-01-02T03:05:00Z",
                    "lastTransitionTime": "2026-01-02T03:04:30Z",
                }
            ],
            "nodeInfo": {"bootID": "b1", "kernelVersion": "6"},
            "images": [{"names": ["big"]}],
        },
    }
    for path, value in changes.items():
        part = node
        *parents, last = path.split("__")
        for parent in parents:
            part = part[parent]
        part[last] = value
    return node


def _wire(**changes: Any) -> NodeWire:
    return _DECODER.decode(msgspec.json.encode(_node(**changes)))


def test_a_record_keeps_what_decisions_read() -> None:
    record = node_records(annotations=["kept", "absent"]).project(_wire(), None)

    assert record == NodeRecord(
        name="n1",
        uid="u1",
        label_keys=("kubernetes.io/hostname", "zone"),
        label_values=("n1", "a"),
        annotations=(("kept", "yes"),),
        conditions=(NodeConditionRecord("Ready", "True", "2026-01-02T03:04:30Z"),),
        taints=(NodeTaintRecord("k", "NoSchedule"),),
        unschedulable=False,
        provider_id="metal://1",
        boot_id="b1",
        created=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
        deleting=False,
        labels_hash=hash(b'{"kubernetes.io/hostname":"n1","zone":"a"}'),
    )
    assert record.labels == {"kubernetes.io/hostname": "n1", "zone": "a"}
    assert record.annotation("kept") == "yes"
    ready = record.condition("Ready")
    assert ready is not None
    assert ready.status == "True"
    assert record.condition("DiskPressure") is None


@pytest.mark.conforms("N17")
@pytest.mark.parametrize(
    "change",
    [
        {"metadata__resourceVersion": "8"},
        {"metadata__annotations": {"kept": "yes", "noise": "y"}},
        {"status__images": []},
        {"status__conditions": [
            {
                "type": "Ready",
                "status": "True",
                "lastHeartbeatTime": "2026-01-02T09:00:00Z",
                "lastTransitionTime": "2026-01-02T03:04:30Z",
            }
        ]},
    ],
)  # fmt: skip
def test_what_is_not_kept_changes_nothing(change: dict[str, Any]) -> None:
    projection = node_records(annotations=["kept"])
    before = projection.project(_wire(), None)

    assert projection.project(_wire(**change), before) is before


@pytest.mark.conforms("N17")
@pytest.mark.parametrize(
    "change",
    [
        {"metadata__uid": "u2"},
        {"metadata__labels": {"kubernetes.io/hostname": "n1", "zone": "b"}},
        {"metadata__labels": {"kubernetes.io/hostname": "n1", "zona": "a"}},
        {"metadata__annotations": {"kept": "no"}},
        {"metadata__deletionTimestamp": "2026-01-02T03:04:05Z"},
        {"metadata__creationTimestamp": "2026-01-02T03:04:06Z"},
        {"spec__unschedulable": True},
        {"spec__taints": []},
        {"spec__providerID": "metal://2"},
        {"status__nodeInfo": {"bootID": "b2"}},
        {"status__conditions": []},
        {"status__conditions": [{"type": "Ready", "status": "Unknown"}]},
    ],
)
def test_every_field_that_is_kept_can_change(change: dict[str, Any]) -> None:
    projection = node_records(annotations=["kept"])
    before = projection.project(_wire(), None)

    after = projection.project(_wire(**change), before)

    assert after != before
    assert after == projection.project(_wire(**change), None)


IDENTITY = {
    "status__nodeInfo": {"bootID": "b1", "systemUUID": "4c4c4544-0051-4a10-8052-b4c04f4e3132"},
    "status__addresses": [
        {"type": "InternalIP", "address": "192.0.2.1"},
        {"type": "Hostname", "address": "n1"},
        {"type": "InternalIP", "address": "2001:db8::1"},
    ],
}


def test_which_machine_it_is_is_kept_only_for_those_who_ask() -> None:
    wire = _wire(**IDENTITY)
    asked = node_records(identity=True).project(wire, None)
    not_asked = node_records().project(wire, None)

    assert (asked.system_uuid, asked.ips) == (
        "4c4c4544-0051-4a10-8052-b4c04f4e3132",
        ("192.0.2.1", "2001:db8::1"),
    )
    assert (not_asked.system_uuid, not_asked.ips) == ("", ())
    assert node_records().project(_wire(), not_asked) is not_asked


@pytest.mark.parametrize(
    "change", [{"status__nodeInfo": {"bootID": "b1", "systemUUID": "another"}}, {"status__addresses": []}]
)
def test_another_machine_is_a_change_for_those_who_ask(change: dict[str, Any]) -> None:
    projection = node_records(identity=True)
    before = projection.project(_wire(**IDENTITY), None)

    assert projection.project(_wire(**IDENTITY), before) is before
    assert projection.project(_wire(**{**IDENTITY, **change}), before) != before


@pytest.mark.parametrize(
    "addresses",
    [[{"type": "InternalIP", "address": f"198.18.0.{number}"} for number in range(250)], None, []],
)
def test_the_memory_per_node_is_bounded(addresses: list[dict[str, str]] | None) -> None:
    excess = {"status__nodeInfo": {"systemUUID": "f" * 65}, "status__addresses": addresses}
    record = node_records(identity=True).project(_wire(**excess), None)

    assert record.system_uuid == ""
    assert len(record.ips) <= 64


def test_a_bare_node_has_a_record() -> None:
    wire = _DECODER.decode(b'{"metadata":{"name":"n","uid":"u","creationTimestamp":null}}')

    record = node_records().project(wire, None)

    assert (record.created, record.conditions, record.boot_id) == (None, (), "")


def test_nodes_share_what_is_equal() -> None:
    projection = node_records()
    one = projection.project(_wire(), None)
    two = projection.project(_wire(metadata__name="n2", metadata__uid="u2"), None)

    assert one.label_keys is two.label_keys
    assert one.label_values[1] is two.label_values[1]
    assert one.label_values[0] is one.name
    assert one.conditions[0].type is two.conditions[0].type
    # The garbage collector has nothing to traverse, regardless of their number.
    assert not any(gc.is_tracked(part) for part in (one, one.conditions[0], one.taints[0]))


def test_labels_that_are_no_texts_make_the_node_unreadable() -> None:
    with pytest.raises(msgspec.ValidationError):
        node_records().project(_wire(metadata__labels={"zone": 7}), None)


@pytest.mark.parametrize("nothing", [{}, None])
def test_missing_labels_are_empty(nothing: dict[str, str] | None) -> None:
    assert node_records().project(_wire(metadata__labels=nothing), None).labels == {}


@pytest.mark.attack("S18")
@pytest.mark.parametrize(
    "time", ["0000-01-01T00:00:00Z", "10000-01-01T00:00:00Z", "9999-12-31T23:59:59-14:00", "", "soon"]
)
def test_a_time_that_cannot_be_read_hides_no_node(time: str) -> None:
    conditions = [{"type": "Ready", "status": "False", "lastTransitionTime": time}]
    record = node_records().project(_wire(status__conditions=conditions), None)

    ready = record.condition("Ready")
    assert ready is not None
    assert ready.status == "False"
    assert written_moment(ready.last_transition_time) is None
