"""The backup of a deleted Node, and the fields that a new Node lacks."""

import pytest

from nodemend.api.meta import ObjectMeta
from nodemend.api.metal3_remediation import KeptTaint, NodeBackup
from nodemend.api.upstream_types import Node, NodeSpec, NodeTaint
from nodemend.remediation.metal3.model import (
    MOST_BYTES,
    MOST_KEYS,
    MOST_TAINTS,
    NOTHING,
    backup_of,
    fits,
    lacks,
)
from tests.unit.safety.worlds import OUR_TAINT

GPU = KeptTaint(key="gpu", effect="NoSchedule", value="a100")
FULL = NodeBackup(
    labels={"rack": "7", "node-role.kubernetes.io/worker": ""},
    annotations={"team": "storage"},
    taints=(GPU,),
    unschedulable=True,
)


def test_user_settings_are_backed_up_and_those_of_kubelets_and_controllers_are_not() -> None:
    labels = {"rack": "7", "topology.kubernetes.io/zone": "a", "kubernetes.io/hostname": "n1"}
    annotations = {
        "team": "storage",
        "node.alpha.kubernetes.io/ttl": "0",
        "csi.volume.kubernetes.io/nodeid": "{}",
        "nodemend.io/release-revoked": "rem-1.55",
    }
    taints = (
        NodeTaint(key="gpu", effect="NoSchedule", value="a100"),
        NodeTaint(key="node-role.kubernetes.io/control-plane", effect="NoSchedule"),
        NodeTaint(key="node.kubernetes.io/unreachable", effect="NoExecute"),
        NodeTaint(key="node.kubernetes.io/unschedulable", effect="NoSchedule"),
        NodeTaint(key=OUR_TAINT.key, effect=OUR_TAINT.effect, value=OUR_TAINT.value),
    )
    metadata = ObjectMeta(labels=labels, annotations=annotations)
    node = Node(metadata=metadata, spec=NodeSpec(taints=taints, unschedulable=True))

    assert backup_of(node) == NodeBackup(
        labels={"rack": "7", "topology.kubernetes.io/zone": "a"},
        annotations={"team": "storage"},
        taints=(GPU, KeptTaint(key="node-role.kubernetes.io/control-plane", effect="NoSchedule")),
        unschedulable=True,
    )


@pytest.mark.parametrize(
    ("now", "missing"),
    [
        (NOTHING, FULL),
        (FULL, NOTHING),
        (FULL.but(unschedulable=False), NodeBackup(unschedulable=True)),
        (FULL.but(labels={"rack": "8"}), NodeBackup(labels={"node-role.kubernetes.io/worker": ""})),
        (FULL.but(annotations={"team": ""}), NOTHING),
        (FULL.but(annotations={}), NodeBackup(annotations={"team": "storage"})),
        (FULL.but(taints=(GPU.but(value="h100"),)), NOTHING),
        (FULL.but(taints=(GPU.but(effect="NoExecute"),)), NodeBackup(taints=(GPU,))),
    ],
)
def test_only_missing_parts_are_restored_and_existing_ones_win(now: NodeBackup, missing: NodeBackup) -> None:
    assert lacks(now, FULL) == missing


def test_what_was_never_there_is_not_missing() -> None:
    assert lacks(FULL, NOTHING) == NOTHING


@pytest.mark.parametrize(
    "kept",
    [
        NodeBackup(annotations={"much": "x" * MOST_BYTES}),
        NodeBackup(annotations={"ü" * 2: "ü" * (MOST_BYTES // 2)}),
        NodeBackup(labels={f"l{number}": "" for number in range(MOST_KEYS + 1)}),
        NodeBackup(annotations={f"a{number}": "" for number in range(MOST_KEYS + 1)}),
        NodeBackup(taints=tuple(GPU.but(key=f"t{number}") for number in range(MOST_TAINTS + 1))),
    ],
    ids=["bytes", "bytes, not letters", "labels", "annotations", "taints"],
)
def test_what_does_not_fit_a_status_is_not_taken_away(kept: NodeBackup) -> None:
    assert not fits(kept)


def test_what_just_fits_fits() -> None:
    assert fits(NodeBackup(annotations={"much": "x" * (MOST_BYTES - 4)}))
    assert fits(NodeBackup(labels={f"l{number}": "" for number in range(MOST_KEYS)}))


def test_its_parts_are_listed_by_name() -> None:
    assert FULL.parts == ("rack", "node-role.kubernetes.io/worker", "team", "gpu", "its cordon")
    assert NOTHING.parts == ()
