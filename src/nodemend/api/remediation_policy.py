"""RemediationPolicy: what the whole cluster allows Nodemend to do.

RemediationOrder: a person orders the remediation of one node now, without waiting for a threshold.
"""

from enum import StrEnum
from typing import Annotated, ClassVar, Final

import msgspec

from nodemend.api import condition_types, meta, well_known
from nodemend.api.meta import LIMIT_FORM, Condition, Duration, Limit, ObjectMeta, Pause, Rule, Wire, about


class RemediationOrderSpec(Wire):
    by: Annotated[
        str,
        about(
            "Who orders it: the user name of whoever writes this.",
            min_length=1,
            max_length=316,
            example="anna@example.com",
        ),
    ]
    reason: Annotated[
        str,
        about(
            "Why, for whoever asks later.",
            min_length=1,
            max_length=1024,
            example="its disk is failing, CHG-7",
        ),
    ]
    node_uid: Annotated[
        str,
        about(
            "The UID of the Node. Another Node that takes its name is not meant.",
            min_length=1,
            max_length=63,
            example="5f0c1d3e-0b6a-4c8e-9a53-6d2f1be3a7c4",
        ),
    ] = msgspec.field(name="nodeUID")
    past_guard: Annotated[
        bool,
        about("Let it past the limits of the storm guard, and past nothing else. Needs the verb override."),
    ] = False


class RemediationOrder(Wire):
    """Named like the node. Good for 15 minutes, or until the remediation is there. Delete it to undo it."""

    spec: Annotated[
        RemediationOrderSpec,
        about(
            "What is ordered.",
            rules=(Rule("self == oldSelf", "cannot be changed: take the order back, then give it anew"),),
        ),
    ]
    metadata: ObjectMeta = ObjectMeta()


STORM: Final = condition_types.STORM
ADMISSION_DOUBTED: Final = condition_types.ADMISSION_DOUBTED
"""The condition that tells of an admission policy which is not in force, or not known to be."""
"""The condition of a policy that outlives a leadership: its successor lets the storm settle anew."""


class Mode(StrEnum):
    DRY_RUN = "DryRun"
    ACT = "Act"


class FailureDomains(Wire):
    """Limits for each failure domain: what fails together may have one cause, which no reboot heals."""

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
        Limit, about("At or above this, nothing begins in that domain.", rules=(LIMIT_FORM,), example="30%")
    ] = "50%"
    min_nodes: Annotated[
        int,
        about("Smaller domains have no such limit: one of one is no storm.", ge=1, le=1000),
    ] = 4
    max_concurrent: Annotated[
        int, about("How many nodes of one domain may be under remediation at once.", ge=1, le=100_000)
    ] = 5


class LimitReading(StrEnum):
    AT_LIMIT = "StopsAt"
    ABOVE_LIMIT = "StopsAbove"
    ALLOW_ONE = "SparesOne"


class MachinePolicy(Wire):
    """How MachineHealthChecks are read, and what they may do."""

    limit_reading: Annotated[
        LimitReading,
        about(
            "What maxUnhealthy of a MachineHealthCheck means when it is just met. StopsAt: nothing begins any"
            " more. StopsAbove: it still does, as Cluster API and OpenShift read it. SparesOne: as StopsAt,"
            " but a share never stops for one machine alone, so that small groups are healed."
        ),
    ] = LimitReading.AT_LIMIT
    delete_machines: Annotated[
        bool,
        about(
            "Whether a Machine may be deleted when its check has no template and its owner would replace it,"
            " but does not read conditions. So it is with OpenShift's MachineSets."
        ),
    ] = False
    healthy_delay: Annotated[
        Duration | None,
        about(
            "How long a node must have been Ready before the remediation of its Machine ends; absent for no"
            " time at all."
        ),
    ] = None


