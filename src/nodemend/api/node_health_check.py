"""NodeHealthCheck: which nodes are watched, what counts as unhealthy, what is done about it."""

from typing import Annotated

from nodemend.api.conditions import Condition, ConditionStatus
from nodemend.api.label_selector import LabelSelector
from nodemend.api.object_meta import ObjectMeta
from nodemend.api.quantities import DURATION_PATTERN
from nodemend.api.wire import Wire, about


class Threshold(Wire):
    """One way for a node to be unhealthy: a condition has a status for a period."""

    type: Annotated[str, about("The node condition, such as Ready.", min_length=1, max_length=316)]
    status: Annotated[
        ConditionStatus,
        about('The status that counts as unhealthy. A node that is cut off is "Unknown", not "False".'),
    ]
    period: Annotated[
        str,
        about("How long it must last, such as 5m.", pattern=DURATION_PATTERN, min_length=2, max_length=16),
    ]
    accept_short_period: Annotated[
        bool, about("Allow less than 40s for Ready, which is within the noise of heartbeats.")
    ] = False


class TemplateReference(Wire):
    """The template from which remediations are made. They are created in its namespace."""

    api_version: Annotated[str, about("Such as nodemend.io/v1alpha1.", min_length=1, max_length=317)]
    kind: Annotated[str, about("Such as ManualRemediationTemplate.", min_length=1, max_length=63)]
    name: Annotated[str, about("The template's name.", min_length=1, max_length=253)]
    namespace: Annotated[str, about("The template's namespace.", min_length=1, max_length=63)]


class Remedy(Wire):
    """One step of the healing."""

    template: Annotated[TemplateReference, about("What to create.")]


class NodeHealthCheckSpec(Wire):
    selector: Annotated[LabelSelector, about("The nodes this check watches. An empty selector is all nodes.")]
    thresholds: Annotated[
        tuple[Threshold, ...], about("Any one of these makes a node unhealthy.", min_length=1, max_length=16)
    ]
    remedies: Annotated[
        tuple[Remedy, ...],
        about("What is done about an unhealthy node. One, for now.", min_length=1, max_length=1),
    ]
    healthy_delay: Annotated[
        str,
        about(
            "How long a node must stay healthy before its remediation is withdrawn.",
            pattern=DURATION_PATTERN,
            min_length=2,
            max_length=16,
        ),
    ] = "30s"


class TargetReport(Wire):
    """One node that is not simply healthy."""

    name: Annotated[str, about("The node.", max_length=253)]
    verdict: Annotated[str, about("Suspect, Unhealthy, Held, Remediating or Unjudged.", max_length=63)]
    message: Annotated[str, about("Why, and what happens next.", max_length=1024)] = ""


class NodeHealthCheckStatus(Wire):
    observed_generation: Annotated[int, about("The generation last acted upon.", ge=0)] = 0
    targets: Annotated[int, about("Nodes selected.", ge=0)] = 0
    healthy: Annotated[int, about("Of these, healthy.", ge=0)] = 0
    remediating: Annotated[int, about("Of these, under remediation.", ge=0)] = 0
    reports: Annotated[
        tuple[TargetReport, ...], about("The nodes that are not healthy, at most 50 of them.", max_length=50)
    ] = ()
    conditions: Annotated[
        tuple[Condition, ...], about("Ready, RemediationAllowed, Paused, DryRun.", max_length=16)
    ] = ()


class NodeHealthCheck(Wire):
    """Watches nodes and asks for the remediation of those that stay unhealthy."""

    spec: NodeHealthCheckSpec
    metadata: ObjectMeta = ObjectMeta()
    status: NodeHealthCheckStatus = NodeHealthCheckStatus()
