"""Compares the owners and dependents that the real and the simulated garbage collector leave."""

import time
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest

from controlplane.run import ControlPlane
from controlplane.settings import Settings
from nodemend.api.resources import Resource
from nodemend.kube.request import Method, Request, item_path
from tests.simulation.differential.preparing import prepare
from tests.simulation.differential.running import USERS, simulated_side
from tests.simulation.differential.sides import Address, RealSide, Side
from tests.simulation.differential.steps import Step
from tests.simulation.differential.widgets import WIDGETS

pytest_plugins = ["controlplane.fixtures"]
pytestmark = pytest.mark.real

PATH = WIDGETS.collection("diff-a")
WIDGET = Resource("differential.nodemend.io", "v1", "Widget", "widgets")
SECONDS_TO_SETTLE = 15.0
SECONDS_TO_NOTICE = 90.0
OWNERS = ("background", "foreground", "orphan", "kept")


def create(side: Side, name: str, **metadata: Any) -> Any:
    body = WIDGETS.document(name, {"spec": {"size": 1}, "metadata": metadata})
    outcome = side.perform(Step("create", "POST", PATH, {}, body))
    assert outcome.status == 201, outcome
    return outcome.body


def reference(owner: Any, *, blocks: bool = False) -> dict[str, Any]:
    name, uid = owner["metadata"]["name"], owner["metadata"]["uid"]
    made = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": name, "uid": uid}
    return {**made, "blockOwnerDeletion": blocks}


def play(side: Side) -> None:
    """Delete owners in every way, with dependents of one owner, of two owners, and with finalizers."""
    owners = {name: create(side, name) for name in OWNERS}
    for name, owner in owners.items():
        create(side, f"{name}-only", ownerReferences=[reference(owner)])
        create(side, f"{name}-blocks", ownerReferences=[reference(owner, blocks=True)])
        create(side, f"{name}-holds", ownerReferences=[reference(owner, blocks=True)], finalizers=["a.io/b"])
        shared = [reference(owner), reference(owners["kept"])]
        if name != "kept":
            create(side, f"{name}-shared", ownerReferences=shared)
    for name in OWNERS[:3]:
        options = {"propagationPolicy": name.capitalize()}
        assert side.perform(Step("delete", "DELETE", f"{PATH}/{name}", {}, options)).status == 200


def left(side: Side) -> dict[str, tuple[list[str], bool, list[str]]]:
    """Return the owners of each object, whether it is being deleted, and its finalizers."""
    found = {}
    for item in side.perform(Step("list", path=PATH)).body["items"]:
        metadata = item["metadata"]
        owners = [owner["name"] for owner in metadata.get("ownerReferences", ())]
        found[metadata["name"]] = (owners, "deletionTimestamp" in metadata, metadata.get("finalizers", []))
    return found


def wait_for_collector(real: RealSide) -> None:
    """Wait until the collector knows the kind: it discovers new kinds every half minute."""
    owner = create(real, "probe")
    create(real, "probe-dependent", ownerReferences=[reference(owner)])
    real.perform(Step("delete", "DELETE", f"{PATH}/probe"))
    until = time.monotonic() + SECONDS_TO_NOTICE
    while left(real):
        assert time.monotonic() < until, "the garbage collector does not collect"
        time.sleep(0.2)


def test_the_two_collectors_leave_the_same(start_control_plane: Callable[[Settings], ControlPlane]) -> None:
    plane = start_control_plane(Settings(scheduler=False))
    address = Address(plane.port, plane.ca, plane.users["admin"].token, plane.etcd.port)
    simulated = simulated_side()
    play(simulated)
    while simulated.server.collect_garbage():
        pass
    expected = left(simulated)

    with closing(RealSide(address, USERS)) as real:
        prepare(real)
        wait_for_collector(real)
        play(real)
        until = time.monotonic() + SECONDS_TO_SETTLE
        while left(real) != expected and time.monotonic() < until:
            time.sleep(0.2)
        time.sleep(1.0)  # The state must be final, not transient.
        assert left(real) == expected
    assert (
        simulated.server.handle(Request(Method.GET, item_path(WIDGET, "kept-only", "diff-a"))).status == 200
    )
