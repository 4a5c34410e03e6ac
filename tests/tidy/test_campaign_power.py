"""The semantic mutants: every one changes one place, and a violation is what names an invariant."""

from collections import Counter

from campaign_power.hunting import Stretch, stretches
from campaign_power.mutants import FURTHER, ROOT, SERVER, CampaignName, Mutant, read_mutants
from campaign_power.playing import campaigns

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


def test_campaigns_that_could_notice_are_named_or_why_there_are_none() -> None:
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


def test_all_campaigns_play_a_little_before_one_plays_the_rest() -> None:
    mutant = Mutant("a", "b", "c", "d", "e", (CampaignName.POWER, CampaignName.FENCING))
    sizes = {CampaignName.POWER: 240, CampaignName.FENCING: 2000}
    assert list(stretches(mutant, sizes)) == [
        Stretch(CampaignName.POWER, 0, 24),
        Stretch(CampaignName.FENCING, 0, 100),
        Stretch(CampaignName.POWER, 24, 216),
        Stretch(CampaignName.FENCING, 100, 1900),
    ]
