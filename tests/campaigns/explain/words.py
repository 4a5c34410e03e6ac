"""Walks all outcomes of decisions, and checks that each has a text for users.

The types are the list: a new reason, verdict or step without a text is found here.
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
from nodemend.cli.explain.view import spell_step
from nodemend.remediation.manual.decide import Step
from nodemend.remediation.metal3 import holds as metal3_holds
from nodemend.rules.request import spell_phase
from nodemend.safety import guard_holds, holds
from nodemend.safety.host_power import PowerUncertainty
from tests.unit.cli.explain.test_step_words import FILLED
from tests.unit.safety.hold_reasons import all_hold_reasons

SAMPLES: Final[dict[Any, tuple[object, ...]]] = {
    str: ("edge-07", "zone-b"),
    int: (0, 1, 7),
    float: (5.0, 42.0),
    bool: (True, False),
    tuple[str, ...]: ((), ("somebody",)),
    PowerUncertainty: tuple(
        kind(*("edge-07" for _ in dataclasses.fields(kind))) for kind in get_args(PowerUncertainty)
    ),
}
SENTENCES: Final = {"would": ("It would do this.", "It would do that.")}
"""Fields that are shown unchanged, after the sentence."""
REASONS: Final = tuple(sorted(all_hold_reasons(), key=lambda kind: kind.reason))
STEPS: Final = get_args(Step)
PHASES: Final = tuple(RecoveryPhase)


def reasons_without_words() -> Iterator[str]:
    """One line for each fault."""
    modules = (holds, guard_holds, metal3_holds)
    found = {kind for module in modules for kind in _outcomes(module)}
    for kind in sorted(found - {holds.Hold, holds.Explanation}, key=lambda one: one.__name__):
        if kind not in REASONS:
            yield f"{kind.__name__} is among the holds, and no HoldReason"
    said: dict[str, str] = {}
    for kind in REASONS:
        yield from _explained_badly(kind)
        if kind not in QUESTION_OF:
            yield f"{kind.__name__} has no place among the questions of an explanation"
        # Two reasons with the same text could not be distinguished.
        sentence = next(_examples(kind)).explain().sentence
        if sentence in said:
            yield f"{kind.__name__} says the same as {said[sentence]}"
        said[sentence] = kind.__name__


def steps_without_words() -> Iterator[str]:
    for kind in STEPS:
        said = spell_step(kind(*FILLED.get(kind, ())))
        if not said or said.endswith(".") or not said[0].islower():
            yield f"the step {kind.__name__} does not complete a sentence: {said!r}"


def phases_without_words() -> Iterator[str]:
    """Phases of recoveries. A hold has its own text."""
    reported = {phase: spell_phase(phase, "SwitchOn default/edge-07") for phase in PHASES}
    for phase, said in reported.items():
        if not said.endswith(".") or list(reported.values()).count(said) > 1:
            yield f"a recovery that is {phase} is told as {said!r}"


def _explained_badly(kind: type) -> Iterator[str]:
    for reason in _examples(kind):
        reported = reason.explain()
        for part in (reported.sentence, reported.next_step):
            if len(part) < len("Do it.") or not part.endswith(".") or "None" in part or "  " in part:
                yield f"{reason} is told as {part!r}"
                return
    for field in dataclasses.fields(kind):
        if not _is_reported(kind, field.name):
            yield f"{kind.__name__} carries {field.name}, and says nothing of it"


def _is_reported(kind: type, field: str) -> bool:
    """True if another value of the field changes the sentence or the next step."""
    by_others: dict[tuple[object, ...], set[str]] = {}
    for reason in _examples(kind):
        others = tuple(value for name, value in _values(reason) if name != field)
        by_others.setdefault(others, set()).add(str(reason.explain()))
    return any(len(reported) > 1 for reported in by_others.values())


def _values(reason: Any) -> Iterator[tuple[str, object]]:
    return ((field.name, getattr(reason, field.name)) for field in dataclasses.fields(reason))


def _examples(kind: type) -> Iterator[Any]:
    """Every combination of sample values, and of defaults if there are any."""
    hints = typing.get_type_hints(kind)
    samples = [
        (*SENTENCES.get(field.name, SAMPLES[hints[field.name]]), *_default(field))
        for field in dataclasses.fields(kind)
    ]
    return (kind(*values) for values in product(*samples))


def _default(field: "dataclasses.Field[Any]") -> tuple[object, ...]:
    return () if field.default is dataclasses.MISSING else (field.default,)


def _outcomes(module: ModuleType) -> Iterator[type]:
    """The dataclasses that the module itself defines."""
    for _, kind in inspect.getmembers(module, inspect.isclass):
        if dataclasses.is_dataclass(kind) and kind.__module__ == module.__name__:
            yield kind
