"""NodeHealthCheck: selects nodes, defines when a node is unhealthy, and lists the remedies for it."""

from enum import StrEnum
from typing import Annotated, ClassVar, Final

from nodemend.api import meta
from nodemend.api.meta import (
    LIMIT_FORM,
    Condition,
    ConditionStatus,
    Duration,
    LabelSelector,
    Limit,
    ObjectMeta,
    Pause,
    Rule,
    Wire,
    about,
)
from nodemend.api.quantities import DURATION_PATTERN
from nodemend.api.resources import MANUAL_REMEDIATION_TEMPLATE

MOST_RECOVERIES: Final = 500
"""Maximum number of entries. While the list is full, further remediations do not end, so none is lost."""


NodeConditionType = Annotated[
    str,
    about("The node condition, such as Ready.", min_length=1, max_length=316, rules=(meta.CONDITION_TYPE,)),
]
UnhealthyNodeStatus = Annotated[
    ConditionStatus,
    about('The status that counts as unhealthy. A node that is cut off is "Unknown", not "False".'),
]
READY_IS_HEALTHY: Final = Rule(
    "self.type != 'Ready' || self.status != 'True'",
    "must be Unknown or False for the condition Ready: a node that is Ready is not unhealthy",
    field=".status",
)


class Threshold(Wire):
    """One way for a node to be unhealthy: a condition has a status for a period."""

    RULES: ClassVar = (
        READY_IS_HEALTHY,
        Rule(
            "self.type != 'Ready' || self.?acceptShortPeriod.orValue(false)"
            f" || !self.period.matches('{DURATION_PATTERN}') || duration(self.period) >= duration('40s')",
            "must be at least 40s for the condition Ready, or acceptShortPeriod must be true:"
            " a shorter period is within the jitter of heartbeats",
            field=".period",
        ),
    )

    type: NodeConditionType
    status: UnhealthyNodeStatus
    period: Annotated[Duration, about("Time for which the condition must have this status, such as 5m.")]
    accept_short_period: Annotated[
        bool, about("Allow less than 40s for Ready, which is within the jitter of heartbeats.")
    ] = False


class TemplateReference(Wire):
    """The template of the remediations. They are created in the namespace of the template."""

    RULES: ClassVar = (
        Rule(
            "self.kind.endsWith('Template')",
            "must be the kind of a template, which ends in Template, such as ManualRemediationTemplate",
            field=".kind",
        ),
        Rule(
            "self.apiVersion.contains('/')",
            "must be group and version, such as nodemend.io/v1alpha1",
            field=".apiVersion",
        ),
    )

    api_version: Annotated[
        str,
        about("Such as nodemend.io/v1alpha1.", min_length=1, max_length=317, example="nodemend.io/v1alpha1"),
    ]
    kind: Annotated[
        str,
        about(
            "Such as ManualRemediationTemplate.",
            min_length=1,
            max_length=63,
            example="ManualRemediationTemplate",
        ),
    ]
    name: Annotated[
        str,
        about(
            "The template's name.",
            min_length=1,
            max_length=253,
            rules=(meta.OBJECT_NAME,),
            example="call-the-admin",
        ),
    ]
    namespace: Annotated[
        str,
        about(
            "The template's namespace.",
            min_length=1,
            max_length=63,
            rules=(meta.NAMESPACE_NAME,),
            example="nodemend-system",
        ),
    ]


class Remedy(Wire):
    """One remedy. If it does not heal the node, the check escalates to the next."""

    RULES: ClassVar = (
        Rule(
            f"!has(self.timeout) || !self.timeout.matches('{DURATION_PATTERN}')"
            " || duration(self.timeout) >= duration('1m')",
            "must be at least 1m: a remedy needs time to work",
            field=".timeout",
        ),
    )

    template: Annotated[TemplateReference, about("The template of the remediation to create.")]
    timeout: (
        Annotated[
            Duration,
            about("Time after which the next remedy starts. If absent, it starts only after this one fails."),
        ]
        | None
    ) = None


