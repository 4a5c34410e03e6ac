"""A power cycle from any source never powers off a host past a limit, nor that of a healthy node."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, Final

import msgspec
import pytest

from nodemend.api import well_known
from nodemend.api.resources import (
    BARE_METAL_HOST,
    CAPM3_REMEDIATION,
    METAL3_REMEDIATION,
    NODE,
    NODE_HEALTH_CHECK,
    REMEDIATION_POLICY,
)
from nodemend.kube.outcome import ApiResponse
from nodemend.kube.request import Method, Request
from simulation.cluster.direct import Direct
from simulation.cluster.world import CHECK
from simulation.metal3.rack import NAMESPACE
from tests.unit.remediation.complaints import OPEN
from tests.unit.remediation.metal3.power_world import MACHINE, MACHINE_HEALTH_CHECK, PowerWorld, owned_by

SELECTS_NONE: Final = {"selector": {"matchLabels": {"nobody": "checks"}}}
ZONE: Final = "topology.kubernetes.io/zone"


class Switched(PowerWorld):
    """Counts the power-off requests, and those that exist at once."""

    def __init__(self, seed: str, **options: Any) -> None:
        self.placed: list[tuple[float, str]] = []
        self.most = 0
        super().__init__(seed, **options)
        self.world.remediator.witnesses.append(self._saw_write)

    def break_down(self, *nodes: str) -> None:
        for name in nodes:
            self.world.machines[name].hung = True

    def lose_and_ask(self, *nodes: str) -> None:
        """Each node is known not to be Ready before its remediation is created."""
        self.break_down(*nodes)
        self.run(90.0)
        for name in nodes:
            self.ask(name)

    def why(self, node: str) -> str:
        found = self.api.get(METAL3_REMEDIATION, node.replace("node", "m"), NAMESPACE)
        assert found is not None
        said: str = found.get("status", {}).get("message", "")
        return said

    def is_ready(self, node: str) -> bool:
        found = self.api.get(NODE, node)
        assert found is not None
        return {"Ready": "True"} in [{one["type"]: one["status"]} for one in found["status"]["conditions"]]

    @property
    def hosts(self) -> list[str]:
        return [name for _, name in self.placed]

    def _saw_write(self, _user: str, request: Request, answer: ApiResponse) -> None:
        if "/baremetalhosts/" not in request.path:
            return
        asked = msgspec.json.decode(request.body)["metadata"].get("annotations", {})
        if any(key.startswith(well_known.POWER_OFF_REQUEST_PREFIX) and value for key, value in asked.items()):
            name = msgspec.json.decode(answer.body)["metadata"]["name"]
            self.placed.append((self.world.scheduler.now, name))
        held = [
            host
            for host in self.api.list(BARE_METAL_HOST)
            if any(
                key.startswith(well_known.POWER_OFF_REQUEST_PREFIX)
                for key in host["metadata"].get("annotations", {})
            )
        ]
        self.most = max(self.most, len(held))


@contextmanager
def world(seed: str, **options: Any) -> Iterator[Switched]:
    made = Switched(seed, **options)
    try:
        yield made
    finally:
        made.close()


def limits(**changes: Any) -> Mapping[str, Any]:
    return {**OPEN, **changes}


@pytest.mark.slow
@pytest.mark.attack("S7")
def test_hosts_of_healthy_nodes_stay_on() -> None:
    with world("mass", policy={}) as here:
        for node in ("node-1", "node-2", "node-3"):
            here.ask(node)
        here.run(600.0)
        assert not here.placed
        assert "node-1 is Ready" in here.why("node-1")


@pytest.mark.slow
@pytest.mark.attack("S7")
def test_without_any_limit_a_healthy_node_is_not_powered_off_either() -> None:
    with world("well", policy=OPEN) as here:
        here.ask()
        here.run(600.0)
        assert not here.placed


@pytest.mark.slow
@pytest.mark.attack("S7")
def test_a_share_of_all_nodes_is_the_most_at_once() -> None:
    with world("share", machines=10, policy=limits(maxConcurrentPercent=20)) as here:
        sick = ("node-1", "node-2", "node-3", "node-4")
        here.lose_and_ask(*sick)
        here.run(900.0)
        assert set(here.hosts) == set(sick)
        assert here.most == 2


@pytest.mark.slow
@pytest.mark.attack("S7")
def test_nothing_is_powered_off_in_a_storm() -> None:
    with world("storm", machines=5, policy=limits(maxUnhealthy="40%")) as here:
        sick = ("node-1", "node-2")
        here.lose_and_ask(*sick)
        here.run(600.0)
        assert not here.placed
        assert "Too many targets are unhealthy in the cluster: 2 of 5" in here.why("node-1")


@pytest.mark.slow
@pytest.mark.attack("S7")
def test_after_a_storm_nothing_is_switched_off_until_it_has_settled() -> None:
    policy = limits(maxUnhealthy="40%", settleTime="5m")
    with world("settle", machines=5, policy=policy) as here:
        here.break_down("node-1", "node-2")
        here.run(90.0)
        here.ask("node-1")
        here.world.machines["node-2"].hung = False
        here.run(60.0)
        ended = here.world.scheduler.now
        here.run(600.0)
        assert here.hosts[:1] == ["node-1"]
        assert here.placed[0][0] - ended > 230.0


@pytest.mark.slow
@pytest.mark.attack("S7")
def test_two_remediations_do_not_start_within_the_interval() -> None:
    with world("pace", machines=10, policy=limits(minInterval="60s")) as here:
        sick = ("node-1", "node-2", "node-3")
        here.lose_and_ask(*sick)
        here.run(900.0)
        times = [when for when, _ in here.placed[:3]]
        assert len(times) == 3
        assert all(later - earlier >= 59.0 for earlier, later in pairwise(times))


@pytest.mark.slow
@pytest.mark.attack("X4")
def test_a_power_off_held_by_pace_starts_right_after_the_interval() -> None:
    with world("exactly", machines=10, policy=limits(minInterval="33s")) as here:
        sick = ("node-1", "node-2", "node-3")
        here.lose_and_ask(*sick)
        here.run(300.0)
        times = [when for when, _ in here.placed[:3]]
        assert len(times) == 3
        assert all(later - earlier <= 34.0 for earlier, later in pairwise(times))


@pytest.mark.slow
@pytest.mark.attack("S7")
def test_a_failure_domain_never_has_more_active_remediations_than_it_allows() -> None:
    domains = {"key": ZONE, "maxUnhealthy": "100%", "maxConcurrent": 1}
    with world("domain", machines=6, policy=limits(failureDomains=domains)) as here:
        for number, node in enumerate(here.world.machines):
            here.api.patch(NODE, node, {"metadata": {"labels": {ZONE: f"z{number // 3}"}}})
        sick = ("node-1", "node-2", "node-4")
        here.lose_and_ask(*sick)
        here.run(900.0)
        assert set(here.hosts) == set(sick)
        assert here.most == 2


@pytest.mark.slow
@pytest.mark.attack("S7")
def test_nothing_is_powered_off_in_the_storm_of_one_failure_domain() -> None:
    domains = {"key": ZONE, "maxUnhealthy": "50%", "minNodes": 2}
    with world("domain storm", machines=8, policy=limits(failureDomains=domains)) as here:
        for number, node in enumerate(here.world.machines):
            here.api.patch(NODE, node, {"metadata": {"labels": {ZONE: f"z{number // 4}"}}})
        here.lose_and_ask("node-1", "node-2", "node-5")
        here.run(600.0)
        assert set(here.hosts) == {"node-5"}
        assert "in domain z0" in here.why("node-1")


@pytest.mark.slow
@pytest.mark.attack("S7")
@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"mode": "DryRun"}, "DryRun"),
        ({"pause": {"reason": "switch swap", "by": "admin"}}, "switch swap"),
    ],
)
def test_operator_settings_of_the_cluster_hold(change: dict[str, Any], said: str) -> None:
    with world("said", policy=OPEN) as here:
        here.api.patch(REMEDIATION_POLICY, well_known.POLICY_NAME, {"spec": change})
        here.lose_and_ask("node-1")
        here.run(300.0)
        assert not here.placed
        assert said in here.why("node-1")


@pytest.mark.slow
@pytest.mark.attack("S7")
@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"dryRun": True}, "sets dryRun"),
        ({"pause": {"reason": "new rack", "by": "admin"}}, "new rack"),
        ({"maxUnhealthy": 1}, f"in check {CHECK}: 1 of 3"),
        ({"maintenance": [{"type": "Ready", "status": "Unknown"}]}, "in maintenance"),
    ],
)
def test_operator_settings_of_its_check_hold(spec: dict[str, Any], said: str) -> None:
    with world("its check", policy=OPEN) as here:
        here.api.patch(NODE_HEALTH_CHECK, CHECK, {"spec": spec})
        here.lose_and_ask("node-1")
        here.run(300.0)
        assert not here.placed
        assert said in here.why("node-1")


@pytest.mark.attack("S7")
def test_an_excluded_node_is_left_alone() -> None:
    with world("excluded", policy=OPEN) as here:
        here.api.patch(NODE, "node-1", {"metadata": {"labels": {well_known.EXCLUDE: "true"}}})
        here.lose_and_ask("node-1")
        here.run(300.0)
        assert not here.placed


@pytest.mark.attack("S7")
def test_a_foreign_remediation_is_followed_only_after_the_node_was_not_ready_for_some_time() -> None:
    with world("briefly", policy=OPEN) as here:
        here.break_down("node-1")
        while here.is_ready("node-1"):
            here.run(0.5)
        since = here.world.scheduler.now
        here.ask()
        here.run(10.0)
        assert "observed not Ready for" in here.why("node-1")
        here.run(30.0)
        assert 19.0 < here.placed[0][0] - since < 22.0


@pytest.mark.slow
@pytest.mark.attack("S7")
def test_a_foreign_remediation_that_names_a_check_gains_nothing() -> None:
    with world("forged", policy=OPEN) as here:
        check = here.api.get(NODE_HEALTH_CHECK, CHECK)
        assert check is not None
        here.ask(
            named={
                "labels": {well_known.CHECK: CHECK},
                "annotations": {well_known.CHECK_UID: check["metadata"]["uid"], well_known.DRILL: "admin"},
            }
        )
        here.run(600.0)
        assert not here.placed


@pytest.mark.slow
@pytest.mark.attack("S7")
@pytest.mark.parametrize("selector", [{}, {"matchLabels": {"other": "nodes"}}])
def test_a_ready_node_is_powered_off_only_if_a_check_that_selects_it_requests_it(
    selector: dict[str, Any],
) -> None:
    """By a threshold on another condition."""
    pressed = {"type": "DiskPressure", "status": "True", "period": "10s"}
    with world("our check", policy=OPEN) as here:
        change = {"spec": {"selector": selector, "thresholds": [pressed]}}
        check = here.api.patch(NODE_HEALTH_CHECK, CHECK, change)
        assert check is not None
        node = here.api.get(NODE, "node-1")
        assert node is not None
        owner = owned_by(NODE, node)
        shown = [{"type": "DiskPressure", "status": "True"}, *node["status"]["conditions"]]
        here.api.patch(NODE, "node-1", {"status": {"conditions": shown}}, at=("", "status"))
        named = {
            "name": "node-1",
            "labels": {well_known.CHECK: CHECK},
            "annotations": {well_known.CHECK_UID: check["metadata"]["uid"]},
            "ownerReferences": [owner],
        }
        here.api.create(METAL3_REMEDIATION, {"metadata": named, "spec": {}}, well_known.SYSTEM_NAMESPACE)
        here.run(120.0)
        assert here.hosts[:1] == ([] if selector else ["node-1"])


@pytest.mark.slow
@pytest.mark.attack("S7")
@pytest.mark.parametrize(
    ("spec", "agrees"),
    [
        pytest.param({"selector": {"matchLabels": {"of": "workers"}}}, True, id="its own"),
        pytest.param({"selector": {"matchLabels": {"of": "others"}}}, False, id="of other Machines"),
        pytest.param({"selector": {}}, False, id="of none"),
        pytest.param(
            {"selector": {"matchLabels": {"of": "workers"}}, "clusterName": "other"}, False, id="elsewhere"
        ),
    ],
)
def test_a_machine_check_is_trusted_only_about_the_machines_it_selects(
    spec: dict[str, Any], agrees: bool
) -> None:
    pressed = {"type": "DiskPressure", "status": "True", "timeoutSeconds": 10}
    with world("machine check", policy=OPEN) as here:
        here.api.patch(MACHINE, "m-1", {"metadata": {"labels": {"of": "workers"}}}, at=(NAMESPACE, ""))
        rules = {"checks": {"unhealthyNodeConditions": [pressed]}, **spec}
        body = {"metadata": {"name": "workers"}, "spec": rules}
        check = here.api.create(MACHINE_HEALTH_CHECK, body, NAMESPACE)
        node = here.api.get(NODE, "node-1")
        assert node is not None
        shown = [{"type": "DiskPressure", "status": "True"}, *node["status"]["conditions"]]
        here.api.patch(NODE, "node-1", {"status": {"conditions": shown}}, at=("", "status"))
        uid = check["metadata"]["uid"]
        here.ask(named={"labels": {well_known.CHECK: "workers"}, "annotations": {well_known.CHECK_UID: uid}})
        here.run(120.0)
        assert here.hosts[:1] == (["node-1"] if agrees else [])


@pytest.mark.slow
def test_a_dead_kubelet_whose_node_still_shows_ready_is_unhealthy() -> None:
    """The controller that would set Ready to Unknown may be dead, too."""
    with world("late", policy=OPEN) as here:
        here.world.engine.fall_behind(10_000.0)
        here.break_down("node-1")
        here.ask()
        while not here.placed:
            here.run(1.0)
            assert here.is_ready("node-1")
            assert here.world.scheduler.now < 300.0
        assert here.hosts[:1] == ["node-1"]


@pytest.mark.slow
@pytest.mark.attack("S7")
def test_a_capm3_delegate_powers_no_healthy_node_off() -> None:
    with world("capm3", capm3_kinds=True, policy=OPEN) as here:
        machine = here.api.get(MACHINE, "m-1", NAMESPACE)
        assert machine is not None
        body = {
            "metadata": {"name": "m-1", "ownerReferences": [owned_by(MACHINE, machine)]},
            "spec": {"strategy": {"type": "Reboot", "retryLimit": 1}},
        }
        here.api.create(CAPM3_REMEDIATION, body, NAMESPACE)
        here.run(300.0)
        assert here.remediation is not None
        assert not here.placed
        here.break_down("node-1")
        here.run(300.0)
        assert here.hosts[:1] == ["node-1"]


@pytest.mark.slow
@pytest.mark.attack("S7")
def test_a_remediator_that_cannot_watch_nodes_holds_and_still_clears_away() -> None:
    with world("blind", policy=OPEN, check=SELECTS_NONE) as here:
        here.world.remediator.forbidden.add((Method.GET, "/api/v1/nodes"))
        for replica in here.world.replicas:
            replica.process.crash()
        here.break_down("node-1")
        here.run(300.0)
        here.ask()
        here.run(60.0)
        assert not here.placed
        assert "Cannot read the other Nodes" in here.why("node-1")
        here.api.delete(METAL3_REMEDIATION, "m-1", NAMESPACE)
        here.run(60.0)
        assert here.remediation is None


@pytest.mark.slow
@pytest.mark.attack("S7")
def test_an_order_past_the_guard_overrides_only_its_limits() -> None:
    named = {
        "annotations": {
            well_known.ORDER: "o",
            well_known.ORDERED_BY: "anna",
            well_known.PAST_GUARD: "nothing",
        }
    }
    with world("order", machines=5, policy=limits(maxUnhealthy="40%")) as here:
        here.asker = Direct(here.world.checker)
        here.break_down("node-1", "node-2")
        here.run(90.0)
        here.ask("node-1", named=named)
        here.ask("node-3", named=named)
        here.run(120.0)
        assert set(here.hosts) == {"node-1"}
