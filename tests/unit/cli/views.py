"""All kinds of output of `kubectl mend`, from every command."""

import importlib
import inspect
import pkgutil

import nodemend.cli


def all_view_kinds() -> tuple[str, ...]:
    """Of the classes named View that state a kind. The others are parts of those."""
    found = {
        vars(kind).get("kind")
        for module in pkgutil.walk_packages(nodemend.cli.__path__, "nodemend.cli.")
        for name, kind in inspect.getmembers(importlib.import_module(module.name), inspect.isclass)
        if name.endswith("View")
    }
    return tuple(sorted(kind for kind in found if isinstance(kind, str)))