class Recovery(Wire):
    """An action that runs once after a remediated node is healthy again."""

    RULES: ClassVar = (
        Rule(
            f"!self.timeout.matches('{DURATION_PATTERN}') || duration(self.timeout) >= duration('1m')",
            "must be at least 1m: a recovery needs time to work",
            field=".timeout",
        ),
        Rule(
            f"self.template.kind != '{MANUAL_REMEDIATION_TEMPLATE.kind}'"
            f" || !self.template.apiVersion.startsWith('{MANUAL_REMEDIATION_TEMPLATE.group}/')",
            f"must not be {MANUAL_REMEDIATION_TEMPLATE.kind}: it requests that a node is powered off,"
            " and a recovery restores what was switched off",
            field=".template",
        ),
    )

    template: Annotated[
        TemplateReference,
        about(
            "The template of the object to create. It may be of the same kind as one of the remedies.",
            example={
                "apiVersion": "remedies.example.com/v1",
                "kind": "SwitchOnTemplate",
                "name": "storage-port",
                "namespace": "nodemend-system",
            },
        ),
    ]
    timeout: Annotated[
        Duration,
        about(
            "Time after which an unfinished recovery is reported as overdue. Being overdue blocks nothing."
        ),
    ] = "10m"


class MaintenanceCondition(Wire):
    """A node condition that shows that maintenance is in progress on the node."""

    type: Annotated[
        str,
        about(
            "The node condition.",
            min_length=1,
            max_length=316,
            rules=(meta.CONDITION_TYPE,),
            example="example.com/Maintenance",
        ),
    ]
    status: Annotated[ConditionStatus, about("The status that means maintenance.")] = ConditionStatus.TRUE


class NodeHealthCheckSpec(Wire):
    selector: Annotated[
        LabelSelector, about("The nodes that this check watches. An empty selector selects all nodes.")
    ]
    thresholds: Annotated[
        tuple[Threshold, ...],
        about(
            "Any one of these makes a node unhealthy.", min_length=1, max_length=16, keys=("type", "status")
        ),
    ]
    remedies: Annotated[
        tuple[Remedy, ...],
        about(
            "The remedies for an unhealthy node, in order of escalation: the first, then the next if the node"
            " stays unhealthy. Only one is active at a time.",
            min_length=1,
            max_length=8,
            rules=(
                Rule(
                    "self.all(one, self.exists_one(other, other.template.kind == one.template.kind"
                    " && other.template.apiVersion == one.template.apiVersion))",
                    "each remedy must have a different kind: kind and node name identify a remediation",
                ),
            ),
        ),
    ]
    recovery: Annotated[
        Recovery | None,
        about(
            "An action that runs once, after the remediation is gone and the node has been healthy for"
            " healthyDelay. It switches on again what a remedy switched off to isolate the node. If absent,"
            " no action runs."
        ),
    ] = None
    max_unhealthy: Annotated[
        Limit,
        about(
            "At or above this many unhealthy nodes of this check, none of them is remediated. A percentage"
            " above zero always allows one.",
            rules=(LIMIT_FORM,),
            example="30%",
        ),
    ] = "50%"
    dry_run: Annotated[bool, about("Only report actions for the nodes of this check.")] = False
    pause: Annotated[
        Pause | None, about("While it is active, no new action starts for the nodes of this check.")
    ] = None
    maintenance: Annotated[
        tuple[MaintenanceCondition, ...],
        about("No remediation starts on nodes with one of these conditions.", max_length=16, keys=("type",)),
    ] = ()
    healthy_delay: Annotated[
        Duration, about("Time for which a node must be healthy before its remediation is deleted.")
    ] = "30s"

    @property
    def templates(self) -> tuple[TemplateReference, ...]:
        """Return the templates of the remedies, in order, and of the recovery."""
        of_recovery = (self.recovery.template,) if self.recovery is not None else ()
        return (*(remedy.template for remedy in self.remedies), *of_recovery)


