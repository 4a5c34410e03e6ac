"""The mark of tests that CI leaves to `just nightly`."""

from collections.abc import Iterable
from typing import Any

import pytest


def first_in_ci(values: Iterable[object]) -> list[Any]:
    """Parameters of which CI plays the first, and nightly all."""
    first, *others = values
    return [first, *(pytest.param(one, marks=pytest.mark.nightly) for one in others)]
