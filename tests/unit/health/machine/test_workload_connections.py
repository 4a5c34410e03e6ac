"""Workload clusters: when the checker connects, which Secrets it accepts, and when it disconnects."""

import json
from collections.abc import Iterator

import pytest

from nodemend.api.resources import SECRET
from nodemend.health.machine.manager import OPENED_AT_ONCE
from simulation.api_server.admission import Question
from simulation.network import Link
from simulation.processes import SimulatedProcess
from tests.unit.health.machine.machine_world import SPACE
from tests.unit.health.machine.workload_world import SEEN, WorkloadWorld


@pytest.fixture
def world() -> Iterator[WorkloadWorld]:
    begun = WorkloadWorld("a", "b")
    yield begun
    begun.close()


def links(world: WorkloadWorld, cluster: str = "a") -> tuple[int, int]:
    """The number of connections ever opened, and of those still open."""
    return len(world.clusters[cluster].links), world.clusters[cluster].open


def test_a_cluster_is_connected_to_once_its_control_plane_is_up(world: WorkloadWorld) -> None:
    down = {"status": {"initialization": {"controlPlaneInitialized": False}}}
    world.api.patch(world.clusters_at, "a", down, at=(SPACE, "status"))
    world.start()
    assert (links(world, "a"), links(world, "b")) == ((0, 0), (1, 1))
    up = {"status": {"initialization": {"controlPlaneInitialized": True}}}
    world.api.patch(world.clusters_at, "a", up, at=(SPACE, "status"))
    world.run(5)
    assert (links(world), world.connections.of["a"][-1]) == ((1, 1), SEEN)


@pytest.mark.parametrize("what", ["no check", "a check of somebody else's", "no machine"])
def test_an_unneeded_cluster_is_not_connected(world: WorkloadWorld, what: str) -> None:
    match what:
        case "no check":
            world.api.delete(world.checks_at, "a", SPACE)
        case "a check of somebody else's":
            world.api.delete(world.checks_at, "a", SPACE)
            world.add_check("a", claimed=False, clusterName="a")
        case _:
            for number in (1, 2, 3):
                world.api.delete(world.machines_at, f"a{number}", SPACE)
    world.start()
    assert (links(world, "a"), links(world, "b")) == ((0, 0), (1, 1))


@pytest.mark.parametrize("what", ["the cluster", "its check", "its last machine"])
def test_a_cluster_is_disconnected_when_no_check_needs_it(world: WorkloadWorld, what: str) -> None:
    world.start()
    assert links(world) == (1, 1)
    match what:
        case "the cluster":
            world.api.delete(world.clusters_at, "a", SPACE)
        case "its check":
            world.api.delete(world.checks_at, "a", SPACE)
        case _:
            for number in (1, 2, 3):
                world.api.delete(world.machines_at, f"a{number}", SPACE)
    world.run(5)
    assert (links(world, "a"), links(world, "b")) == ((1, 0), (1, 1))
    assert world.checker is not None
    assert world.checker.machines is not None
    assert world.checker.machines.workload is not None
    assert list(world.checker.machines.workload.by_name) == [f"{SPACE}/b"]
    assert world.checker.machines.workload.count() == {"seen": 1, "not_vouched_for": 0, "out_of_reach": 0}


def test_a_machine_of_the_management_cluster_needs_no_connection(world: WorkloadWorld) -> None:
    world.add_pool(2)
    world.add_check()
    world.write_secret("prod", "nobody reads this")
    world.start()
    assert "prod" not in world.connections.of
    assert world.status()["currentHealthy"] == 2


@pytest.mark.slow
def test_the_number_of_simultaneous_connection_attempts_is_limited() -> None:
    names = [f"c{number}x" for number in range(OPENED_AT_ONCE * 2 + 5)]
    world = WorkloadWorld(*names)
    sick, sound = names[5:], names[:5]
    for name in sick:
        world.clusters[name].hang()
    world.start(calm=False)
    most = 0
    for _ in range(20):
        world.run(1)
        most = max(most, sum(world.clusters[name].open for name in sick))
    assert most == OPENED_AT_ONCE
    assert all(world.connections.of[name][-1] == SEEN for name in sound)
    world.close()


