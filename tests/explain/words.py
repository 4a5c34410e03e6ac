"""Walks everything that decides, and asks of each outcome whether a person is told what it means.

The types are the list: whoever adds a reason, a verdict or a step and forgets its words is found here.
"""

import dataclasses
import inspect
import typing
from collections.abc import Iterator
from itertools import product
from types import ModuleType
from typing import Any, Final, get_args

from nodemend.api.node_health_check import RecoveryPhase
from nodemend.cli.explain.questions import QUESTION_OF
from nodemend.cli.explain.step_words import spell_step
from nodemend.decide import guard_holds, holds, host_holds
from nodemend.decide.hold_explanations import explain
from nodemend.decide.host_power import Doubt
from nodemend.decide.manual_remediation_steps import Step
from nodemend.decide.recovery import spell_phase
from tests.unit.cli.explain.test_step_words import FILLED

SAMPLES: Final[dict[Any, tuple[object, ...]]] = {
    str: ("edge-07", "zone-b"),
    int: (0, 1, 7),
    float: (5.0, 42.0),
    bool: (True, False),
    tuple[str, ...]: ((), ("somebody",)),
    Doubt: tuple(kind(*("edge-07" for _ in dataclasses.fields(kind))) for kind in get_args(Doubt)),
}
SENTENCES: Final = {"would": ("It would do this.", "It would do that.")}
"""Fields that are told as they are, after the sentence."""
REASONS: Final = tuple(sorted(get_args(holds.HoldReason), key=lambda kind: kind.__name__))
STEPS: Final = get_args(Step)
PHASES: Final = tuple(RecoveryPhase)


def reasons_without_words() -> Iterator[str]:
    """One line for each thing that is wrong."""
    for kind in sorted(
        {*_outcomes(holds), *_outcomes(guard_holds), *_outcomes(host_holds)} - {holds.Hold},
        key=lambda one: one.__name__,
    ):
        if kind not in REASONS:
            yield f"{kind.__name__} is among the holds, and no HoldReason"
    said: dict[str, str] = {}
    for kind in REASONS:
        yield from _told_badly(kind)
        if kind not in QUESTION_OF:
            yield f"{kind.__name__} has no place among the questions of an explanation"
        # The same words for two reasons would tell nobody which it is.
        sentence = explain(next(_examples(kind))).sentence
        if sentence in said:
            yield f"{kind.__name__} says the same as {said[sentence]}"
        said[sentence] = kind.__name__


def steps_without_words() -> Iterator[str]:
    for kind in STEPS:
        said = spell_step(kind(*FILLED.get(kind, ())))
        if not said or said.endswith(".") or not said[0].islower():
            yield f"the step {kind.__name__} does not complete a sentence: {said!r}"


def phases_without_words() -> Iterator[str]:
    """Of recoveries. A hold has words of its own."""
    told = {phase: spell_phase(phase, "SwitchOn default/edge-07") for phase in PHASES}
    for phase, said in told.items():
        if not said.endswith(".") or list(told.values()).count(said) > 1:
            yield f"a recovery that is {phase} is told as {said!r}"


def _told_badly(kind: type) -> Iterator[str]:
    for reason in _examples(kind):
        told = explain(reason)
        for part in (told.sentence, told.next_step):
            if len(part) < len("Do it.") or not part.endswith(".") or "None" in part or "  " in part:
                yield f"{reason} is told as {part!r}"
                return
    for field in dataclasses.fields(kind):
        if not _is_told(kind, field.name):
            yield f"{kind.__name__} carries {field.name}, and says nothing of it"


def _is_told(kind: type, field: str) -> bool:
    """Whether another value of it makes another sentence or another next step."""
    by_others: dict[tuple[object, ...], set[str]] = {}
    for reason in _examples(kind):
        others = tuple(value for name, value in _values(reason) if name != field)
        by_others.setdefault(others, set()).add(str(explain(reason)))
    return any(len(told) > 1 for told in by_others.values())


def _values(reason: Any) -> Iterator[tuple[str, object]]:
    return ((field.name, getattr(reason, field.name)) for field in dataclasses.fields(reason))


def _examples(kind: type) -> Iterator[Any]:
    """Every mixture of sample values, and of defaults where there are any."""
    hints = typing.get_type_hints(kind)
    samples = [
        (*SENTENCES.get(field.name, SAMPLES[hints[field.name]]), *_default(field))
        for field in dataclasses.fields(kind)
    ]
    return (kind(*values) for values in product(*samples))


def _default(field: "dataclasses.Field[Any]") -> tuple[object, ...]:
    return () if field.default is dataclasses.MISSING else (field.default,)


def _outcomes(module: ModuleType) -> Iterator[type]:
    """The dataclasses that a module itself defines."""
    for _, kind in inspect.getmembers(module, inspect.isclass):
        if dataclasses.is_dataclass(kind) and kind.__module__ == module.__name__:
            yield kind
