"""`just demo`: a node goes silent; its workload moves only after an operator's confirmation; the node
returns.
"""

import sys
import textwrap
import time
from typing import Final

from controlplane.waiting import wait_until
from demo.stage import Stage, open_stage
from exit_status import exit_status
from installed.programs import mend

MOST_SECONDS: Final = 90.0


def main() -> int:
    began = time.monotonic()
    print("bringing up etcd, kube-apiserver, controller manager, scheduler, three nodes, Nodemend ...")
    with open_stage() as stage:
        print(f"up after {time.monotonic() - began:.1f} s. db-0 runs on {stage.node_of_pod()}.\n")
        _play(stage)
    took = time.monotonic() - began
    print(f"\ndemo: {took:.1f} s in all, {MOST_SECONDS:.0f} allowed")
    return exit_status(wrong=False, late=took > MOST_SECONDS)


def _play(stage: Stage) -> None:
    node = stage.node_of_pod()
    group = node.rpartition("-")[0]
    stage.plane.nodes.silence(group)
    stage.tell(f"{node} goes silent: its kubelet hangs, its pod may still be running")
    wait_until("both programs lead", stage.both_lead, within=60.0, processes=stage.programs)
    stage.tell("checker and remediator lead: the first ones wait for a lease's length")
    wait_until("it is asked for", lambda: stage.remediation(node) is not None, within=40.0)
    stage.tell(f"checker: {node} is unhealthy, a remediation is asked for")
    wait_until("the silence is known", lambda: bool(stage.status_of(node).get("lastRenewTime")), within=40.0)
    stage.tell(f"remediator: held. {stage.status_of(node).get('message', '')}")
    _show(stage, "explain", node)
    _still_there(stage, node)
    answer = _show(stage, "confirm", node, "--reason", "pulled both plugs", "--i-typed", node)
    if answer != 0:
        raise SystemExit(f"confirm ended with {answer}")
    stage.tell("the person on call has vouched for it")
    wait_until("released", lambda: stage.node_of_pod() not in ("", node), within=60.0)
    stage.tell(
        f"db-0 runs on {stage.node_of_pod()}, its disk is attached to {', '.join(stage.attached_to())}"
    )
    wait_until("the taint is off", lambda: bool(stage.status_of(node).get("released")), within=30.0)
    boots = stage.plane.nodes.reboot(group)
    stage.tell(f"{node} is back on boot {boots[node]}")
    wait_until("closed", lambda: stage.remediation(node) is None, within=40.0)
    stage.tell("closed: the remediation is withdrawn, nothing of ours is left on the node")
    _nothing_is_left(stage, node)
    _show(stage, "status")


def _show(stage: Stage, *arguments: str) -> int:
    print(f"\n$ kubectl mend {' '.join(arguments)}")
    answer = mend(stage.on_call, *arguments)
    print(textwrap.indent(answer.stdout + answer.stderr, "  "))
    return answer.returncode


def _still_there(stage: Stage, node: str) -> None:
    """Check that nothing moves without a confirmation."""
    pod = stage.pod()
    if pod is None or pod["spec"]["nodeName"] != node or stage.attached_to() != [node]:
        raise SystemExit("db-0 moved before anybody vouched")


def _nothing_is_left(stage: Stage, node: str) -> None:
    found = stage.plane.api.get(f"/api/v1/nodes/{node}")
    ours = [taint for taint in found["spec"].get("taints", ()) if "out-of-service" in taint["key"]]
    if ours:
        raise SystemExit(f"left behind: {ours}")


if __name__ == "__main__":
    sys.exit(main())
