"""The recovery step: after the remediation, once, when the node is healthy; and its events."""

from typing import Any

import pytest

from nodemend.api.resources import NODE, NODE_HEALTH_CHECK
from nodemend.kube.request import Method
from simulation.cluster.foreign_kinds import foreign
from simulation.cluster.world import CHECK
from tests.unit.health.node.stories import A_WHILE, PERIOD, REBOOT, SOON, StartStory, Story, remedy

SWITCH_ON = foreign("SwitchOn")
DELAY = 30.0
ISOLATES = {
    "remedies": [remedy("Reboot")],
    "recovery": remedy("SwitchOn", "5m"),
    "healthyDelay": "30s",
}
KINDS = ("Reboot", "SwitchOn")


@pytest.fixture
def story(begin: StartStory) -> Story:
    return begin(check=ISOLATES, kinds=KINDS)


def recoveries(story: Story) -> list[tuple[str, str]]:
    return [(one["node"], one["phase"]) for one in story.status().get("recoveries", ())]


def message(story: Story) -> str:
    [found] = story.status()["recoveries"]
    said: str = found["message"]
    return said


def history(story: Story) -> list[tuple[str, str]]:
    return [(one["kind"], one["outcome"]) for one in story.status().get("history", ())]


class Actions:
    """The objects that the checker created and deleted, and the recovery status at that time."""

    def __init__(self, story: Story) -> None:
        self.done: list[tuple[str, str, list[tuple[str, str]]]] = []
        self._story = story
        story.world.checker.witnesses.append(self._saw)

    def _saw(self, _user: str, request: Any, _answer: Any) -> None:
        for plural in ("reboots", "switchons"):
            if plural in request.path:
                self.done.append((request.method, plural, recoveries(self._story)))

    @property
    def order(self) -> list[tuple[str, str]]:
        return [(method, plural) for method, plural, _ in self.done]


@pytest.mark.slow
def test_a_healthy_node_s_recovery_follows_the_remediation_and_ends_with_success(
    story: Story,
) -> None:
    actions = Actions(story)
    story.fail("node-1").heal("node-1").run(DELAY + A_WHILE)
    assert (story.open(REBOOT), story.open(SWITCH_ON)) == ([], ["node-1"])
    assert recoveries(story) == [("node-1", "Running")]
    assert (story.verdict("node-1"), story.status()["healthy"]) == ("", 6)
    made = story.remediation("node-1", SWITCH_ON)
    assert (made["spec"], made["metadata"]["annotations"]["nodemend.io/recovery"]) == ({"hard": True}, "true")

    story.say("node-1", "True", SWITCH_ON).run(A_WHILE)
    assert (story.open(SWITCH_ON), recoveries(story)) == ([], [])
    assert history(story) == [("SwitchOn", "Recovered"), ("Reboot", "Healed")]
    assert story.run(3600.0).open(SWITCH_ON) == []
    assert actions.done == [
        ("POST", "reboots", []),
        ("DELETE", "reboots", [("node-1", "Pending")]),
        ("POST", "switchons", [("node-1", "Pending")]),
        ("DELETE", "switchons", [("node-1", "Succeeded")]),
    ]


def test_a_check_without_a_recovery_starts_none(begin: StartStory) -> None:
    story = begin(check={**ISOLATES, "recovery": None}, kinds=KINDS)
    story.fail("node-1").heal("node-1").run(DELAY + A_WHILE)
    assert (story.open(SWITCH_ON), recoveries(story), history(story)) == ([], [], [("Reboot", "Healed")])
    assert "RecoveryFailed" not in [one["type"] for one in story.status()["conditions"]]


def test_after_several_remedies_there_is_one_recovery(begin: StartStory) -> None:
    ladder = [remedy("Reboot", "1m"), remedy("PowerOff")]
    story = begin(check={**ISOLATES, "remedies": ladder}, kinds=(*KINDS, "PowerOff"))
    story.fail("node-1").run(PERIOD + A_WHILE).heal("node-1").run(DELAY + A_WHILE)
    story.say("node-1", "True", SWITCH_ON).run(A_WHILE)
    ended = [("SwitchOn", "Recovered"), ("PowerOff", "Healed"), ("Reboot", "Escalated")]
    assert history(story) == ended


def test_it_waits_until_the_remediation_is_deleted(story: Story) -> None:
    story.fail("node-1").keep("node-1", ["example.com/safe-end"]).heal("node-1").run(300.0)
    assert (story.open(SWITCH_ON), recoveries(story)) == ([], [("node-1", "Pending")])
    story.keep("node-1", None).run(A_WHILE)
    assert story.open(SWITCH_ON) == ["node-1"]


