"""The page about the storm guard, with its defaults computed for clusters of several sizes."""

from collections.abc import Iterator
from datetime import UTC, datetime

from msgspec.structs import fields

from nodemend.api.node_health_check import NodeHealthCheckSpec
from nodemend.api.remediation_policy import FailureDomains, RemediationPolicy
from nodemend.guard.state import COUNTED_FOR
from nodemend.records.live_reads import policy_facts
from nodemend.safety.guard import closes_at, most_at_once
from nodemend.safety.limits import LimitSemantics, max_allowed_unhealthy, parse_comparison

_SIZES = (2, 3, 5, 10, 50, 1_000, 100_000)


def guard_page() -> Iterator[str]:
    yield from ("# The storm guard", "")
    yield (
        "If many nodes are unhealthy at once, the cause is usually not in the nodes. Before a remediation"
        " starts, the guard checks these conditions in this order. `kubectl mend explain NODE` shows the"
        " first one that is not met."
    )
    yield ""
    yield from (f"1. {condition}" for condition in _CHECKS)
    yield ""
    yield (
        "The checker evaluates the guard before it creates a remediation. The remediator evaluates it again,"
        " on its own view of the cluster, before it marks a node or powers a host off, for any creator of the"
        " remediation. It fences no node that is Ready and whose kubelet renews its Lease, unless one of"
        " Nodemend's checks finds the node unhealthy or the remediation is a drill ([decision"
        " 68](../decisions/0068-limits-before-fencing.md))."
    )
    yield ""
    yield (
        "`kubectl mend run NODE` starts a remediation before the check's threshold is met; the whole guard"
        " still applies. `kubectl mend override NODE` passes the limits on counts and on the time between"
        " starts: too many unhealthy, the cooldown, too many at once, the start interval. See"
        " [run and override](../how-to/run_and_override.md)."
    )
    yield ""
    yield "A limit closes when it is reached: with `maxUnhealthy: 2`, two unhealthy nodes close the guard."
    yield ""
    yield (
        "Suspect nodes, unjudged nodes and nodes under remediation count as unhealthy. A node whose Node"
        f" object was deleted while it was unhealthy or under remediation counts for {COUNTED_FOR / 60:.0f}"
        " minutes. Recovery steps are not counted, and no limit holds them. A percentage above zero never"
        " closes the guard for a single unhealthy node, even in a small cluster."
    )
    yield from ("", "## The defaults for some cluster sizes", "")
    yield "| nodes | cluster closes at | a check of all nodes closes at | under remediation at once |"
    yield "|---|---|---|---|"
    yield from map(_row, _SIZES)
    yield ""
    domains = FailureDomains()
    yield (
        "Failure domains have no limits unless `failureDomains` is set. Then a domain of"
        f" {domains.min_nodes} nodes or more closes at {domains.max_unhealthy}, and at most"
        f" {domains.max_concurrent} of its nodes are under remediation at once."
    )


_CHECKS = (
    "Nodemend's view of the cluster is fresh.",
    "The RemediationPolicy has mode Act and no pause.",
    "The check has no `dryRun`, no pause, and no settings that Nodemend cannot interpret.",
    "The node is neither excluded (`nodemend.io/exclude`) nor in maintenance (`spec.maintenance`).",
    "The API server has answered without an error for long enough.",
    "The number of unhealthy nodes is within the limits of the cluster, the failure domain and the check.",
    (
        "The cooldown after the last storm (`settleTime`) is over. Nodes are then evaluated by their state at"
        " that time; nothing is replayed."
    ),
    (
        "A control-plane node (by its role label, or by the static etcd Pod that it runs): no other member is"
        " under remediation, and more than half of all members are Ready without it."
    ),
    (
        "The number of nodes under remediation is below the limit, in the cluster and in the failure domain."
        " Nodes whose workloads are released count only with `countReleased`."
    ),
    "The interval since the last start (`minInterval`) is over.",
)


def _row(nodes: int) -> str:
    facts = policy_facts(RemediationPolicy(), datetime(2026, 1, 1, tzinfo=UTC))
    limit = parse_comparison(
        next(f.default for f in fields(NodeHealthCheckSpec) if f.name == "max_unhealthy")
    )
    cluster = closes_at(facts, nodes)
    check = max_allowed_unhealthy(limit, nodes, LimitSemantics.ALLOW_ONE) + 1
    return f"| {nodes:,} | {cluster:,} | {check:,} | {most_at_once(facts, nodes):,} |"
