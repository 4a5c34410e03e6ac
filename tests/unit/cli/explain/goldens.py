"""Reviewed answers of `kubectl mend explain`: one world each, and its answer about edge-07.

`python -m tests.unit.cli.explain.goldens` rewrites the answers; the reviewer reads the difference.
"""

from pathlib import Path
from typing import Any, Final

from nodemend.api.node_health_check import RecoveryPhase
from nodemend.cli.explain.facts import ExplainFacts
from nodemend.cli.explain.node import explain_node
from nodemend.cli.explain.view import ExplainView, render
from nodemend.cli.simulate.scenario import SILENT
from nodemend.cli.simulate.world import SimulatedCluster
from nodemend.rules.request import spell_phase
from tests.unit.cli.simulate.clusters import CONTROL_PLANE, Object, check, node, policy, remediation
from tests.unit.cli.simulate.simulated import NOON, a_snapshot

FOLDER: Final = Path(__file__).with_name("golden")
NODE: Final = "edge-07"
_SICK: Final = {"ready": "Unknown", "since": "2026-01-31T11:00:00Z"}


def _unreported() -> Object:
    silent = node(NODE)
    silent["status"] = {}
    return silent


def _sick(**others: Any) -> Object:
    return node(NODE, "a", **_SICK, **others)


def _well(number: int = 9) -> list[Object]:
    return [node(f"edge-1{place}", "a") for place in range(number)]


def _cluster(this: Object, others: list[Object], **spec: Any) -> list[Object]:
    return [this, *others, check("workers"), policy(**spec)]


def _recovering(phase: RecoveryPhase) -> Object:
    """The check, with the recovery of the node in that phase."""
    template = {
        "apiVersion": "example.com/v1",
        "kind": "SwitchOnTemplate",
        "name": "port",
        "namespace": "default",
    }
    message = spell_phase(phase, f"SwitchOn default/{NODE}")
    report = {
        "node": NODE,
        "nodeUID": f"uid-{NODE}",
        "phase": phase,
        "since": "2026-01-31T11:30:00Z",
        "message": message,
    }
    return {**check("workers", recovery={"template": template}), "status": {"recoveries": [report]}}


WORLDS: Final[dict[str, list[Object]]] = {
    "healthy": _cluster(node(NODE), _well()),
    "suspect": _cluster(node(NODE, ready="Unknown", since="2026-01-31T11:58:00Z"), _well()),
    "unhealthy": _cluster(_sick(), _well()),
    "unjudged": _cluster(_unreported(), _well()),
    "unwatched": [node(NODE), check("few", selector={"matchLabels": {"a": "b"}}), policy()],
    "a_storm": _cluster(_sick(), [*_well(5), *(node(f"edge-2{place}", "a", **_SICK) for place in range(4))]),
    "a_storm_in_its_zone": _cluster(
        _sick(),
        [*(node(f"edge-2{place}", "a", **_SICK) for place in range(3)), *_well(4), *map(node, "bcdefghi")],
        failureDomains={},
    ),
    "a_failed_recovery": [node(NODE), *_well(), _recovering(RecoveryPhase.FAILED), policy()],
    "a_recovery_that_gives_way": [_sick(), *_well(), _recovering(RecoveryPhase.PENDING), policy()],
    "dry_run": _cluster(_sick(), _well(), mode="DryRun"),
    "paused": _cluster(_sick(), _well(), pause={"by": "anna", "reason": "switch swap, CHG-4411"}),
    "excluded": _cluster(_sick(labels={"nodemend.io/exclude": ""}), _well()),
    "another_is_under_way": _cluster(
        _sick(), [*_well(), node("edge-08", "a", **_SICK), remediation("edge-08")], maxConcurrent=1
    ),
    "the_control_plane": _cluster(
        _sick(labels={CONTROL_PLANE: ""}), [*_well(), node("cp-1", labels={CONTROL_PLANE: ""})]
    ),
}
"""Worlds by the name of the golden file. All facts that a world does not set are healthy."""


def explained(name: str) -> ExplainView:
    view = SimulatedCluster(a_snapshot(WORLDS[name]), SILENT).view
    record = view.nodes.get(NODE)
    assert record is not None
    return explain_node(
        ExplainFacts(
            node=record,
            view=view,
            open_=None,
            elsewhere=(),
            leaders=(),
            now=NOON,
        )
    )


def answer(name: str) -> str:
    return "\n".join((f"$ kubectl mend explain {NODE}", *render(explained(name)), ""))


def differences() -> list[str]:
    """The names of answers that changed or were never reviewed."""
    known = {path.stem: path.read_text() for path in FOLDER.glob("*.txt")}
    return sorted(name for name in {*known, *WORLDS} if name not in WORLDS or known.get(name) != answer(name))


if __name__ == "__main__":
    for world in WORLDS:
        (FOLDER / f"{world}.txt").write_text(answer(world))
