"""The output of `kubectl mend wind-down`, as text and as JSON."""

from nodemend.api import well_known
from nodemend.cli.output import as_plain
from nodemend.cli.wind_down.leftovers import Leftover, PowerOffRequestOnHost, Revocation, StrayLock
from nodemend.cli.wind_down.view import (
    WindDownView,
    lines_of_open,
    news,
    render,
    render_broken_off,
    wind_down_view,
)
from nodemend.safety.facts import Present
from tests.unit.cli.wind_down.scenes import NO_LEADER, WHERE, host, open_facts, power_cycle

HELD = PowerOffRequestOnHost(
    host("rem-m-1"), f"{well_known.POWER_OFF_REQUEST_PREFIX}rem-m-1", power_cycle("m-1"), ()
)


def view(*left: Leftover, ended: tuple[str, ...] = (), reason: str = "winding down") -> WindDownView:
    return wind_down_view(reason, ended, left, WHERE)


def test_nothing_is_left() -> None:
    assert "\n".join(render(view(ended=("edge-07", "edge-08")))) == (
        "paused: winding down\n"
        "ended 2 remediations: edge-07, edge-08\n"
        "Nothing of Nodemend is left on any node or host.\n"
        "  undo:  kubectl mend resume; then nodes that are still unhealthy are remediated again\n"
        "Nodemend can be uninstalled now (helm uninstall).\n"
        "Next: nothing"
    )


def test_blocking_leftovers_come_before_others() -> None:
    assert "\n".join(render(view(StrayLock("node-u"), HELD))) == (
        "paused: winding down\n"
        "NOT wound down; 1 thing is in the way:\n"
        "  host metal3/rack-7 (off) is still held off by Metal3Remediation metal3/m-1\n"
        "    because: Host metal3/rack-7 is being switched off.\n"
        "    to do:   let it end: kubectl mend explain edge-07\n"
        "Not in the way, but worth a check:\n"
        "  lock node-u in nodemend-system\n"
        "    because: its remediation is gone; it blocks nothing\n"
        "    to do:   none; it is deleted with the namespace nodemend-system\n"
        "  undo:  kubectl mend resume; then nodes that are still unhealthy are remediated again\n"
        "Handle what is listed above, and then:\n"
        "Next: kubectl mend wind-down"
    )


def test_without_a_policy_there_is_nothing_to_resume() -> None:
    lines = list(render(view(reason="")))

    assert lines[0] == "There is no RemediationPolicy, so nothing new begins."
    assert not [line for line in lines if "undo" in line]


def test_a_program_reads_the_same() -> None:
    assert as_plain(view(Revocation("edge-07"))) == {
        "done": False,
        "pauseReason": "winding down",
        "ended": [],
        "left": [
            {
                "kind": "Revocation",
                "what": "node edge-07 has the annotation nodemend.io/release-revoked",
                "because": "a release was revoked there; only Nodemend uses the annotation",
                "nextStep": "kubectl annotate node edge-07 nodemend.io/release-revoked-",
                "inTheWay": True,
            }
        ],
    }


def test_an_interrupted_wind_down_lists_what_remains() -> None:
    again = "It can be run again at any time: kubectl mend wind-down"

    assert render_broken_off("winding down", 2) == (
        "Not wound down. The cluster stays paused (winding down; undo: kubectl mend resume); "
        f"2 remediations go on ending. {again}"
    )
    assert render_broken_off("", 0) == (
        f"Not wound down. There is no RemediationPolicy, so nothing new begins. {again}"
    )
    assert render_broken_off(None, 0) == (
        f"Not wound down. Whether the cluster is paused now: kubectl mend status. {again}"
    )


def test_an_unchanged_state_is_not_reported_again() -> None:
    begun = lines_of_open(open_facts(power=Present([power_cycle("m-1"), power_cycle("m-2")])), WHERE)
    later = lines_of_open(
        open_facts(power=Present([power_cycle("m-1"), power_cycle("m-2", message="Power is back.")])),
        WHERE,
    )

    assert list(news({}, begun)) == [
        f"edge-07: Metal3Remediation metal3/m-{number} is ending, power-off: "
        "Host metal3/rack-7 is being switched off."
        for number in (1, 2)
    ]
    assert list(news(begun, later)) == [
        "edge-07: Metal3Remediation metal3/m-2 is ending, power-off: Power is back."
    ]
    assert list(news(later, later)) == []


def test_a_missing_leader_is_reported_first_and_only_if_one_is_needed() -> None:
    with_one = lines_of_open(open_facts(power=Present([power_cycle("m-1")]), leader=NO_LEADER), WHERE)

    assert next(iter(with_one.values())).startswith("remediator: no replica leads. To do: kubectl get pods")
    assert lines_of_open(open_facts(leader=NO_LEADER), WHERE) == {}
