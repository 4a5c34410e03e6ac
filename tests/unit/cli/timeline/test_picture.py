"""Properties of every picture."""

import itertools
import random
from datetime import UTC, timedelta
from xml.etree import ElementTree as ET

import pytest

from nodemend.cli.timeline.build import timeline_view
from nodemend.cli.timeline.collect import STORIES, TimelineFacts
from nodemend.cli.timeline.svg import draw
from tests.unit.cli.node_cases import a_case, a_node, event
from tests.unit.cli.timeline.goldens import WORLDS, picture

SVG = "{http://www.w3.org/2000/svg}"


def parsed(drawn: str) -> ET.Element:
    return ET.fromstring(drawn)  # noqa: S314 - we drew it


def random_picture(seed: int) -> str:
    chance = random.Random(seed)
    spread = chance.choice([2.0, 300.0, 20_000.0])
    words = [chance.choice(list(STORIES)) for _ in range(chance.randint(1, 45))]
    note = "a-long-name-" * chance.randint(1, 12) + "and more of it."
    events = [event(chance.uniform(0, spread), word, note) for word in words]
    return draw(
        timeline_view(TimelineFacts(a_case(spread + 5, node=a_node()), tuple(events)), timedelta(2)), UTC
    )


ALL = [picture(name) for name in WORLDS] + [random_picture(seed) for seed in range(60)]


@pytest.mark.parametrize("drawn", ALL, ids=range(len(ALL)))
def test_no_pin_bar_or_flag_covers_another_of_its_lane(drawn: str) -> None:
    """A rectangle narrower than four pixels is a bar that was too short to be visible."""
    boxes: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for rect in parsed(drawn).iter(f"{SVG}rect"):
        if rect.get("class") in ("page", "band"):
            continue
        x, width = float(rect.get("x", 0)), float(rect.get("width", 0))
        boxes.setdefault((rect.get("y", ""), rect.get("height", "")), []).append((x, x + max(width, 0)))
    for row in boxes.values():
        row.sort()
        for (left, right), (after, _) in itertools.pairwise(row):
            assert after >= right - 0.2 or right - left < 4.0


@pytest.mark.parametrize("drawn", ALL, ids=range(len(ALL)))
def test_everything_is_on_the_page(drawn: str) -> None:
    root = parsed(drawn)
    _, _, width, height = (float(one) for one in root.get("viewBox", "").split())
    for text in root.iter(f"{SVG}text"):
        letters = len(text.text or "") * float(text.get("font-size", 0)) * 0.5
        before = {"middle": letters / 2, "end": letters}.get(text.get("text-anchor", ""), 0.0)
        x = float(text.get("x", 0)) - before
        assert x >= 0
        assert x + letters <= width + 1
        assert 0 < float(text.get("y", 0)) <= height


def test_it_needs_nothing_from_elsewhere_and_knows_the_dark() -> None:
    drawn = picture("busy")

    assert "prefers-color-scheme:dark" in drawn
    assert drawn.count("http") == 1, "the name of the format, and no address besides"
    assert not any(word in drawn for word in ("<script", "<image", "href", "@import", "url("))


def test_every_entry_of_the_list_has_a_pin_and_a_text() -> None:
    root = parsed(picture("busy"))
    titles = {title.text for title in root.iter(f"{SVG}title")}

    reported = sum((title or "").count("12:") for title in titles)
    assert reported >= 50


def test_what_others_wrote_cannot_draw() -> None:
    evil = '</text><script>alert("x")</script>\x1b[2J\n&'
    view = timeline_view(TimelineFacts(a_case(100.0), (event(1.0, "NodeReady", evil),)), timedelta(1))
    drawn = draw(view, UTC)

    parsed(drawn)
    assert "<script" not in drawn
    assert "\x1b" not in drawn
