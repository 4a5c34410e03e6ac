"""A world in which incidents happen."""

import re
from collections.abc import Callable
from typing import Final

from nodemend.api.group_versions import NODE, NODE_HEALTH_CHECK
from nodemend.testing.api_server.admission import User
from nodemend.testing.cluster.direct import Direct
from nodemend.testing.cluster.foreign_kinds import a_definition, a_reference, foreign
from nodemend.testing.cluster.machines import Machine
from nodemend.testing.cluster.world import CHECK, Account, Shape, World
from nodemend.testing.metal3.furnishing import NEWER_FORM, SPEC, furnish, shaped
from nodemend.testing.metal3.introductions import PROJECTS, introduce
from nodemend.testing.metal3.rack import Rack
from nodemend.testing.scenario.host_narrator import HostNarrator
from nodemend.testing.scenario.narrator import Narrator
from nodemend.testing.scenario.reader import Incident, Scenario, ScenarioError

SEED: Final = "scenario"
MEMBER: Final = "node-role.kubernetes.io/control-plane"
RECOVERY_TEMPLATE: Final = foreign("SwitchOnTemplate")
RECOVERY: Final = foreign("SwitchOn")
"""What a check names that has a recovery."""
Deed = Callable[["Stage", str], None]
Deeds = tuple[tuple[re.Pattern[str], Deed], ...]


class Stage:
    """`find` is asked for the deed of each incident, and whom it is about."""

    def __init__(self, scenario: Scenario, find: Callable[[str], tuple[Deed, str]]) -> None:
        self.narrator = Narrator()
        self.project = scenario.hosts.machines if scenario.hosts else ""
        """Whose Machines stand before the hosts; empty for none."""
        self.power_spec = {**SPEC, **scenario.hosts.spec} if scenario.hosts else {}
        """What each power cycle is made from."""
        self.world = World(SEED, self._shape(scenario), self._started)
        self.started: Callable[[Machine, str], None] = lambda machine, workload: None
        """Told of each process that a machine starts, once the world is there."""
        self._rack = self._furnish(scenario)
        if scenario.recovers:
            self._name_a_recovery()
        self.narrator.listen(self.world)
        self.anna = Direct(Account(self.world.server, User("anna")))
        for order, incident in enumerate(scenario.incidents):
            deed, about = find(incident.words)
            # Those of the same second happen in the order in which they are written.
            self._await(incident, order * 1e-6, self._incident(incident.words, deed, about))

    @property
    def rack(self) -> Rack:
        """Raises ScenarioError where nodes are no hosts."""
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

    def _incident(self, words: str, deed: Deed, about: str) -> Callable[[], None]:
        def happen() -> None:
            self.narrator.tell(f"* {words}")
            deed(self, about)

        return happen
