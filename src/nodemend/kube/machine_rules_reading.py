"""What a MachineHealthCheck says, in either of its shapes, as the rules that both mean."""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from nodemend.api import keys
from nodemend.api.conditions import ConditionStatus
from nodemend.api.label_selector import LabelSelector
from nodemend.decide.limits import Gate, Reading, parse_gate
from nodemend.decide.machine_rules import MachineRules, TemplateNamed, Watched
from nodemend.kube.go_duration import parse_go_duration

USUAL_STARTUP: Final = 600.0
"""Seconds a machine may take to become a node when its check does not say."""


class _Condition(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    type: str = ""
    status: str = ""
    timeout: str | None = None
    timeout_seconds: int | None = None


class _Reference(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    api_version: str = ""
    kind: str = ""
    name: str = ""
    namespace: str = ""


class _Checks(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    node_startup_timeout_seconds: int | None = None
    unhealthy_node_conditions: tuple[_Condition, ...] = ()
    unhealthy_machine_conditions: tuple[_Condition, ...] = ()


class _TriggerIf(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    unhealthy_less_than_or_equal_to: int | str | None = None
    unhealthy_in_range: str = ""


class _Remediation(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    trigger_if: _TriggerIf = _TriggerIf()
    template_ref: _Reference | None = None


class MachineCheckSpec(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    cluster_name: str = ""
    selector: LabelSelector = LabelSelector()
    # Grouped, since v1beta2.
    checks: _Checks = _Checks()
    remediation: _Remediation = _Remediation()
    # Flat.
    unhealthy_conditions: tuple[_Condition, ...] = ()
    unhealthy_machine_conditions: tuple[_Condition, ...] = ()
    max_unhealthy: int | str | None = None
    unhealthy_range: str = ""
    node_startup_timeout: str | None = None
    remediation_template: _Reference | None = None
    external_remediation_template: _Reference | None = None


def read_rules(spec: MachineCheckSpec, namespace: str, annotations: Mapping[str, str]) -> MachineRules:
    """Never fails: what cannot be followed is kept as such, and stops the check from acting."""
    reader = _RulesReader(spec)
    gate, reading = reader.gate()
    return MachineRules(
        cluster=spec.cluster_name,
        selector=spec.selector,
        of_node=reader.watched((*spec.checks.unhealthy_node_conditions, *spec.unhealthy_conditions)),
        of_machine=reader.watched(
            (*spec.checks.unhealthy_machine_conditions, *spec.unhealthy_machine_conditions)
        ),
        startup=reader.startup(),
        gate=gate,
        reading=reading,
        template=reader.template(namespace, annotations.get(keys.REMEDIATION_STRATEGY)),
        unread=tuple(reader.unread),
    )


class _RulesReader:
    """Reads one spec, noting what it cannot follow."""

    def __init__(self, spec: MachineCheckSpec) -> None:
        self._spec = spec
        self.unread: list[str] = []

    def watched(self, conditions: Iterable[_Condition]) -> tuple[Watched, ...]:
        found = []
        for one in conditions:
            seconds = self._seconds(one.timeout, one.timeout_seconds)
            if one.status not in ("True", "False", "Unknown"):
                self.unread.append(f"a condition {one.type} has no status {one.status!r}")
            elif seconds is not None:
                found.append(Watched(one.type, ConditionStatus(one.status), seconds))
        return tuple(found)

    def startup(self) -> float | None:
        """None when the check asks for no limit."""
        written, grouped = self._spec.node_startup_timeout, self._spec.checks.node_startup_timeout_seconds
        if written is None and grouped is None:
            return USUAL_STARTUP
        return self._seconds(written, grouped) or None

    def gate(self) -> tuple[Gate | None, Reading]:
        """A range wins over a limit. A limit whose name says "or equal" is read so."""
        trigger = self._spec.remediation.trigger_if
        spanned = trigger.unhealthy_in_range or self._spec.unhealthy_range
        if spanned:
            return self._parse_gate(spanned), Reading.STOPS_AT
        if trigger.unhealthy_less_than_or_equal_to is not None:
            return self._parse_gate(trigger.unhealthy_less_than_or_equal_to), Reading.STOPS_ABOVE
        if self._spec.max_unhealthy is not None:
            return self._parse_gate(self._spec.max_unhealthy), Reading.STOPS_AT
        return None, Reading.STOPS_AT

    def template(self, namespace: str, strategy: str | None) -> TemplateNamed | None:
        """`strategy` is OpenShift's annotation by which a check asks for another remedy than deletion."""
        spec = self._spec
        found = (
            spec.remediation.template_ref or spec.remediation_template or spec.external_remediation_template
        )
        if found is None and strategy is not None:
            known = strategy == keys.EXTERNAL_STRATEGY
            named = strategy if known else "one that Nodemend does not know"
            said = f"its annotation {keys.REMEDIATION_STRATEGY} ({named}) needs a remediation template"
            self.unread.append(said)
        if found is None:
            return None
        if found.namespace not in ("", namespace):
            self.unread.append(f"its template is in {found.namespace}, not in its own namespace")
        if not found.kind.endswith("Template") or not found.name:
            self.unread.append(f"its template is {found.kind!r} {found.name!r}")
        return TemplateNamed(found.api_version, found.kind, found.name)

    def _parse_gate(self, written: int | str) -> Gate | None:
        try:
            return parse_gate(written)
        except ValueError as error:
            self.unread.append(str(error))
            return None

    def _seconds(self, written: str | None, seconds: int | None) -> float | None:
        if seconds is not None:
            return float(seconds)
        try:
            return parse_go_duration(written or "")
        except ValueError as error:
            self.unread.append(str(error))
            return None
