"""The semantic mutants: each changes one place, and only a named invariant is a violation."""

from collections import Counter
from collections.abc import Sequence

import pytest

from campaign_power.changed_code import changed_functions
from campaign_power.hunting import ROUNDS, of_round
from campaign_power.mutants import FURTHER, ROOT, SERVER, CampaignName, Mutant, read_mutants
from campaign_power.playing import campaigns
from campaign_power.relevance import Monitor
from nodemend.protocol.peers import Peer, first_round

FEWEST, OF_SERVER = 80, 12
AREAS = {
    *("release", "identity", "locks", "terms", "evidence", "agents", "peers", "feeder", "gate", "guard"),
    SERVER,
}


def of_both_lists() -> list[Mutant]:
    return [*read_mutants(), *read_mutants(FURTHER)]


def test_every_mutant_changes_one_place_and_no_two_are_the_same() -> None:
    mutants = of_both_lists()
    assert len({one.name for one in mutants}) == len({one.digest for one in mutants}) == len(mutants)
    places = {one.name: (ROOT / one.file).read_text().count(one.old) for one in mutants}
    assert {name: times for name, times in places.items() if times != 1} == {}
    assert [one.name for one in mutants if one.old == one.new] == []


def test_there_are_enough_of_them_in_every_area() -> None:
    areas = Counter(one.area for one in read_mutants())
    assert areas.total() >= FEWEST
    assert set(areas) == AREAS
    assert areas[SERVER] == OF_SERVER


def test_mutants_name_the_campaigns_that_detect_them_or_a_reason() -> None:
    mutants = of_both_lists()
    assert [one.name for one in mutants if bool(one.campaigns) == bool(one.instead)] == []
    by_differential = [one for one in mutants if CampaignName.DIFFERENTIAL in one.campaigns]
    assert by_differential == [one for one in mutants if one.area == SERVER]


def test_every_mutant_names_a_test_that_is_there() -> None:
    mutants = of_both_lists()
    named = {test.partition("::")[::2] for one in mutants for test in one.tests}
    assert [one.name for one in mutants if not one.tests] == []
    assert [name for path, name in named if f"def {name}(" not in (ROOT / path).read_text()] == []


def test_only_a_named_invariant_at_a_seed_is_a_violation() -> None:
    for name, campaign in campaigns(1).items():
        found = campaign.violation.search
        if name is CampaignName.DIFFERENTIAL:
            assert found("seed 7 differs: step 3.body.code")
            continue
        violated = found("seed 7: I3: PATCH /api/v1/nodes/n1 without preconditions")
        assert violated is not None
        assert (violated["seed"], violated["why"][:3]) == ("7", "I3:")
        assert not found("seed 7: a task died unseen: [KeyError('x')]")
        assert not found("AssertionError: I do not know")


@pytest.mark.parametrize("seeds", [range(0, 600, 3), range(500, 600), range(2), ()])
def test_rounds_play_every_seed_once(seeds: Sequence[int]) -> None:
    rounds = [of_round(seeds, number, 600) for number in range(len(ROUNDS))]
    assert [one for played in rounds for one in played] == list(seeds)


def test_a_round_runs_few_of_the_examined_seeds() -> None:
    assert of_round(range(0, 600, 3), 0, 600) == tuple(range(0, 24, 3))
    assert of_round(range(50, 600), 0, 600) == tuple(range(50, 58))
    assert of_round(range(60, 600), 0, 600) == ()


SOURCE = """LIMIT = 3

class Rule:
    def allows(self, count):
        if count > LIMIT:
            return False
        return True

    def other(self):
        return 1

def between(value):
    return 0 < value < 9
"""


def changed(old: str, new: str) -> dict[str, set[int]] | None:
    found = changed_functions(Mutant("a", "b", "c", old, new, ()), SOURCE)
    return None if found is None else {one.qualname: set(one.lines) for one in found}


def test_a_condition_that_is_taken_away_matters_where_it_holds() -> None:
    assert changed("        if count > LIMIT:\n            return False\n", "") == {"Rule.allows": {6}}


def test_a_line_that_is_changed_matters_where_it_runs() -> None:
    assert changed("0 < value < 9", "value < 9") == {"between": {13}}


def test_what_is_no_function_matters_everywhere() -> None:
    assert changed("LIMIT = 3", "LIMIT = 4") is None


def test_a_call_is_relevant_where_the_changed_function_answers_otherwise() -> None:
    old, new = "begin = int(chance * len(peers))", "begin = 0"
    mutant = Mutant("a", "b", "src/nodemend/protocol/peers.py", old, new, ())
    monitor = Monitor([mutant])
    found = []
    try:
        for chance in (0.0, 0.9, 0.01):
            monitor.begin()
            first_round([Peer(name, name, name) for name in "abcdefgh"], chance)
            found.append(monitor.end())
    finally:
        monitor.close()
    assert found == [set(), {mutant.digest}, set()]
