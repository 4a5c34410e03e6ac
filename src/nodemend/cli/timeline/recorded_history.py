"""Remediations that are over and gone, of which only the history of whoever asked for them is left. Pure."""

from collections.abc import Iterator

from nodemend.api.node_health_check import NodeHealthCheck, PastRemediation
from nodemend.api.remediation_policy import MachineRemediation, RemediationPolicy
from nodemend.api.timestamps import written_moment
from nodemend.cli.timeline import drafts as states
from nodemend.cli.timeline.drafts import OVER, Draft
from nodemend.cli.timeline.view import Lane


def of_node(check: NodeHealthCheck, node: str) -> Iterator[Draft]:
    for past in check.status.history:
        if past.node == node:
            by = f", ordered by {past.ordered_by}" if past.ordered_by else ""
            asked = f"nhc/{check.metadata.name} asked for {_a(past.kind)}{by}."
            yield from _both_ends(past, asked, "history of the check")


def of_machine(policy: RemediationPolicy, node: str) -> Iterator[Draft]:
    """Of whatever Machine had this node."""
    for past in policy.status.machine_history:
        if past.node == node:
            asked = f"mhc/{past.check} asked for {_a(past.kind)} of Machine {past.machine}."
            yield from _both_ends(past, asked, "history of the policy")


def _both_ends(past: PastRemediation | MachineRemediation, asked: str, source: str) -> Iterator[Draft]:
    began, ended = written_moment(past.began), written_moment(past.ended)
    if began is not None:
        yield Draft(
            at=began,
            lane=Lane.CHECK,
            what=asked,
            source=source,
            key="started",
            begins=((Lane.REMEDIATION, states.REMEDIATION),),
        )
    if ended is not None:
        yield Draft(
            at=ended,
            lane=Lane.CHECK,
            what=f"The {past.kind} is over: {past.outcome}.",
            source=source,
            key="ended",
            begins=((Lane.REMEDIATION, OVER), (Lane.CHECK, OVER)),
        )


def _a(kind: str) -> str:
    return f"{'an' if kind[:1] in 'AEIOU' else 'a'} {kind}"
