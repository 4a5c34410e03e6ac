"""The number of targets that each check leaves to other checks."""

import random

import pytest

from nodemend.guard.state import Overlaps, spell_overlap


@pytest.mark.attack("G6")
def test_the_counts_equal_a_full_recount_after_any_history() -> None:
    chance, overlaps, known = random.Random(6), Overlaps(), dict[str, list[str]]()
    for _ in range(3000):
        target, checks = f"n{chance.randrange(12)}", sorted(chance.sample("abcd", chance.randrange(5)))
        before = {check: dict(overlaps.of_check(check)) for check in "abcd"}
        changed = overlaps.note(target, checks[0], tuple(checks[1:])) if checks else overlaps.forget(target)
        known[target] = checks
        expected: dict[str, dict[str, int]] = {check: {} for check in "abcd"}
        for owner, *others in (one for one in known.values() if one):
            for other in others:
                expected[other][owner] = expected[other].get(owner, 0) + 1
        found = {check: dict(overlaps.of_check(check)) for check in "abcd"}
        assert found == expected
        assert changed >= {check for check in "abcd" if found[check] != before[check]}


@pytest.mark.attack("G6")
def test_many_others_are_named_with_those_that_have_most() -> None:
    left = {f"nhc/c{number}": number for number in range(1, 9)}
    said = spell_overlap(left, 0, "node")
    assert "36 are watched by checks whose name comes first: 8 by nhc/c8, 7 by nhc/c7" in said
    assert "4 by nhc/c4 and others by 3 more checks. It watches 0;" in said
    assert spell_overlap({}, 5, "node") == ""
    assert spell_overlap({"nhc/a": 1}, 0, "node").startswith("Of the 1 node that it selects, 1 is watched")
