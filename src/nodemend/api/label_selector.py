"""Label selectors, as Kubernetes defines them."""

from enum import StrEnum
from typing import Annotated

from nodemend.api.wire import Wire, about


class Operator(StrEnum):
    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"


class Requirement(Wire):
    """One demand on one label."""

    key: Annotated[str, about("The label's key.", min_length=1, max_length=317)]
    operator: Annotated[Operator, about("How the label relates to the values.")]
    values: Annotated[
        tuple[Annotated[str, about("A label value.", max_length=63)], ...],
        about("For In and NotIn: at least one. For Exists and DoesNotExist: none.", max_length=64),
    ] = ()


class LabelSelector(Wire):
    """All demands must hold. Without any, everything is selected."""

    match_labels: Annotated[
        dict[str, Annotated[str, about("A label value.", max_length=63)]],
        about("Labels that must have exactly these values.", max_length=32),
    ] = {}
    match_expressions: Annotated[tuple[Requirement, ...], about("Further demands.", max_length=32)] = ()
