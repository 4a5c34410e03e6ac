"""Reviewed answers of `kubectl mend explain` about Machines: one world each, with the Machine m1.

`python -m tests.unit.cli.explain.machine_goldens` rewrites the answers; the reviewer reads the difference.
"""

from pathlib import Path
from typing import Any, Final

from nodemend.cli.explain.facts import ExplainFacts
from nodemend.cli.explain.machine import explain_machine, explain_with_machines
from nodemend.cli.explain.machine_facts import MachineName, find_machine
from nodemend.cli.explain.view import ExplainView, render
from nodemend.health.node.targets import NodeView
from nodemend.kube.store import Store
from tests.unit.cli.explain.machine_objects import (
    Machines,
    a_cluster,
    a_fix,
    a_machine,
    a_machine_check,
    a_mark,
    node_checks,
    see,
)
from tests.unit.cli.simulate.clusters import Object, check, node, policy, remediation
from tests.unit.cli.simulate.simulated import NOON

FOLDER: Final = Path(__file__).with_name("golden") / "machines"
MACHINE: Final = "m1"
_SICK: Final = {"ready": "Unknown", "since": "2026-01-31T11:00:00Z"}
_UNHEALTHY: Final = a_mark("HealthCheckSucceeded", "False", "UnhealthyNode")


def _node(name: str, **others: Any) -> Object:
    made = node(name, **others)
    made["spec"] = {"providerID": f"metal://{name}"}
    return made


def _others(number: int = 4, sick: int = 0) -> list[Object]:
    """Machines m2 and so on, each with its node; the first of them are unhealthy."""
    names = [f"m{place}" for place in range(2, number + 2)]
    nodes = [_node(name, **(_SICK if place < sick else {})) for place, name in enumerate(names)]
    return [*map(a_machine, names), *nodes]


def _pool(*these: Object, **spec: Any) -> Machines:
    return Machines([*these, *_others(), a_cluster(), policy(**spec)])


def _unbound() -> Object:
    """A check of another cluster, as the checker has reported on it."""
    said = "Cannot read the Nodes of its cluster: its API server does not answer."
    said += " Nodemend continues when the read succeeds."
    closed = {"type": "RemediationAllowed", "status": "False", "reason": "CannotRead", "message": said}
    status = {"conditions": [closed]}
    return a_machine_check(spec={"clusterName": "edge"}, status=status)


