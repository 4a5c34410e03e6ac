"""Only mirror Pods of a kubelet count as etcd."""

import msgspec

from nodemend.records.node import MIRROR, EtcdPodRecord, EtcdPodWire, etcd_pod_records

PROJECT = etcd_pod_records().project


def wire(**annotations: str) -> EtcdPodWire:
    raw = {"metadata": {"name": "etcd-a", "uid": "u", "annotations": annotations}, "spec": {"nodeName": "a"}}
    return msgspec.convert(raw, EtcdPodWire)


def test_a_mirror_pod_names_its_node() -> None:
    assert PROJECT(wire(**{MIRROR: "8c1"}), None) == EtcdPodRecord("u", "a")


def test_a_pod_that_any_user_could_have_created_names_no_node() -> None:
    assert PROJECT(wire(), None) == EtcdPodRecord("u", "")


def test_what_does_not_matter_of_a_pod_is_no_change() -> None:
    before = PROJECT(wire(**{MIRROR: "8c1"}), None)
    assert PROJECT(wire(**{MIRROR: "8c1", "other": "x"}), before) is before
