"""NodeHealthCheck: which nodes are watched, what counts as unhealthy, what is done about it."""

from enum import StrEnum
from typing import Annotated, ClassVar, Final

import msgspec

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
"""While so many are written, further remediations wait with their end: none of them is forgotten."""


class Threshold(Wire):
    """One way for a node to be unhealthy: a condition has a status for a period."""

    RULES: ClassVar = (
        Rule(
            "self.type != 'Ready' || self.status != 'True'",
            "must be Unknown or False for the condition Ready: a node that is Ready is not unhealthy",
            field=".status",
        ),
        Rule(
            "self.type != 'Ready' || self.?acceptShortPeriod.orValue(false)"
            f" || !self.period.matches('{DURATION_PATTERN}') || duration(self.period) >= duration('40s')",
            "must be at least 40s for the condition Ready, or acceptShortPeriod must be true:"
            " less is within the noise of heartbeats",
            field=".period",
        ),
    )

    type: Annotated[
        str,
        about(
            "The node condition, such as Ready.",
            min_length=1,
            max_length=316,
            rules=(meta.CONDITION_TYPE,),
        ),
    ]
    status: Annotated[
        ConditionStatus,
        about('The status that counts as unhealthy. A node that is cut off is "Unknown", not "False".'),
    ]
    period: Annotated[Duration, about("How long it must last, such as 5m.")]
    accept_short_period: Annotated[
        bool, about("Allow less than 40s for Ready, which is within the noise of heartbeats.")
    ] = False


class TemplateReference(Wire):
    """The template from which remediations are made. They are created in its namespace."""

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
    """One step of the healing."""

    RULES: ClassVar = (
        Rule(
            f"!has(self.timeout) || !self.timeout.matches('{DURATION_PATTERN}')"
            " || duration(self.timeout) >= duration('1m')",
            "must be at least 1m: a remedy needs time to work",
            field=".timeout",
        ),
    )

    template: Annotated[TemplateReference, about("What to create.")]
    timeout: (
        Annotated[
            Duration,
            about("How long it is tried before the next; absent for as long as it takes, unless it fails."),
        ]
        | None
    ) = None


