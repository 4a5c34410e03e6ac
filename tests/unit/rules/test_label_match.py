"""Label selectors mean what Kubernetes says they mean."""

import pytest

from nodemend.api.meta import LabelSelector, Operator, Requirement
from nodemend.rules.request import matches

LABELS = {"rack": "r1", "role": ""}


def expression(key: str, operator: Operator, *values: str) -> LabelSelector:
    return LabelSelector(match_expressions=(Requirement(key=key, operator=operator, values=values),))


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        (LabelSelector(), True),
        (LabelSelector(match_labels={"rack": "r1"}), True),
        (LabelSelector(match_labels={"role": ""}), True),
        (LabelSelector(match_labels={"rack": "r2"}), False),
        (LabelSelector(match_labels={"room": ""}), False),
        (LabelSelector(match_labels={"rack": "r1", "room": "a"}), False),
        (expression("rack", Operator.IN, "r1", "r2"), True),
        (expression("rack", Operator.IN, "r2"), False),
        (expression("room", Operator.IN, "a"), False),
        (expression("rack", Operator.NOT_IN, "r1"), False),
        (expression("rack", Operator.NOT_IN, "r2"), True),
        (expression("room", Operator.NOT_IN, "a"), True),
        (expression("role", Operator.EXISTS), True),
        (expression("room", Operator.EXISTS), False),
        (expression("role", Operator.DOES_NOT_EXIST), False),
        (expression("room", Operator.DOES_NOT_EXIST), True),
        (
            LabelSelector(
                match_labels={"rack": "r1"},
                match_expressions=(Requirement(key="room", operator=Operator.EXISTS),),
            ),
            False,
        ),
    ],
)
def test_matches(selector: LabelSelector, expected: bool) -> None:
    assert matches(selector, LABELS) is expected
