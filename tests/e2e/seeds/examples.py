"""The printed examples, and every change that makes them documents which an API server takes."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

PRINTED: Final = Path(__file__).parent / "printed"
METAL: Final = "metal"
MACHINE: Final = "metal-0"


@dataclass(frozen=True, slots=True)
class Substitution:
    printed: str
    ours: str
    why: str


_PLACEHOLDERS: Final = (
    Substitution("M3_REMEDIATION_GROUP", "m3-remediation-group", "a placeholder; names are lower case"),
    Substitution("NAMESPACE_OF_UNHEALTHY_MACHINE", METAL, "a placeholder"),
    Substitution("remediation.metal3.io/v1alphaX", "remediation.metal3.io/v1alpha1", "X is no version"),
)
_TABS: Final = (Substitution("\t", " ", "YAML has no tabs before a value, strictly"),)
_CHECK: Final = (
    *_PLACEHOLDERS,
    Substitution("REMEDIATION_GROUP", "remediation-group", "a placeholder; names are lower case"),
    Substitution("cluster.x-k8s.io/v1alphaX", "cluster.x-k8s.io/v1alpha3", "X is no version"),
    Substitution("...", "role: metal", "a placeholder"),
)
_TEMPLATE: Final = _PLACEHOLDERS
_REMEDIATION: Final = (
    *_PLACEHOLDERS[1:],
    Substitution("NAME_OF_UNHEALTHY_MACHINE", MACHINE, "a placeholder"),
    Substitution("finalizer:", "finalizers:", "as Kubernetes calls it"),
)


def _owned(api_version: str, uid: str) -> tuple[Substitution, ...]:
    return (
        Substitution(
            "apiVersion:cluster.x-k8s.io/v1alphaX", f"apiVersion: {api_version}", "the Machine's own"
        ),
        Substitution("uid: ...", f"uid: {uid}", "the Machine's own"),
    )


SHORTER: Final = (Substitution('"5m"', '"10s"', "so that nobody waits"),)


def owner_check() -> dict[str, Any]:
    return _read("machine-health-checking.check.yaml", SHORTER)


def external_check(design: str) -> dict[str, Any]:
    return _read(f"{design}.external-check.yaml", _CHECK)


def template(design: str) -> dict[str, Any]:
    return _read(f"{design}.template.yaml", (*_TEMPLATE, *_tabs(design)))


def remediation(design: str, api_version: str, uid: str) -> dict[str, Any]:
    """As it should be for a Machine of this version and UID."""
    substitutions = (*_REMEDIATION, *_owned(api_version, uid), *_tabs(design))
    return _read(f"{design}.remediation.yaml", substitutions)


def _tabs(design: str) -> tuple[Substitution, ...]:
    return _TABS if design == "machine-health-checking" else ()


def _read(name: str, substitutions: tuple[Substitution, ...]) -> dict[str, Any]:
    text = (PRINTED / name).read_text()
    for one in substitutions:
        if one.printed not in text:
            raise ValueError(f"{name} has no {one.printed!r} to be substituted")
        text = text.replace(one.printed, one.ours)
    document: dict[str, Any] = yaml.safe_load(text)
    return document
