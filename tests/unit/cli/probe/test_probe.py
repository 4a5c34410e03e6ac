"""A probe of a live cluster says what comes true when the node does fall silent."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from nodemend.api import well_known
from nodemend.api.resources import MANUAL_REMEDIATION_TEMPLATE, NODE_HEALTH_CHECK
from nodemend.cli.agents import fewest_peers
from nodemend.cli.cluster import Cluster
from nodemend.cli.exit_codes import CommandFailure
from nodemend.cli.probe import Possible, ProbeView, gather, probe_view
from nodemend.safety.facts import Absent, Present, Unreadable
from tests.unit.cli.check.fencing_cluster import RESET
from tests.unit.cli.check.sound_facts import CALL
from tests.unit.cli.node_cases import A_REPORT, a_host
from tests.unit.cli.probe.goldens import CASES, POWER, agent, facts_of
from tests.unit.cli.simulated_caller import SimulatedCaller
from tests.unit.remediation.self_fencing.fencing_world import SICK, FencingWorld


@pytest.fixture
def world() -> Iterator[FencingWorld]:
    found = FencingWorld("probe")
    yield found
    assert found.twice == []
    found.close()


async def read(cluster: Cluster) -> ProbeView:
    return probe_view(await gather(cluster, SICK))


def chances(view: ProbeView) -> dict[str, Possible]:
    return {way.evidence: way.possible for way in view.ways}


def test_the_time_that_it_names_is_the_time_that_it_takes(world: FencingWorld) -> None:
    view = SimulatedCaller(world.world).run(read)
    [by_time] = [way for way in view.ways if way.evidence == "E4"]
    world.cut_off()
    world.ask()
    world.run_until(lambda: world.marker is not None, 10.0)
    took = world.run_until(lambda: "evidence" in world.status, 120.0)

    assert by_time.possible is Possible.YES
    assert by_time.after_seconds is not None
    assert by_time.after_seconds <= took + 1.0 <= by_time.after_seconds + 6.0
    assert len(view.peers) == 4


def test_with_too_few_remaining_peers_time_proves_nothing(world: FencingWorld) -> None:
    for name in ("node-2", "node-3"):
        world.rack.members[name].machine.connected = False
    world.run(150.0)
    view = SimulatedCaller(world.world).run(read)
    world.cut_off()
    world.ask()
    world.run(120.0)

    assert chances(view) == {"E2": Possible.YES, "E4": Possible.NO, "E5": Possible.YES}
    assert world.status.get("evidence", {}).get("class") != "E4"


def test_leases_that_may_not_be_seen_leave_the_result_open(world: FencingWorld) -> None:
    view = SimulatedCaller(world.world, hidden=("leases",)).run(read)

    assert chances(view) == {"E2": Possible.UNKNOWN, "E4": Possible.UNKNOWN, "E5": Possible.YES}
    assert any("cannot be read" in one for one in view.unread)


def test_a_missing_node_is_reported(world: FencingWorld) -> None:
    async def nowhere(cluster: Cluster) -> ProbeView:
        return probe_view(await gather(cluster, "nowhere"))

    with pytest.raises(CommandFailure, match="there is no node nowhere"):
        SimulatedCaller(world.world).run(nowhere)


@pytest.mark.parametrize(("peers", "needed"), [(0, 1), (1, 2), (2, 2), (3, 3), (4, 3), (5, 4), (15, 9)])
def test_the_fewest_peers_that_are_sufficient_for_each_cluster_size(peers: int, needed: int) -> None:
    """If more peers are needed than exist, no number is sufficient."""
    assert fewest_peers([f"n{number}" for number in range(peers)]) == needed


def test_a_host_that_is_in_doubt_proves_nothing_by_its_power() -> None:
    doubtful = a_host(on=True, wrote=60.0, operational_status="error", error_message="no answer")
    view = probe_view(facts_of(POWER, RESET, host=doubtful, power=[]))
    missing = probe_view(facts_of(POWER))
    unseen = facts_of(POWER)
    hidden = probe_view(replace(unseen, case=replace(unseen.case, host=Unreadable("forbidden"))))

    assert chances(view)["E1"] is Possible.NO
    assert chances(missing)["E1"] is Possible.NO
    assert chances(hidden)["E1"] is Possible.UNKNOWN


def test_a_check_that_does_not_watch_for_silence_asks_for_nothing() -> None:
    facts = CASES["by_time"]
    [check] = facts.case.checks
    assert check.spec.thresholds[0].type == "Ready"
    deaf = check.but(spec=check.spec.but(thresholds=(check.spec.thresholds[0].but(type="KernelDeadlock"),)))
    view = probe_view(facts_of(RESET, all_checks=[deaf]))

    assert view.steps == ("nhc/workers does not watch for Ready=Unknown: it would request nothing",)


@pytest.mark.attack("V4")
def test_the_cost_of_a_ride_through_is_shown_in_seconds() -> None:
    plain = probe_view(facts_of(RESET))
    riding = A_REPORT.but(feed_lease=A_REPORT.feed_lease + 60.0, ride_through=60.0)
    view = probe_view(facts_of(RESET, agent_=Present(agent(riding))))

    reported = [step for step in view.steps if "ride-through" in step]
    assert len(reported) == 1
    assert reported[0].startswith("60 s of that are its ride-through")
    after = [way.after_seconds for shown in (plain, view) for way in shown.ways if way.evidence == "E4"]
    assert after[1] is not None
    assert after[0] is not None
    assert after[1] - after[0] in (60, 61)


@pytest.mark.attack("U8")
def test_a_remedy_whose_template_is_not_there_is_not_called_possible() -> None:
    view = probe_view(replace(facts_of(CALL), templates={CALL: Absent()}))
    [way] = [way for way in view.ways if way.remedy]

    assert way.possible is Possible.NO
    assert way.because == f"its template {CALL.namespace}/{CALL.name} does not exist"
    assert not view.releasable
    assert view.advice == f"Create the template {CALL.namespace}/{CALL.name}, or name another:"
    assert view.next_step == "kubectl edit nodehealthcheck workers"


@pytest.mark.attack("U8")
def test_templates_are_looked_for(world: FencingWorld) -> None:
    reference = {
        "apiVersion": MANUAL_REMEDIATION_TEMPLATE.api_version,
        "kind": MANUAL_REMEDIATION_TEMPLATE.kind,
        "name": "call",
        "namespace": well_known.SYSTEM_NAMESPACE,
    }
    silence = {"type": "Ready", "status": "Unknown", "period": "300s"}
    spec = {"selector": {}, "thresholds": [silence], "remedies": [{"template": reference}]}
    world.api.create(NODE_HEALTH_CHECK, {"metadata": {"name": "all"}, "spec": spec})
    assert not SimulatedCaller(world.world).run(read).releasable

    there = {"metadata": {"name": "call"}, "spec": {"template": {"spec": {}}}}
    world.api.create(MANUAL_REMEDIATION_TEMPLATE, there, well_known.SYSTEM_NAMESPACE)
    assert SimulatedCaller(world.world).run(read).releasable
