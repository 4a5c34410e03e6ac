"""metal3's host operator as a process beside a real API server: the simulated one, which behaves as recorded.

`python -m machine_room.operator_program KUBECONFIG PACE BMC...`: the BMCs' addresses, and PACE, by which all
of its times are multiplied: at 1.0 it is as slow as the recorded one.
"""

import dataclasses
import os
import sys
from typing import TypeVar

from machine_room.ipmi import IpmiBmc
from nodemend.kube.asyncio_runtime import AsyncioRuntime, run
from nodemend.kube.credentials_io import LiveCredentials, find_connection
from nodemend.kube.http_transport import HttpTransport
from simulation.metal3.ironic import AnswerTimes, Ironic, IronicClient
from simulation.metal3.ironic_node import IronicSettings
from simulation.metal3.operator import HostOperator
from simulation.metal3.reconcile_pass import OperatorSettings

Settings = TypeVar("Settings", IronicSettings, OperatorSettings, AnswerTimes)


def main() -> None:
    kubeconfig, pace, *addresses = sys.argv[1:]
    run(_serve(kubeconfig, float(pace), addresses))


async def _serve(kubeconfig: str, pace: float, addresses: list[str]) -> None:
    runtime = AsyncioRuntime()
    connection = find_connection(os.environ, kubeconfig)
    transport = HttpTransport(LiveCredentials(connection, runtime), runtime)
    ironic = Ironic({address: IpmiBmc(address) for address in addresses})
    ironic.start(runtime, at_pace(IronicSettings(), pace))
    client = IronicClient(ironic, runtime, at_pace(AnswerTimes(), pace))
    try:
        await HostOperator(runtime, transport, client, at_pace(OperatorSettings(), pace)).run()
    finally:
        ironic.stop()
        await transport.close()


def at_pace(settings: Settings, pace: float) -> Settings:
    """Multiply the floats, which are times; integers are counts."""
    times = {
        field.name: getattr(settings, field.name) * pace
        for field in dataclasses.fields(settings)
        if isinstance(getattr(settings, field.name), float)
    }
    return dataclasses.replace(settings, **times)


if __name__ == "__main__":
    main()
