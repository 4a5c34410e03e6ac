"""The output of `kubectl mend`, as data."""

import importlib
import inspect
import pkgutil

import nodemend.cli
from nodemend.cli.tree.view import Branch


def all_view_kinds() -> tuple[str, ...]:
    """Of the classes named View that state a kind. The others are parts of those."""
    found = {
        vars(kind).get("kind")
        for module in pkgutil.walk_packages(nodemend.cli.__path__, "nodemend.cli.")
        for name, kind in inspect.getmembers(importlib.import_module(module.name), inspect.isclass)
        if name.endswith("View")
    }
    return tuple(sorted(kind for kind in found if isinstance(kind, str)))


def below(branch: Branch) -> list[Branch]:
    """The branch and all branches below it."""
    return [branch, *(one for child in branch.children for one in below(child))]
