"""The order of events by clocks of which some have whole seconds only."""

from nodemend.cli.timeline.build import CAUSES, ranking
from nodemend.cli.timeline.collect import STORIES, Lane, MomentDraft
from tests.unit.cli.node_cases import at


def draft(seconds: float, key: str) -> MomentDraft:
    return MomentDraft(at=at(seconds), lane=Lane.NODE, what="", sources=("",), key=key)


def ordered(*drafts: MomentDraft) -> list[str]:
    return [one.key for one in sorted(drafts, key=ranking(drafts))]


def test_time_decides() -> None:
    assert ordered(draft(2.5, "started"), draft(1.5, "gone"), draft(3.0, "")) == ["gone", "started", ""]


def test_within_a_second_a_whole_one_comes_after_what_it_follows_from_and_before_what_follows_from_it() -> (
    None
):
    turned = (draft(1.0, "on"), draft(1.2, "gone"), draft(1.4, "let-on"), draft(1.6, "succeeded"))

    assert ordered(*turned) == ["gone", "let-on", "on", "succeeded"]


def test_a_whole_second_is_never_moved_past_the_next() -> None:
    assert ordered(draft(1.0, "on"), draft(2.2, "let-on")) == ["on", "let-on"]


def test_evidence_comes_before_the_release_that_bears_the_same_time() -> None:
    assert ordered(draft(1.5, "release"), draft(1.5, "evidence")) == ["evidence", "release"]


def test_the_stories_cover_every_cause() -> None:
    assert {story.key for story in STORIES.values()} >= set(CAUSES) - {"last-life", "ended", "off", "on"}
