"""Runs a command's coroutine against the real cluster, within its time, or until the person ends it."""

import asyncio
import os
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from nodemend.cli.cluster import Cluster
from nodemend.cli.exit_codes import CommandFailure, ExitCode
from nodemend.cli.options import ClusterOptions
from nodemend.cli.terminal_shell import write_note
from nodemend.cli.watching import Look, keep_looking
from nodemend.cli.words import spell_seconds
from nodemend.kube.api_client import ApiClient
from nodemend.kube.asyncio_shell import AsyncioRuntime, run
from nodemend.kube.credentials import Connection, CredentialsError
from nodemend.kube.credentials_shell import LiveCredentials, find_connection
from nodemend.kube.http_shell import HttpTransport

T = TypeVar("T")


def with_cluster(options: ClusterOptions, act: Callable[[Cluster], Coroutine[Any, Any, T]]) -> T:
    """What `act` returns. Raises CommandFailure when there is no way to the cluster, or no time left."""
    return run(_connected(_connection(options), options, lambda cluster: _in_time(options, act(cluster))))


def watch_cluster(
    options: ClusterOptions,
    look: Callable[[Cluster], Coroutine[Any, Any, T]],
    lasting: Callable[[T], object],
    tell: Callable[[Look[T]], None],
) -> None:
    """Looks and tells until Ctrl-C. Each look may take as long as the options say. Raises CommandFailure."""

    async def watch(cluster: Cluster) -> None:
        await keep_looking(cluster, lambda there: _in_time(options, look(there)), lasting, tell)

    # Who has seen enough ends it so; that is no failure.
    with suppress(KeyboardInterrupt):
        run(_connected(_connection(options), options, watch))


def _connection(options: ClusterOptions) -> Connection:
    try:
        connection = find_connection(os.environ, options.kubeconfig, options.context)
    except CredentialsError as error:
        raise CommandFailure(ExitCode.USAGE, f"{error}.") from error
    for caution in connection.cautions:
        write_note(f"Warning: {caution}")
    return connection


async def _connected(
    connection: Connection, options: ClusterOptions, act: Callable[[Cluster], Coroutine[Any, Any, T]]
) -> T:
    runtime = AsyncioRuntime()
    credentials = LiveCredentials(connection, runtime)
    transport = HttpTransport(credentials, runtime, connections=4, headers=options.impersonation)
    try:
        return await act(Cluster(ApiClient(transport, runtime), runtime, options.system_namespace))
    finally:
        await transport.close()


async def _in_time(options: ClusterOptions, work: Coroutine[Any, Any, T]) -> T:
    try:
        async with asyncio.timeout(options.timeout):
            return await work
    except TimeoutError as error:
        waited = spell_seconds(options.timeout)
        raise CommandFailure(
            ExitCode.TIMED_OUT, f"gave up after {waited}.", "try a longer --timeout."
        ) from error
