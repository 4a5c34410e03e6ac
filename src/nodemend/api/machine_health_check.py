"""MachineHealthCheck in its flat form, for clusters without Cluster API.

Kind, group and fields are Cluster API's, so the same manifests work with both definitions. In a cluster with
Cluster API, use Cluster API's own definition and do not install this one.
"""

from typing import Annotated, ClassVar, Final

from nodemend.api import meta
from nodemend.api.meta import LIMIT_FORM, ConditionStatus, LabelSelector, Limit, ObjectMeta, Rule, Wire, about
from nodemend.api.node_health_check import (
    READY_IS_HEALTHY,
    NodeConditionType,
    TemplateReference,
    UnhealthyNodeStatus,
)

CLUSTER_LABEL: Final = "cluster.x-k8s.io/cluster-name"

# Durations in the syntax of Go. Within these bounds no value overflows a duration of the API server.
_GO_DURATION: Final = "^(0|([0-9]{1,6}([.][0-9]{1,9})?(ms|s|m|h))+)$"
_RANGE: Final = "^[[][0-9]{1,9}-[0-9]{1,9}[]]$"

_DURATION_FORM: Final = Rule(
    f"self.matches('{_GO_DURATION}')", "must be a duration such as 90s, 5m or 1h30m, or 0"
)

GoDuration = Annotated[
    str,
    about("A duration, such as 5m.", min_length=1, max_length=20, rules=(_DURATION_FORM,), example="7m"),
]


class UnhealthyNodeCondition(Wire):
    """One way for a Machine to be unhealthy: a condition of its Node has a status for a time."""

    RULES: ClassVar = (READY_IS_HEALTHY,)

    type: NodeConditionType
    status: UnhealthyNodeStatus
    timeout: Annotated[GoDuration, about("Time for which the condition must have this status, such as 5m.")]


class UnhealthyMachineCondition(Wire):
    """One way for a Machine to be unhealthy: a condition of the Machine has a status for a time."""

    type: Annotated[
        str,
        about(
            "The condition of the Machine.",
            min_length=1,
            max_length=316,
            rules=(
                meta.CONDITION_TYPE,
                Rule(
                    "!(self in ['Ready', 'Available', 'HealthCheckSucceeded', 'OwnerRemediated',"
                    " 'ExternallyRemediated'])",
                    "must not be Ready, Available, HealthCheckSucceeded, OwnerRemediated or"
                    " ExternallyRemediated: health checks write these",
                ),
            ),
            example="example.com/BootOK",
        ),
    ]
    status: Annotated[ConditionStatus, about("The status that counts as unhealthy.")]
    timeout: Annotated[GoDuration, about("Time for which the condition must have this status, such as 5m.")]


class MachineTemplateReference(Wire):
    """The template of the remediations. They are created in the namespace of the Machine."""

    RULES: ClassVar = TemplateReference.RULES

    api_version: Annotated[
        str,
        about(
            "Group and version of the template.", min_length=1, max_length=317, example="fix.example.com/v1"
        ),
    ]
    kind: Annotated[
        str,
        about(
            "Such as Metal3RemediationTemplate.",
            min_length=1,
            max_length=63,
            example="Metal3RemediationTemplate",
        ),
    ]
    name: Annotated[
        str,
        about(
            "The template's name.",
            min_length=1,
            max_length=253,
            rules=(meta.OBJECT_NAME,),
            example="reboot",
        ),
    ]
    namespace: Annotated[
        str,
        about(
            "Empty or the namespace of the check. A template in another namespace is not used.",
            max_length=63,
            rules=(meta.NAMESPACE_NAME,),
            example="machine-api",
        ),
    ] = ""


