"""The text output of `kubectl mend stop`."""

from dataclasses import replace

from nodemend.api.manual_remediation import ManualRemediationPhase
from nodemend.api.meta import ObjectMeta
from nodemend.cli.stop import NotStoppedView, StopView, render, stopped_view
from tests.unit.cli.check.sound_facts import EVIDENCE, remediation

LABELS = ObjectMeta(name="edge-07", namespace="default", labels={"nodemend.io/check": "workers"})
OPEN = (
    remediation("edge-07").but(metadata=LABELS),
    remediation("edge-08", phase=ManualRemediationPhase.RELEASING, evidence=EVIDENCE),
    remediation("edge-09", phase=ManualRemediationPhase.RECOVERING, evidence=EVIDENCE, released=True),
)
ALL = StopView(
    stopped=tuple(stopped_view(one) for one in OPEN),
    failed=(),
    paused=True,
    pause_reason="fire",
    dry_run=False,
)


def test_all_of_them() -> None:
    assert "\n".join(render(ALL)) == (
        "paused: fire\n"
        "stopped 3 remediations:\n"
        "  edge-07   AwaitingWord   ends at once; nothing was released\n"
        "  edge-08   Releasing      ends once its taint is off the node; what was released by then runs"
        " elsewhere\n"
        "  edge-09   Recovering     ends; its workloads run elsewhere, and the node is waited for no longer\n"
        "  undo:  kubectl mend resume; then what is still unhealthy is remediated anew\n"
        "Next: kubectl mend status"
    )


def test_one_of_them_will_be_asked_for_again_and_that_is_said() -> None:
    one = replace(ALL, stopped=ALL.stopped[:1], paused=False, pause_reason="")

    assert "\n".join(render(one)) == (
        "stopped 1 remediation:\n"
        "  edge-07   AwaitingWord   ends at once; nothing was released\n"
        "nhc/workers will ask again for nodes that stay unhealthy. To prevent that:\n"
        "  kubectl mend pause --reason ...\n"
        "  undo:  none; what is still unhealthy is remediated anew\n"
        "Next: kubectl mend status"
    )


def test_what_could_not_be_stopped_is_not_hidden() -> None:
    mixed = replace(ALL, failed=(NotStoppedView(node="edge-11", why="forbidden"),))
    lines = list(render(mixed))

    assert "NOT stopped: edge-11: forbidden" in lines
    assert lines[-1] == "Next: kubectl mend check"


def test_where_nothing_is_open_that_is_said() -> None:
    assert "No remediation is open." in list(render(replace(ALL, stopped=())))