class Recovery(Wire):
    """What is done once, when a node that was remediated is well again."""

    RULES: ClassVar = (
        Rule(
            f"!self.timeout.matches('{DURATION_PATTERN}') || duration(self.timeout) >= duration('1m')",
            "must be at least 1m: a recovery needs time to work",
            field=".timeout",
        ),
        Rule(
            f"self.template.kind != '{MANUAL_REMEDIATION_TEMPLATE.kind}'"
            f" || !self.template.apiVersion.startsWith('{MANUAL_REMEDIATION_TEMPLATE.group}/')",
            f"must not be {MANUAL_REMEDIATION_TEMPLATE.kind}: that has a node switched off,"
            " and a recovery brings back what was",
            field=".template",
        ),
    )

    template: Annotated[
        TemplateReference,
        about(
            "What to create. It may be of the same kind as one of the remedies.",
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
        about("After this time a recovery that has not ended is overdue, which is told and stops nothing."),
    ] = "10m"


class MaintenanceCondition(Wire):
    """A node condition by which somebody says that they work on the node."""

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
    status: Annotated[ConditionStatus, about("The status that says so.")] = ConditionStatus.TRUE


class NodeHealthCheckSpec(Wire):
    selector: Annotated[LabelSelector, about("The nodes this check watches. An empty selector is all nodes.")]
    thresholds: Annotated[
        tuple[Threshold, ...],
        about(
            "Any one of these makes a node unhealthy.", min_length=1, max_length=16, keys=("type", "status")
        ),
    ]
    remedies: Annotated[
        tuple[Remedy, ...],
        about(
            "What is done about an unhealthy node: the first, and if that does not heal it the next; never"
            " two at a time.",
            min_length=1,
            max_length=8,
            rules=(
                Rule(
                    "self.all(one, self.exists_one(other, other.template.kind == one.template.kind"
                    " && other.template.apiVersion == one.template.apiVersion))",
                    "each remedy must be of a kind of its own: remediations are told apart by kind and node",
                ),
            ),
        ),
    ]
    recovery: Annotated[
        Recovery | None,
        about(
            "What is done once, after the last remedy is gone, when the node has been healthy for"
            " healthyDelay: what was switched off for the isolation is switched on again. Absent for nothing."
        ),
    ] = None
    max_unhealthy: Annotated[
        Limit,
        about(
            "At or above this many unhealthy nodes of this check, none of them is remediated.",
            rules=(LIMIT_FORM,),
            example="30%",
        ),
    ] = "50%"
    dry_run: Annotated[bool, about("Only say what would be done, for the nodes of this check.")] = False
    pause: Annotated[Pause | None, about("While in force, no new action begins for its nodes.")] = None
    maintenance: Annotated[
        tuple[MaintenanceCondition, ...],
        about("Nodes that show one of these are left alone.", max_length=16, keys=("type",)),
    ] = ()
    healthy_delay: Annotated[
        Duration, about("How long a node must stay healthy before its remediation is withdrawn.")
    ] = "30s"

    @property
    def templates(self) -> tuple[TemplateReference, ...]:
        """All that it names: of the remedies in their order, and of the recovery."""
        of_recovery = (self.recovery.template,) if self.recovery is not None else ()
        return (*(remedy.template for remedy in self.remedies), *of_recovery)


class TargetReport(Wire):
    """One node that is not simply healthy."""

    name: Annotated[str, about("The node.", max_length=253)]
    verdict: Annotated[
        str, about("Suspect, Unhealthy, Held, Remediating, Unjudged or Vanished.", max_length=63)
    ]
    message: Annotated[str, about("Why, and what happens next.", max_length=1024)] = ""
    remedy: Annotated[
        int, about("Which of the remedies it has come to, counted from 1; 0 before the first.", ge=0)
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
    began: Annotated[str, about("When it was created.", max_length=63)]
    ended: Annotated[str, about("When the checker saw that it was gone.", max_length=63)]
    outcome: Annotated[
        str,
        about(
            "Healed; Escalated, for the next remedy; Withdrawn, as no check asked for it any more or somebody"
            " deleted it; or Gone, with its node. A recovery that succeeded has Recovered."
            " Contradicted, however it ended: the node's old boot ran after the release, so its workloads"
            " may have run twice.",
            max_length=63,
        ),
    ]
    ordered_by: Annotated[
        str, about("Who ordered it; empty where the check asked by itself.", max_length=316)
    ] = ""


class RecoveryPhase(StrEnum):
    PENDING = "Owed"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    OVERDUE = "Overdue"


class RecoveryReport(Wire):
    """A recovery that is not over. It is written here before the remediation goes, so that none is lost."""

    node: Annotated[str, about("The node.", max_length=253)]
    node_uid: Annotated[str, about("The very Node object.", max_length=63)] = msgspec.field(name="nodeUID")
    phase: Annotated[
        RecoveryPhase,
        about(
            "Owed before it begins; Running; Succeeded; Failed or Overdue, which wants a person."
            " A failed or overdue one stays until it succeeds or somebody deletes its object."
        ),
    ]
    since: Annotated[str, about("Since when it has been in this phase.", max_length=63)]
    message: Annotated[str, about("What it waits for.", max_length=1024)] = ""


class NodeHealthCheckStatus(Wire):
    observed_generation: Annotated[int, about("The generation last acted upon.", ge=0)] = 0
    targets: Annotated[int, about("Nodes selected.", ge=0)] = 0
    healthy: Annotated[int, about("Of these, healthy.", ge=0)] = 0
    remediating: Annotated[int, about("Of these, under remediation.", ge=0)] = 0
    reports: Annotated[
        tuple[TargetReport, ...],
        about("The nodes that are not healthy, at most 50 of them.", max_length=50, keys=("name",)),
    ] = ()
    history: Annotated[
        tuple[PastRemediation, ...],
        about("The last 20 remediations that have ended, the newest first.", max_length=20),
    ] = ()
    recoveries: Annotated[
        tuple[RecoveryReport, ...],
        about(
            "Recoveries that are owed, under way or not well.",
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
    """Watches nodes and asks for the remediation of those that stay unhealthy."""

    spec: NodeHealthCheckSpec
    metadata: ObjectMeta = ObjectMeta()
    status: NodeHealthCheckStatus = NodeHealthCheckStatus()
