"""Every metric that we export: its name, its labels, and what it says.

Base units, `_total` on counters. No node name on a counter or a histogram; only on gauges of what is special
right now.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class MetricKind(StrEnum):
    GAUGE = "gauge"
    COUNTER = "counter"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class MetricName:
    name: str
    kind: MetricKind
    help: str
    labels: tuple[str, ...] = ()


BUILD_INFO: Final = MetricName(
    "nodemend_build_info", MetricKind.GAUGE, "Always 1; the labels say what runs.", ("program", "version")
)
LEADER: Final = MetricName("nodemend_leader", MetricKind.GAUGE, "1 while this replica leads, else 0.")
EPOCH: Final = MetricName(
    "nodemend_epoch", MetricKind.GAUGE, "The epoch of this replica's last leadership; 0 before the first."
)
CAN_SIGN: Final = MetricName(
    "nodemend_can_sign",
    MetricKind.GAUGE,
    "1 while this replica can sign agents' certificates: it leads, its authority is published, and its"
    " admission policies are proven. Else 0.",
)
CACHE_STALENESS: Final = MetricName(
    "nodemend_cache_staleness_seconds",
    MetricKind.GAUGE,
    "Seconds since the view of a resource was last known to be true; +Inf before its first complete list.",
    ("resource",),
)
UNREADABLE: Final = MetricName(
    "nodemend_unreadable_objects",
    MetricKind.GAUGE,
    "Objects that say what this version does not know, and that are therefore left alone.",
    ("resource",),
)
NODES: Final = MetricName(
    "nodemend_nodes", MetricKind.GAUGE, "Targets of a health check by where they stand.", ("check", "state")
)
CHECK_STALLED: Final = MetricName(
    "nodemend_check_stalled",
    MetricKind.GAUGE,
    "1 for each check of nodes that could not act whatever failed, with the reason of its condition Stalled.",
    ("check", "reason"),
)
CHECK_OVERLAPPING: Final = MetricName(
    "nodemend_check_overlapping",
    MetricKind.GAUGE,
    "1 while a check of nodes selects nodes that another check has, else 0.",
    ("check",),
)
UNSERVED: Final = MetricName(
    "nodemend_remediations_unserved",
    MetricKind.GAUGE,
    "Remediations that a health check asked for, and that nobody has taken up.",
    ("check",),
)
AGENTS: Final = MetricName(
    "nodemend_agents",
    MetricKind.GAUGE,
    "Agents for self-fencing, as the remediator sees them: reporting, or silent on a node that is Ready.",
    ("state",),
)
RECOVERIES: Final = MetricName(
    "nodemend_recoveries",
    MetricKind.GAUGE,
    "Recoveries that a health check owes or has begun, by where they stand.",
    ("check", "phase"),
)
REMEDIATIONS_IN_FLIGHT: Final = MetricName(
    "nodemend_remediations_in_flight",
    MetricKind.GAUGE,
    "Remediations that are not over, by where they stand.",
    ("kind", "phase"),
)
REMEDIATION_HELD_SINCE: Final = MetricName(
    "nodemend_remediation_held_since_timestamp_seconds",
    MetricKind.GAUGE,
    "When this leader first saw the remediation held for this reason, and whether the node's workloads are"
    " released (yes, no). There only while it is held.",
    ("kind", "namespace", "name", "reason", "released"),
)
REMEDIATION_FAILED: Final = MetricName(
    "nodemend_remediation_failed",
    MetricKind.GAUGE,
    "1 for each remediation that has failed for good and is still there: a person is needed.",
    ("kind", "namespace", "name"),
)
EVIDENCE_CONTRADICTED: Final = MetricName(
    "nodemend_evidence_contradicted_timestamp_seconds",
    MetricKind.GAUGE,
    "When this leader last saw that the old boot of a node ran after its workloads were released.",
    ("kind", "namespace", "name"),
)
PHASE_DURATION: Final = MetricName(
    "nodemend_phase_duration_seconds",
    MetricKind.HISTOGRAM,
    "How long remediations were in a phase, if this leader saw it whole; done, or failed with the attempt.",
    ("kind", "phase", "result"),
)
POWER_SWITCHES: Final = MetricName(
    "nodemend_power_switches_total",
    MetricKind.COUNTER,
    "Hosts asked to go off (our hold was placed) or on (it was taken off again).",
    ("to",),
)
POWER_CYCLE_FAILURES: Final = MetricName(
    "nodemend_power_cycle_failures_total",
    MetricKind.COUNTER,
    "Attempts at a power cycle that have failed, by what at; whether it was given up for good.",
    ("reason", "for_good"),
)
HOST_HELD_SINCE: Final = MetricName(
    "nodemend_host_held_since_timestamp_seconds",
    MetricKind.GAUGE,
    "When this leader first saw our hold on the host, and for which remediation; none where that is gone.",
    ("namespace", "host", "remediation"),
)
HOST_UNHEALTHY: Final = MetricName(
    "nodemend_host_unhealthy",
    MetricKind.GAUGE,
    "1 for each host that we marked unhealthy, until somebody takes the mark off.",
    ("namespace", "host"),
)
HOLDS_LEFT_BEHIND: Final = MetricName(
    "nodemend_holds_left_behind_total",
    MetricKind.COUNTER,
    "Sightings of a hold of ours whose remediation is gone: it was taken off (given_back), or kept.",
    ("outcome",),
)
GUARD_CLOSED: Final = MetricName(
    "nodemend_guard_closed",
    MetricKind.GAUGE,
    "1 while nothing may begin under a health check, with the reason; 0 and no reason while it may.",
    ("check", "reason"),
)
GUARD_USED: Final = MetricName(
    "nodemend_guard_used_nodes",
    MetricKind.GAUGE,
    "Targets that are not healthy where a limit counts them: in a check, a cluster or a failure domain.",
    ("controller", "scope", "name"),
)
GUARD_LIMIT: Final = MetricName(
    "nodemend_guard_limit_nodes",
    MetricKind.GAUGE,
    "So many that are not healthy close the guard there.",
    ("controller", "scope", "name"),
)
REMEDIATIONS_STARTED: Final = MetricName(
    "nodemend_remediations_started_total",
    MetricKind.COUNTER,
    "Remediations begun, by kind; OwnerRemediation or MachineDeletion for machines without a template.",
    ("check", "kind"),
)
TIME_TO_START: Final = MetricName(
    "nodemend_time_to_start_seconds",
    MetricKind.HISTOGRAM,
    "From when it was first seen that something is wrong to the beginning of the first remedy.",
    ("check",),
)
DECISIONS: Final = MetricName(
    "nodemend_decisions_total",
    MetricKind.COUNTER,
    "Verdicts, steps taken and holds, by the controller that came to them.",
    ("controller", "verdict"),
)
API_REQUESTS: Final = MetricName(
    "nodemend_api_requests_total",
    MetricKind.COUNTER,
    "Requests to the API server by status code; unsent and unanswered are those that got none.",
    ("verb", "resource", "outcome"),
)
RECONCILE_DURATION: Final = MetricName(
    "nodemend_reconcile_duration_seconds",
    MetricKind.HISTOGRAM,
    "How long one reconcile took.",
    ("controller",),
)
RECONCILE_OUTCOMES: Final = MetricName(
    "nodemend_reconciles_total",
    MetricKind.COUNTER,
    "Reconciles by how they ended: Done, RequeueAfter, Retry, or Crashed.",
    ("controller", "outcome"),
)
QUEUE_DEPTH: Final = MetricName(
    "nodemend_queue_depth", MetricKind.GAUGE, "Keys that wait for their reconcile.", ("controller",)
)
PAUSED: Final = MetricName(
    "nodemend_paused", MetricKind.GAUGE, "1 while the RemediationPolicy has a pause, else 0."
)
PAUSED_WITHOUT_END: Final = MetricName(
    "nodemend_paused_without_end",
    MetricKind.GAUGE,
    "1 for each pause that only a person ends: of a check, or, with no name, of the whole cluster.",
    ("check",),
)
MODE: Final = MetricName(
    "nodemend_mode",
    MetricKind.GAUGE,
    "1 for the mode that the RemediationPolicy has, 0 for the other.",
    ("mode",),
)
EVENTS: Final = MetricName(
    "nodemend_events_total",
    MetricKind.COUNTER,
    "Kubernetes events by what became of them: written, or the reason why they were dropped.",
    ("outcome",),
)
WORKLOAD_CLUSTERS: Final = MetricName(
    "nodemend_workload_clusters",
    MetricKind.GAUGE,
    "Workload clusters whose Nodes are looked at, by how they are seen: seen, not_vouched_for, out_of_reach.",
    ("state",),
)
POLICY_IN_FORCE: Final = MetricName(
    "nodemend_admission_policy_in_force",
    MetricKind.GAUGE,
    "1 for an admission policy of ours that is proven to be in force, 0 while it is not, or nobody knows.",
    ("policy",),
)

METRIC_NAMES: Final = (
    BUILD_INFO,
    LEADER,
    EPOCH,
    CAN_SIGN,
    CACHE_STALENESS,
    UNREADABLE,
    NODES,
    CHECK_STALLED,
    CHECK_OVERLAPPING,
    UNSERVED,
    AGENTS,
    RECOVERIES,
    REMEDIATIONS_IN_FLIGHT,
    REMEDIATION_HELD_SINCE,
    REMEDIATION_FAILED,
    EVIDENCE_CONTRADICTED,
    PHASE_DURATION,
    POWER_SWITCHES,
    POWER_CYCLE_FAILURES,
    HOST_HELD_SINCE,
    HOST_UNHEALTHY,
    HOLDS_LEFT_BEHIND,
    GUARD_CLOSED,
    GUARD_USED,
    GUARD_LIMIT,
    REMEDIATIONS_STARTED,
    TIME_TO_START,
    DECISIONS,
    API_REQUESTS,
    RECONCILE_DURATION,
    RECONCILE_OUTCOMES,
    QUEUE_DEPTH,
    PAUSED,
    PAUSED_WITHOUT_END,
    MODE,
    EVENTS,
    WORKLOAD_CLUSTERS,
    POLICY_IN_FORCE,
)
