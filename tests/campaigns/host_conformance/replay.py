"""Replays a recorded scenario: performs its actions, and records the results."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final

from nodemend.api.resources import BARE_METAL_HOST
from simulation.cluster.direct import Object
from tests.campaigns.host_conformance.one_host_world import Stage
from tests.campaigns.host_conformance.recorded_states import NAME, NAMESPACE, Sighting
from tests.campaigns.host_conformance.recordings import Ordered, Scenario, Step
from tests.campaigns.host_conformance.writes import (
    WRITES,
    behave,
    change_spec,
    create,
    restart_ironic_for_speed,
)

LEAST: Final = 0.0
MOST: Final = 0.999999
_PATIENCE: Final = 600.0
_RESTARTS_IRONIC: Final = ("ironic/bmc-unreachable-long", 1)
_BY_STATE: Final = {"provisioned": "image", "available": "no image", "externally provisioned": "external"}


@dataclass(frozen=True, slots=True)
class PlayedStep:
    """The results of one write. Times are seconds after it: of sightings, and of the write before it."""

    recorded: list[Sighting]
    orders: list[Ordered]
    saved_before: float


@dataclass(slots=True)
class Played:
    steps: list[PlayedStep] = field(default_factory=list)
    events: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)


def play(scenario: Scenario, luck: float) -> Played:
    stage = Stage(scenario.stack, luck)
    played = Played()
    try:
        if scenario.start is not None:
            played.failures += _reach(stage, scenario.start)
        behave(stage, scenario.bmc_behaviour)
        before = stage.events()
        for number, step in enumerate(scenario.steps):
            if (scenario.name, number) == _RESTARTS_IRONIC:
                restart_ironic_for_speed(stage)
            played.steps.append(_play_step(stage, scenario, step))
        played.events = stage.events() - before
    finally:
        stage.close()
    played.failures += stage.failures
    return played


def _play_step(stage: Stage, scenario: Scenario, step: Step) -> PlayedStep:
    begun, seen, ordered = stage.now, len(stage.recorded.seen), len(stage.bmc.received)
    saves = [one.at for one in stage.recorded.seen if one.saved]
    if step.verb == "create":
        create(stage, _kind(scenario, step))
    else:
        WRITES[step.verb](stage, step.what)
    _watch(stage, step, begun, seen)
    return PlayedStep(
        [Sighting(one.at - begun, one.set, one.saved) for one in stage.recorded.since(seen)],
        [Ordered(one.at - begun, str(one.order)) for one in stage.bmc.received[ordered:]],
        saves[-1] - begun if saves else float("-inf"),
    )


def _watch(stage: Stage, step: Step, begun: float, seen: int) -> None:
    """Watch for the recorded duration, counted from the last change if it comes at another time here.

    The recording, too, made its next step only after that change.
    """
    expected = [change.after for change in step.changes if change.set]

    def found() -> list[Sighting]:
        return [one for one in stage.recorded.since(seen) if one.set]

    shift = 0.0
    if expected:
        stage.scheduler.run(begun + step.watched + _PATIENCE, stop=lambda: len(found()) >= len(expected))
        if len(found()) >= len(expected):
            shift = found()[len(expected) - 1].at - begun - expected[-1]
    stage.scheduler.run(max(begun + step.watched + shift, stage.now))


def _kind(scenario: Scenario, step: Step) -> str:
    if step.what == "host without image":
        return "no image"
    return "external" if scenario.name.endswith("external") else "image"


def _reach(stage: Stage, start: dict[str, Any]) -> list[str]:
    """Bring a host to the start of a scenario, through the operator alone.

    Returns the remaining differences.
    """
    create(stage, _BY_STATE[start["state"]])
    stage.scheduler.run(stage.now + 60.0)
    if start["errorCount"]:
        # A way that always works: missing credentials, until the operator has failed often enough.
        change_spec(stage, {"bmc": {"credentialsName": "no such secret"}})
        stage.scheduler.run(stage.now + 10.0 * start["errorCount"] - 5.0)
        change_spec(stage, {"bmc": {"credentialsName": "the right secret"}})
        stage.scheduler.run(stage.now + 5.0)
    host = stage.api.get(BARE_METAL_HOST, NAME, NAMESPACE)
    reached = _as_start(host or {})
    return [f"it begins with {name} {reached[name]!r}" for name in start if start[name] != reached[name]]


def _as_start(host: Object) -> dict[str, Any]:
    status = host["status"]
    names = ("poweredOn", "operationalStatus", "errorType", "errorMessage", "errorCount")
    return {
        "online": host["spec"]["online"],
        "state": status["provisioning"]["state"],
        **{name: status.get(name) for name in names},
    }
