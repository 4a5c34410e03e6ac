"""The findings of the review: every mark names one, and one that cannot be played names its replacement."""

import pytest

from attacks.__main__ import read_findings
from attacks.judgement import Finding, faults_of, succeeding
from attacks.mutants import read_mutants
from conformance.marked_tests import ROOT, MarkedTest, find_tests

KNOWN = {"S1": Finding("One.", real=True), "S2": Finding("Two."), "S3": Finding("Three.", instead="a check")}


@pytest.fixture(scope="module")
def tests() -> dict[str, MarkedTest]:
    return find_tests(mark="attack")


def a_test(*ids: str, real: bool = False) -> MarkedTest:
    return MarkedTest(list(ids), "tests/a.py::test_one", real=real)


def test_every_mark_names_a_finding(tests: dict[str, MarkedTest]) -> None:
    findings = read_findings()
    assert not {id_ for test in tests.values() for id_ in test.rows} - set(findings)


def test_a_finding_that_no_test_plays_is_a_fault() -> None:
    assert list(faults_of(KNOWN, {"a": a_test("S1", real=True)})) == ["S2 is not played: Two."]


def test_a_finding_marked_real_is_tested_on_a_real_control_plane() -> None:
    faults = list(faults_of(KNOWN, {"a": a_test("S1"), "b": a_test("S2")}))
    assert faults == ["S1 was seen on a real control plane, and is not played there"]


def test_a_mark_without_a_finding_is_a_fault() -> None:
    faults = list(faults_of(KNOWN, {"a": a_test("S1", "S9", real=True), "b": a_test("S2")}))
    assert faults == ["tests/a.py::test_one plays S9, which is no finding"]


def test_a_finding_marked_untestable_has_no_test() -> None:
    faults = list(faults_of(KNOWN, {"a": a_test("S1", real=True), "b": a_test("S2", "S3")}))
    assert faults == ["S3 is played, and says that it cannot be"]


def test_a_finding_that_is_open_is_a_fault_unless_nothing_is_to_be_worse() -> None:
    known = {**KNOWN, "S2": Finding("Two.", open=True)}
    played = {"a": a_test("S1", real=True)}
    assert list(faults_of(known, played)) == ["S2 is not played: Two."]
    assert not list(faults_of(known, played, no_worse=True))


def test_an_attack_succeeds_when_its_test_fails_or_does_not_run() -> None:
    assert succeeding({"a": "passed", "b": "failed", "c": "not run"}) == ["b: failed", "c: not run"]


def test_every_mutant_changes_one_place_and_is_of_a_finding() -> None:
    findings = read_findings()
    mutants = read_mutants()
    assert [one.name for one in mutants if one.finding not in findings] == []
    assert len({one.name for one in mutants}) == len(mutants)
    places = {one.name: (ROOT / one.file).read_text().count(one.old) for one in mutants}
    assert {name: times for name, times in places.items() if times != 1} == {}
