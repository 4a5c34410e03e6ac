"""The names of Nodes, for a shell that completes one."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from nodemend.api.group_versions import NODE
from nodemend.api.keys import SYSTEM_NAMESPACE
from nodemend.cli.cluster import Cluster
from nodemend.cli.cluster_shell import with_cluster
from nodemend.cli.exit_codes import CommandFailure
from nodemend.cli.options import ClusterOptions
from nodemend.decide.facts import Present
from nodemend.kube.api_request import EVERYTHING, list_page
from nodemend.kube.paged_list import PAGE_SIZE, list_of

_WITHIN: Final = 3.0
"""Seconds for which somebody who has pressed Tab waits."""


class _Metadata(msgspec.Struct, frozen=True):
    name: str


class _Named(msgspec.Struct, frozen=True):
    metadata: _Metadata


def names_beginning_with(given: Mapping[str, Any], begun: str) -> list[str]:
    """Of the first page of Nodes, in the cluster that the words before name in `given`.

    None where that cluster does not answer in time or refuses: a shell has no place for the reason.
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
    found = await cluster.ask(list_page(NODE, EVERYTHING, limit=PAGE_SIZE), list_of(_Named))
    return [one.metadata.name for one in found.value.items or ()] if isinstance(found, Present) else []