class RemediationPolicySpec(Wire):
    mode: Annotated[
        Mode, about("DryRun only says what it would do. Act remediates. Without a policy it is DryRun.")
    ] = Mode.DRY_RUN
    pause: Annotated[Pause | None, about("While present, no new action begins anywhere.")] = None
    max_concurrent: Annotated[
        int,
        about(
            "How many nodes may be under remediation at once in the whole cluster, until their release.",
            ge=1,
            le=100_000,
        ),
    ] = 10
    max_concurrent_percent: Annotated[
        int,
        about(
            "The same as a share of all nodes under a check; the lesser counts, but one is always allowed.",
            ge=1,
            le=100,
        ),
    ] = 10
    count_released: Annotated[
        bool,
        about(
            "Whether a node whose workloads are released already counts for maxConcurrent until it is back."
            " If not, a machine that stays broken keeps no other from being remediated. It counts as"
            " unhealthy all the same."
        ),
    ] = False
    max_unhealthy: Annotated[
        Limit,
        about(
            "At or above this many nodes that are not healthy, no remediation begins anywhere: such a storm"
            " has one cause, and it is not the nodes.",
            rules=(LIMIT_FORM,),
            example="30%",
        ),
    ] = "40%"
    failure_domains: Annotated[
        FailureDomains | None, about("Limits for each failure domain; absent for none.")
    ] = None
    settle_time: Annotated[
        Duration, about("How long nothing begins after a storm has ended. Nodes are then judged anew.")
    ] = "5m"
    min_interval: Annotated[Duration, about("The least time between the beginnings of two remediations.")] = (
        "10s"
    )
    machines: Annotated[MachinePolicy, about("What holds for MachineHealthChecks.")] = MachinePolicy()


class MachineRemediation(Wire):
    """One remediation of a Machine under a MachineHealthCheck."""

    machine: Annotated[str, about("The Machine, by its namespace and name.", max_length=317)]
    uid: Annotated[str, about("Its UID.", max_length=63)]
    check: Annotated[str, about("The check that asked, in the same namespace.", max_length=253)]
    kind: Annotated[
        str,
        about(
            "The kind of the remediation; OwnerRemediation where the owner was asked to replace the Machine,"
            " MachineDeletion where we deleted it.",
            max_length=63,
        ),
    ]
    began: Annotated[str, about("When it was asked for.", max_length=63)]
    node: Annotated[str, about("Its node; empty where it had none yet.", max_length=253)] = ""
    ended: Annotated[str, about("When the checker saw that it was over; empty before.", max_length=63)] = ""
    outcome: Annotated[
        str,
        about(
            "Healed; Gone, with its Machine, as when that is replaced; or Withdrawn, while it was still"
            " unhealthy; Contradicted, however it ended: the node's old boot ran after the release; empty"
            " before it has ended.",
            max_length=63,
        ),
    ] = ""


class RemediationPolicyStatus(Wire):
    observed_generation: Annotated[int, about("The generation last acted upon.", ge=0)] = 0
    targets: Annotated[int, about("Nodes under a check.", ge=0)] = 0
    unhealthy: Annotated[int, about("Of these, not provably healthy.", ge=0)] = 0
    remediating: Annotated[int, about("Of these, under remediation.", ge=0)] = 0
    conditions: Annotated[
        tuple[Condition, ...],
        about("DryRun, Paused, Storm, AdmissionDoubted.", max_length=16, keys=("type",)),
    ] = ()
    machine_history: Annotated[
        tuple[MachineRemediation, ...],
        about("The last 50 remediations of Machines that began, the newest first.", max_length=50),
    ] = ()


class RemediationPolicy(Wire):
    """The cluster-wide guard. There is one, and its name is `cluster`."""

    RULES: ClassVar = (
        Rule(
            f"self.metadata.name == '{well_known.POLICY_NAME}'",
            f"a cluster has one RemediationPolicy: metadata.name must be {well_known.POLICY_NAME}",
        ),
    )

    metadata: ObjectMeta = ObjectMeta()
    spec: RemediationPolicySpec = RemediationPolicySpec()
    status: RemediationPolicyStatus = RemediationPolicyStatus()
