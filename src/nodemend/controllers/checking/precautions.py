"""What whoever begins a remediation heeds, and shares with all others who do in one leadership."""

from dataclasses import dataclass

from nodemend.controllers.checking.neighbours import Neighbours
from nodemend.controllers.checking.open_remediations import OpenRemediations
from nodemend.controllers.checking.turn import Turn


@dataclass(frozen=True, slots=True)
class Precautions:
    turn: Turn
    """The guard counts what is open: two creations at once could both find room for one."""
    neighbours: Neighbours
    open_remediations: OpenRemediations