@pytest.mark.slow
@pytest.mark.parametrize("crash_at", [20.0, 29.9, 30.1, 30.5, 31.0, 31.1, 31.3, 31.6, 32.0, 32.5, 34.0, 40.0])
def test_a_crash_at_any_point_loses_no_recovery_and_repeats_none(begin: StartStory, crash_at: float) -> None:
    """The node has been healthy for long enough after 30 s; the next steps take about two more."""
    story = begin(check=ISOLATES, kinds=KINDS, replicas=2)
    actions = Actions(story)
    story.fail("node-1").heal("node-1").run(crash_at)
    next(one for one in story.checkers if one.process.name in story.leader()).process.crash()
    story.run(120.0)
    assert story.open(SWITCH_ON) == ["node-1"]
    story.say("node-1", "True", SWITCH_ON).run(A_WHILE)
    assert (story.open(SWITCH_ON), recoveries(story)) == ([], [])
    story.run(120.0)
    assert [action for action in actions.order if action == ("POST", "switchons")] == [("POST", "switchons")]


@pytest.mark.slow
@pytest.mark.parametrize("late", [0.0, 0.3, 0.6, 0.9, 1.2, 1.5, 2.0, 4.0])
def test_a_crash_while_it_ends_repeats_none(begin: StartStory, late: float) -> None:
    story = begin(check=ISOLATES, kinds=KINDS)
    actions = Actions(story)
    story.fail("node-1").heal("node-1").run(DELAY + A_WHILE).say("node-1", "True", SWITCH_ON).run(late)
    story.checker.process.crash()
    story.run(300.0)
    assert (story.open(SWITCH_ON), recoveries(story)) == ([], [])
    assert [action for action in actions.order if action[1] == "switchons"] == [
        ("POST", "switchons"),
        ("DELETE", "switchons"),
    ]


@pytest.mark.parametrize("crash_after", [0.2, 0.5, 1.0, 1.1, 1.5, 2.0, 3.0])
def test_a_recovery_that_succeeds_at_once_is_not_repeated_after_any_crash(
    begin: StartStory, crash_after: float
) -> None:
    """It succeeds before its start is recorded."""
    story = begin(check=ISOLATES, kinds=KINDS)
    actions = Actions(story)
    clock, crash = story.world.scheduler, story.checker.process.crash

    def succeed() -> None:
        story.say("node-1", "True", SWITCH_ON)

    def witness(_user: str, request: Any, _answer: Any) -> None:
        if request.method is Method.POST and "switchons" in request.path:
            clock.after(0.05, succeed)
            clock.after(crash_after, crash)

    story.world.checker.witnesses.append(witness)
    story.fail("node-1").heal("node-1").run(DELAY + 120.0)
    assert (story.open(SWITCH_ON), recoveries(story)) == ([], [])
    assert actions.order[2:] == [("POST", "switchons"), ("DELETE", "switchons")]


@pytest.mark.slow
def test_one_that_fails_is_an_alarm_that_stays_and_holds_nothing(story: Story) -> None:
    story.change_policy({"maxConcurrent": 1})
    story.fail("node-1").heal("node-1").run(DELAY + A_WHILE).say("node-1", "False", SWITCH_ON).run(3600.0)
    assert (recoveries(story), story.open(SWITCH_ON)) == ([("node-1", "Failed")], ["node-1"])
    assert story.condition("RecoveryFailed") == ("True", "RecoveryFailed")
    assert "delete the SwitchOn default/node-1" in message(story)
    assert story.status()["healthy"] == 6
    # At most one may be under remediation, and a recovery does not count.
    story.fail("node-2")
    assert story.open(REBOOT) == ["node-2"]

    story.api.delete(SWITCH_ON, "node-1", "default")
    story.run(A_WHILE)
    assert (recoveries(story), story.condition("RecoveryFailed")) == ([], ("False", "NoRecoveryFailed"))
    assert ("SwitchOn", "Withdrawn") in history(story)
    assert story.run(600.0).open(SWITCH_ON) == []


@pytest.mark.slow
def test_one_that_does_not_end_in_its_time_is_overdue_also_for_the_next_leader(story: Story) -> None:
    story.fail("node-1").heal("node-1").run(DELAY + A_WHILE)
    assert recoveries(story.run(240.0)) == [("node-1", "Running")]
    assert recoveries(story.run(60.0)) == [("node-1", "Overdue")]
    story.checker.process.crash()
    assert recoveries(story.run(60.0)) == [("node-1", "Overdue")]
    story.say("node-1", "True", SWITCH_ON).run(A_WHILE)
    assert (recoveries(story), history(story)[0]) == ([], ("SwitchOn", "Recovered"))


