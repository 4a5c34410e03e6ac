"""Runs a command's coroutine against the real cluster until it ends, times out or is interrupted.

Shell completion reads the names of Nodes in the same way, with a shorter timeout.
"""

import asyncio
import os
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from typing import Any, Final, TypeVar

from nodemend.api.meta import KubernetesObject
from nodemend.api.resources import NODE
from nodemend.api.well_known import SYSTEM_NAMESPACE
from nodemend.cli.cluster import Cluster
from nodemend.cli.exit_codes import CommandFailure, ExitCode
from nodemend.cli.options import ClusterOptions
from nodemend.cli.terminal import Observation, keep_observing, write_note
from nodemend.cli.text import spell_seconds
from nodemend.kube.asyncio_runtime import AsyncioRuntime, run
from nodemend.kube.client import PAGE_SIZE, ApiClient, list_of
from nodemend.kube.credentials import Connection, CredentialsError
from nodemend.kube.credentials_io import LiveCredentials, find_connection
from nodemend.kube.http_transport import HttpTransport
from nodemend.kube.request import EVERYTHING, list_page
from nodemend.safety.facts import Present

T = TypeVar("T")


def with_cluster(options: ClusterOptions, act: Callable[[Cluster], Coroutine[Any, Any, T]]) -> T:
    """Return the result of `act`. Raises CommandFailure if the cluster is unreachable or the time is over."""
    return run(_connected(options, lambda cluster: _in_time(options, act(cluster))))


def watch_cluster(
    options: ClusterOptions,
    read: Callable[[Cluster], Coroutine[Any, Any, T]],
    lasting: Callable[[T], object],
    tell: Callable[[Observation[T]], None],
) -> None:
    """Read and render repeatedly until Ctrl-C.

    Each read has the timeout of the options. Raises CommandFailure.
    """

    async def watch(cluster: Cluster) -> None:
        await keep_observing(cluster, lambda there: _in_time(options, read(there)), lasting, tell)

    # Ctrl-C is the normal end of a watch, not a failure.
    with suppress(KeyboardInterrupt):
        run(_connected(options, watch))


def _connection(options: ClusterOptions) -> Connection:
    try:
        connection = find_connection(os.environ, options.kubeconfig, options.context)
    except CredentialsError as error:
        raise CommandFailure(ExitCode.USAGE, f"{error}.") from error
    for caution in connection.cautions:
        write_note(f"Warning: {caution}")
    return connection


async def _connected(options: ClusterOptions, act: Callable[[Cluster], Coroutine[Any, Any, T]]) -> T:
    runtime = AsyncioRuntime()
    credentials = LiveCredentials(_connection(options), runtime)
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


_WITHIN: Final = 3.0
"""Timeout in seconds for a user who has pressed Tab."""


def names_beginning_with(given: Mapping[str, Any], begun: str) -> list[str]:
    """Return names from the first page of Nodes, in the cluster that the parsed flags in `given` select.

    Empty if the cluster refuses or does not answer in time: a shell cannot show the reason.
    """
    asked = ("kubeconfig", "context", "as_user", "as_groups")
    options = ClusterOptions(
        system_namespace=SYSTEM_NAMESPACE,
        timeout=_WITHIN,
        **{"kubeconfig": "", "context": "", **{name: given[name] for name in asked if given.get(name)}},
    )
    try:
        return [name for name in with_cluster(options, _names) if name.startswith(begun)]
    except CommandFailure:
        return []


async def _names(cluster: Cluster) -> list[str]:
    found = await cluster.ask(list_page(NODE, EVERYTHING, limit=PAGE_SIZE), list_of(KubernetesObject))
    return [one.metadata.name for one in found.value.items or ()] if isinstance(found, Present) else []
