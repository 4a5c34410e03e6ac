"""Which nodes a selector means."""

from collections.abc import Mapping
from typing import assert_never

from nodemend.api.label_selector import LabelSelector, Operator, Requirement


def matches(selector: LabelSelector, labels: Mapping[str, str]) -> bool:
    # A loop and no generator: every node is asked about, for every check.
    for key, value in selector.match_labels.items():
        if labels.get(key) != value:
            return False
    return all(_meets(demand, labels) for demand in selector.match_expressions)


def _meets(demand: Requirement, labels: Mapping[str, str]) -> bool:
    match demand.operator:
        case Operator.IN:
            return labels.get(demand.key) in demand.values
        case Operator.NOT_IN:
            return labels.get(demand.key) not in demand.values
        case Operator.EXISTS:
            return demand.key in labels
        case Operator.DOES_NOT_EXIST:
            return demand.key not in labels
        case _:
            assert_never(demand.operator)
