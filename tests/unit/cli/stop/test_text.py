"""The text output of `kubectl mend stop`."""

from dataclasses import replace

from nodemend.api.manual_remediation import ManualRemediationPhase
from nodemend.api.meta import ObjectMeta
from nodemend.cli.stop import NotStopped, StopView, render, stopped_view
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
        "  edge-07   WaitingForConfirmation   ends at once; nothing was released\n"
        "  edge-08   Releasing                ends once its taint is off the node; what was released by then"
        " runs elsewhere\n"
        "  edge-09   Recovering               ends; its workloads run elsewhere, and nothing waits for the"
        " node any longer\n"
        "  undo:  kubectl mend resume; then nodes that are still unhealthy are remediated again\n"
        "Next: kubectl mend status"
    )


def test_a_remediation_that_will_be_requested_again_is_reported_as_such() -> None:
    one = replace(ALL, stopped=ALL.stopped[:1], paused=False, pause_reason="")

    assert "\n".join(render(one)) == (
        "stopped 1 remediation:\n"
        "  edge-07   WaitingForConfirmation   ends at once; nothing was released\n"
        "nhc/workers will request remediations of nodes that stay unhealthy. To prevent that:\n"
        "  kubectl mend pause --reason ...\n"
        "  undo:  none; nodes that are still unhealthy are remediated again\n"
        "Next: kubectl mend status"
    )


def test_a_failed_stop_is_not_hidden() -> None:
    mixed = replace(ALL, failed=(NotStopped(node="edge-11", why="forbidden"),))
    lines = list(render(mixed))

    assert "NOT stopped: edge-11: forbidden" in lines
    assert lines[-1] == "Next: kubectl mend check"


def test_the_lack_of_open_remediations_is_reported() -> None:
    assert "No remediation is open." in list(render(replace(ALL, stopped=())))
