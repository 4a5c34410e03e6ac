"""Runs a command's coroutine against the real cluster, within its time."""

import asyncio
import os
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from nodemend.cli.cluster import Cluster
from nodemend.cli.exit_codes import CommandFailure, ExitCode
from nodemend.cli.options import ClusterOptions
from nodemend.cli.terminal_shell import write_note
from nodemend.cli.words import spell_seconds
from nodemend.kube.api_client import ApiClient
from nodemend.kube.asyncio_shell import AsyncioRuntime, run
from nodemend.kube.credentials import Connection, CredentialsError
from nodemend.kube.credentials_shell import LiveCredentials, find_connection
from nodemend.kube.http_shell import HttpTransport

T = TypeVar("T")


def with_cluster(options: ClusterOptions, act: Callable[[Cluster], Coroutine[Any, Any, T]]) -> T:
    """What `act` returns. Raises CommandFailure when there is no way to the cluster, or no time left."""
    try:
        connection = find_connection(os.environ, options.kubeconfig, options.context)
    except CredentialsError as error:
        raise CommandFailure(ExitCode.USAGE, f"{error}.") from error
    for caution in connection.cautions:
        write_note(f"Warning: {caution}")
    return run(_act(connection, options, act))


async def _act(
    connection: Connection, options: ClusterOptions, act: Callable[[Cluster], Coroutine[Any, Any, T]]
) -> T:
    runtime = AsyncioRuntime()
    transport = HttpTransport(LiveCredentials(connection, runtime), runtime, connections=4)
    try:
        async with asyncio.timeout(options.timeout):
            return await act(Cluster(ApiClient(transport, runtime), runtime, options.system_namespace))
    except TimeoutError as error:
        waited = spell_seconds(options.timeout)
        raise CommandFailure(
            ExitCode.TIMED_OUT, f"gave up after {waited}.", "try a longer --timeout."
        ) from error
    finally:
        await transport.close()
