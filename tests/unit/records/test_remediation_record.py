"""The recorded fields of a remediation of any controller."""

import msgspec

from nodemend.api.resources import MANUAL_REMEDIATION, Resource
from nodemend.records.remediation import RemediationWire, as_record, remediation_records

REBOOT = Resource("example.com", "v1", "Reboot", "reboots")
WRITTEN = {
    "metadata": {
        "name": "n1",
        "namespace": "default",
        "uid": "u1",
        "resourceVersion": "7",
        "labels": {"a": "b"},
        "annotations": {"c": "d"},
        "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "node-1"}],
    },
    "spec": {"whatever": 1},
    "status": {"conditions": [{"type": "Succeeded", "status": "True", "reason": "R"}], "phase": "Done"},
}


def test_its_name_its_marks_and_its_conditions_are_kept() -> None:
    wire = msgspec.json.decode(msgspec.json.encode(WRITTEN), type=RemediationWire)
    record = remediation_records(REBOOT).project(wire, None)
    assert (str(record), record.uid, record.version) == ("Reboot default/n1", "u1", "7")
    assert (record.labels, record.annotations, record.deleting) == ({"a": "b"}, {"c": "d"}, False)
    assert (record.says("Succeeded"), record.says("Processing")) == ("True", "")
    assert record.owners == ("node-1",)


def test_one_without_a_status_says_nothing_and_one_that_ends_is_deleting() -> None:
    ending = {"metadata": {"name": "n1", "deletionTimestamp": "2026-01-01T00:00:00Z"}}
    wire = msgspec.json.decode(msgspec.json.encode(ending), type=RemediationWire)
    record = remediation_records(REBOOT).project(wire, None)
    assert (record.says("Succeeded"), record.deleting) == ("", True)


def test_a_recovery_does_not_go_on_as_a_remediation_and_what_fences_is_never_one() -> None:
    marked = {"metadata": {"name": "n1", "annotations": {"nodemend.io/recovery": "true"}}}
    wire = msgspec.json.decode(msgspec.json.encode(marked), type=RemediationWire)
    recovery, fencing = as_record(REBOOT, wire), as_record(MANUAL_REMEDIATION, wire)
    assert (recovery.recovers, recovery.goes_on) == (True, False)
    assert (fencing.recovers, fencing.goes_on) == (False, True)
