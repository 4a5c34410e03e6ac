"""Nodes without kubelets, in any number: the test writes the conditions of the node lifecycle controller."""

from collections.abc import Iterable
from functools import partial

from controlplane.api import Api
from tests.e2e.checks.world import for_each
from tests.integration.machine_objects import add_node, show


def make(api: Api, count: int) -> list[str]:
    names = [f"n-{number:04}" for number in range(count)]
    for_each(names, partial(add_node, api))
    return names


def report(api: Api, nodes: Iterable[str], status: str) -> None:
    for_each(nodes, partial(show, api, ready=status))
