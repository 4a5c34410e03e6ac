"""What is to be simulated, beside the cluster itself."""

from dataclasses import dataclass

from nodemend.cli.simulate.invention import Choice, Invention, Symptom


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Times are whole seconds."""

    fails: tuple[Invention, ...]
    heals: tuple[Invention, ...]
    stays_sick: tuple[Choice, ...]
    """Whom no remediation heals."""
    symptom: Symptom
    lasts: int
    remediation_takes: int
