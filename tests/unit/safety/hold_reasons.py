"""All hold reasons, from every feature."""

import importlib
import pkgutil

import nodemend
from nodemend.safety.holds import HoldReason


def all_hold_reasons() -> tuple[type[HoldReason], ...]:
    """Imports every module of the product, so that a reason of a new feature cannot be forgotten."""
    for module in pkgutil.walk_packages(nodemend.__path__, "nodemend."):
        importlib.import_module(module.name)
    return tuple(sorted(_below(HoldReason.__subclasses__()), key=lambda kind: kind.reason))


def _below(kinds: list[type[HoldReason]]) -> set[type[HoldReason]]:
    # `dataclass(slots=True)` makes each class twice. The first one has no slots, and stays a subclass.
    found = {kind for kind in kinds if "__slots__" in vars(kind)}
    return found.union(*(_below(kind.__subclasses__()) for kind in kinds))
