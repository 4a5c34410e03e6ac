"""The start of a simulation: a cluster at one time, read from the cluster or a file, or with other rules.

A file is JSON or YAML, one object or many, as `kubectl get nodes,nodehealthchecks,remediationpolicies -o
json` prints them. No API server has validated it: decoding checks the type of each field, and this module has
the CEL rules of the CRDs, identified by their messages.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from math import ceil
from typing import Any, Final, TypeVar

import msgspec
from msgspec import structs

from nodemend.api import well_known
from nodemend.api.crds import CUSTOM_RESOURCES, schema_of_kind
from nodemend.api.meta import LABEL_KEY, ObjectMeta, parse_time, written_moment
from nodemend.api.node_health_check import NodeHealthCheck
from nodemend.api.quantities import duration_seconds
from nodemend.api.remediation_policy import Mode, RemediationPolicy
from nodemend.api.resources import NODE, NODE_HEALTH_CHECK, OUR_GROUP, REMEDIATION_POLICY, Resource
from nodemend.cli.cluster import Cluster, EtcdHosts, find_etcd_hosts, may_have, must_have
from nodemend.cli.listing import MachineListing, list_machines
from nodemend.cli.listing_caches import asked_by_nodes, list_remedies
from nodemend.health.remediation_index import NotServed, RemedyKind, TemplateKind
from nodemend.kube.outcome import DECODE_ERRORS, decoder_of
from nodemend.records.node import NodeConditionRecord, NodeRecord, NodeStatusWire, NodeWire, node_records
from nodemend.records.remediation import RemediationRecord, RemediationWire, as_record
from nodemend.safety.facts import Unreadable
from nodemend.safety.limits import parse_comparison

_FIRST: Final = re.compile(rb'\{\s*"apiVersion":\s*"([a-z0-9./]*)",\s*"kind":\s*"([A-Za-z0-9]*)"')
_ENOUGH: Final = 400


class DocumentsError(ValueError):
    """An error in the file. The message completes a sentence that begins with the file's name."""


class Document(msgspec.Struct, frozen=True):
    """One object that is not decoded yet. `raw` is JSON."""

    api_version: str
    kind: str
    raw: msgspec.Raw

    def __str__(self) -> str:
        return f"{self.kind} of {self.api_version}"


