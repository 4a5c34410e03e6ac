"""The ways to break code: each mutant is the same module with one place changed."""

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_SWAPS: Final[dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change. `name` stays the same if the code around the place changes."""

    module: str
    line: int
    change: str
    source: str
    within: str = ""
    """The function or the value that contains the place; empty for the module itself."""
    number: int = 1
    """The number among similar places in there, from the top."""

    @property
    def name(self) -> str:
        place = f"{self.module}:{self.within}" if self.within else self.module
        return f"{place} {self.change}" + (f" #{self.number}" if self.number > 1 else "")

    def __str__(self) -> str:
        return f"{self.name} (line {self.line})"


def unbroken(path: Path, module: str) -> Mutant:
    """The unchanged module, imported in the same way: a test that fails with it proves nothing."""
    return Mutant(module, 0, "nothing is changed", ast.unparse(ast.parse(path.read_text())))


def mutants_of(path: Path, module: str) -> Iterator[Mutant]:
    source, seen = path.read_text(), Counter[tuple[str, str]]()
    for index, (node, within) in enumerate(_places(ast.parse(source))):
        for way, change in enumerate(_changes(node)):
            fresh = ast.parse(source)
            _apply(fresh, _places(fresh)[index][0], way)
            ast.fix_missing_locations(fresh)
            seen[within, change] += 1
            yield Mutant(module, _position(node)[0], change, ast.unparse(fresh), within, seen[within, change])


def _position(node: ast.AST) -> tuple[int, int]:
    """Line and column. A match case has none itself."""
    at = node.pattern if isinstance(node, ast.match_case) else node
    return getattr(at, "lineno", 0), getattr(at, "col_offset", 0)


def _places(tree: ast.Module) -> list[tuple[ast.AST, str]]:
    """All nodes from the top, each with its container."""
    return sorted(_inside(tree, ""), key=lambda place: _position(place[0]))


def _inside(node: ast.AST, within: str) -> Iterator[tuple[ast.AST, str]]:
    """Nothing of decorators: whether a dataclass has slots decides nothing."""
    decorators = getattr(node, "decorator_list", ())
    for child in ast.iter_child_nodes(node):
        if child not in decorators:
            inner = ".".join(filter(None, (within, _name_of(child))))
            yield child, inner
            yield from _inside(child, inner)


def _name_of(node: ast.AST) -> str:
    """Its name in the source; empty for a node that is not a container."""
    match node:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return name
        case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
            return name
        case _:
            return ""


def _changes(node: ast.AST) -> list[str]:
    """The possible changes of this node, as text, in the order of `_apply`'s numbers."""
    match node:
        case ast.Compare(ops=[op]) if type(op) in _SWAPS:
            old = type(op).__name__
            return [f"{old} becomes {new.__name__}" for new in _SWAPS[type(op)]]
        case ast.BoolOp(op=op):
            return [f"{type(op).__name__} becomes {'Or' if isinstance(op, ast.And) else 'And'}"]
        case ast.UnaryOp(op=ast.Not()):
            return ["not is dropped"]
        case ast.If() | ast.IfExp():
            return ["the test becomes True", "the test becomes False"]
        case ast.match_case(guard=guard) if guard is not None:
            return ["the guard is dropped"]
        case ast.Constant(value=bool() as value):
            return [f"{value} becomes {not value}"]
        case ast.Constant(value=int() | float() as value):
            return [f"{value} becomes {value + 1}"]
        case ast.BinOp(op=ast.Sub() | ast.Add() as op):
            return [f"{type(op).__name__} is turned around"]
        case ast.Call(func=ast.Name(id="min" | "max" | "any" | "all" as name)):
            return [f"{name} becomes {_OPPOSITE[name]}"]
        case _:
            return []


_OPPOSITE: Final = {"min": "max", "max": "min", "any": "all", "all": "any"}


def _apply(tree: ast.Module, node: ast.AST, number: int) -> None:
    match node:
        case ast.Compare(ops=[op]):
            node.ops = [_SWAPS[type(op)][number]()]
        case ast.BoolOp(op=op):
            node.op = ast.Or() if isinstance(op, ast.And) else ast.And()
        case ast.UnaryOp():
            _replace(tree, node, node.operand)
        case ast.If() | ast.IfExp():
            node.test = ast.Constant(value=number == 0)
        case ast.match_case():
            node.guard = None
        case ast.Constant(value=bool() as value):
            node.value = not value
        case ast.Constant(value=int() | float() as value):
            node.value = value + 1
        case ast.BinOp(op=op):
            node.op = ast.Add() if isinstance(op, ast.Sub) else ast.Sub()
        case ast.Call(func=ast.Name(id=name) as function):
            function.id = _OPPOSITE[name]
        case _:
            raise ValueError(f"nothing can be done to {node}")


def _replace(tree: ast.Module, old: ast.AST, new: ast.expr) -> None:
    for parent in ast.walk(tree):
        for field, value in ast.iter_fields(parent):
            if value is old:
                setattr(parent, field, new)
            elif isinstance(value, list) and old in value:
                value[value.index(old)] = new
