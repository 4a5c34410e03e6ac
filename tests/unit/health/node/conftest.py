"""The fixture of the stories."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.unit.health.node.stories import StartStory, Story


@pytest.fixture
def begin() -> Iterator[StartStory]:
    """Begins a story, and ends its world after the test."""
    with ExitStack() as owned:

        def begin_story(**how: Any) -> Story:
            story = Story(**how)
            owned.callback(story.world.close)
            return story

        yield begin_story
