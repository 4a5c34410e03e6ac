"""What a simulation starts from, for whoever reads its outcome."""

from datetime import datetime

from nodemend.api.remediation_policy import RemediationPolicy
from nodemend.cli.simulate.snapshot import Snapshot
from nodemend.cli.simulate.view import GivenView, RulesView
from nodemend.controllers.fresh_reads import policy_facts
from nodemend.controllers.node_health_check.gather import under_remediation
from nodemend.decide.storm_guard import closes_at, most_at_once


def given_view(snapshot: Snapshot, watched: int) -> GivenView:
    return GivenView(
        source=snapshot.source,
        taken_at=snapshot.taken_at,
        nodes=len(snapshot.nodes),
        watched=watched,
        checks=tuple(sorted(check.metadata.name for check in snapshot.checks)),
        under_remediation=len(under_remediation(snapshot.remediations)),
        rules=_rules(snapshot.policy, watched, snapshot.taken_at),
    )


def _rules(policy: RemediationPolicy | None, watched: int, now: datetime) -> RulesView:
    if policy is None:
        return RulesView(mode="")
    facts = policy_facts(policy, now)
    domains, pause = facts.domains, facts.pause
    return RulesView(
        mode=facts.mode,
        paused=f"by {pause.by or 'somebody'}: {pause.reason}" if pause is not None else "",
        max_unhealthy=str(facts.max_unhealthy),
        closes_at=closes_at(facts, watched),
        domain_key=domains.key if domains is not None else "",
        domain_max_unhealthy=str(domains.max_unhealthy) if domains is not None else "",
        domain_max_concurrent=domains.max_concurrent if domains is not None else 0,
        most_at_once=most_at_once(facts, watched),
        min_interval_seconds=facts.min_interval,
        settle_seconds=facts.settle_time,
    )
