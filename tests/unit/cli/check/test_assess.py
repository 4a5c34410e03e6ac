"""`check` finds faults of a cluster, an installation or a policy, and reports nothing about a sound one."""

from dataclasses import replace
from typing import Any

import pytest

from nodemend.api.meta import Pause
from nodemend.api.remediation_policy import Mode, RemediationPolicy, RemediationPolicySpec
from nodemend.cli.check.assess import assess
from nodemend.cli.check.view import Level
from nodemend.cli.cluster import LeaderState, LeaderView, ServerVersion
from nodemend.safety.facts import Absent, Present, Unreadable
from tests.unit.cli.check.sound_facts import SOUND, facts, leader, problems

FAIL, WARN = Level.FAIL, Level.WARN
ALLOWED = "what it forbids is allowed"


def test_a_sound_cluster_has_no_trouble() -> None:
    view = assess(SOUND)

    assert (view.failures, view.warnings) == (0, 0)
    assert [group.name for group in view.groups] == [
        "cluster",
        "rights",
        "controllers",
        "policy",
        "checks",
        "remediations",
    ]


def cluster(**changes: Any) -> Any:
    return facts(**changes)


@pytest.mark.parametrize(
    ("changes", "level", "text"),
    [
        (
            {"server": ServerVersion(major="1", minor="32", git_version="v1.32.9")},
            FAIL,
            "server 1.32.9; need 1.33 or newer",
        ),
        ({"served": Absent()}, FAIL, "no kind of nodemend.io/v1alpha1 is served"),
        (
            {"served": Present(frozenset({"nodehealthchecks", "remediationpolicies", "manualremediations"}))},
            FAIL,
            (
                "manualremediationtemplates, remediationorders, selfremediations and "
                "selfremediationtemplates of nodemend.io/v1alpha1 are not served"
            ),
        ),
        (
            {"served": Unreadable("no")},
            FAIL,
            "the kinds of nodemend.io/v1alpha1 cannot be read: no",
        ),
        (
            {"policies": Unreadable("no")},
            FAIL,
            "it is unknown whether the admission policies are in force: they were not read: no",
        ),
        (
            {"bindings": Absent()},
            FAIL,
            (
                "it is unknown whether the admission policies are in force: their bindings were not read: the"
                " API server does not know their kind"
            ),
        ),
    ],
)
def test_trouble_with_the_cluster(changes: dict[str, Any], level: Level, text: str) -> None:
    assert problems(assess(cluster(**changes))) == [(level, text)]


def test_rights_are_reported_and_a_caller_without_any_is_warned() -> None:
    none = {"view": False, "pause": False, "stop": False, "confirm": False, "configure": False}

    assert problems(assess(facts(caller="eve", abilities=none))) == [
        (WARN, "eve: you may not view, pause, stop, confirm or configure")
    ]


@pytest.mark.parametrize(
    ("view", "level"),
    [
        (leader("checker", LeaderState.SILENT), FAIL),
        (leader("checker", LeaderState.NO_HOLDER), FAIL),
        (leader("checker", LeaderState.NEVER), FAIL),
        (replace(leader("checker"), clock_differs=True), WARN),
    ],
)
def test_a_controller_that_is_not_alive_is_a_failure(view: LeaderView, level: Level) -> None:
    found = problems(assess(facts(leaders=(view, leader("remediator")))))

    assert found == [(level, view.sentence)]


@pytest.mark.attack("U2")
def test_an_unreadable_object_is_a_failure() -> None:
    unknown = replace(leader("checker", LeaderState.UNKNOWN), why="no")

    assert problems(assess(facts(leaders=(unknown, leader("remediator"))))) == [
        (FAIL, "the leader of the checker cannot be read: no")
    ]
    assert (FAIL, "the RemediationPolicy cannot be read: no") in problems(
        assess(facts(policy=Unreadable("no")))
    )


@pytest.mark.parametrize(
    ("policy", "text"),
    [
        (Absent(), "there is no RemediationPolicy: nothing is remediated, only reported"),
        (Present(RemediationPolicy()), "mode DryRun: nothing is remediated, only reported"),
        (
            Present(
                RemediationPolicy(
                    spec=RemediationPolicySpec(mode=Mode.ACT, pause=Pause(reason="switch swap", by="anna"))
                )
            ),
            "paused by anna: switch swap",
        ),
    ],
)
def test_a_policy_that_lets_nothing_happen_is_a_warning(policy: Any, text: str) -> None:
    assert (WARN, text) in problems(assess(facts(policy=policy)))
