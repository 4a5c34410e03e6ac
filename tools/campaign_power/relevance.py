"""`python -m campaign_power.relevance WORLD FIRST COUNT LIST`: which seeds each mutant can change at all.

A simulated run is deterministic: until a changed function returns something else, or a changed line runs, it
equals the run without the mutant. So each seed is played once without any, and beside every call of a changed
pure function the changed one is called with the same arguments. A seed without a difference need not be
played with the mutant. One JSON object per seed is printed.
"""

import argparse
import gc
import importlib
import inspect
import random
import sys
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any, Final

import msgspec

from campaign_power.changed_code import ChangedFunction, changed_functions
from campaign_power.mutants import ROOT, Mutant, read_mutants
from tests.simulation.campaigning import prepare_worker

_PURE: Final = (
    "nodemend.api.",
    "nodemend.protocol.",
    "nodemend.safety.",
    "nodemend.health.machine.annotation",
    "nodemend.health.machine.request",
    "nodemend.rules.",
    "nodemend.remediation.capm3.decide",
    "nodemend.remediation.manual.decide",
    "nodemend.remediation.metal3.decide",
    "nodemend.remediation.metal3.model",
    "nodemend.remediation.metal3.power_table",
    "nodemend.remediation.metal3.status",
    "nodemend.remediation.self_fencing.decide",
    "nodemend.remediation.self_fencing.status",
    "nodemend.signer.decide",
    "nodemend.records.agent_lease",
    "nodemend.kube.request",
    "nodemend.kube.leader_election",
)
"""Modules whose functions may be called a second time: they have no side effects and use no randomness."""
_MONITORING: Final[Any] = vars(sys).get("monitoring")
"""Since Python 3.12, while types are checked for the oldest that the project supports."""
_TOOL: Final = 2
"""The identifier for profilers."""
_ASYNCHRONOUS: Final = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
_VARIABLE: Final = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS


class Relevant(msgspec.Struct, frozen=True):
    """The digests of those mutants that can change this seed."""

    seed: int
    mutants: tuple[str, ...]


@dataclass(slots=True)
class _Watched:
    """The mutants to evaluate in one code object."""

    changed: list[tuple[str, FunctionType]] = field(default_factory=list)
    entered: list[str] = field(default_factory=list)
    lines: defaultdict[int, list[str]] = field(default_factory=lambda: defaultdict(list))

    @property
    def events(self) -> int:
        wanted = _MONITORING.events
        starts = wanted.PY_START if self.changed or self.entered else 0
        return starts | (wanted.PY_RETURN if self.changed else 0) | (wanted.LINE if self.lines else 0)


