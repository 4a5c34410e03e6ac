"""Timings that contradict one another stop the program at its start."""

import pytest

from nodemend.kube.flowcontrol import Backoff
from nodemend.kube.reflector import ReflectorTimings


def test_a_stream_counts_as_good_only_after_the_longest_wait() -> None:
    with pytest.raises(ValueError, match="good_period"):
        ReflectorTimings(good_period=5.0, backoff=Backoff(most=30.0))
