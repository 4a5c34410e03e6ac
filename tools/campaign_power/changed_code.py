"""The functions of a module that a mutant changes, and their changed lines."""

import ast
import inspect
import textwrap
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from types import CodeType

from campaign_power.mutants import Mutant


@dataclass(frozen=True, slots=True)
class ChangedFunction:
    """A function or method with everything nested in it. `lines` are those of the source before the change.

    Without lines, running any of it may make a difference.
    """

    qualname: str
    first_line: int
    new: CodeType
    lines: frozenset[int]


def changed_functions(mutant: Mutant, source: str) -> tuple[ChangedFunction, ...] | None:
    """None if the change is not in functions alone: then it may have an effect anywhere."""
    mutated = source.replace(mutant.old, mutant.new)
    before, after = compile(source, mutant.file, "exec"), compile(mutated, mutant.file, "exec")
    if _outline(before) != _outline(after):
        return None
    pairs = zip(_functions(before), _functions(after), strict=True)
    lines = _lines(mutant, source)
    return tuple(
        ChangedFunction(old.co_qualname, old.co_firstlineno, new, lines & _lines_of(old))
        for old, new in pairs
        if _shape(old) != _shape(new)
    )


def _is_function(code: CodeType) -> bool:
    return bool(code.co_flags & inspect.CO_OPTIMIZED)


def _nested(code: CodeType) -> Iterator[CodeType]:
    return (one for one in code.co_consts if isinstance(one, CodeType))


def _functions(code: CodeType) -> Iterator[CodeType]:
    """The functions of a module and of its classes, in order."""
    for one in _nested(code):
        if _is_function(one):
            yield one
        else:
            yield from _functions(one)


def _outline(code: CodeType) -> Hashable:
    """A module or a class without the contents of its functions."""
    nested = tuple(one.co_qualname if _is_function(one) else _outline(one) for one in _nested(code))
    plain = [one for one in code.co_consts if not isinstance(one, CodeType)]
    # The code object of a class contains the line in which it begins.
    constants = tuple("line" if one == code.co_firstlineno else (type(one), one) for one in plain)
    return code.co_qualname, code.co_code, constants, code.co_names, nested


def _shape(code: CodeType) -> Hashable:
    constants = tuple(
        _shape(one) if isinstance(one, CodeType) else (type(one), one) for one in code.co_consts
    )
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    return code.co_code, code.co_exceptiontable, constants, names, code.co_flags


def _lines_of(code: CodeType) -> frozenset[int]:
    own = frozenset(line for _, _, line in code.co_lines() if line is not None)
    return own.union(*(_lines_of(one) for one in _nested(code)))


def _lines(mutant: Mutant, source: str) -> frozenset[int]:
    """The replaced lines. For removed conditions: the lines that they guard."""
    first = source[: source.index(mutant.old)].count("\n") + 1
    if not mutant.new.strip() and (guarded := _guarded(mutant.old)):
        return frozenset(first + line - 1 for line in guarded)
    matched = SequenceMatcher(None, mutant.old.splitlines(), mutant.new.splitlines(), autojunk=False)
    return frozenset(
        first + line
        for tag, begin, end, _, _ in matched.get_opcodes()
        if tag != "equal"
        for line in range(begin, end)
    )


def _guarded(text: str) -> frozenset[int]:
    """The lines of the bodies, counted from 1, of a text that consists of `if` statements alone."""
    try:
        statements = ast.parse(textwrap.dedent(text)).body
    except SyntaxError:
        return frozenset()
    if not all(isinstance(one, ast.If) and not one.orelse for one in statements):
        return frozenset()
    bodies = (one.body for one in statements if isinstance(one, ast.If))
    return frozenset(
        line for body in bodies for one in body for line in range(one.lineno, (one.end_lineno or 0) + 1)
    )
