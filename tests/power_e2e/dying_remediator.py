"""`nodemend-remediator`, which is killed the moment that a certain write of its was answered.

`python -m tests.power_e2e.dying_remediator FOLDER FLAGS...`: see `deaths.py` for what FOLDER has.
"""

import json
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

from nodemend.controllers.remediator import Remediator
from nodemend.entrypoints import run_remediator
from nodemend.entrypoints.controller_shell import Surroundings, run_controller
from nodemend.kube.api_reply import Reply
from nodemend.kube.api_request import Method, Request
from nodemend.kube.ports import Stream, Transport
from nodemend.settings.command_shell import controller_command
from nodemend.settings.controller_settings import ControllerSettings
from tests.power_e2e.deaths import Plan


class DyingTransport:
    """Counts the writes about each node, over all of its lives."""

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
    """Of what is written: in the path, with or without a subresource, or in what is to be created."""
    if request.method is Method.POST:
        return {json.loads(request.body)["metadata"].get("name", "")}
    return set(request.path.split("/")[-2:])


def main() -> None:
    plan = Plan(Path(sys.argv.pop(1)))

    def build(around: Surroundings) -> Remediator:
        return run_remediator.build(replace(around, transport=DyingTransport(around.transport, plan)))

    def run(settings: ControllerSettings) -> int:
        return run_controller(run_remediator.NAME, build, settings)

    controller_command(run_remediator.NAME, "Dies at a certain write.", run)()


if __name__ == "__main__":
    main()
