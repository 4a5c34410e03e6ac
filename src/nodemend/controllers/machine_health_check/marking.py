"""What was found is written down on the machine, for its owner and for people."""

from nodemend.api.timestamps import print_time
from nodemend.controllers.checking.writer import Writer
from nodemend.controllers.machine_health_check import act
from nodemend.controllers.machine_health_check.book import Case
from nodemend.controllers.machine_health_check.gather import Target
from nodemend.controllers.machine_health_check.second_look import Fresh, SecondLook
from nodemend.decide.holds import Hold
from nodemend.decide.machine_marks import Marks
from nodemend.decide.machine_request import Request, marks_for
from nodemend.kube.api_request import Request as Write
from nodemend.kube.machine_conditions import with_marks
from nodemend.kube.ports import Runtime
from nodemend.kube.reconcile_loop import Done, Outcome


class Marking:
    """A mark heals nobody: `second_look` and `writer` leave room to those that do."""

    def __init__(self, second_look: SecondLook, writer: Writer, runtime: Runtime) -> None:
        self._second_look = second_look
        self._writer = writer
        self._runtime = runtime

    async def tell(self, case: Case, request: Request) -> Outcome | Hold:
        """Write down what was found, if it is not there already; held when the machine cannot be read now."""
        target = case.target
        shown = target.machine.marks
        if not _takes_marks(target):
            return Done()
        if marks_for(case.health, case.way, shown, case.guarded, request) == shown:
            return Done()
        fresh = await self._second_look.machine(target)
        if isinstance(fresh, Hold):
            return fresh
        health = await self._second_look.with_reasons(case.health, fresh.machine)
        wanted = marks_for(health, case.way, fresh.machine.marks, case.guarded, request)
        return await self.mark(target, fresh, wanted)

    async def mark(self, target: Target, fresh: Fresh, wanted: Marks) -> Outcome:
        if wanted == fresh.machine.marks or not _takes_marks(target):
            return Done()
        return await self._writer.write(self.write_for(target, fresh, wanted))

    def write_for(self, target: Target, fresh: Fresh, wanted: Marks) -> Write:
        conditions = with_marks(fresh.conditions, wanted, target.dialect, print_time(self._runtime.wall()))
        return act.write_conditions(fresh.machine, fresh.version, conditions)


def _takes_marks(target: Target) -> bool:
    """The marks are a check's. Where an annotation asks, another project's check may write them."""
    return target.dialect.owners_read_conditions and not target.by_annotation