class Monitor:
    """Of one process. `seen` are the digests of the mutants that could have changed the seed so far."""

    def __init__(self, mutants: list[Mutant]) -> None:
        self.seen: set[str] = set()
        self._always: set[str] = set()
        self._watched: defaultdict[CodeType, _Watched] = defaultdict(_Watched)
        self._expected: dict[FrameType, list[tuple[str, object]]] = {}
        self._calling = False
        for mutant in mutants:
            self._add(mutant)
        _MONITORING.use_tool_id(_TOOL, "relevance")
        events = _MONITORING.events
        _MONITORING.register_callback(_TOOL, events.PY_START, self._starts)
        _MONITORING.register_callback(_TOOL, events.PY_RETURN, self._returns)
        _MONITORING.register_callback(_TOOL, events.LINE, self._runs)
        for code, watched in self._watched.items():
            _MONITORING.set_local_events(_TOOL, code, watched.events)

    def begin(self) -> None:
        self.seen = set(self._always)
        self._expected.clear()
        _MONITORING.restart_events()

    def end(self) -> set[str]:
        """Includes those whose function was left by an exception, since its result is unknown."""
        return self.seen | {digest for expected in self._expected.values() for digest, _ in expected}

    def close(self) -> None:
        for code in self._watched:
            _MONITORING.set_local_events(_TOOL, code, 0)
        _MONITORING.free_tool_id(_TOOL)

    def _add(self, mutant: Mutant) -> None:
        changed = changed_functions(mutant, (ROOT / mutant.file).read_text())
        if changed is None:
            self._always.add(mutant.digest)
            return
        module = importlib.import_module(
            mutant.file.removeprefix("src/").removesuffix(".py").replace("/", ".")
        )
        live = {
            (one.__code__.co_qualname, one.__code__.co_firstlineno): one
            for one in gc.get_objects()
            if isinstance(one, FunctionType) and one.__module__ == module.__name__
        }
        for one in changed:
            self._watch(mutant.digest, one, live[one.qualname, one.first_line])

    def _watch(self, digest: str, changed: ChangedFunction, function: FunctionType) -> None:
        code, new = function.__code__, changed.new
        callable_twice = function.__module__.startswith(_PURE) and not code.co_flags & _ASYNCHRONOUS
        if callable_twice and code.co_freevars == new.co_freevars and not code.co_flags & _VARIABLE:
            twin = FunctionType(new, function.__globals__, code.co_name, None, function.__closure__)
            self._watched[code].changed.append((digest, twin))
        elif changed.lines:
            for one in _with_nested(code):
                for line in changed.lines:
                    self._watched[one].lines[line].append(digest)
        else:
            self._watched[code].entered.append(digest)

    def _starts(self, code: CodeType, _offset: int) -> object:
        watched = self._watched[code]
        self.seen.update(watched.entered)
        wanted = [(digest, twin) for digest, twin in watched.changed if digest not in self.seen]
        if self._calling:
            return None
        if not wanted:
            return None if watched.changed else _MONITORING.DISABLE
        frame = _caller()
        count = code.co_argcount + code.co_kwonlyargcount
        arguments = {name: frame.f_locals[name] for name in code.co_varnames[:count]}
        if not all(_is_value(name, value) for name, value in arguments.items()):
            self.seen.update(digest for digest, _ in wanted)
            return None
        positional = [arguments[name] for name in code.co_varnames[: code.co_argcount]]
        named = {name: arguments[name] for name in code.co_varnames[code.co_argcount : count]}
        self._calling = True
        try:
            self._expected[frame] = [(digest, _answer(twin, positional, named)) for digest, twin in wanted]
        finally:
            self._calling = False
        return None

    def _returns(self, _code: CodeType, _offset: int, returned: object) -> object:
        if not self._calling:
            expected = self._expected.pop(_caller(), ())
            self.seen.update(digest for digest, answer in expected if not _is_equal(answer, returned))
        return None

    def _runs(self, code: CodeType, line: int) -> object:
        self.seen.update(self._watched[code].lines.get(line, ()))
        return _MONITORING.DISABLE


def _caller() -> FrameType:
    """The frame that an event is about."""
    return sys._getframe(2)  # noqa: SLF001 - events do not name their frame, and this is the way to it


def _with_nested(code: CodeType) -> Iterator[CodeType]:
    yield code
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from _with_nested(one)


def _is_value(name: str, value: object) -> bool:
    """True if a call leaves it unchanged. The methods of a mutable object may change it."""
    if name == "self":
        return _is_frozen(type(value))
    return isinstance(value, type) or not (callable(value) or isinstance(value, Iterator | random.Random))


def _is_frozen(kind: type) -> bool:
    parameters = getattr(kind, "__dataclass_params__", None)
    struct = getattr(kind, "__struct_config__", None)
    return issubclass(kind, tuple | Enum) or bool(
        (parameters and parameters.frozen) or (struct and struct.frozen)
    )


def _answer(twin: FunctionType, positional: list[Any], named: dict[str, Any]) -> object:
    try:
        return twin(*positional, **named)
    except Exception as error:  # noqa: BLE001 - a mutant may raise anything, and that is another answer
        return error


def _is_equal(one: object, other: object) -> bool:
    return type(one) is type(other) and bool(one == other)


_monitors: list[Monitor] = []


def _begin(mutants: list[Mutant]) -> None:
    _monitors[:] = [Monitor(mutants)]
    # After the monitor was made: it finds functions among the objects that the collector has not frozen.
    prepare_worker()


def _poll(seed: int, world: str) -> Relevant:
    play = importlib.import_module("tests.simulation.hostile.run").play_mixed
    monitor = _monitors[0]
    monitor.begin()
    play(seed, world=world)
    return Relevant(seed, tuple(sorted(monitor.end())))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("world")
    parser.add_argument("first", type=int)
    parser.add_argument("count", type=int)
    parser.add_argument("list", type=Path)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    importlib.import_module("tests.simulation.hostile.run")
    mutants = [one for one in read_mutants(options.list) if one.file.startswith("src/nodemend/")]
    seeds = range(options.first, options.first + options.count)
    with ProcessPoolExecutor(options.workers, initializer=_begin, initargs=(mutants,)) as pool:
        for found in pool.map(partial(_poll, world=options.world), seeds, chunksize=4):
            print(msgspec.json.encode(found).decode(), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
