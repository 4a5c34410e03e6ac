"""Checks of the metadata of every object."""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

from simulation.api_server.statuses import Cause, forbidden_value, immutable, required, wrong

Metadata = Mapping[str, Any]

LABEL_VALUE: Final = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")
NAME_PART: Final = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")

NEVER_CHANGES: Final = (
    "name",
    "namespace",
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)


def settled(metadata: Metadata, old: Metadata | None = None) -> Metadata:
    """Remove parts that no stored object has: selfLink, and duplicate owner references."""
    if metadata is old:
        return metadata
    owners = metadata.get("ownerReferences") or ()
    once = [owner for index, owner in enumerate(owners) if owner not in owners[:index]]
    if "selfLink" not in metadata and len(once) == len(owners):
        return metadata
    made = {key: part for key, part in metadata.items() if key != "selfLink"}
    return {**made, "ownerReferences": once} if once else made


@lru_cache(maxsize=4096)
def is_subdomain(name: str) -> bool:
    return len(name) <= 253 and SUBDOMAIN.fullmatch(name) is not None


@lru_cache(maxsize=4096)
def is_label(name: str) -> bool:
    return len(name) <= 63 and LABEL.fullmatch(name) is not None


@lru_cache(maxsize=4096)
def is_qualified_name(name: str) -> bool:
    prefix, slash, rest = name.rpartition("/")
    if slash and not is_subdomain(prefix):
        return False
    return 0 < len(rest) <= 63 and NAME_PART.fullmatch(rest) is not None


@lru_cache(maxsize=4096)
def is_label_value(value: str) -> bool:
    return len(value) <= 63 and LABEL_VALUE.fullmatch(value) is not None


def check_new(metadata: Metadata) -> Iterator[Cause]:
    """Yield the errors in the metadata of an object to be created, except those of its name."""
    yield from _check_always(metadata, {})
    yield from _check_finalizers(metadata, {})


def check_name(name: str, *, fits: bool) -> Iterator[Cause]:
    if not name:
        yield required("metadata.name", "name or generateName is required")
    elif not fits:
        yield wrong("metadata.name", name, "a lowercase RFC 1123 name is wanted")


def check_changed(new: Metadata, old: Metadata) -> Iterator[Cause]:
    """Yield the errors in the metadata of an update."""
    if new is old:
        return
    if old.get("deletionTimestamp"):
        extra = sorted(set(new.get("finalizers") or ()) - set(old.get("finalizers") or ()))
        if extra:
            why = (
                f"no new finalizers can be added if the object is being deleted, found new finalizers {extra}"
            )
            yield forbidden_value("metadata.finalizers", why)
    for field in NEVER_CHANGES:
        if new.get(field) != old.get(field):
            yield immutable(f"metadata.{field}", new.get(field))
    yield from _check_always(new, old)
    yield from _check_finalizers(new, old)


def _check_always(new: Metadata, old: Metadata) -> Iterator[Cause]:
    labels = new.get("labels") or {}
    if labels and labels is not old.get("labels"):
        yield from _check_labels(labels)
    annotations = new.get("annotations") or {}
    if annotations and annotations is not old.get("annotations"):
        for key in annotations:
            if not is_qualified_name(key.lower()):
                yield wrong("metadata.annotations", key, "a qualified name is wanted")
    owners = new.get("ownerReferences") or ()
    if owners and owners is not old.get("ownerReferences"):
        yield from _check_owners(owners)


def _check_labels(labels: Mapping[str, str]) -> Iterator[Cause]:
    for key, value in labels.items():
        if not is_qualified_name(key):
            yield wrong("metadata.labels", key, "a qualified name is wanted")
        if not is_label_value(value):
            yield wrong("metadata.labels", value, "a valid label value is wanted")


def _check_owners(owners: Iterable[Mapping[str, Any]]) -> Iterator[Cause]:
    controllers = 0
    for owner in owners:
        for field in ("apiVersion", "kind", "name", "uid"):
            if not owner.get(field):
                yield wrong(f"metadata.ownerReferences.{field}", owner.get(field, ""), "must not be empty")
        controllers += owner.get("controller") is True
        if controllers > 1 and owner.get("controller"):
            yield wrong(
                "metadata.ownerReferences", list(owners), "only one reference can have Controller set to true"
            )


def _check_finalizers(new: Metadata, old: Metadata) -> Iterator[Cause]:
    finalizers = new.get("finalizers") or ()
    if finalizers is old.get("finalizers"):
        return
    for finalizer in finalizers:
        if not is_qualified_name(finalizer):
            yield wrong("metadata.finalizers", finalizer, "a qualified name is wanted")
    if {"orphan", "foregroundDeletion"} <= set(finalizers):
        yield wrong(
            "metadata.finalizers", list(finalizers), "orphan and foregroundDeletion cannot be both set"
        )