class TargetReport(Wire):
    """One node that is not healthy or has a remediation."""

    name: Annotated[str, about("The node.", max_length=253)]
    verdict: Annotated[
        str,
        about(
            "Suspect, Unhealthy, Held, Remediating, Unjudged or Deleted; Healthy only until the remediation "
            "that has just ended is forgotten.",
            max_length=63,
        ),
    ]
    message: Annotated[str, about("The reason, and the next step.", max_length=1024)] = ""
    remedy: Annotated[
        int, about("The number of the current remedy, starting at 1; 0 before the first.", ge=0)
    ] = 0


class HowEnded(StrEnum):
    HEALED = "Healed"
    RECOVERED = "Recovered"
    ESCALATED = "Escalated"
    WITHDRAWN = "Withdrawn"
    GONE = "Gone"
    CONTRADICTED = "Contradicted"


class PastRemediation(Wire):
    """One remediation that has ended."""

    node: Annotated[str, about("The node.", max_length=253)]
    kind: Annotated[str, about("The kind of the remediation.", max_length=63)]
    began: Annotated[str, about("The time of its creation.", max_length=63)]
    ended: Annotated[str, about("The time when the checker observed its deletion.", max_length=63)]
    outcome: Annotated[
        str,
        about(
            "Healed. Escalated: the next remedy follows. Withdrawn: no check requested it any longer, or a"
            " user deleted it. Gone: the node is deleted too. Recovered: a recovery that succeeded."
            " Contradicted, regardless of the end: the node's old boot ran after the release, so its"
            " workloads may have run twice.",
            max_length=63,
        ),
    ]
    ordered_by: Annotated[
        str, about("The user who ordered it; empty if the check requested it.", max_length=316)
    ] = ""


class RecoveryPhase(StrEnum):
    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    OVERDUE = "Overdue"


class RecoveryReport(Wire):
    """An unfinished recovery. It is recorded before the remediation is deleted, so that none is lost."""

    node: Annotated[str, about("The node.", max_length=253)]
    node_uid: Annotated[str, about("The UID of the Node.", max_length=63)]
    phase: Annotated[
        RecoveryPhase,
        about(
            "Pending: not started. Running. Succeeded. Failed or Overdue: a user must act. A failed or"
            " overdue recovery stays listed until it succeeds or a user deletes its object."
        ),
    ]
    since: Annotated[str, about("The time when this phase started.", max_length=63)]
    message: Annotated[str, about("The reason why it waits.", max_length=1024)] = ""


class NodeHealthCheckStatus(Wire):
    observed_generation: meta.ObservedGeneration = 0
    targets: Annotated[int, about("Nodes selected.", ge=0)] = 0
    healthy: Annotated[int, about("Of these, healthy.", ge=0)] = 0
    remediating: Annotated[int, about("Of these, under remediation.", ge=0)] = 0
    reports: Annotated[
        tuple[TargetReport, ...],
        about(
            "The nodes that are not healthy or have a remediation, at most 50.", max_length=50, keys=("name",)
        ),
    ] = ()
    history: Annotated[
        tuple[PastRemediation, ...],
        about("The last 20 remediations that have ended, newest first.", max_length=20),
    ] = ()
    recoveries: Annotated[
        tuple[RecoveryReport, ...],
        about(
            "Recoveries that are pending, running, failed or overdue.",
            max_length=MOST_RECOVERIES,
            keys=("node",),
        ),
    ] = ()
    conditions: Annotated[
        tuple[Condition, ...],
        about(
            "Ready, Stalled, RemediationAllowed, Paused, DryRun, Overlapping, RecoveryFailed.",
            max_length=16,
            keys=("type",),
        ),
    ] = ()


class NodeHealthCheck(Wire):
    """Watches nodes and requests remediations for nodes that stay unhealthy."""

    spec: NodeHealthCheckSpec
    metadata: ObjectMeta = ObjectMeta()
    status: NodeHealthCheckStatus = NodeHealthCheckStatus()
