"""A node whose Machine has a check of its own: both answers, the one that matters first. Pure."""

from dataclasses import replace

from nodemend.cli.explain.facts import ExplainFacts
from nodemend.cli.explain.machine_facts import MachineSight
from nodemend.cli.explain.machine_reasoning import explain_machine
from nodemend.cli.explain.reasoning import explain_node
from nodemend.cli.explain.view import ExplainView
from nodemend.decide.facts import Unreadable

_UNWATCHED = "Unwatched"


def explain_with_machines(facts: ExplainFacts, sight: MachineSight | Unreadable) -> ExplainView:
    """That of the Machine alone, where only that is watched. Machines that nobody watches only say why."""
    if isinstance(sight, Unreadable):
        view = explain_node(facts)
        unknown = f"Whether a Machine is behind it cannot be read: {sight.why}."
        return replace(view, unread=(*view.unread, unknown))
    # The checker of nodes knows of Machines, and of what is done for them.
    around = replace(facts.view, remedies=sight.view.remedies, machines=sight.behind)
    view = explain_node(replace(facts, view=around))
    machines = sorted(sight.behind.of_node(facts.node.name), key=lambda machine: machine.key)
    behind = [explain_machine(sight, machine) for machine in machines]
    watched = [one for one in behind if one.health != _UNWATCHED]
    alone = view.health == _UNWATCHED and facts.open_ is None
    if alone and len(watched) == 1:
        note = f"{facts.node.name} itself is selected by no NodeHealthCheck."
        return replace(watched[0], notes=(*watched[0].notes, note))
    unwatched = tuple(_why_not(one) for one in behind if alone and one.health == _UNWATCHED)
    return replace(
        view, notes=(*view.notes, *unwatched), machines=tuple(_beside(view, one) for one in watched)
    )


def _why_not(machine: ExplainView) -> str:
    why = next(row.because for row in machine.questions if row.key == "watched")
    return f"Nor is its Machine {machine.machine} under a MachineHealthCheck of ours: {why}."


def _beside(node: ExplainView, machine: ExplainView) -> ExplainView:
    """Without what was said of the node already."""
    return replace(
        machine,
        notes=tuple(note for note in machine.notes if note not in node.notes),
        unread=tuple(one for one in machine.unread if one not in node.unread),
    )
