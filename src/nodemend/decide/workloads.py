"""Which pods a release waits for."""

from collections.abc import Iterable
from dataclasses import dataclass

from nodemend.decide.facts import Taint


@dataclass(frozen=True, slots=True)
class Toleration:
    """As a pod declares it; an empty key or effect matches any."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


def tolerates(tolerations: Iterable[Toleration], taint: Taint) -> bool:
    return any(_matches(toleration, taint) for toleration in tolerations)


def _matches(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect not in ("", taint.effect):
        return False
    if toleration.key == "":
        return toleration.operator == "Exists"
    if toleration.key != taint.key:
        return False
    return toleration.operator == "Exists" or toleration.value == taint.value
