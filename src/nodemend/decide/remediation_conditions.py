"""The conditions of a remediation, as its status says them."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from nodemend.api.conditions import Condition, ConditionStatus, merged

_STATUS: Final = {True: ConditionStatus.TRUE, False: ConditionStatus.FALSE, None: ConditionStatus.UNKNOWN}


class Said(NamedTuple):
    """One condition. It holds, or does not, or nobody can say yet."""

    type: str
    holds: bool | None
    reason: str
    message: str = ""


def names(shown: tuple[Condition, ...], reason: str) -> bool:
    """Whether what it waits for is named already. Numbers that change are not worth a write each."""
    return any(one.type == "Processing" and one.reason == reason for one in shown)


def told(
    shown: tuple[Condition, ...], said: Iterable[Said], *, generation: int, now: str
) -> tuple[Condition, ...]:
    """What is shown, with what is said now. `now` is for people only."""
    new = (
        Condition(
            type=one.type,
            status=_STATUS[one.holds],
            reason=one.reason,
            message=one.message,
            observed_generation=generation,
            last_transition_time=now,
        )
        for one in said
    )
    return merged(shown, new)
