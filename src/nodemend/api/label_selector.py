"""Label selectors, as Kubernetes defines them."""

from enum import StrEnum
from typing import Annotated, ClassVar

from nodemend.api import name_formats
from nodemend.api.wire import Rule, Wire, about

_LabelValue = Annotated[
    str, about("A label value.", max_length=63, rules=(name_formats.LABEL_VALUE,), example="rack-7")
]


class Operator(StrEnum):
    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"


class Requirement(Wire):
    """One demand on one label."""

    RULES: ClassVar = (
        Rule(
            "!(self.operator in ['In', 'NotIn']) || self.?values.orValue([]).size() > 0",
            "must name at least one value for the operators In and NotIn",
            field=".values",
        ),
        Rule(
            "self.operator in ['In', 'NotIn'] || self.?values.orValue([]).size() == 0",
            "must be empty for the operators Exists and DoesNotExist",
            field=".values",
        ),
    )

    key: Annotated[
        str,
        about(
            "The label's key.",
            min_length=1,
            max_length=317,
            rules=(name_formats.LABEL_KEY,),
            example="topology.kubernetes.io/rack",
        ),
    ]
    operator: Annotated[Operator, about("How the label relates to the values.")]
    values: Annotated[
        tuple[_LabelValue, ...],
        about("For In and NotIn: at least one. For Exists and DoesNotExist: none.", max_length=64),
    ] = ()


class LabelSelector(Wire):
    """All demands must hold. Without any, everything is selected."""

    match_labels: Annotated[
        dict[str, _LabelValue],
        about(
            "Labels that must have exactly these values.",
            max_length=32,
            rules=(name_formats.LABELS,),
            example={"kubernetes.io/os": "linux"},
        ),
    ] = {}
    match_expressions: Annotated[tuple[Requirement, ...], about("Further demands.", max_length=32)] = ()