class MachineHealthCheckSpec(Wire):
    RULES: ClassVar = (
        Rule(
            "self.selector.?matchLabels.orValue({}).size() > 0"
            " || self.selector.?matchExpressions.orValue([]).size() > 0",
            "must require at least one label: an empty selector would select every Machine",
            field=".selector",
        ),
        Rule(
            f"!has(self.clusterName) || self.selector.?matchLabels['{CLUSTER_LABEL}']"
            ".orValue(self.clusterName) == self.clusterName",
            f"must not select the Machines of another cluster: {CLUSTER_LABEL} must equal clusterName",
            field=".selector.matchLabels",
        ),
        Rule(
            "!has(oldSelf.clusterName) || (has(self.clusterName) && self.clusterName == oldSelf.clusterName)",
            "cannot be changed: create another check for another cluster",
            field=".clusterName",
        ),
        Rule(
            "!has(self.remediationTemplate) || !has(self.externalRemediationTemplate)",
            "must be absent if remediationTemplate is set: these are two names of one field",
            field=".externalRemediationTemplate",
        ),
    )

    selector: Annotated[LabelSelector, about("The Machines that this check watches, in its own namespace.")]
    cluster_name: Annotated[
        str,
        about(
            "The Cluster of the Machines; absent if they belong to no Cluster.",
            min_length=1,
            max_length=63,
            rules=(meta.OBJECT_NAME,),
            example="prod",
        ),
    ] = ""
    unhealthy_conditions: Annotated[
        tuple[UnhealthyNodeCondition, ...],
        about("Any one of these makes a Machine unhealthy.", max_length=100, keys=("type", "status")),
    ] = ()
    unhealthy_machine_conditions: Annotated[
        tuple[UnhealthyMachineCondition, ...],
        about("Any one of these makes a Machine unhealthy too.", max_length=100, keys=("type", "status")),
    ] = ()
    max_unhealthy: Annotated[
        Limit | None,
        about(
            "At or above this many unhealthy Machines of this check, none of them is remediated."
            " spec.machines.limitReading of the RemediationPolicy can change that. If absent, the check has"
            " no limit.",
            rules=(LIMIT_FORM,),
            example="30%",
        ),
    ] = None
    unhealthy_range: Annotated[
        str,
        about(
            "Remediate only while the number of unhealthy Machines is in this range, such as [1-3]."
            " Replaces maxUnhealthy.",
            min_length=1,
            max_length=32,
            rules=(
                Rule(
                    f"self.matches('{_RANGE}')",
                    "must be two numbers in brackets, such as [1-3]",
                ),
                Rule(
                    f"!self.matches('{_RANGE}') || int(self.substring(1, self.indexOf('-')))"
                    " <= int(self.substring(self.indexOf('-') + 1, self.size() - 1))",
                    "must have the lower number first, such as [1-3]",
                ),
            ),
            example="[1-3]",
        ),
    ] = ""
    node_startup_timeout: Annotated[
        GoDuration,
        about(
            "Time in which a Machine must become a Node; 0 for no limit.",
            rules=(
                _DURATION_FORM,
                Rule(
                    f"!self.matches('{_GO_DURATION}') || self == '0' || duration(self) == duration('0s')"
                    " || duration(self) >= duration('30s')",
                    "must be at least 30s, or 0 for no limit",
                ),
            ),
        ),
    ] = "10m"
    remediation_template: Annotated[
        MachineTemplateReference | None,
        about("The template of the remediation. If absent, the owner of the Machine must replace it."),
    ] = None
    external_remediation_template: Annotated[
        MachineTemplateReference | None, about("The old name of remediationTemplate.")
    ] = None


class MachineHealthCheckCondition(Wire):
    """One condition of the check, in the first form of Cluster API's conditions."""

    type: Annotated[
        str, about("The type of the condition.", min_length=1, max_length=256, rules=(meta.CONDITION_TYPE,))
    ]
    status: Annotated[ConditionStatus, about("True, False or Unknown.")]
    last_transition_time: meta.TransitionTime
    severity: Annotated[str, about("The severity if the status is False.", max_length=32)] = ""
    reason: Annotated[
        str, about("The reason for the status, as one CamelCase identifier.", max_length=256)
    ] = ""
    message: Annotated[str, about("The reason for the status, as text for users.", max_length=10240)] = ""


class MachineHealthCheckStatus(Wire):
    observed_generation: meta.ObservedGeneration = 0
    expected_machines: Annotated[int, about("Machines selected.", ge=0)] = 0
    current_healthy: Annotated[int, about("Of these, healthy.", ge=0)] = 0
    remediations_allowed: Annotated[
        int,
        about("The number of Machines that may still become unhealthy before the limit is reached.", ge=0),
    ] = 0
    targets: Annotated[
        tuple[Annotated[str, about("A Machine.", min_length=1, max_length=253)], ...],
        about("The selected Machines, at most 10,000.", max_length=10_000),
    ] = ()
    conditions: Annotated[
        tuple[MachineHealthCheckCondition, ...],
        about("RemediationAllowed, Stalled.", max_length=32, keys=("type",)),
    ] = ()


class MachineHealthCheck(Wire):
    """Watches Machines and their Nodes, and requests remediations for Machines that stay unhealthy."""

    spec: MachineHealthCheckSpec
    metadata: ObjectMeta = ObjectMeta()
    status: MachineHealthCheckStatus = MachineHealthCheckStatus()
