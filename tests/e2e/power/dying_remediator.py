"""`nodemend-remediator`, killed at the moment when one of its writes was answered.

`python -m tests.e2e.power.dying_remediator FOLDER FLAGS...`: `deaths.py` describes the contents of FOLDER.
"""

import json
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

from nodemend.cmd import controllers
from nodemend.cmd.controllers import ProgramDependencies, run_controller
from nodemend.kube.outcome import Reply
from nodemend.kube.ports import Stream, Transport
from nodemend.kube.request import Method, Request
from nodemend.remediation.manager import Remediator
from nodemend.settings.controller import ControllerSettings, controller_command
from tests.e2e.power.deaths import Plan


class DyingTransport:
    """Counts the writes about each node, over all restarts."""

    def __init__(self, transport: Transport, plan: Plan) -> None:
        self._transport = transport
        self._plan = plan

    async def send(self, request: Request, deadline: float) -> Reply:
        reply = await self._transport.send(request, deadline)
        if request.method is not Method.GET and self._plan.ends_with(_names(request)):
            os.kill(os.getpid(), signal.SIGKILL)
        return reply

    async def open(self, request: Request, deadline: float) -> Stream | Reply:
        return await self._transport.open(request, deadline)


def _names(request: Request) -> set[str]:
    """The names of the written objects: in the path, with or without a subresource, or in the new object."""
    if request.method is Method.POST:
        return {json.loads(request.body)["metadata"].get("name", "")}
    return set(request.path.split("/")[-2:])


def main() -> None:
    plan = Plan(Path(sys.argv.pop(1)))

    def build(around: ProgramDependencies) -> Remediator:
        return controllers.build_remediator(replace(around, transport=DyingTransport(around.transport, plan)))

    def run(settings: ControllerSettings) -> int:
        return run_controller(controllers.REMEDIATOR, build, settings)

    controller_command(controllers.REMEDIATOR, "Dies at a certain write.", run)()


if __name__ == "__main__":
    main()
