"""Judges many nodes by the same rules, one right after the other."""

from nodemend.controllers.checking.condition_ages import ConditionAges
from nodemend.controllers.node_health_check import gather
from nodemend.controllers.node_health_check.gather import Target
from nodemend.decide.health_glance import Glance, glance_at
from nodemend.decide.node_health import Healthy


class QuickJudge:
    """Most nodes are well, and that is seen at a glance."""

    def __init__(self, ages: ConditionAges) -> None:
        self._ages = ages
        self._glances: dict[tuple[str, int], Glance] = {}
        """By the UID and generation of a check."""

    def finds_well(self, target: Target, now: float) -> bool:
        check = target.check
        version = check.metadata.uid, check.metadata.generation
        glance = self._glances.get(version)
        if glance is None:
            glance = self._glances[version] = glance_at(check.spec.thresholds)
        return glance.finds_well(target.node.conditions) or isinstance(
            gather.judge_target(target, self._ages, now), Healthy
        )
