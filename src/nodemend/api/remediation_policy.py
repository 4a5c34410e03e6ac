"""RemediationPolicy: what the whole cluster allows Nodemend to do."""

from enum import StrEnum
from typing import Annotated, ClassVar

from nodemend.api import keys
from nodemend.api.conditions import Condition
from nodemend.api.object_meta import ObjectMeta
from nodemend.api.wire import Rule, Wire, about


class Mode(StrEnum):
    DRY_RUN = "DryRun"
    ACT = "Act"


class Pause(Wire):
    """Stops new actions at once. What is under way reaches its next safe point and waits there."""

    reason: Annotated[str, about("Why, for whoever finds it.", min_length=1, max_length=1024)]
    by: Annotated[str, about("Who paused.", max_length=316)] = ""


class RemediationPolicySpec(Wire):
    mode: Annotated[
        Mode, about("DryRun only says what it would do. Act remediates. Without a policy it is DryRun.")
    ] = Mode.DRY_RUN
    pause: Annotated[Pause | None, about("While present, no new action begins anywhere.")] = None
    max_concurrent: Annotated[
        int, about("How many nodes may be under remediation at once in the whole cluster.", ge=1, le=100_000)
    ] = 1


class RemediationPolicyStatus(Wire):
    observed_generation: Annotated[int, about("The generation last acted upon.", ge=0)] = 0
    conditions: Annotated[
        tuple[Condition, ...], about("Ready, Paused, DryRun.", max_length=16, keys=("type",))
    ] = ()


class RemediationPolicy(Wire):
    """The cluster-wide guard. There is one, and its name is `cluster`."""

    RULES: ClassVar = (
        Rule(
            f"self.metadata.name == '{keys.POLICY_NAME}'",
            f"a cluster has one RemediationPolicy: metadata.name must be {keys.POLICY_NAME}",
        ),
    )

    metadata: ObjectMeta = ObjectMeta()
    spec: RemediationPolicySpec = RemediationPolicySpec()
    status: RemediationPolicyStatus = RemediationPolicyStatus()
