"""Maps findings to the tests that replay them, and finds what is missing. Pure."""

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from conformance.marked_tests import MarkedTest

FEWEST_ATTACKS: Final = 60


class Finding(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One finding: the harm if it succeeds, and how it is replayed."""

    what: str
    real: bool = False
    instead: str = ""
    open: bool = False


def attacks_of(tests: Mapping[str, MarkedTest]) -> set[str]:
    """Tests that replay a finding, by name: a parametrized test is one attack, unless a case is marked."""
    return {test.name for test in tests.values()}


def faults_of(
    findings: Mapping[str, Finding], tests: Mapping[str, MarkedTest], *, no_worse: bool = False
) -> Iterator[str]:
    """Errors in the list itself, before any attack is replayed.

    With `no_worse`, findings that say so may be open.
    """
    for test in sorted(tests.values(), key=lambda test: test.name):
        yield from (
            f"{test.name} plays {id_}, which is no finding" for id_ in test.rows if id_ not in findings
        )
    for id_, finding in findings.items():
        playing = [test for test in tests.values() if id_ in test.rows]
        if finding.instead:
            if playing:
                yield f"{id_} is played, and says that it cannot be"
        elif finding.open and no_worse:
            continue
        elif not playing:
            yield f"{id_} is not played: {finding.what}"
        elif finding.real and not any(test.real for test in playing):
            yield f"{id_} was seen on a real control plane, and is not played there"


def succeeding(endings: Mapping[str, str]) -> list[str]:
    """Attacks that did not fail: their tests failed, or did not run."""
    return sorted(f"{node}: {ending}" for node, ending in endings.items() if ending != "passed")
