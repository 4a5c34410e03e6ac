"""A snapshot as if something else were in force: another policy, other checks, or nothing that holds."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

import msgspec

from nodemend.api import keys
from nodemend.api.crd_schema import schema_of_kind
from nodemend.api.custom_resources import CUSTOM_RESOURCES
from nodemend.api.group_versions import NODE_HEALTH_CHECK, REMEDIATION_POLICY
from nodemend.api.node_health_check import NodeHealthCheck
from nodemend.api.object_meta import ObjectMeta
from nodemend.api.remediation_policy import Mode, RemediationPolicy
from nodemend.cli.simulate.documents import Document, DocumentsError, read_documents
from nodemend.cli.simulate.file_rules import broken_rules
from nodemend.cli.simulate.snapshot import Snapshot, asked_by, guess_kind
from nodemend.cli.simulate.snapshot_file import decode
from nodemend.decide.limits import parse_gate

_NO_POLICY: Final = RemediationPolicy(metadata=ObjectMeta(name=keys.POLICY_NAME))
_OURS: Final = {custom.resource.kind: custom for custom in CUSTOM_RESOURCES}


def with_file(snapshot: Snapshot, content: bytes) -> Snapshot:
    """As if the file had been applied: a check or a policy takes the place of its namesake.

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
    """Mode Act, nothing paused, no check on dry run."""
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
        # Identity and memory stay: remediations under way are those of the check that asked for them.
        checks[check.metadata.name] = known.but(spec=check.spec) if known is not None else check
    kinds = {asked: guess_kind(asked) for asked in asked_by(tried)}
    return replace(snapshot, checks=tuple(checks.values()), kinds={**kinds, **snapshot.kinds})


def _with_policy(snapshot: Snapshot, tried: RemediationPolicy) -> Snapshot:
    known = snapshot.policy or _NO_POLICY
    return replace(snapshot, policy=known.but(spec=tried.spec))


def refuse_bad_limits(snapshot: Snapshot) -> None:
    """Raises DocumentsError for limits that the API server would not have taken."""
    limits = [check.spec.max_unhealthy for check in snapshot.checks]
    if snapshot.policy is not None:
        spec = snapshot.policy.spec
        limits.append(spec.max_unhealthy)
        if spec.failure_domains is not None:
            limits.append(spec.failure_domains.max_unhealthy)
    for limit in limits:
        try:
            parse_gate(limit)
        except ValueError as error:
            raise DocumentsError(f"cannot be tried: {error}") from error


def _refuse_wrong_version(document: Document) -> None:
    custom = _OURS[document.kind]
    group, _, version = document.api_version.rpartition("/")
    if group != custom.resource.group or version not in (custom.resource.version, *custom.also_served):
        raise DocumentsError(f"has a {document}, which is no {custom.resource.api_version}")


def _refuse_broken_rules(document: Document) -> None:
    """What the API server would refuse must not be tried as if it were in force."""
    custom, written = _OURS[document.kind], msgspec.json.decode(document.raw)
    broken = next(broken_rules(written, schema_of_kind(custom.type)), None)
    if broken is None and not (written.get("metadata") or {}).get("name"):
        broken = "metadata.name must not be empty"
    if broken is not None:
        raise DocumentsError(f"has a {document.kind} that the API server would refuse: {broken}")


def _refuse_unknown(document: Document) -> None:
    """A field that is misspelt would be tried with its default, and nobody would know."""
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
