"""RemediationPolicy, the cluster's mode and limits of remediation, and RemediationOrder, for one node.

By a RemediationOrder, a user orders the remediation of one node now, without waiting for a threshold.
"""

from enum import StrEnum
from typing import Annotated, ClassVar

from nodemend.api import meta, well_known
from nodemend.api.meta import (
    LIMIT_FORM,
    Condition,
    Duration,
    KubernetesObject,
    Limit,
    ObjectMeta,
    Pause,
    Rule,
    Wire,
    about,
)


class RemediationOrderSpec(Wire):
    by: Annotated[
        str,
        about(
            "The user who orders it. It must be the name of the user who creates this object.",
            min_length=1,
            max_length=316,
            example="anna@example.com",
        ),
    ]
    reason: Annotated[
        str,
        about(
            "The reason, for the record.",
            min_length=1,
            max_length=1024,
            example="its disk is failing, CHG-7",
        ),
    ]
    node_uid: Annotated[
        str,
        about(
            "The UID of the Node. The order does not apply to a later Node of the same name.",
            min_length=1,
            max_length=63,
            example="5f0c1d3e-0b6a-4c8e-9a53-6d2f1be3a7c4",
        ),
    ]
    past_guard: Annotated[
        bool,
        about("Ignore the limits of the storm guard. All other checks still apply. Needs the verb override."),
    ] = False


class RemediationOrder(Wire):
    """Named like the node. Valid for 15 minutes or until the remediation exists. Delete it to cancel it."""

    spec: Annotated[
        RemediationOrderSpec,
        about(
            "The order.",
            rules=(Rule("self == oldSelf", "cannot be changed: delete the order, then create a new one"),),
        ),
    ]
    metadata: ObjectMeta = ObjectMeta()


class Mode(StrEnum):
    DRY_RUN = "DryRun"
    ACT = "Act"


class FailureDomains(Wire):
    """Limits for each failure domain. Nodes that fail together may have one cause, which no reboot fixes."""

    key: Annotated[
        str,
        about(
            "The node label that names the domain.",
            min_length=1,
            max_length=317,
            rules=(meta.LABEL_KEY,),
            example="topology.kubernetes.io/rack",
        ),
    ] = "topology.kubernetes.io/zone"
    max_unhealthy: Annotated[
        Limit,
        about(
            "At or above this unhealthy count, no remediation starts in the domain.",
            rules=(LIMIT_FORM,),
            example="30%",
        ),
    ] = "50%"
    min_nodes: Annotated[
        int,
        about(
            "maxUnhealthy does not apply to domains with fewer nodes: one node is not a storm.", ge=1, le=1000
        ),
    ] = 4
    max_concurrent: Annotated[
        int,
        about("Maximum number of nodes of one domain that are under remediation at once.", ge=1, le=100_000),
    ] = 5


class LimitReading(StrEnum):
    AT_LIMIT = "AtLimit"
    ABOVE_LIMIT = "AboveLimit"
    ALLOW_ONE = "AllowsOne"


class MachinePolicy(Wire):
    """The meaning of MachineHealthCheck fields, and the actions that these checks may take."""

    limit_reading: Annotated[
        LimitReading,
        about(
            "The effect of maxUnhealthy of a MachineHealthCheck when the unhealthy count equals it. AtLimit:"
            " no remediation starts. AboveLimit: remediations still start, as in Cluster API and OpenShift."
            " AllowsOne: as AtLimit, but a percentage above zero always allows one unhealthy Machine, so that"
            " small groups are remediated."
        ),
    ] = LimitReading.AT_LIMIT
    delete_machines: Annotated[
        bool,
        about(
            "Delete an unhealthy Machine if its check has no template and its owner replaces deleted Machines"
            " but ignores conditions, as OpenShift's MachineSets do."
        ),
    ] = False
    healthy_delay: Annotated[
        Duration | None,
        about(
            "Time for which a node must have been Ready before the remediation of its Machine ends. If"
            " absent, it ends as soon as the node is Ready."
        ),
    ] = None


