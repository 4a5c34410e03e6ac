"""A snapshot from a file, as `kubectl get nodes,nodehealthchecks,remediationpolicies -o json` prints it."""

from collections.abc import Iterable
from datetime import datetime
from typing import TypeVar

import msgspec

from nodemend.api import keys
from nodemend.api.group_versions import NODE, NODE_HEALTH_CHECK, REMEDIATION_POLICY, Resource
from nodemend.api.node_health_check import NodeHealthCheck
from nodemend.api.remediation_policy import RemediationPolicy
from nodemend.api.timestamps import written_moment
from nodemend.cli.simulate.documents import Document, DocumentsError, read_documents
from nodemend.cli.simulate.snapshot import Snapshot, asked_by, guess_kind, with_uid
from nodemend.controllers.checking.remedies import RemedyKind
from nodemend.kube.json_decoding import UNREADABLE, decoder_of
from nodemend.kube.node_record import NodeCondition, NodeRecord, NodeStatus, NodeWire, node_records
from nodemend.kube.remediation_record import RemediationRecord, RemediationWire, as_record

T = TypeVar("T")


class _Condition(NodeCondition, frozen=True, gc=False, rename="camel"):
    last_heartbeat_time: str | None = None


class _Status(NodeStatus, frozen=True, gc=False, rename="camel"):
    conditions: tuple[_Condition, ...] = ()


class _Node(NodeWire, frozen=True, gc=False):
    """With heartbeats: the latest of all tells when the snapshot was taken, which the file does not say."""

    status: _Status = _Status()


def read_snapshot(content: bytes, source: str, otherwise: datetime) -> Snapshot:
    """`otherwise` is when it was taken, if nothing in it tells. Raises DocumentsError."""
    documents = read_documents(content)
    nodes = _all(documents, NODE, _Node)
    if not nodes:
        raise DocumentsError("has no nodes in it")
    checks = tuple(_all(documents, NODE_HEALTH_CHECK, NodeHealthCheck))
    policies = _all(documents, REMEDIATION_POLICY, RemediationPolicy)
    kinds = {asked: guess_kind(asked) for asked in asked_by(checks)}
    return Snapshot(
        source=source,
        taken_at=_taken_at(nodes) or otherwise,
        nodes=_records(nodes),
        checks=checks,
        policy=next((found for found in policies if found.metadata.name == keys.POLICY_NAME), None),
        kinds=kinds,
        remediations=tuple(_remediations(documents, kinds.values())),
        machine_checks=sum(document.kind == "MachineHealthCheck" for document in documents),
    )


def decode(document: Document, kind: type[T]) -> T:
    """Raises DocumentsError."""
    try:
        return decoder_of(kind).decode(document.raw)
    except UNREADABLE as error:
        raise DocumentsError(f"has a {document} that cannot be read: {error}") from error


def _all(documents: Iterable[Document], resource: Resource, kind: type[T]) -> list[T]:
    wanted = resource.api_version, resource.kind
    return [decode(found, kind) for found in documents if (found.api_version, found.kind) == wanted]


def _records(nodes: Iterable[_Node]) -> dict[str, NodeRecord]:
    project = node_records(annotations=(keys.EXCLUDE,)).project
    try:
        return {wire.metadata.name: with_uid(project(wire, None)) for wire in nodes}
    except msgspec.DecodeError as error:
        raise DocumentsError(f"has a Node whose labels cannot be read: {error}") from error


def _remediations(documents: Iterable[Document], kinds: Iterable[RemedyKind]) -> list[RemediationRecord]:
    found: list[RemediationRecord] = []
    for resource in {kind.remediation: None for kind in kinds}:
        found += [as_record(resource, wire) for wire in _all(documents, resource, RemediationWire)]
    return found


def _taken_at(nodes: Iterable[_Node]) -> datetime | None:
    """Times of one form compare as texts do, and thousands of them need not be read."""
    conditions = [condition for node in nodes for condition in node.status.conditions]
    beat = max((condition.last_heartbeat_time or "" for condition in conditions), default="")
    written = {condition.last_transition_time for condition in conditions}
    times = [moment for text in written if (moment := written_moment(text)) is not None]
    if beat and (beaten := written_moment(beat)) is None:
        raise DocumentsError(f"has a time in it that cannot be read: {beat[:40]!r}")
    return max([*times, beaten] if beat and beaten else times, default=None)