class _Header(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    kind: str = ""
    api_version: str = ""


class _Listed(_Header, frozen=True, gc=False):
    items: list[msgspec.Raw] | None = None


def read_documents(content: bytes) -> list[Document]:
    """Return every object, with lists unfolded. Raises DocumentsError."""
    try:
        # JSON is not parsed here: a snapshot of 5,000 nodes has 50 MB.
        wholes = [content] if content.lstrip()[:1] == b"{" else _from_yaml(content)
        return [found for whole in wholes for found in _unfold(whole)]
    except DECODE_ERRORS as error:
        raise DocumentsError(f"is no list of objects: {error}") from error


def _from_yaml(content: bytes) -> list[bytes]:
    """Return each document as JSON."""
    import yaml  # noqa: PLC0415 - not needed for JSON

    # The parser in C, if available, is ten times as fast.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        found = [document for document in yaml.load_all(content, loader) if document is not None]
        return [msgspec.json.encode(document) for document in found]
    except Exception as error:
        raise DocumentsError(f"is neither JSON nor YAML: {type(error).__name__}: {error}") from error


def _unfold(whole: bytes) -> Iterator[Document]:
    listed = decoder_of(_Listed).decode(whole)
    if listed.items is None:
        yield _named(listed, msgspec.Raw(whole))
        return
    for raw in listed.items:
        head = _peek(raw)
        # The items of a NodeList have no kind.
        kind = head.kind or listed.kind.removesuffix("List")
        yield _named(_Header(kind, head.api_version or listed.api_version), raw)


def _peek(raw: msgspec.Raw) -> _Header:
    """Read kind and version from the start of an object, where kubectl writes them.

    Avoids decoding all of it.
    """
    found = _FIRST.match(memoryview(raw)[:_ENOUGH])
    if found is None:
        return decoder_of(_Header).decode(raw)
    return _Header(kind=found[2].decode(), api_version=found[1].decode())


def _named(header: _Header, raw: msgspec.Raw) -> Document:
    if not header.kind:
        raise DocumentsError("has an object that does not say its kind")
    return Document(header.api_version, header.kind, raw)


_MATCHES: Final = re.compile(r"self\.matches\('([^']*)'\)")
_LISTED: Final = ("In", "NotIn")
_LONGEST_KEY: Final = 317
_MOST_NODES: Final = 100_000
_LIMIT: Final = re.compile(r"[0-9]{1,5}|([0-9]|[1-9][0-9]|100)%")


def broken_rules(value: Any, schema: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """Yield each broken rule: the path in the object and the API server's message."""
    for rule in schema.get("x-kubernetes-validations", ()):
        if not predicate_of(rule)(value):
            yield f"{path or 'it'} {rule['message']}".strip()
    if isinstance(value, dict):
        below = schema.get("properties", {})
        others = schema.get("additionalProperties")
        for name, inner in value.items():
            part = below.get(name, others if isinstance(others, dict) else None)
            if part is not None and inner is not None and name != "status":
                yield from broken_rules(inner, part, f"{path}.{name}".lstrip("."))
    elif isinstance(value, list) and "items" in schema:
        for number, inner in enumerate(value):
            yield from broken_rules(inner, schema["items"], f"{path}[{number}]")


def predicate_of(rule: Mapping[str, str]) -> Callable[[Any], bool]:
    """Return the predicate of a rule. Raises KeyError for a rule that is not implemented here."""
    pattern = _MATCHES.fullmatch(rule["rule"])
    if pattern is not None:
        return lambda value: re.fullmatch(pattern[1], str(value)) is not None
    for beginning, predicate in _PREDICATES.items():
        if rule["message"].startswith(beginning):
            return predicate
    raise KeyError(rule["message"])


def _seconds(written: object) -> float | None:
    try:
        return duration_seconds(str(written))
    except ValueError:
        return None


def _lasts(written: object, least: float) -> bool:
    """Return whether a duration has at least `least` seconds.

    True if it is invalid: another rule refuses that.
    """
    seconds = _seconds(written)
    return seconds is None or seconds >= least


def _is_limit(written: object) -> bool:
    """Return whether this is a count or a percentage.

    A range, valid in a MachineHealthCheck, is not valid here.
    """
    if isinstance(written, int):
        return 0 <= written <= _MOST_NODES
    return _LIMIT.fullmatch(str(written)) is not None


def _is_label_key(written: str) -> bool:
    return predicate_of({"rule": LABEL_KEY.expression, "message": LABEL_KEY.message})(written)


def _of_own_kind(remedies: Any) -> bool:
    templates = [one.get("template", {}) for one in remedies]
    kinds = [(one.get("apiVersion"), one.get("kind")) for one in templates]
    return len(set(kinds)) == len(kinds)


_PREDICATES: Final[Mapping[str, Callable[[Any], bool]]] = {
    "each key must be a label key": lambda labels: all(
        len(key) <= _LONGEST_KEY and _is_label_key(key) for key in labels
    ),
    "must name at least one value": lambda one: one.get("operator") not in _LISTED or bool(one.get("values")),
    "must be empty for the operators": lambda one: one.get("operator") in _LISTED or not one.get("values"),
    "must be Unknown or False for the condition Ready": lambda one: (
        (one.get("type"), one.get("status")) != ("Ready", "True")
    ),
    "must be at least 40s for the condition Ready": lambda one: (
        one.get("type") != "Ready" or one.get("acceptShortPeriod") is True or _lasts(one.get("period"), 40.0)
    ),
    "must be a duration longer than zero": lambda written: bool(_seconds(written)),
    "each remedy must have a different kind": _of_own_kind,
    "must be at least 1m": lambda one: _lasts(one.get("timeout"), 60.0),
    "must be the kind of a template": lambda one: str(one.get("kind")).endswith("Template"),
    "must be group and version": lambda one: "/" in str(one.get("apiVersion")),
    "must not be ManualRemediationTemplate": lambda one: (
        one.get("template", {}).get("kind") != "ManualRemediationTemplate"
        or not str(one.get("template", {}).get("apiVersion")).startswith(f"{OUR_GROUP}/")
    ),
    "must be a count such as 3": _is_limit,
    "a cluster has one RemediationPolicy": lambda one: (
        one.get("metadata", {}).get("name") == well_known.POLICY_NAME
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The start of a simulation. It is immutable: every simulation builds its own world from it."""

    source: str
    taken_at: datetime
    nodes: Mapping[str, NodeRecord]
    checks: tuple[NodeHealthCheck, ...]
    policy: RemediationPolicy | None
    kinds: Mapping[TemplateKind, RemedyKind | NotServed]
    """The kinds of remedies that the checks name."""
    remediations: tuple[RemediationRecord, ...]
    etcd_hosts: frozenset[str] = frozenset()
    machine_checks: int = 0
    """Number of MachineHealthChecks. They are not simulated, and the output states that."""
    unread: tuple[str, ...] = ()
    """Objects that could not be read, as sentences. The simulation does not include them."""


def pause_ends(snapshot: Snapshot) -> Iterator[float]:
    """Yield the times at which pauses end by themselves, in whole seconds after the snapshot."""
    pauses = [check.spec.pause for check in snapshot.checks]
    pauses.append(snapshot.policy.spec.pause if snapshot.policy is not None else None)
    for pause in pauses:
        try:
            until = parse_time(pause.until or "") if pause is not None else snapshot.taken_at
            left = (until - snapshot.taken_at).total_seconds()
        except (ValueError, TypeError):
            # An invalid end does not end a pause.
            continue
        if left > 0:
            yield ceil(left)


def guess_kind(asked: TemplateKind) -> RemedyKind:
    """Return the resource of a kind without an API server.

    The plural is a guess, but it is only used as a name.
    """
    group, _, version = asked.api_version.rpartition("/")
    kind = asked.kind.removesuffix("Template")
    return RemedyKind(
        template=Resource(group, version, asked.kind, f"{asked.kind.lower()}s"),
        remediation=Resource(group, version, kind, f"{kind.lower()}s"),
    )


def with_uid(node: NodeRecord) -> NodeRecord:
    """Set the name as UID if it is missing.

    Nodes in a handwritten file have no UID and would all count as the same Node.
    """
    return node if node.uid else structs.replace(node, uid=node.name)


async def take_snapshot(cluster: Cluster) -> Snapshot:
    """Read the current cluster. Writes nothing."""
    projection = node_records(annotations=(well_known.EXCLUDE,))
    # Read one object first: its response sets the API server's clock.
    policy = await cluster.policy()
    wires = must_have(await cluster.all(NODE, NodeWire), "list of nodes")
    checks = must_have(await cluster.health_checks(), "list of health checks")
    remedies = await list_remedies(cluster, checks)
    etcd, machines = await find_etcd_hosts(cluster), await list_machines(cluster)
    return Snapshot(
        source="the cluster",
        taken_at=cluster.now,
        nodes={wire.metadata.name: projection.project(wire, None) for wire in wires},
        checks=tuple(checks),
        policy=may_have(policy, "RemediationPolicy"),
        kinds=remedies.kinds,
        remediations=tuple(remedies.all()),
        etcd_hosts=etcd.nodes,
        machine_checks=0 if isinstance(machines, Unreadable) else sum(map(len, machines.checks.values())),
        unread=tuple(_unread(etcd, machines)),
    )


def _unread(etcd: EtcdHosts, machines: MachineListing | Unreadable) -> Iterator[str]:
    if etcd.unread:
        yield etcd.note
    if isinstance(machines, Unreadable):
        yield f"Whether there are MachineHealthChecks cannot be read: {machines.why}."


T = TypeVar("T")


class _Condition(NodeConditionRecord, frozen=True, gc=False, rename="camel"):
    last_heartbeat_time: str | None = None


class _Status(NodeStatusWire, frozen=True, gc=False, rename="camel"):
    conditions: tuple[_Condition, ...] = ()


class _Node(NodeWire, frozen=True, gc=False):
    """A Node with heartbeat times.

    The latest one shows when the snapshot was taken, which the file does not state.
    """

    status: _Status = _Status()


def read_snapshot(content: bytes, source: str, otherwise: datetime) -> Snapshot:
    """Read a snapshot.

    `otherwise` is the time of the snapshot if the file contains no times. Raises DocumentsError.
    """
    documents = read_documents(content)
    nodes = _all(documents, NODE, _Node)
    if not nodes:
        raise DocumentsError("has no nodes in it")
    checks = tuple(_all(documents, NODE_HEALTH_CHECK, NodeHealthCheck))
    policies = _all(documents, REMEDIATION_POLICY, RemediationPolicy)
    kinds = {asked: guess_kind(asked) for asked in asked_by_nodes(checks)}
    return Snapshot(
        source=source,
        taken_at=_taken_at(nodes) or otherwise,
        nodes=_records(nodes),
        checks=checks,
        policy=next((found for found in policies if found.metadata.name == well_known.POLICY_NAME), None),
        kinds=kinds,
        remediations=tuple(_remediations(documents, kinds.values())),
        machine_checks=sum(document.kind == "MachineHealthCheck" for document in documents),
    )


def decode(document: Document, kind: type[T]) -> T:
    """Decode one object. Raises DocumentsError."""
    try:
        return decoder_of(kind).decode(document.raw)
    except DECODE_ERRORS as error:
        raise DocumentsError(f"has a {document} that cannot be read: {error}") from error


def _all(documents: Iterable[Document], resource: Resource, kind: type[T]) -> list[T]:
    wanted = resource.api_version, resource.kind
    return [decode(found, kind) for found in documents if (found.api_version, found.kind) == wanted]


def _records(nodes: Iterable[_Node]) -> dict[str, NodeRecord]:
    project = node_records(annotations=(well_known.EXCLUDE,)).project
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
    """Return the latest time in the file.

    Heartbeats of equal format are compared as text, which avoids parsing thousands of them.
    """
    conditions = [condition for node in nodes for condition in node.status.conditions]
    beat = max((condition.last_heartbeat_time or "" for condition in conditions), default="")
    written = {condition.last_transition_time for condition in conditions}
    times = [moment for text in written if (moment := written_moment(text)) is not None]
    if beat and (beaten := written_moment(beat)) is None:
        raise DocumentsError(f"has a time in it that cannot be read: {beat[:40]!r}")
    return max([*times, beaten] if beat and beaten else times, default=None)


_NO_POLICY: Final = RemediationPolicy(metadata=ObjectMeta(name=well_known.POLICY_NAME))
_OURS: Final = {custom.resource.kind: custom for custom in CUSTOM_RESOURCES}


def with_file(snapshot: Snapshot, content: bytes) -> Snapshot:
    """Apply a file to the snapshot: a check or a policy in it replaces the one of the same name.

    Raises DocumentsError.
    """
    documents = [found for found in read_documents(content) if found.kind in _OURS]
    for document in documents:
        _refuse_wrong_version(document)
        _refuse_unknown(document)
    checks = [decode(one, NodeHealthCheck) for one in documents if one.kind == NODE_HEALTH_CHECK.kind]
    policies = [decode(one, RemediationPolicy) for one in documents if one.kind == REMEDIATION_POLICY.kind]
    if not checks and not policies:
        raise DocumentsError("has neither a RemediationPolicy nor a NodeHealthCheck in it")
    if len(policies) > 1:
        raise DocumentsError("has more than one RemediationPolicy, and a cluster has one")
    for document in documents:
        _refuse_broken_rules(document)
    tried = _with_checks(snapshot, checks) if checks else snapshot
    return _with_policy(tried, policies[0]) if policies else tried


def as_if_acting(snapshot: Snapshot) -> Snapshot:
    """Return the snapshot with mode Act, without pauses, and without checks in dry run."""
    policy = snapshot.policy or _NO_POLICY
    return replace(
        snapshot,
        policy=policy.but(spec=policy.spec.but(mode=Mode.ACT, pause=None)),
        checks=tuple(check.but(spec=check.spec.but(dry_run=False, pause=None)) for check in snapshot.checks),
    )


def _with_checks(snapshot: Snapshot, tried: list[NodeHealthCheck]) -> Snapshot:
    checks = {check.metadata.name: check for check in snapshot.checks}
    for check in tried:
        known = checks.get(check.metadata.name)
        # Keep the UID and the status: open remediations belong to the check that requested them.
        checks[check.metadata.name] = known.but(spec=check.spec) if known is not None else check
    kinds = {asked: guess_kind(asked) for asked in asked_by_nodes(tried)}
    return replace(snapshot, checks=tuple(checks.values()), kinds={**kinds, **snapshot.kinds})


def _with_policy(snapshot: Snapshot, tried: RemediationPolicy) -> Snapshot:
    known = snapshot.policy or _NO_POLICY
    return replace(snapshot, policy=known.but(spec=tried.spec))


def refuse_bad_limits(snapshot: Snapshot) -> None:
    """Raise DocumentsError for limits that the API server would refuse."""
    limits = [check.spec.max_unhealthy for check in snapshot.checks]
    if snapshot.policy is not None:
        spec = snapshot.policy.spec
        limits.append(spec.max_unhealthy)
        if spec.failure_domains is not None:
            limits.append(spec.failure_domains.max_unhealthy)
    for limit in limits:
        try:
            parse_comparison(limit)
        except ValueError as error:
            raise DocumentsError(f"cannot be tried: {error}") from error


def _refuse_wrong_version(document: Document) -> None:
    custom = _OURS[document.kind]
    group, _, version = document.api_version.rpartition("/")
    if group != custom.resource.group or version not in (custom.resource.version, *custom.also_served):
        raise DocumentsError(f"has a {document}, which is no {custom.resource.api_version}")


def _refuse_broken_rules(document: Document) -> None:
    """Raise DocumentsError for an object that the API server would refuse, since it can never be in force."""
    custom, written = _OURS[document.kind], msgspec.json.decode(document.raw)
    broken = next(broken_rules(written, schema_of_kind(custom.type)), None)
    if broken is None and not (written.get("metadata") or {}).get("name"):
        broken = "metadata.name must not be empty"
    if broken is not None:
        raise DocumentsError(f"has a {document.kind} that the API server would refuse: {broken}")


def _refuse_unknown(document: Document) -> None:
    """Raise DocumentsError for an unknown field.

    A misspelled field would otherwise silently be tried with its default.
    """
    schema = schema_of_kind(_OURS[document.kind].type)
    unknown = next(_unknown(msgspec.json.decode(document.raw), schema, ""), None)
    if unknown is not None:
        raise DocumentsError(f"has a {document.kind} with a field that there is not: {unknown}")


def _unknown(value: Any, schema: Mapping[str, Any], path: str) -> Iterator[str]:
    if isinstance(value, dict) and "properties" in schema:
        for name, inner in value.items():
            below = f"{path}.{name}".lstrip(".")
            if name in schema["properties"]:
                yield from _unknown(inner, schema["properties"][name], below)
            else:
                yield below
    elif isinstance(value, list) and "items" in schema:
        for number, inner in enumerate(value):
            yield from _unknown(inner, schema["items"], f"{path}[{number}]")