def test_a_missing_secret_is_reported_and_used_once_it_exists(world: WorkloadWorld) -> None:
    world.api.delete(SECRET, "a-kubeconfig", SPACE)
    world.start()
    assert world.connections.of["a"][-1] == f"there is no Secret {SPACE}/a-kubeconfig"
    assert "there is no Secret" in world.allowed_message("a")
    assert world.connections.of["b"][-1] == SEEN
    world.write_secret("a", world.clusters["a"].kubeconfig())
    world.run(95)
    assert world.connections.of["a"][-1] == SEEN


def test_a_secret_that_may_not_be_read_is_reported() -> None:
    def only_of_b(question: Question) -> bool:
        named = question.verb == "get" and question.name == "b-kubeconfig"
        return question.user.name != "checker" or question.resource != SECRET or named

    world = WorkloadWorld("a", "b", authorizer=only_of_b)
    world.start()
    assert world.connections.of["a"][-1] == f"the checker may not read the Secret {SPACE}/a-kubeconfig"
    assert world.connections.of["b"][-1] == SEEN
    world.close()


def a_kubeconfig(user: dict[str, object], **cluster: object) -> str:
    return json.dumps(
        {
            "clusters": [{"name": "c", "cluster": {"server": "https://a.example.com:6443", **cluster}}],
            "users": [{"name": "u", "user": user}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "x",
        }
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "it is no YAML"),
        ("nothing of use", "it is no kubeconfig"),
        (a_kubeconfig({"exec": {"command": "/bin/sh", "args": ["-c", "true"]}}), "a program to run (exec)"),
        (a_kubeconfig({"tokenFile": "/var/run/secrets/kubernetes.io/serviceaccount/token"}), "names files"),
        (a_kubeconfig({"token": "first"}, **{"insecure-skip-tls-verify": True}), "skips the verification"),
        (a_kubeconfig({"token": "first"}, **{"proxy-url": "http://proxy"}), "names a proxy"),
        (a_kubeconfig({"token": "first"}, server="https://["), "is not an http or https address"),
        ("extra: !!timestamp x", "a YAML tag"),
        # The fake connector does not know this address, and raises KeyError.
        (a_kubeconfig({"token": "first"}, server="https://nowhere.example.com"), "cannot be handled"),
    ],
)
@pytest.mark.attack("S5")
def test_an_unusable_secret_is_reported_and_harms_no_other_cluster(
    world: WorkloadWorld, text: str, why: str
) -> None:
    world.write_secret("a", text)
    world.start()
    assert why in world.connections.of["a"][-1]
    assert why in world.allowed_message("a")
    assert (links(world, "a"), links(world, "b")) == ((0, 0), (1, 1))
    assert world.status("a")["currentHealthy"] == 0
    world.set_far("b", "b1", "Unknown")
    world.run(65)
    assert world.fixes() == ["b1"]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"metadata": {"labels": {"cluster.x-k8s.io/cluster-name": "b"}}}, "has no label"),
        ({"metadata": {"labels": {"cluster.x-k8s.io/cluster-name": None}}}, "has no label"),
        ({"data": {"value": None}}, "has no key value"),
        ({"data": {"value": "/////w=="}}, "holds no text"),
    ],
)
def test_a_secret_that_is_not_of_its_cluster_is_not_used(
    world: WorkloadWorld, change: dict[str, object], why: str
) -> None:
    world.api.patch(SECRET, "a-kubeconfig", change, at=(SPACE, ""))
    world.start()
    assert why in world.connections.of["a"][-1]
    assert links(world, "a") == (0, 0)


@pytest.mark.slow
@pytest.mark.attack("S5")
def test_an_exception_from_one_cluster_harms_no_other_and_the_connection_is_retried(
    world: WorkloadWorld,
) -> None:
    """Its connections raise, for a while, an exception that no transport should raise."""
    hostile, calls = world.clusters["a"], [0]
    link_for = hostile.link_for

    def odd(process: SimulatedProcess, token: str) -> Link:
        calls[0] += 1
        if calls[0] <= 5:
            raise OverflowError("date value out of range")
        return link_for(process, token)

    hostile.link_for = odd  # type: ignore[method-assign]  # an unforeseen fault
    world.start()
    assert world.connections.of["a"][-1].startswith("what its API server or its kubeconfig says")
    assert world.connections.of["b"][-1] == SEEN
    world.set_far("b", "b1", "Unknown")
    world.run(65)
    assert world.fixes() == ["b1"]
    world.run(300)
    assert calls[0] == 6
    assert world.connections.of["a"][-1] == SEEN
