"""Imports that go upward against a layers contract of import-linter.

`just contracts` is the authority. This repeats its rule so that the picture and the contract cannot disagree.
"""

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from structure.modules import Import


@dataclass(frozen=True, slots=True)
class Layers:
    """Layers from the highest to the lowest, each with the modules that share it."""

    layers: tuple[tuple[str, ...], ...]
    independent: frozenset[int]
    """Layers whose modules may not import one another (written with `|`)."""


def read_layers(pyproject: Path) -> tuple[Layers, ...]:
    contracts = tomllib.loads(pyproject.read_text())["tool"]["importlinter"]["contracts"]
    return tuple(
        _layers(contract["layers"], f"{container}." if container else "")
        for contract in contracts
        if contract["type"] == "layers"
        for container in contract.get("containers", [""])
    )


def upward(imports: Iterable[Import], contracts: Iterable[Layers]) -> tuple[Import, ...]:
    """Imports of a higher layer, or of another module of an independent one."""
    contracts = tuple(contracts)
    return tuple(one for one in imports if any(_goes_up(one, layers) for layers in contracts))


def _layers(written: Iterable[str], prefix: str) -> Layers:
    rows = list(written)
    names = [tuple(prefix + name.strip().strip("()") for name in re.split("[|:]", row)) for row in rows]
    return Layers(tuple(names), frozenset(index for index, row in enumerate(rows) if "|" in row))


def _goes_up(one: Import, contract: Layers) -> bool:
    importer, imported = _place(one.importer, contract), _place(one.imported, contract)
    if importer is None or imported is None or importer == imported:
        return False
    if importer[0] == imported[0]:
        return importer[0] in contract.independent
    return imported[0] < importer[0]


def _place(module: str, contract: Layers) -> tuple[int, str] | None:
    """The layer of a module and its name there. The longest name decides."""
    places = [
        (index, name)
        for index, names in enumerate(contract.layers)
        for name in names
        if module == name or module.startswith(f"{name}.")
    ]
    return max(places, key=lambda place: len(place[1]), default=None)
