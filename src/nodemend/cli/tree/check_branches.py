"""The health checks that watch the node or its Machine, by what they wrote; and a person's order. Pure."""

from collections.abc import Iterator
from typing import Final

from nodemend.api.conditions import ConditionStatus, find
from nodemend.api.node_health_check import NodeHealthCheck, TargetReport
from nodemend.cli.listed_fleet import fleet_of
from nodemend.cli.node_case import NodeCase
from nodemend.cli.status.machines import show_machines
from nodemend.cli.tree.view import Branch
from nodemend.cli.words import first_sentence
from nodemend.cli.written_ages import age_of
from nodemend.controllers.checking.standings import Standing
from nodemend.controllers.fresh_reads import value_of
from nodemend.controllers.machine_health_check.gather import find_target_in
from nodemend.decide.facts import Present, Unreadable
from nodemend.kube.machine_record import MachineRecord

_WAITING: Final = (Standing.SUSPECT, Standing.UNHEALTHY, Standing.HELD)
"""Of these it matters whether anything may begin."""


def check_branches(case: NodeCase) -> Iterator[Branch]:
    yield from _order(case)
    watching = [*_by_node(case), *_by_machine(case)]
    yield from watching
    if not watching and isinstance(case.node, Present) and not isinstance(case.all_checks, Unreadable):
        yield Branch(kind="NodeHealthCheck", state="none", says=("no check watches it",))


def _order(case: NodeCase) -> Iterator[Branch]:
    if isinstance(case.order, Present):
        order = case.order.value
        says = [f"by {order.spec.by}: {order.spec.reason}"]
        if order.spec.past_guard:
            says.append("past the guard")
        age = age_of(order.metadata.creation_timestamp, case.now)
        yield Branch(
            kind="RemediationOrder", name=case.name, state="waits", for_seconds=age, says=tuple(says)
        )


def _by_node(case: NodeCase) -> Iterator[Branch]:
    """The first by name has it; the others say so."""
    for number, check in enumerate(case.checks):
        if number == 0:
            yield _check(case, check)
        else:
            says = (f"nhc/{case.checks[0].metadata.name} has it, the first by name",)
            yield Branch(kind="NodeHealthCheck", name=check.metadata.name, state="overlaps", says=says)


def _check(case: NodeCase, check: NodeHealthCheck) -> Branch:
    report = next((one for one in check.status.reports if one.name == case.name), None)
    reported = find(check.status.conditions, "RemediationAllowed") is not None
    silent = Standing.HEALTHY if reported else "unknown"
    return Branch(
        kind="NodeHealthCheck",
        name=check.metadata.name,
        state=report.verdict if report is not None else silent,
        says=tuple(said.removesuffix(".") for said in _says(check, report)),
        children=tuple(_recoveries(case, check)),
    )


def _says(check: NodeHealthCheck, report: TargetReport | None) -> Iterator[str]:
    allowed = find(check.status.conditions, "RemediationAllowed")
    why = first_sentence(report.message) if report is not None else ""
    if why:
        yield why
    if report is not None and report.remedy:
        yield f"remedy {report.remedy} of {len(check.spec.remedies)}"
    if allowed is None:
        yield "the checker has not reported yet"
    elif report is not None and report.verdict in _WAITING and allowed.status is not ConditionStatus.TRUE:
        why_not = first_sentence(allowed.message)
        if why_not != why:
            yield f"nothing new may begin: {why_not}"


def _recoveries(case: NodeCase, check: NodeHealthCheck) -> Iterator[Branch]:
    for one in check.status.recoveries:
        if one.node == case.name:
            says = (one.message.removesuffix("."),)
            yield Branch(kind="Recovery", state=one.phase, for_seconds=age_of(one.since, case.now), says=says)


def _by_machine(case: NodeCase) -> Iterator[Branch]:
    """MachineHealthChecks that select the node's Machine and are ours to serve."""
    if isinstance(case.machines, Unreadable):
        return
    fleet, shown = fleet_of(case.machines), show_machines(case.machines, case.now)
    for key in fleet.naming(case.name):
        machine, target = fleet.machine(key), find_target_in(fleet, key)
        if machine is None or target is None or not _is_behind(case, machine):
            continue
        row = next((one for one in shown.machines if one.machine == machine.key), None)
        yield Branch(
            kind="MachineHealthCheck",
            name=target.check.name,
            namespace=target.check.namespace,
            state=row.state if row is not None else "Healthy",
            for_seconds=row.for_seconds if row is not None else None,
            says=(row.why.removesuffix("."),) if row is not None and row.why else (),
        )


def _is_behind(case: NodeCase, machine: MachineRecord) -> bool:
    """A Machine of another cluster may name a node of this name, and is not meant."""
    node, behind = value_of(case.node), value_of(case.behind)
    if behind is not None and behind.machine.metadata.uid == machine.uid:
        return True
    named = node.spec.provider_id if node is not None else ""
    return named != "" and machine.provider_id == named
