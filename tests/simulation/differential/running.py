"""Runs one sequence on both sides."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final
from uuid import uuid4

from nodemend.kube.request import Content
from simulation.api_server.admission import Question, User
from simulation.api_server.policies import CHECKER, REMEDIATOR, our_rules
from simulation.api_server.server import SimulatedApiServer
from tests.simulation.differential.comparing import Comparison, Run, compare
from tests.simulation.differential.generating import NAMESPACES
from tests.simulation.differential.our_samples import (
    CHECKS,
    ORDERS,
    POLICIES,
    REMEDIATIONS,
    TEMPLATES,
    definitions,
)
from tests.simulation.differential.power_samples import POWER_REMEDIATIONS, POWER_TEMPLATES
from tests.simulation.differential.samples import ATTACHMENTS, EVENTS, LEASES, NODES, PODS, Sample
from tests.simulation.differential.self_samples import SELF_REMEDIATIONS
from tests.simulation.differential.sides import Event, RealSide, Side, SimulatedSide
from tests.simulation.differential.steps import Outcome, Step, resolve
from tests.simulation.differential.widgets import DEFINITION, WIDGETS

SAMPLES: Final[tuple[Sample, ...]] = (
    *(NODES, LEASES, PODS, ATTACHMENTS, EVENTS, WIDGETS),
    *(REMEDIATIONS, POLICIES, CHECKS, TEMPLATES, ORDERS),
    *(POWER_REMEDIATIONS, POWER_TEMPLATES, SELF_REMEDIATIONS),
)
VERBS: Final = {
    "differential:writers": frozenset(
        {"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}
    ),
    "differential:confirmers": frozenset(
        {
            *("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"),
            *("confirm", "override"),
        }
    ),
    "differential:readers": frozenset({"get", "list", "watch"}),
}
"""Verbs of each group, for all resources. The real server has the same as RBAC."""

USERS: Final = {
    "admin": User("admin", ("system:masters",)),
    "writer": User("ann", ("differential:writers",)),
    "confirmer": User("carol", ("differential:confirmers",)),
    "checker": User(CHECKER, ("differential:writers",)),
    "remediator": User(REMEDIATOR, ("differential:writers",)),
    "reader": User("bob", ("differential:readers",)),
    "nobody": User("mallory"),
}
MARKER: Final = Step(
    "marker",
    "PATCH",
    "/apis/coordination.k8s.io/v1/namespaces/default/leases/marker",
    {"fieldManager": "marker", "force": "true"},
    None,
    Content.APPLY_PATCH.value,
)


def may(question: Question) -> bool:
    groups = question.user.groups
    return "system:masters" in groups or any(question.verb in VERBS.get(group, ()) for group in groups)


STRAY: Final = "elsewhere"
"""Name of objects that invalid documents create."""


def cleaning(steps: list[Step]) -> list[Step]:
    """Return steps that delete all objects. Their answers are compared, too."""
    made = []
    for sample in SAMPLES:
        for namespace in NAMESPACES if sample.namespaced else ("",):
            collection = sample.collection(namespace)
            touched = any(step.path.startswith(collection) for step in steps)
            if not touched:
                continue
            for name in (*sample.names, STRAY):
                unfinalize = {"metadata": {"finalizers": None}}
                path = f"{collection}/{name}"
                if any(step.path.startswith(path) or step.path == collection for step in steps):
                    made.append(Step("unfinalize", "PATCH", path, {}, unfinalize, Content.MERGE_PATCH.value))
            made.append(Step("clear", "DELETE", collection, {"gracePeriodSeconds": "0"}))
            made.append(Step("cleared", path=collection))
    return made


def run(side: Side, steps: list[Step], times: list[float] | None = None) -> Run:
    """Run all steps and the cleanup, then read the events of every watch up to its sentinel.

    Each step happens at its time in `times`. Without `times` it happens now, and its outcome records the
    time.
    """
    outcomes: list[Outcome] = []
    for index, step in enumerate([*steps, *cleaning(steps)]):
        moment = side.set_time(times[index] if times else None)
        outcome = _perform(side, step, outcomes)
        outcome.begun = moment
        if step.label == "cleared":
            outcome.cleared = step.path
        outcomes.append(outcome)
    watches = [step for step in steps if step.is_watch]
    for step in watches:
        if step.sentinel is not None:
            _send_sentinel(side, step.sentinel)
    events = [side.events(index, _is_sentinel(step)) for index, step in enumerate(watches)]
    for step in watches:
        if step.sentinel is not None:
            side.perform(Step("clear", "DELETE", step.sentinel["path"], {"gracePeriodSeconds": "0"}))
    side.forget_watches()
    return Run(outcomes, events)


def _send_sentinel(side: Side, sentinel: dict[str, Any]) -> None:
    path, body = sentinel["path"], sentinel["body"]
    if side.perform(Step("sentinel", "POST", path, {}, body)).status == 409:
        # Another watch has a sentinel of this name: change it so that it also matches this watch.
        labels = {"app": None, "tier": None, **body["metadata"]["labels"]}
        target = f"{path}/{body['metadata']['name']}"
        change = {"metadata": {"labels": labels}}
        side.perform(Step("sentinel", "PATCH", target, {}, change, Content.MERGE_PATCH.value))


@dataclass(frozen=True, slots=True)
class Trial:
    """One sequence, run on both sides."""

    steps: list[Step]
    real: Run
    simulated: Run
    comparison: Comparison


def try_out(steps: list[Step], real: RealSide) -> Trial:
    theirs = run(real, steps)
    _clear_rest(real, theirs)
    ours = run(
        simulated_side(streaming_lists=real.streaming_lists),
        steps,
        [outcome.begun for outcome in theirs.outcomes],
    )
    return Trial(steps, theirs, ours, compare(theirs, ours))


def _clear_rest(real: RealSide, done: Run) -> None:
    """Delete objects that remain after the cleanup, so that the next sequence does not find them."""
    for outcome in done.outcomes:
        items = outcome.body.get("items", []) if isinstance(outcome.body, dict) else []
        leftovers = [item for item in items if outcome.cleared]
        for item in leftovers:
            path = f"{outcome.cleared}/{item['metadata']['name']}"
            unfinalize = {"metadata": {"finalizers": None}}
            real.perform(Step("clear", "PATCH", path, {}, unfinalize, Content.MERGE_PATCH.value))
            real.perform(Step("clear", "DELETE", path, {"gracePeriodSeconds": "0"}))


DEFINITIONS: Final = (DEFINITION, *definitions())


def simulated_side(*, streaming_lists: bool = True) -> SimulatedSide:
    def serve(now: Callable[[], datetime]) -> SimulatedApiServer:
        return SimulatedApiServer(
            now,
            definitions=DEFINITIONS,
            rules=our_rules(),
            authorizer=may,
            namespaces=("default", *NAMESPACES),
            streaming_lists=streaming_lists,
        )

    return SimulatedSide(serve, USERS)


def _perform(side: Side, step: Step, outcomes: list[Outcome]) -> Outcome:
    if step.label == "wait":
        side.wait(float(step.query["seconds"]))
        return Outcome(0, None)
    if step.label == "compact":
        # A write first, so that the compaction is later than every list that was answered before it.
        spec = {"holderIdentity": uuid4().hex}
        body = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": "marker"},
            "spec": spec,
        }
        side.perform(replace(MARKER, body=body))
        side.compact()
        return Outcome(0, None)
    resolved = replace(step, query=resolve(step.query, outcomes), body=resolve(step.body, outcomes))
    return side.perform(resolved)


def _is_sentinel(step: Step) -> Any:
    wanted = step.sentinel["body"]["metadata"]["labels"]["sentinel"] if step.sentinel else ""

    def found(event: Event) -> bool:
        labels = event["object"].get("metadata", {}).get("labels") or {}
        return bool(labels.get("sentinel") == wanted)

    return found
