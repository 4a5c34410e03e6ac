"""The runs of the models: unique names, only defines that the models know, and an up-to-date page."""

import re

import pytest

from tests.models.full import FULL
from tests.models.mutants import MUTANTS
from tests.models.page import README, page
from tests.models.pan import MODELS, Held, Unfinished, Verdict, Violated, read
from tests.models.runs import HOLDING, REACHED, TIGHT
from tests.models.traces import EVENTS, event_of
from tests.models.traces import read as read_trace

RUNS = (*HOLDING, *FULL, *TIGHT, *REACHED, *MUTANTS)
HELD = "State-vector 52 byte, depth reached 9, errors: 0\n  1234 states, stored\n"
STORY = ("tick", "release")


def test_every_run_has_a_unique_name() -> None:
    assert len({run.name for run in RUNS}) == len(RUNS)


def test_no_two_runs_are_the_same() -> None:
    assert len({(run.model, frozenset(run.defines.split())) for run in RUNS}) == len(RUNS)


@pytest.mark.parametrize("model", sorted({run.model for run in RUNS}))
def test_every_define_of_a_run_is_known_to_its_model_and_every_switch_of_a_model_is_run(model: str) -> None:
    text = (MODELS / f"{model}.pml").read_text()
    asked = set(re.findall(r"#ifn?def (\w+)", text)) | set(re.findall(r"defined\((\w+)\)", text))
    used = {define.partition("=")[0] for run in RUNS if run.model == model for define in run.defines.split()}
    assert not used - asked
    assert not asked - used - {"TRACE"}


def test_the_page_has_the_runs() -> None:
    """`python -m tests.models.page` regenerates the page."""
    assert README.read_text() == page(README.read_text())


def test_a_trace_has_a_name_for_every_event_of_its_model() -> None:
    text = (MODELS / "self_fencing.pml").read_text()
    reported = {words.replace("peer %d", "peer") for words in re.findall(r'printf\("([^"]+)\\n"', text)}
    mutants = {"disarmed", "second feeder checked", "lock freed, second feeder checked"}
    # Traces are generated without OWN_LOOKS and LIARS: see FEATURES in tests/models/traces.py.
    untraced = {words for words in reported if words.startswith(("look ", "peer lies "))}
    assert reported - mutants - untraced - {"tick"} == set(EVENTS)


def test_a_trace_is_cut_at_ticks_and_loses_no_event() -> None:
    said = "      pinged\n  tick\n reset\n peer 2 healthy\n timeout\n#processes: 3\n"
    assert read_trace(said) == ((("pinged", None),), (("reset", None), ("peer healthy", 2)))
    with pytest.raises(ValueError, match="no trace knows"):
        event_of("spin: Error: assertion violated")


@pytest.mark.parametrize(
    ("said", "verdict"),
    [
        (HELD, Held(1234)),
        (f"pan:1: assertion violated\n{HELD.replace('errors: 0', 'errors: 1')}", Violated(1234, STORY)),
        (f"error: max search depth too small\n{HELD}", Unfinished(1234, "max search depth too small")),
        (f"Warning: Search not completed\n{HELD}", Unfinished(1234, "Search not completed")),
        ("pan: out of memory", Unfinished(0, "out of memory")),
        ("", Unfinished(0, "")),
    ],
)
def test_only_a_whole_search_is_a_verdict(said: str, verdict: Verdict) -> None:
    assert read(said, lambda: STORY) == verdict
