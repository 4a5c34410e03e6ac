"""A node's agent Lease, as commands read it."""

import pytest

from nodemend.api import well_known
from nodemend.api.agent import WatchdogReport
from nodemend.api.upstream_types import Lease
from nodemend.cli.agents import read_agent, spell_times, spell_watchdog
from tests.unit.cli.node_cases import A_MARKER, A_REPORT, NODE, an_agent_lease, at


def noted(key: str, text: str) -> Lease:
    lease = an_agent_lease(0.0)
    return lease.but(
        metadata=lease.metadata.but(annotations={**lease.metadata.annotations, key: text}),
    )


def test_what_it_reports_and_when_it_last_did() -> None:
    agent = read_agent(an_agent_lease(0.0, marker=A_MARKER), at(12.0))

    assert (agent.node, agent.report, agent.marker) == (NODE, A_REPORT, A_MARKER)
    assert (agent.renewed_ago, agent.silent, agent.marked, agent.problem) == (12.0, False, True, "")


@pytest.mark.parametrize(
    ("contact_age", "seconds", "silent"),
    [(15.0, 60.0, False), (15.0, 60.5, True), (60.0, 119.0, False), (60.0, 121.0, True)],
)
def test_silence_is_longer_where_agents_renew_less_often(
    contact_age: float, seconds: float, silent: bool
) -> None:
    report = A_REPORT.but(contact_age=contact_age)

    assert read_agent(an_agent_lease(0.0, report), at(seconds)).silent is silent


def test_one_that_was_never_renewed_is_silent() -> None:
    lease = an_agent_lease(0.0)

    assert read_agent(lease.but(spec=lease.spec.but(renew_time=None)), at(1.0)).silent


def test_a_report_that_is_not_there_or_cannot_be_read_is_a_doubt() -> None:
    none = read_agent(an_agent_lease(0.0, None), at(1.0))
    garbled = read_agent(noted(well_known.AGENT_REPORT, "{"), at(1.0))

    assert (none.report, none.problem) == (None, "it has reported nothing")
    assert garbled.report is None
    assert garbled.problem


def test_an_unreadable_marker_still_counts_as_a_marker() -> None:
    agent = read_agent(noted(well_known.MARKER, "{"), at(1.0))

    assert agent.marked
    assert agent.marker is None
    assert agent.problem.startswith("its marker cannot be read")


def test_the_peers_are_those_of_all_lists_that_the_node_may_use() -> None:
    report = A_REPORT.but(peers=(("b", "a"), ("a", "c")))

    assert read_agent(an_agent_lease(0.0, report), at(1.0)).peers == ("a", "b", "c")


def test_a_watchdog_as_text() -> None:
    none = WatchdogReport(class_="unsupported", why="there is no watchdog device")

    assert spell_watchdog(A_REPORT.watchdog) == "hardware (iTCO_wdt)"
    assert spell_times(A_REPORT.watchdog) == "W 5 s written, 10 s effective"
    assert (spell_watchdog(none), spell_times(none)) == ("unsupported", "it resets nothing")
