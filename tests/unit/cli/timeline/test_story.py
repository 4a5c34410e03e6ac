"""Every event of Nodemend has its place in the timeline."""

from nodemend.cli.timeline.collect import RELEASE, STORIES, Emphasis, Lane
from nodemend.telemetry.event_reasons import EVENT_REASONS


def test_the_table_is_total() -> None:
    assert {one.name for one in EVENT_REASONS} <= set(STORIES)


def test_a_release_phase_begins_with_evidence_and_with_nothing_else() -> None:
    begun_by = {word for word, story in STORIES.items() if (Lane.REMEDIATION, RELEASE) in story.begins}

    assert begun_by == {word for word, story in STORIES.items() if story.mark is Emphasis.EVIDENCE}
    assert {STORIES[word].evidence for word in begun_by} == {"E1", "E2", "E4", "E5"}


def test_one_event_alone_is_the_release() -> None:
    assert [word for word, story in STORIES.items() if story.mark is Emphasis.RELEASE] == ["ReleaseStarted"]


def test_no_event_of_metal3_is_taken_for_power() -> None:
    """That event only says that a power request was accepted."""
    assert all(not STORIES[word].begins and STORIES[word].means for word in ("PowerOff", "PowerOn"))
