"""A timeline in a terminal."""

from datetime import UTC, timedelta, timezone

import pytest

from nodemend.cli.timeline.build import timeline_view
from nodemend.cli.timeline.collect import TimelineFacts
from nodemend.cli.timeline.text import render
from tests.unit.cli.node_cases import a_case, a_node, event
from tests.unit.cli.timeline.goldens import WORLDS, text, view_of

DAYS = timedelta(days=3)


@pytest.mark.parametrize("width", [60, 80, 140])
@pytest.mark.parametrize("name", WORLDS)
def test_no_line_is_wider_than_the_terminal(name: str, width: int) -> None:
    reported = render(view_of(name), width, UTC)

    assert not [line for line in reported if len(line) > width and not line.startswith("Next:")]


def test_a_terminal_that_is_too_narrow_still_has_every_word() -> None:
    words = " ".join(" ".join(render(view_of("healed"), 10, UTC)).split())

    assert "E1: BareMetalHost metal3/rack7-u12 is off:" in words


def test_another_day_and_another_time_zone() -> None:
    events = (event(0.0, "NodeSuspect", "Maybe."), event(86_400.0, "NodeHealthy", "Not."))
    view = timeline_view(TimelineFacts(a_case(86_401.0, node=a_node("True", 0.0)), events), DAYS)
    there = timezone(timedelta(hours=13), "NZDT")
    lines = list(render(view, 100, there))

    assert lines[0].startswith("edge-07, Ready=True: 3 changes since 2026-02-01 01:00:00 NZDT")
    assert "2026-02-02" in lines
    assert any("(1d without a record)" in line for line in lines)


def test_trouble_evidence_and_release_are_loud_without_colour() -> None:
    busy = text("busy")

    assert "EVIDENCE E1: BareMetalHost" in busy
    assert "RELEASE: Set the out-of-service" in busy
    assert "! edge-07 was not Ready on a new boot in time." in busy
