"""The page about the storm guard, with its defaults worked out for clusters of several sizes."""

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
        "When much is unhealthy at once the cause is seldom the nodes. Before a remediation begins, these are"
        " asked, in this order; the first that says no is shown by `kubectl mend explain NODE`."
    )
    yield ""
    yield from (f"1. {question}" for question in _CHECKS)
    yield ""
    yield (
        "The checker asks before it creates a remediation. The remediator asks again, in its own view, before"
        " it marks a node or switches a host off, whoever created the remediation; and it ends no node that"
        " is Ready, unless a check of ours finds it unhealthy or a person drills it ([decision"
        " 68](../decisions/0068-limits-at-the-switch.md))."
    )
    yield ""
    yield (
        "`kubectl mend run NODE` asks them all, and only waits for no threshold. `kubectl mend override NODE`"
        " passes those that count, or measure the time between two: too many unhealthy, settling, too"
        " many at once, the pace; see [run and override](../how-to/run_and_override.md)."
    )
    yield from ("", "A limit closes at, not above: with `maxUnhealthy: 2` two unhealthy nodes close it.", "")
    yield (
        "Suspects, nodes that cannot be judged and nodes under remediation count as unhealthy, and"
        f" for {COUNTED_FOR / 60:.0f} minutes so does one whose Node was deleted while it was unhealthy or"
        " under remediation. Recoveries are not counted, and no limit holds them. A share never closes for"
        " one sick node alone, however few there are."
    )
    yield from ("", "## The defaults, worked out", "")
    yield "| nodes | cluster closes at | one check over all closes at | under remediation at once |"
    yield "|---|---|---|---|"
    yield from map(_row, _SIZES)
    yield ""
    domains = FailureDomains()
    yield (
        "Failure domains have no limits until `failureDomains` is set; then a domain of"
        f" {domains.min_nodes} nodes or more closes at {domains.max_unhealthy}, and at most"
        f" {domains.max_concurrent} of its nodes are under remediation at once."
    )


_CHECKS = (
    "Is our view of the cluster fresh?",
    "Does the policy say Act, and is nothing paused?",
    "Does the check say so too?",
    "Is the node excluded (`nodemend.io/exclude`) or in maintenance (`spec.maintenance`)?",
    "Has the API server answered for a while without a failure?",
    "Are too many unhealthy: in the cluster, in the failure domain, in the check?",
    "Has the last storm settled (`settleTime`)? Nodes are judged anew then; nothing is replayed.",
    (
        "A control-plane node, by its role label or by the static etcd Pod that it runs: is another one under"
        " remediation, and would a Ready majority be left without it?"
    ),
    "Are too many under remediation already, before their release: in the cluster, in the failure domain?",
    "Did another remediation begin only just now (`minInterval`)?",
)


def _row(nodes: int) -> str:
    facts = policy_facts(RemediationPolicy(), datetime(2026, 1, 1, tzinfo=UTC))
    limit = parse_comparison(
        next(f.default for f in fields(NodeHealthCheckSpec) if f.name == "max_unhealthy")
    )
    cluster = closes_at(facts, nodes)
    check = max_allowed_unhealthy(limit, nodes, LimitSemantics.ALLOW_ONE) + 1
    return f"| {nodes:,} | {cluster:,} | {check:,} | {most_at_once(facts, nodes):,} |"
