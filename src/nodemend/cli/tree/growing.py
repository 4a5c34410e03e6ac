"""The whole tree, and what to do next. Pure."""

from nodemend.api import manual_remediation, power_cycle
from nodemend.cli.agents import read_agent
from nodemend.cli.next_steps import split_step
from nodemend.cli.node_case import PODS, VOLUMES, NodeCase, is_ready, open_remediation
from nodemend.cli.remediations import may_need_a_person
from nodemend.cli.tree.agent_branch import agent_branches
from nodemend.cli.tree.check_branches import check_branches
from nodemend.cli.tree.host_branch import machine_branches
from nodemend.cli.tree.node_branch import node_branch
from nodemend.cli.tree.remediation_branch import remediation_branches
from nodemend.cli.tree.view import TreeView
from nodemend.decide.facts import Present


def tree_view(case: NodeCase) -> TreeView:
    children = (
        *agent_branches(case),
        *machine_branches(case),
        *check_branches(case),
        *remediation_branches(case),
    )
    step = split_step(_next_step(case))
    return TreeView(
        node=case.name,
        root=node_branch(case, children),
        unread=case.spell_unread(*(() if _is_waited_for(case) else (PODS, VOLUMES))),
        incomplete=bool(case.spell_unread(PODS, *(() if _is_waited_for(case) else (VOLUMES,)))),
        advice=step.advice,
        next_step=step.command,
    )


def _is_waited_for(case: NodeCase) -> bool:
    """Whether it matters what is on the node."""
    return open_remediation(case) is not None or not is_ready(case)


def _has_marker(case: NodeCase) -> bool:
    return isinstance(case.agent, Present) and read_agent(case.agent.value, case.now).marked


def _next_step(case: NodeCase) -> str:
    under_way = open_remediation(case)
    if under_way is not None and may_need_a_person(under_way):
        return f"kubectl mend explain {case.name}"
    if under_way is None and _has_marker(case):
        return "kubectl mend check; nobody is left who wants its marker"
    match under_way.status.phase if under_way is not None else None:
        case manual_remediation.Phase.AWAITING_WORD:
            return f'once it is down: kubectl mend confirm {case.name} --reason "..."'
        case power_cycle.Phase.FAILED:
            return f"repair the machine; to have it tried again after that: kubectl mend stop {case.name}"
        case None if is_ready(case):
            return "nothing"
        case None:
            return f"kubectl mend explain {case.name}"
        case _:
            return f"kubectl mend timeline {case.name}"
