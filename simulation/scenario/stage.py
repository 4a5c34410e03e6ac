"""The world in which a scenario runs."""

import re
from collections.abc import Callable
from typing import Final

from nodemend.api.resources import NODE, NODE_HEALTH_CHECK
from simulation.api_server.admission import User
from simulation.cluster.direct import Direct
from simulation.cluster.foreign_kinds import a_definition, a_reference, foreign
from simulation.cluster.machines import Machine
from simulation.cluster.world import CHECK, Account, Shape, World
from simulation.metal3.rack import NEWER_FORM, PROJECTS, SPEC, Rack, furnish, introduce, shaped
from simulation.scenario.host_narrator import HostNarrator
from simulation.scenario.narrator import Narrator
from simulation.scenario.reader import Incident, Scenario, ScenarioError

SEED: Final = "scenario"
MEMBER: Final = "node-role.kubernetes.io/control-plane"
RECOVERY_TEMPLATE: Final = foreign("SwitchOnTemplate")
RECOVERY: Final = foreign("SwitchOn")
"""Kind of the recovery that a check names."""
Deed = Callable[["Stage", str], object]
Actions = tuple[tuple[re.Pattern[str], Deed], ...]


class Stage:
    """One run of a scenario. `find` returns the action of an incident and the action's argument."""

    def __init__(self, scenario: Scenario, find: Callable[[str], tuple[Deed, str]]) -> None:
        self.narrator = Narrator()
        self.project = scenario.hosts.machines if scenario.hosts else ""
        """The project whose Machines use the hosts; empty: there are no Machines."""
        self.power_spec = {**SPEC, **scenario.hosts.spec} if scenario.hosts else {}
        """Spec of each Metal3Remediation."""
        self.world = World(SEED, self._shape(scenario), self._started)
        self.started: Callable[[Machine, str], None] = lambda machine, workload: None
        """Called for each process that a machine starts, after the world is complete."""
        self._rack = self._furnish(scenario)
        if scenario.recovers:
            self._name_a_recovery()
        self.narrator.listen(self.world)
        self.anna = Direct(Account(self.world.server, User("anna")))
        for order, incident in enumerate(scenario.incidents):
            action, about = find(incident.words)
            # Incidents of the same second happen in the order of the file.
            self._await(incident, order * 1e-6, self._incident(incident.words, action, about))

    @property
    def rack(self) -> Rack:
        """The metal3 hosts. Raises ScenarioError if the scenario has none."""
        if self._rack is None:
            raise ScenarioError("there are no hosts: given hosts")
        return self._rack

    def close(self) -> None:
        if self._rack is not None:
            self._rack.close()
        self.world.close()

    def _shape(self, scenario: Scenario) -> Shape:
        nodes, workloads = scenario.nodes, scenario.workloads
        if scenario.hosts is not None:
            return shaped(
                machines=nodes,
                workloads=workloads,
                replicas=1,
                node_deletion=scenario.hosts.may_delete_nodes,
                others=PROJECTS.get(self.project, ()),
            )
        kinds = (RECOVERY, RECOVERY_TEMPLATE) if scenario.recovers else ()
        definitions = tuple(map(a_definition, kinds))
        return Shape(nodes, workloads, replicas=1, people=False, definitions=definitions)

    def _furnish(self, scenario: Scenario) -> Rack | None:
        if scenario.hosts is None:
            return None
        hosts, with_machines = scenario.hosts, self.project != ""
        rack = furnish(
            self.world,
            self.power_spec,
            crossed=hosts.crossed,
            deployed=with_machines,
            provider_id=NEWER_FORM if hosts.provider_id is None else hosts.provider_id,
        )
        for node in ("node-1", "node-2", "node-3") if hosts.control_plane else ():
            self.world.admin_api.patch(NODE, node, {"metadata": {"labels": {MEMBER: ""}}})
        if with_machines:
            introduce(self.world, self.project)
        HostNarrator(self.narrator).listen(self.world)
        return rack

    def _name_a_recovery(self) -> None:
        template = {"metadata": {"name": "usual"}, "spec": {"template": {"spec": {"port": 2}}}}
        self.world.admin_api.create(RECOVERY_TEMPLATE, template, "default")
        recovery = {"template": a_reference(RECOVERY.kind), "timeout": "5m"}
        self.world.admin_api.patch(NODE_HEALTH_CHECK, CHECK, {"spec": {"recovery": recovery}})

    def _started(self, machine: Machine, workload: str) -> None:
        self.narrator.started(machine, workload)
        self.started(machine, workload)

    def _await(self, incident: Incident, order: float, happen: Callable[[], None]) -> None:
        seconds = incident.at.total_seconds() + order
        if incident.once:
            self.narrator.once(incident.once, lambda: self.world.scheduler.after(seconds, happen))
        else:
            self.world.scheduler.at(seconds, happen)

    def _incident(self, words: str, action: Deed, about: str) -> Callable[[], None]:
        def happen() -> None:
            self.narrator.tell(f"* {words}")
            action(self, about)

        return happen
