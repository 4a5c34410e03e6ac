"""Each bar: what is measured, whether it is met, and the offenders if not."""

import statistics
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from shape.named_paths import missing_paths
from shape.tree import Module, Tree, measure

HERE: Final = Path(__file__).resolve().parent
SHOWN: Final = 10
"""The number of offenders of each bar that the table shows."""


@dataclass(frozen=True, slots=True)
class Limits:
    """shape.toml and small_modules.toml."""

    modules: int
    median: tuple[int, int]
    small_lines: int
    small_modules: int
    classes_twice_in_package: int
    classes_twice: int
    function_lines: int
    modules_in_package: int
    fewer_lines: int
    base_lines: int
    base_lines_with_simulation: int
    safety: str
    safety_lines: int
    evidence: Sequence[str]
    evidence_lines: int
    not_paths: Mapping[str, str]
    small_reasons: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Result:
    """One row of the table."""

    bar: str
    measured: str
    met: bool
    offenders: Sequence[str] = ()


def read_limits(folder: Path = HERE) -> Limits:
    """Raises KeyError for a missing figure, ValueError for a small module without a reason."""
    data = tomllib.loads((folder / "shape.toml").read_text(encoding="utf-8"))
    small = tomllib.loads((folder / "small_modules.toml").read_text(encoding="utf-8"))
    bars, safety = data["bars"], data["safety"]
    low, high = bars.pop("median")
    reasons = {one["path"]: one["reason"].strip() for one in small.get("module", ())}
    if bare := [path for path, reason in reasons.items() if not reason]:
        raise ValueError(f"small modules without a reason: {bare}")
    return Limits(
        **bars,
        median=(low, high),
        base_lines=data["base"]["lines"],
        base_lines_with_simulation=data["base"]["lines_with_simulation"],
        safety=safety["package"],
        safety_lines=safety["lines"],
        evidence=safety["evidence"],
        evidence_lines=safety["evidence_lines"],
        not_paths=data["not_paths"],
        small_reasons=reasons,
    )


def evaluate(root: Path, limits: Limits) -> list[Result]:
    tree = measure(root)
    return [
        *(bar(tree, limits) for bar in BARS),
        _paths(missing_paths(root, limits.not_paths)),
    ]


def _modules(tree: Tree, limits: Limits) -> Result:
    count = len(tree.modules)
    return Result(f"modules at most {limits.modules}", str(count), count <= limits.modules)


def _median(tree: Tree, limits: Limits) -> Result:
    low, high = limits.median
    median = statistics.median(module.lines for module in tree.modules)
    return Result(f"median lines {low} to {high}", f"{median:g}", low <= median <= high)


def _small(tree: Tree, limits: Limits) -> Result:
    small = {module.path: module.lines for module in tree.modules if module.lines < limits.small_lines}
    faults = [
        f"{path}: {lines} lines, no reason"
        for path, lines in small.items()
        if not limits.small_reasons.get(path)
    ]
    faults += [
        f"{path}: has a reason, and is not small" for path in limits.small_reasons if path not in small
    ]
    met = len(small) <= limits.small_modules and not faults
    bar = f"modules under {limits.small_lines} lines at most {limits.small_modules}, each with a reason"
    return Result(bar, f"{len(small)}, {len(limits.small_reasons)} reasons", met, faults)


def _twice_in_package(tree: Tree, limits: Limits) -> Result:
    twice = [
        f"{package}: {name} {count} times" for (package, name), count in tree.classes_twice_in_package.items()
    ]
    bar = f"classes twice in one package at most {limits.classes_twice_in_package}"
    return Result(bar, str(len(twice)), len(twice) <= limits.classes_twice_in_package, twice)


def _twice(tree: Tree, limits: Limits) -> Result:
    twice = [f"{name}: {', '.join(paths)}" for name, paths in tree.classes_twice.items()]
    met = len(twice) <= limits.classes_twice
    return Result(f"class names twice at most {limits.classes_twice}", str(len(twice)), met, twice)


def _functions(tree: Tree, limits: Limits) -> Result:
    longest = max((*module.longest_function, module.path) for module in tree.modules)
    long = [
        f"{module.path}: {module.longest_function[1]} has {module.longest_function[0]} lines"
        for module in tree.modules
        if module.longest_function[0] > limits.function_lines
    ]
    return Result(f"longest function {limits.function_lines} lines", str(longest[0]), not long, long)


def _packages(tree: Tree, limits: Limits) -> Result:
    large = [f"{name}: {count}" for name, count in tree.packages.items() if count > limits.modules_in_package]
    most = max(tree.packages.values())
    return Result(f"modules in one package at most {limits.modules_in_package}", str(most), not large, large)


def _safety(tree: Tree, limits: Limits) -> Result:
    bar = f"{limits.safety}/ at most {limits.safety_lines} lines"
    modules = _of_safety(tree, limits)
    if not modules:
        return Result(bar, "no such package", met=False)
    lines = sum(module.lines for module in modules)
    return Result(bar, str(lines), lines <= limits.safety_lines)


def _evidence(tree: Tree, limits: Limits) -> Result:
    bar = f"{limits.safety}/, evidence to ticket, at most {limits.evidence_lines} lines"
    modules = {
        module.name: module.lines for module in _of_safety(tree, limits) if module.name in limits.evidence
    }
    if absent := [f"{limits.safety}/{name}.py is missing" for name in limits.evidence if name not in modules]:
        return Result(bar, f"{len(absent)} modules missing", met=False, offenders=absent)
    lines = sum(modules.values())
    each = [f"{name}: {count}" for name, count in modules.items()]
    return Result(bar, str(lines), lines <= limits.evidence_lines, each)


def _of_safety(tree: Tree, limits: Limits) -> list[Module]:
    return [module for module in tree.modules if module.path.startswith(f"{limits.safety}/")]


def _fewer(tree: Tree, limits: Limits) -> Result:
    fewer = limits.base_lines - tree.lines
    with_simulation = limits.base_lines_with_simulation - tree.lines_with_simulation
    measured = f"{fewer} fewer: {tree.lines} ({with_simulation} with the simulation)"
    bar = f"lines at least {limits.fewer_lines} fewer than {limits.base_lines}"
    return Result(bar, measured, fewer >= limits.fewer_lines)


def _paths(missing: Sequence[str]) -> Result:
    return Result("paths in documents that do not exist: 0", str(len(missing)), not missing, missing)


BARS: Final[tuple[Callable[[Tree, Limits], Result], ...]] = (
    _modules,
    _median,
    _small,
    _twice_in_package,
    _twice,
    _functions,
    _packages,
    _safety,
    _evidence,
    _fewer,
)


def table(results: Sequence[Result], shown: int = SHOWN) -> Iterator[str]:
    """A row for each bar, the first offenders of each that is missed, and the figure as the last line."""
    width = max(len(one.bar) for one in results)
    measured = max(len(one.measured) for one in results)
    for one in results:
        yield f"{one.bar:<{width}}  {one.measured:<{measured}}  {'ok' if one.met else 'MISSED'}"
    for one in results:
        if not one.met and one.offenders:
            yield f"\n{one.bar}:"
            yield from (f"    {offender}" for offender in one.offenders[:shown])
            if len(one.offenders) > shown:
                yield f"    and {len(one.offenders) - shown} more (--all)"
    met = sum(one.met for one in results)
    yield f"shape: {met} of {len(results)} bars met"