WORLDS: Final[dict[str, Machines]] = {
    "healthy": _pool(a_machine("m1"), _node("m1"), a_machine_check()),
    "suspect": _pool(
        a_machine("m1"), _node("m1", ready="Unknown", since="2026-01-31T11:58:00Z"), a_machine_check()
    ),
    "unhealthy": _pool(a_machine("m1"), _node("m1", **_SICK), a_machine_check()),
    "unjudged": _pool(a_machine("m1", deletionTimestamp="2026-01-31T11:59:00Z"), a_machine_check()),
    "its_owner_is_asked": _pool(
        a_machine("m1", conditions=[_UNHEALTHY, a_mark("OwnerRemediated", "False", "WaitingForRemediation")]),
        _node("m1", **_SICK),
        a_machine_check(),
    ),
    "a_template": _pool(a_machine("m1"), _node("m1", **_SICK), a_machine_check(template=True)),
    "no_template": _pool(
        a_machine(
            "m1",
            conditions=[
                _UNHEALTHY,
                {
                    **a_mark("ExternallyRemediated", "False", "RemediationTemplateNotFound"),
                    "message": "Cannot read the template default/reboot: it does not exist.",
                },
            ],
        ),
        _node("m1", **_SICK),
        a_machine_check(template=True),
    ),
    "under_remediation": _pool(
        a_machine("m1", conditions=[_UNHEALTHY]),
        _node("m1", **_SICK),
        a_machine_check(template=True),
        a_fix("m1"),
    ),
    "back_and_not_needed": _pool(a_machine("m1"), _node("m1"), a_machine_check(template=True), a_fix("m1")),
    "somebody_else_s_remediation": _pool(
        a_machine("m1"),
        _node("m1", **_SICK),
        a_machine_check(template=True),
        a_fix("m1", ownerReferences=[{"uid": "another"}]),
    ),
    "a_remediation_of_its_node": _pool(
        a_machine("m1"),
        _node("m1", **_SICK),
        a_machine_check(),
        {
            **remediation("m1"),
            "metadata": {
                "name": "m1",
                "namespace": "nodemend-system",
                "creationTimestamp": "2026-01-31T11:54:00Z",
            },
        },
        maxConcurrent=10,
        maxConcurrentPercent=100,
    ),
    "remediations_unseen": Machines(
        [
            a_machine("m1"),
            _node("m1", **_SICK),
            a_machine_check(template=True),
            *_others(),
            a_cluster(),
            policy(),
        ],
        unseen="anna may not list them",
    ),
    "a_storm": Machines(
        [
            a_machine("m1"),
            _node("m1", **_SICK),
            *_others(8, sick=4),
            a_machine_check(limit="40%"),
            a_cluster(),
            policy(maxUnhealthy="100%"),
        ]
    ),
    "dry_run": _pool(a_machine("m1"), _node("m1", **_SICK), a_machine_check(), mode="DryRun"),
    "its_cluster_is_paused": Machines(
        [
            a_machine("m1"),
            _node("m1", **_SICK),
            *_others(),
            a_machine_check(),
            a_cluster(paused=True),
            policy(),
        ]
    ),
    "left_alone": _pool(
        a_machine("m1", annotations={"cluster.x-k8s.io/skip-remediation": ""}),
        _node("m1", **_SICK),
        a_machine_check(),
    ),
    "served_by_another": _pool(
        a_machine("m1"), _node("m1", **_SICK), a_machine_check(claimed=False, status={})
    ),
    "unwatched": _pool(a_machine("m1", labels={}), _node("m1", **_SICK), a_machine_check()),
    "never_reported": _pool(a_machine("m1"), _node("m1"), a_machine_check(status={})),
    "never_a_node": _pool(a_machine("m1", node=None), a_machine_check()),
    "its_node_is_gone": _pool(a_machine("m1"), a_machine_check()),
    "asked_for": _pool(
        a_machine("m1", annotations={"cluster.x-k8s.io/remediate-machine": ""}),
        _node("m1"),
        a_machine_check(),
    ),
    "nobody_owns_it": _pool(a_machine("m1", ownerReferences=[]), _node("m1", **_SICK), a_machine_check()),
    "two_checks": _pool(a_machine("m1"), _node("m1"), a_machine_check("all"), a_machine_check("workers")),
    "another_cluster_that_was_never_seen": _pool(
        a_machine("m1", cluster="edge"), a_machine_check(spec={"clusterName": "edge"}), a_cluster("edge")
    ),
    "another_cluster": _pool(
        a_machine("m1", cluster="edge", conditions=[_UNHEALTHY]), _unbound(), a_cluster("edge")
    ),
}
"""Worlds by the name of the golden file. All facts that a world does not set are healthy."""

NODES: Final[dict[str, Machines]] = {
    "a_node_under_a_machine_check": WORLDS["a_storm"],
    "a_node_under_both": Machines([*WORLDS["unhealthy"].objects, check("all")]),
    "a_node_whose_machine_is_to_be_replaced": Machines([*WORLDS["its_owner_is_asked"].objects, check("all")]),
    "a_node_whose_machine_another_serves": WORLDS["served_by_another"],
}
"""Worlds for a question about a node by its own name."""

NAMES: Final = (*WORLDS, *NODES)


def explained(name: str) -> ExplainView:
    if name in NODES:
        return _explained_node(NODES[name])
    snapshot = see(WORLDS[name])
    return explain_machine(snapshot, find_machine(snapshot, MachineName(MACHINE)))


def _explained_node(world: Machines) -> ExplainView:
    snapshot = see(world)
    record = snapshot.around.nodes.get(MACHINE)
    assert record is not None
    orders: Store[Any] = Store(lambda order: "")
    orders.synced_at = orders.last_contact = 0.0
    view = NodeView(
        nodes=snapshot.around.nodes,
        checks=node_checks(world),
        remedies=snapshot.view.remedies,
        policies=snapshot.around.policies,
        orders=orders,
    )
    facts = ExplainFacts(
        node=record,
        view=view,
        open_=None,
        elsewhere=(),
        leaders=(),
        now=NOON,
    )
    return explain_with_machines(facts, snapshot)


def answer(name: str) -> str:
    asked = MACHINE if name in NODES else f"machine/{MACHINE}"
    return "\n".join((f"$ kubectl mend explain {asked}", *render(explained(name)), ""))


def differences() -> list[str]:
    """The names of answers that changed or were never reviewed."""
    known = {path.stem: path.read_text() for path in FOLDER.glob("*.txt")}
    return sorted(name for name in {*known, *NAMES} if name not in NAMES or known.get(name) != answer(name))


if __name__ == "__main__":
    for world in NAMES:
        (FOLDER / f"{world}.txt").write_text(answer(world))
