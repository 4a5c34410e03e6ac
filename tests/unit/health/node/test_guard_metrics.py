"""The guard of node health checks in figures."""

import pytest

from nodemend.api.resources import NODE_HEALTH_CHECK
from nodemend.health.node.events import NodeHealthCheckRecorder
from simulation.cluster.world import CHECK
from tests.unit.health.node.stories import A_WHILE, CALL, FREE_HAND, PERIOD, StartStory, Story, remedy
from tests.unit.telemetry.scraped import Scraped

ZONE = "topology.kubernetes.io/zone"
DOMAINS = {"failureDomains": {"key": ZONE, "maxUnhealthy": "50%", "minNodes": 3}}


@pytest.fixture
def scraped() -> Scraped:
    return Scraped()


def reported(begin: StartStory, scraped: Scraped, **how: object) -> Story:
    recorder = NodeHealthCheckRecorder(scraped.log, scraped.metrics, lambda event_record: None)
    return begin(recorder=recorder, **how)


@pytest.mark.conforms("G12")
def test_whether_a_check_may_act_is_one_figure_with_its_reason(begin: StartStory, scraped: Scraped) -> None:
    story = reported(begin, scraped, check={"maxUnhealthy": "50%"}).run(A_WHILE)
    assert scraped.series("nodemend_guard_closed") == {(CHECK, ""): 0.0}
    story.fail("node-1", "node-2", "node-3").run(A_WHILE)
    assert scraped.series("nodemend_guard_closed") == {(CHECK, "TooManyUnhealthy"): 1.0}
    story.change_check({"pause": {"reason": "a look", "by": "admin"}}).run(A_WHILE)
    assert scraped.series("nodemend_guard_closed") == {(CHECK, "Paused"): 1.0}
    story.api.delete(NODE_HEALTH_CHECK, CHECK)
    story.run(A_WHILE)
    assert scraped.series("nodemend_guard_closed") == {}


@pytest.mark.conforms("G12")
def test_the_usage_of_each_limit_is_reported_beside_it(begin: StartStory, scraped: Scraped) -> None:
    policy = {**FREE_HAND, **DOMAINS, "maxUnhealthy": "4"}
    story = reported(begin, scraped, policy=policy, check={"maxUnhealthy": "50%"})
    for number in range(1, 7):
        story.label(f"node-{number}", {ZONE: "a" if number <= 4 else "small"})
    story.run(A_WHILE).fail("node-1").run(A_WHILE)
    here = "node_health_check"
    keys = [(here, "check", CHECK), (here, "cluster", ""), (here, "domain", "a")]
    assert scraped.series("nodemend_guard_used_nodes") == dict.fromkeys(keys, 1.0)
    assert scraped.series("nodemend_guard_limit_nodes") == dict(zip(keys, (3.0, 4.0, 2.0), strict=True))
    story.label("node-4", {ZONE: "small"}).run(A_WHILE)
    assert (here, "domain", "small") in scraped.series("nodemend_guard_used_nodes")
    for number in (1, 2, 3):
        story.label(f"node-{number}", {ZONE: "small"})
    story.run(A_WHILE)
    assert (here, "domain", "a") not in scraped.series("nodemend_guard_used_nodes")


@pytest.mark.conforms("G12")
def test_what_begins_is_counted_by_kind_and_only_the_first_remedy_has_a_time(
    begin: StartStory, scraped: Scraped
) -> None:
    remedies = [remedy("Reboot", "1m"), CALL]
    story = reported(begin, scraped, kinds=("Reboot",), check={"remedies": remedies})
    story.fail("node-1").run(2 * PERIOD + A_WHILE)
    started = "nodemend_remediations_started_total"
    assert scraped.series(started) == {(CHECK, "Reboot"): 1.0, (CHECK, "ManualRemediation"): 1.0}
    assert scraped.value("nodemend_time_to_start_seconds_count", check=CHECK) == 1
    waited = scraped.value("nodemend_time_to_start_seconds_sum", check=CHECK)
    assert waited == pytest.approx(PERIOD, abs=3.0)


def test_the_time_that_a_hold_takes_is_part_of_it(begin: StartStory, scraped: Scraped) -> None:
    story = reported(begin, scraped).change_policy({"mode": "DryRun"}).fail("node-1").run(100.0)
    story.change_policy({"mode": "Act"}).run(A_WHILE)
    waited = scraped.value("nodemend_time_to_start_seconds_sum", check=CHECK)
    assert waited == pytest.approx(PERIOD + 103.0, abs=3.0)