class RemediationPolicySpec(Wire):
    mode: Annotated[
        Mode, about("DryRun: only report actions. Act: remediate. Without a policy the mode is DryRun.")
    ] = Mode.DRY_RUN
    pause: Annotated[Pause | None, about("While it is active, no new action starts in the cluster.")] = None
    max_concurrent: Annotated[
        int,
        about(
            "Maximum number of nodes in the cluster that are under remediation and not yet released.",
            ge=1,
            le=100_000,
        ),
    ] = 10
    max_concurrent_percent: Annotated[
        int,
        about(
            "The same as a percentage of all nodes under a check. The lower limit applies; the percentage"
            " always allows one.",
            ge=1,
            le=100,
        ),
    ] = 10
    count_released: Annotated[
        bool,
        about(
            "Count a node for maxConcurrent until it is back, even after its workloads are released. If"
            " false, a machine that stays broken does not block the remediation of others. In both cases the"
            " node counts as unhealthy."
        ),
    ] = False
    max_unhealthy: Annotated[
        Limit,
        about(
            "At or above this count of nodes that are not known to be healthy, no remediation starts in the"
            " cluster: the cause of such a storm is not in the nodes. A percentage above zero always allows"
            " one.",
            rules=(LIMIT_FORM,),
            example="30%",
        ),
    ] = "40%"
    failure_domains: Annotated[
        FailureDomains | None,
        about("Limits for each failure domain. If absent, only the limits of the cluster apply."),
    ] = None
    settle_time: Annotated[Duration, about("Cooldown after a storm, in which no remediation starts.")] = "5m"
    min_interval: Annotated[Duration, about("Minimum time between the starts of two remediations.")] = "10s"
    machines: Annotated[MachinePolicy, about("Settings for MachineHealthChecks.")] = MachinePolicy()


class MachineRemediation(Wire):
    """One remediation of a Machine under a MachineHealthCheck."""

    machine: Annotated[str, about("The Machine, by its namespace and name.", max_length=317)]
    uid: Annotated[str, about("Its UID.", max_length=63)]
    check: Annotated[str, about("The check that requested it, in the same namespace.", max_length=253)]
    kind: Annotated[
        str,
        about(
            "The kind of the remediation; OwnerRemediation if Nodemend requested a replacement from the"
            " owner, MachineDeletion if Nodemend deleted the Machine.",
            max_length=63,
        ),
    ]
    began: Annotated[str, about("The time of the request.", max_length=63)]
    node: Annotated[str, about("Its node; empty if it had no node yet.", max_length=253)] = ""
    ended: Annotated[
        str, about("The time when the checker observed its end; empty before that.", max_length=63)
    ] = ""
    outcome: Annotated[
        str,
        about(
            "Healed. Gone: the Machine is deleted too, as after its replacement. Withdrawn: it ended while"
            " the Machine was still unhealthy. Contradicted, regardless of the end: the node's old boot ran"
            " after the release. Empty until the remediation ends.",
            max_length=63,
        ),
    ] = ""


class RemediationPolicyStatus(Wire):
    observed_generation: meta.ObservedGeneration = 0
    targets: Annotated[int, about("Nodes under a check.", ge=0)] = 0
    unhealthy: Annotated[int, about("Of these, not known to be healthy.", ge=0)] = 0
    remediating: Annotated[int, about("Of these, under remediation.", ge=0)] = 0
    conditions: Annotated[
        tuple[Condition, ...],
        about("DryRun, Paused, Storm, AdmissionPolicyUnproven.", max_length=16, keys=("type",)),
    ] = ()
    machine_history: Annotated[
        tuple[MachineRemediation, ...],
        about("The last 50 remediations of Machines that started, newest first.", max_length=50),
    ] = ()


class RemediationPolicy(KubernetesObject):
    """The cluster-wide guard. A cluster has one, with the name `cluster`."""

    RULES: ClassVar = (
        Rule(
            f"self.metadata.name == '{well_known.POLICY_NAME}'",
            f"a cluster has one RemediationPolicy: metadata.name must be {well_known.POLICY_NAME}",
        ),
    )

    spec: RemediationPolicySpec = RemediationPolicySpec()
    status: RemediationPolicyStatus = RemediationPolicyStatus()
