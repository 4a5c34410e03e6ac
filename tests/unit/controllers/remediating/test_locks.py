"""A lock that nobody holds is given back; any other is left alone."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import msgspec
import pytest

from nodemend.api import keys
from nodemend.api.group_versions import LEASE, MANUAL_REMEDIATION, NODE
from nodemend.api.lease import Lease
from nodemend.api.object_meta import ObjectMeta
from nodemend.controllers.fresh_reads import Reader
from nodemend.controllers.remediating.locks import held_by, is_orphaned
from nodemend.decide.facts import Present
from nodemend.decide.remediation_life import HeldBy
from nodemend.kube.api_client import ApiClient
from nodemend.kube.api_reply import Answer, Reply, Unanswered
from nodemend.testing.cluster.direct import Object
from nodemend.testing.cluster.world import Shape, World
from nodemend.testing.processes import HostClock, SimulatedProcess
from nodemend.testing.scheduler import Scheduler
from tests.unit.controllers.power_cycle.power_world import SICK, PowerWorld
from tests.unit.kube.scripted_transport import ScriptedTransport

SYSTEM = keys.SYSTEM_NAMESPACE
T = TypeVar("T")


def a_lock(name: str, holder: str, uid: str) -> Object:
    metadata = {"name": name, "annotations": {keys.HOLDER: holder} if holder else {}}
    return {"metadata": metadata, "spec": {"holderIdentity": uid}}


@pytest.mark.attack("S13")
@pytest.mark.conforms("N7")
def test_locks_without_a_living_holder_go_and_others_stay() -> None:
    world = World("sweep", Shape(machines=3, people=False, replicas=1))
    world.run(30.0)
    api = world.admin_api
    living = api.create(MANUAL_REMEDIATION, {"metadata": {"name": "node-9"}, "spec": {}}, SYSTEM)
    here = f"ManualRemediation {SYSTEM}/node-9"
    locks = (
        a_lock("node-gone", f"ManualRemediation {SYSTEM}/node-7", "u7"),
        a_lock("node-replaced", here, "an-earlier-one"),
        a_lock("node-held", here, living["metadata"]["uid"]),
        a_lock("node-of-others", "NodeFence default/x", "u8"),
        a_lock("node-unnamed", "", "u9"),
        a_lock("node-half-named", "ManualRemediation", "u9"),
        a_lock("node-nowhere", "ManualRemediation /node-9", "u9"),
    )
    for lock in locks:
        api.create(LEASE, lock, SYSTEM)
    world.run(120.0)
    left = {lease["metadata"]["name"] for lease in api.list(LEASE)}
    world.close()

    assert left & {lock["metadata"]["name"] for lock in locks} == {"node-held", "node-of-others"}


@pytest.mark.attack("S13")
def test_a_lock_without_a_holder_keeps_nobody_from_a_node() -> None:
    world = PowerWorld("nobody's lock")
    try:
        uid = (world.api.get(NODE, SICK) or {})["metadata"]["uid"]
        world.api.create(LEASE, a_lock(f"node-{uid}", "", "x"), SYSTEM)
        world.world.machines[SICK].hung = True
        world.ask()
        world.run(300.0)
        assert world.status["phase"] not in ("", "pending")
    finally:
        world.close()


def concluded(judge: Callable[[Reader], Awaitable[T]], reply: Reply) -> T:
    """What is concluded of a lock when the read of its holder gets this reply."""
    scheduler = Scheduler("orphan")
    process = SimulatedProcess(scheduler, "remediator", HostClock())
    reader = Reader(ApiClient(ScriptedTransport(process, lambda _: reply), process), process)
    found: list[T] = []

    async def look() -> None:
        found.append(await judge(reader))

    process.spawn(look(), "look")
    scheduler.run(1.0)
    return found[0]


@pytest.mark.parametrize(
    ("reply", "orphaned"),
    [
        (Answer(404, b'{"kind": "Status", "reason": "NotFound"}'), True),
        (Answer(200, b'{"metadata": {"uid": "another"}}'), True),
        (Answer(200, b'{"metadata": {"uid": "u7"}}'), False),
        (Answer(200, b'{"metadata": 7}'), False),
        (Answer(200, b'{"metadata": {"ui'), False),
        (Answer(403, b'{"kind": "Status", "reason": "Forbidden"}'), False),
        (Answer(429, b'{"kind": "Status", "reason": "TooManyRequests"}'), False),
        (Answer(500, b"{}"), False),
        (Unanswered("reset by peer"), False),
    ],
)
def test_only_a_holder_that_is_certainly_gone_leaves_an_orphan(reply: Reply, orphaned: bool) -> None:
    """One that cannot be read may be at work."""
    lock = msgspec.convert(a_lock("node-x", f"ManualRemediation {SYSTEM}/node-7", "u7"), Lease)

    assert concluded(lambda reader: is_orphaned(reader, lock), reply) == orphaned


def test_the_lock_of_another_kind_of_the_same_name_is_not_ours() -> None:
    """Remediations of one node all have its name: the UID tells them apart."""
    holder = f"ManualRemediation {SYSTEM}/node-7"
    lock = Present(msgspec.convert(a_lock("node-x", holder, "u7"), Lease))
    ours = ObjectMeta(name="node-7", namespace=SYSTEM, uid="u8")
    living = Answer(200, b'{"metadata": {"uid": "u7"}}')

    found = concluded(lambda reader: held_by(reader, lock, ours), living)
    assert found == Present(HeldBy(ours=False, holder=holder))