def test_a_node_that_fails_again_is_remediated_after_its_recovery_and_gets_another(
    story: Story,
) -> None:
    actions = Actions(story)
    story.fail("node-1").heal("node-1").run(DELAY + A_WHILE).keep("node-1", ["example.com/x"], SWITCH_ON)
    story.fail("node-1").run(120.0)
    assert (story.open(REBOOT), recoveries(story)) == ([], [("node-1", "Pending")])
    assert story.verdict("node-1") == "Unhealthy"
    story.keep("node-1", None, SWITCH_ON).run(A_WHILE)
    assert (story.open(REBOOT), story.open(SWITCH_ON)) == (["node-1"], [])
    story.heal("node-1").run(DELAY + A_WHILE)
    assert (story.open(REBOOT), recoveries(story)) == ([], [("node-1", "Running")])
    assert actions.order[2:] == [
        ("POST", "switchons"),
        ("DELETE", "switchons"),
        ("POST", "reboots"),
        ("DELETE", "reboots"),
        ("POST", "switchons"),
    ]


def test_a_running_recovery_continues_while_its_node_fails_and_the_guard_is_closed(story: Story) -> None:
    story.fail("node-1").heal("node-1").run(DELAY + A_WHILE)
    story.change_check({"pause": {"reason": "switch swap"}}).fail("node-1").run(A_WHILE)
    assert (story.open(SWITCH_ON), story.verdict("node-1")) == (["node-1"], "Held")


def test_a_pause_holds_it_with_a_message_and_a_storm_does_not(story: Story) -> None:
    story.fail("node-1").change_check({"pause": {"reason": "switch swap"}})
    story.heal("node-1").run(DELAY + A_WHILE)
    assert (story.open(REBOOT), story.open(SWITCH_ON)) == ([], [])
    assert recoveries(story) == [("node-1", "Pending")]
    assert "switch swap" in message(story)
    assert story.status()["healthy"] == 6
    story.change_policy({"maxUnhealthy": "20%", "settleTime": "1h"}).fail("node-2", "node-3", "node-4")
    story.change_check({"pause": None}).run(A_WHILE)
    assert (story.open(SWITCH_ON), story.verdict("node-2")) == (["node-1"], "Held")


def test_a_recovery_that_may_not_be_created_is_reported(story: Story) -> None:
    story.world.checker.forbidden.add((Method.POST, "switchons"))
    story.fail("node-1").heal("node-1").run(DELAY + A_WHILE)
    assert "The API server refuses a SwitchOn" in message(story)
    story.world.checker.forbidden.clear()
    assert recoveries(story.run(120.0)) == [("node-1", "Running")]


def test_one_of_the_same_kind_as_the_remedy_is_no_remedy(begin: StartStory) -> None:
    story = begin(check={**ISOLATES, "recovery": remedy("Reboot", "5m")}, kinds=("Reboot",))
    story.fail("node-1").heal("node-1").run(DELAY + A_WHILE)
    assert (story.open(REBOOT), recoveries(story)) == (["node-1"], [("node-1", "Running")])
    assert story.status()["healthy"] == 6
    story.say("node-1", "True").run(A_WHILE)
    assert (story.open(REBOOT), recoveries(story)) == ([], [])


def test_a_recovery_that_the_check_no_longer_names_is_withdrawn(story: Story) -> None:
    story.fail("node-1").heal("node-1").run(DELAY + A_WHILE)
    story.api.patch(NODE_HEALTH_CHECK, CHECK, {"spec": {"recovery": None}})
    story.run(A_WHILE)
    assert (story.open(SWITCH_ON), recoveries(story)) == ([], [])
    assert history(story)[0] == ("SwitchOn", "Withdrawn")


@pytest.mark.parametrize("pending", [True, False], ids=["owed", "running"])
def test_a_recovery_is_deleted_with_its_node(story: Story, pending: bool) -> None:
    story.fail("node-1").change_check({"pause": {"reason": "x"} if pending else None})
    story.heal("node-1").run(DELAY + A_WHILE)
    assert recoveries(story) == [("node-1", "Pending" if pending else "Running")]
    story.world.machines["node-1"].power_off()
    story.api.delete(NODE, "node-1")
    assert (recoveries(story.run(A_WHILE)), story.open(SWITCH_ON)) == ([], [])


def test_a_running_recovery_is_found_again_after_the_status_is_lost(story: Story) -> None:
    story.fail("node-1").heal("node-1").run(DELAY + A_WHILE)
    story.checker.process.crash()
    story.api.patch(NODE_HEALTH_CHECK, CHECK, {"status": {"recoveries": None}}, at=("", "status"))
    assert recoveries(story.run(60.0)) == [("node-1", "Running")]


def test_a_remediation_that_a_user_withdraws_gets_no_recovery(story: Story) -> None:
    story.fail("node-1").heal("node-1").run(SOON)
    story.api.delete(REBOOT, "node-1", "default")
    assert (recoveries(story.run(120.0)), story.open(SWITCH_ON)) == ([], [])
