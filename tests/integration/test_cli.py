"""The installed command against a real API server with Nodemend's manifests, under real accounts."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from controlplane.api import MERGE
from nodemend.api.meta import print_micro_time, print_time
from tests.e2e.refusals.installed_cluster import (
    CHECKS,
    NODES,
    ORDERS,
    PEOPLE,
    POLICY,
    REMEDIATIONS,
    Cluster,
    installed_cluster,
    node,
    remediation,
)

pytestmark = pytest.mark.real

PROGRAM = Path(sys.executable).with_name("kubectl-mend")
LEASES = "/apis/coordination.k8s.io/v1/namespaces"
# Well past the whole minute: the commands read the time from a header without fractions.
SILENT_FOR = 430.0


@dataclass
class Mend:
    """Runs commands as one of the users."""

    cluster: Cluster
    kubeconfigs: dict[str, Path] = field(default_factory=dict)

    def __call__(self, person: str, *arguments: str, typed: str = "") -> subprocess.CompletedProcess[str]:
        if person not in self.kubeconfigs:
            self.kubeconfigs[person] = self.cluster.plane.service_account_kubeconfig(PEOPLE, person)
        return run(*arguments, "--kubeconfig", str(self.kubeconfigs[person]), typed=typed)

    def name(self, person: str) -> str:
        return self.cluster.user_name(person)


def run(*arguments: str, typed: str = "", **env: str) -> subprocess.CompletedProcess[str]:
    """Run through a pipe: no line is folded, regardless of the width of the test's terminal."""
    inherited = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    return subprocess.run(
        [PROGRAM, *arguments],
        input=typed,
        env={**inherited, **env},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.fixture(scope="module")
def mend() -> Iterator[Mend]:
    """Controllers that lead, a check with its template, and a healthy node."""
    with installed_cluster() as cluster:
        for component in ("checker", "remediator"):
            write_lease(cluster, f"nodemend-{component}", "nodemend-system", ago=0.0, lasts=3600)
        template = {"metadata": {"name": "call", "namespace": "default"}, "spec": {}}
        create(cluster, "ManualRemediationTemplate", template)
        reference = {
            "apiVersion": "nodemend.io/v1alpha1",
            "kind": "ManualRemediationTemplate",
            "name": "call",
            "namespace": "default",
        }
        spec = {
            "selector": {"matchLabels": {"rack": "7"}},
            "thresholds": [{"type": "Ready", "status": "Unknown", "period": "5m"}],
            "remedies": [{"template": reference}],
        }
        create(cluster, "NodeHealthCheck", {"metadata": {"name": "workers"}, "spec": spec})
        make_node(cluster, "edge-00", ready="True", ago=1.0)
        yield Mend(cluster)


def create(cluster: Cluster, kind: str, content: dict[str, Any]) -> None:
    cluster.plane.api.create({"apiVersion": "nodemend.io/v1alpha1", "kind": kind, **content})


def write_lease(
    cluster: Cluster, name: str, namespace: str, *, ago: float, lasts: int = 40, holder: str = ""
) -> str:
    renewed = print_micro_time(datetime.now(UTC) - timedelta(seconds=ago))
    spec = {"holderIdentity": holder or name, "leaseDurationSeconds": lasts, "renewTime": renewed}
    metadata = {"name": name, "namespace": namespace}
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}
    cluster.plane.api.create(lease)
    return renewed


def make_node(cluster: Cluster, name: str, *, ready: str, ago: float) -> tuple[str, str]:
    """Create a node whose kubelet renewed its Lease `ago` seconds ago. Returns its UID and that time."""
    uid: str = cluster.plane.api.create(node(name))["metadata"]["uid"]
    changed = print_time(datetime.now(UTC) - timedelta(seconds=ago))
    condition = {
        "type": "Ready",
        "status": ready,
        "lastTransitionTime": changed,
        "reason": "x",
        "message": "",
    }
    info = dict.fromkeys(
        (
            "architecture",
            "containerRuntimeVersion",
            "kernelVersion",
            "kubeProxyVersion",
            "kubeletVersion",
            "machineID",
            "operatingSystem",
            "osImage",
            "systemUUID",
        ),
        "",
    )
    status = {"conditions": [condition], "nodeInfo": {**info, "bootID": f"{name}-boot-1"}}
    cluster.plane.api.request("PATCH", f"{NODES}/{name}/status", {"status": status}, content_type=MERGE)
    return uid, write_lease(cluster, name, "kube-node-lease", ago=ago)


def make_silent_node(cluster: Cluster, name: str) -> None:
    """Create a silent node whose remediation waits for a confirmation."""
    uid, renewed = make_node(cluster, name, ready="Unknown", ago=SILENT_FOR)
    waiting = remediation(name, instructions="Pull both plugs.")
    waiting["metadata"]["finalizers"] = ["nodemend.io/safe-end"]
    made = cluster.plane.api.create(waiting)
    write_lease(cluster, f"node-{uid}", "nodemend-system", ago=0.0, holder=made["metadata"]["uid"])
    report(
        cluster,
        name,
        {
            "epoch": 3,
            "phase": "WaitingForConfirmation",
            "nodeUID": uid,
            "bootID": f"{name}-boot-1",
            "lastRenewTime": renewed,
        },
    )


def report(cluster: Cluster, name: str, status: dict[str, Any]) -> None:
    """Write the status as the remediator does."""
    path = f"{REMEDIATIONS}/{name}/status"
    cluster.remediator.request("PATCH", path, {"status": status}, content_type=MERGE)


def confirmation(cluster: Cluster, name: str) -> dict[str, str] | None:
    found: dict[str, str] | None = cluster.plane.api.get(f"{REMEDIATIONS}/{name}")["spec"].get("confirmation")
    return found


def test_check_finds_what_is_sound_and_what_is_not(mend: Mend) -> None:
    shown = mend("viewer", "check")

    assert "  ok    all 7 kinds of nodemend.io/v1alpha1 are served" in shown.stdout
    assert "  ok    all 8 admission policies are as shipped, and bound" in shown.stdout
    assert f"  ok    {mend.name('viewer')}: you may view; you may not pause" in shown.stdout
    assert "  ok    checker: nodemend-checker leads" in shown.stdout
    assert "  warn  mode DryRun: nothing is remediated, only reported" in shown.stdout
    assert "  ok    nhc/workers: its template default/call exists" in shown.stdout
    assert "FAIL" not in shown.stdout
    assert (shown.stderr, shown.returncode) == ("", 0)


def test_a_viewer_may_simulate_and_a_file_gives_the_same_result_as_the_cluster(
    mend: Mend, tmp_path: Path
) -> None:
    failure = ("simulate", "--fail", "rack=7:1@1m", "--act", "-o", "json")
    live = mend("viewer", *failure)
    api, ours = mend.cluster.plane.api, "/apis/nodemend.io/v1alpha1"
    paths = (NODES, f"{ours}/nodehealthchecks", f"{ours}/remediationpolicies")
    lists = [api.get(path) for path in paths]
    snapshot = tmp_path / "snapshot.yaml"
    snapshot.write_text(yaml.safe_dump_all(lists))
    from_file = run(*failure, "--snapshot", str(snapshot))

    assert (live.returncode, live.stderr) == (0, "")
    assert from_file.returncode == 0, from_file.stderr
    story, same = json.loads(live.stdout), json.loads(from_file.stdout)
    assert [step["what"] for step in story["steps"]] == ["Fail", "Unhealthy", "Begin", "Back", "Close"]
    assert (story["steps"], story["remediations"]) == (same["steps"], same["remediations"])
    assert api.get(REMEDIATIONS)["items"] == []


def test_check_fails_on_a_taint_that_was_left_behind(mend: Mend) -> None:
    make_node(mend.cluster, "edge-01", ready="True", ago=1.0)
    taint = {"key": "node.kubernetes.io/out-of-service", "value": "nodemend", "effect": "NoExecute"}
    path = f"{NODES}/edge-01"
    mend.cluster.plane.api.request("PATCH", path, {"spec": {"taints": [taint]}}, content_type=MERGE)
    try:
        shown = mend("viewer", "check", "-o", "json")
    finally:
        mend.cluster.plane.api.request("PATCH", path, {"spec": {"taints": None}}, content_type=MERGE)

    found = json.loads(shown.stdout)
    failing = [f for group in found["groups"] for f in group["findings"] if f["level"] == "FAIL"]
    assert (shown.returncode, found["failures"]) == (1, 1)
    assert failing[0]["text"].startswith("edge-01 has Nodemend's out-of-service taint")


def test_status_is_readable_for_people_and_programs(mend: Mend) -> None:
    make_silent_node(mend.cluster, "edge-02")
    text = mend("operator", "status")
    document = yaml.safe_load(mend("operator", "status", "-o", "yaml").stdout)

    assert (text.returncode, text.stderr) == (0, "")
    assert text.stdout.splitlines()[0] == "Mode      DryRun: nothing is remediated, only reported"
    assert text.stdout.splitlines()[-1].startswith("Next: kubectl mend explain edge-")
    row = next(row for row in document["nodes"] if row["node"] == "edge-02")
    assert (row["state"], row["check"]) == ("WaitingForConfirmation", "workers")


def test_a_watched_status_prints_each_change_once_until_ctrl_c(mend: Mend) -> None:
    kubeconfig = mend.cluster.plane.service_account_kubeconfig(PEOPLE, "viewer")
    watched = subprocess.Popen(
        [PROGRAM, "status", "--watch", "-o", "json", "--kubeconfig", str(kubeconfig)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert watched.stdout is not None
        first = json.loads(watched.stdout.readline())
        make_silent_node(mend.cluster, "edge-12")
        second = json.loads(watched.stdout.readline())
        watched.send_signal(signal.SIGINT)
        rest, noted = watched.communicate(timeout=60)
    finally:
        watched.kill()

    assert "edge-12" not in {row["node"] for row in first["nodes"]}
    assert "edge-12" in {row["node"] for row in second["nodes"]}
    # The status of a remediation is written after it, which may be one more change.
    assert len(rest.splitlines()) <= 1
    assert (noted, watched.returncode) == ("", 0)


def test_explain_names_the_hold_and_the_next_step(mend: Mend) -> None:
    make_silent_node(mend.cluster, "edge-03")
    shown = mend("viewer", "explain", "edge-03")

    assert shown.stdout.splitlines()[0] == (
        "edge-03 is under remediation, and held. Waiting for an operator to confirm that edge-03 is down: "
        "powered off, or reset."
    )
    assert "kubectl mend confirm edge-03 --reason" in shown.stdout.splitlines()[-1]
    assert shown.returncode == 0
    assert mend("viewer", "explain", "no-such-node").returncode == 1


def test_a_confirmation_is_given_in_the_caller_s_name_and_withdrawn(mend: Mend) -> None:
    make_silent_node(mend.cluster, "edge-04")
    given = mend("anna", "confirm", "edge-04", "--reason", "unplugged it", typed="edge-04\n")
    stands = confirmation(mend.cluster, "edge-04")
    second = mend("berta", "confirm", "edge-04", "--reason", "me too", "--i-typed", "edge-04")
    taken = mend("berta", "confirm", "edge-04", "--withdraw")

    assert given.returncode == 0, given.stderr
    assert re.search(r"\b7m\d+s ago", given.stdout)
    assert f"recorded: {mend.name('anna')} confirms that edge-04 is down: unplugged it" in given.stdout
    assert stands is not None
    assert (stands["by"], stands["bootID"]) == (mend.name("anna"), "edge-04-boot-1")
    assert second.returncode == 1
    assert "has already confirmed that edge-04 is down" in second.stderr
    assert taken.returncode == 0, taken.stderr
    assert confirmation(mend.cluster, "edge-04") is None


def test_a_dry_run_of_a_confirmation_is_checked_by_the_server_and_writes_nothing(mend: Mend) -> None:
    make_silent_node(mend.cluster, "edge-05")
    shown = mend("anna", "confirm", "edge-05", "--reason", "unplugged", "--dry-run")

    assert shown.returncode == 0, shown.stderr
    assert "Nothing was changed." in shown.stdout
    assert confirmation(mend.cluster, "edge-05") is None


@pytest.mark.parametrize(
    ("person", "arguments", "typed", "code", "reported"),
    [
        ("operator", (), "edge-06\n", 1, "may not confirm"),
        ("anna", (), "edge-07\n", 1, "'edge-07' is not edge-06"),
        ("anna", (), "", 1, "Aborted."),
        ("anna", ("--i-typed", "edge-07"), "", 2, "'edge-07' is not edge-06"),
    ],
)
def test_a_confirmation_is_refused(
    mend: Mend, person: str, arguments: tuple[str, ...], typed: str, code: int, reported: str
) -> None:
    if mend.cluster.plane.api.find(f"{NODES}/edge-06") is None:
        make_silent_node(mend.cluster, "edge-06")
    shown = mend(person, "confirm", "edge-06", "--reason", "unplugged", *arguments, typed=typed)

    assert shown.returncode == code
    assert reported in shown.stderr
    assert confirmation(mend.cluster, "edge-06") is None


def test_a_confirmation_while_the_kubelet_renews_is_refused(mend: Mend) -> None:
    make_silent_node(mend.cluster, "edge-08")
    spec = {"spec": {"renewTime": print_micro_time(datetime.now(UTC))}}
    path = f"{LEASES}/kube-node-lease/leases/edge-08"
    mend.cluster.plane.api.request("PATCH", path, spec, content_type=MERGE)
    shown = mend("anna", "confirm", "edge-08", "--reason", "unplugged", "--i-typed", "edge-08")

    assert shown.returncode == 1
    assert "it is alive" in shown.stderr
    assert confirmation(mend.cluster, "edge-08") is None


def test_a_late_withdrawal_of_a_confirmation_is_refused_by_the_server(mend: Mend) -> None:
    make_silent_node(mend.cluster, "edge-09")
    given = mend("anna", "confirm", "edge-09", "--reason", "unplugged", "--i-typed", "edge-09")
    stands = confirmation(mend.cluster, "edge-09")
    assert given.returncode == 0, given.stderr
    assert stands is not None
    evidence = {"class": "E5", **stands}
    report(mend.cluster, "edge-09", {"phase": "Releasing", "tainted": True, "evidence": evidence})
    shown = mend("anna", "confirm", "edge-09", "--withdraw")

    assert shown.returncode == 1
    assert "may be withdrawn only before the release starts" in shown.stderr
    assert confirmation(mend.cluster, "edge-09") == stands


def test_pausing_and_resuming(mend: Mend) -> None:
    before = mend.cluster.plane.api.get(POLICY)["spec"]
    tried = mend("operator", "pause", "--reason", "switch swap", "--dry-run")
    unchanged = mend.cluster.plane.api.get(POLICY)["spec"]
    refused = mend("viewer", "pause", "--reason", "switch swap")
    paused = mend("operator", "pause", "--reason", "switch swap")
    during = mend.cluster.plane.api.get(POLICY)["spec"]
    resumed = mend("operator", "resume")
    again = mend("operator", "resume")

    assert [
        tried.returncode,
        refused.returncode,
        paused.returncode,
        resumed.returncode,
        again.returncode,
    ] == [
        0,
        1,
        0,
        0,
        0,
    ]
    assert "cannot patch resource" in refused.stderr
    assert (unchanged, mend.cluster.plane.api.get(POLICY)["spec"]) == (before, before)
    assert during["pause"] == {"reason": "switch swap", "by": mend.name("operator")}
    assert paused.stdout.startswith(f"paused by {mend.name('operator')}: switch swap")
    assert "It is not paused." in again.stdout


def test_pausing_and_resuming_one_check(mend: Mend) -> None:
    path, policy = f"{CHECKS}/workers", mend.cluster.plane.api.get(POLICY)["spec"]
    refused = mend("viewer", "pause", "--check", "workers", "--reason", "new kernel")
    paused = mend("operator", "pause", "--check", "workers", "--for", "1h", "--reason", "new kernel")
    during = mend.cluster.plane.api.get(path)["spec"]["pause"]
    resumed = mend("operator", "resume", "--check", "workers", "-o", "json")
    missing = mend("operator", "pause", "--check", "wrokers", "--reason", "new kernel")

    assert (refused.returncode, paused.returncode, resumed.returncode) == (1, 0, 0)
    assert (during["by"], during["reason"]) == (mend.name("operator"), "new kernel")
    assert paused.stdout.startswith("paused nhc/workers until ")
    assert json.loads(resumed.stdout)["wasPaused"]
    assert "pause" not in mend.cluster.plane.api.get(path)["spec"]
    assert mend.cluster.plane.api.get(POLICY)["spec"] == policy
    assert missing.returncode == 1
    assert "there is no NodeHealthCheck wrokers" in missing.stderr


def test_an_order_is_given_in_the_caller_s_name_and_withdrawn(mend: Mend) -> None:
    uid, _ = make_node(mend.cluster, "edge-13", ready="Unknown", ago=60.0)
    path = f"{ORDERS}/edge-13"
    tried = mend("operator", "run", "edge-13", "--reason", "bad disk", "--dry-run")
    unchanged = mend.cluster.plane.api.find(path)
    given = mend("operator", "run", "edge-13", "--reason", "bad disk", typed="y\n")
    stands = mend.cluster.plane.api.get(path)["spec"]
    explained = mend("viewer", "explain", "edge-13")
    replaced = mend("overrider", "run", "edge-13", "--reason", "me too", "--yes", "-o", "json")
    taken = mend("operator", "run", "edge-13", "--withdraw")
    again = mend("operator", "run", "edge-13", "--withdraw")

    assert (tried.returncode, unchanged) == (0, None), tried.stderr
    assert given.returncode == 0, given.stderr
    assert stands == {"by": mend.name("operator"), "reason": "bad disk", "nodeUID": uid}
    assert f"ordered by {mend.name('operator')}: the remediation of edge-13, now: bad disk" in given.stdout
    assert "It is held for now. The RemediationPolicy sets DryRun" in given.stdout
    ordered = next(line for line in explained.stdout.splitlines() if "ordered by a person" in line)
    assert f"{mend.name('operator')}, " in ordered
    assert json.loads(replaced.stdout)["order"]["beforeBy"] == mend.name("operator")
    assert (taken.returncode, again.returncode) == (0, 1)
    assert f"withdrawn: the order of {mend.name('overrider')}" in taken.stdout
    assert mend.cluster.plane.api.find(path) is None


@pytest.mark.parametrize(
    ("person", "arguments", "typed", "reported"),
    [
        ("viewer", ("run", "edge-14"), "y\n", "may not order remediations"),
        ("operator", ("run", "edge-00"), "y\n", "edge-00 is Ready, and nhc/workers finds nothing wrong"),
        ("operator", ("run", "edge-14"), "n\n", "Aborted."),
        ("operator", ("override", "edge-14"), "y\n", "may not override the guard"),
        (
            "overrider",
            ("override", "edge-14"),
            "y\n",
            "An override does not apply to this: The RemediationPolicy",
        ),
    ],
)
def test_an_order_is_refused(
    mend: Mend, person: str, arguments: tuple[str, ...], typed: str, reported: str
) -> None:
    if mend.cluster.plane.api.find(f"{NODES}/edge-14") is None:
        make_node(mend.cluster, "edge-14", ready="Unknown", ago=60.0)
    shown = mend(person, *arguments, "--reason", "bad disk", typed=typed)

    assert shown.returncode == 1
    assert reported in shown.stderr
    assert mend.cluster.plane.api.find(f"{ORDERS}/edge-14") is None


def test_an_override_is_ordered_past_a_closed_guard(mend: Mend) -> None:
    make_node(mend.cluster, "edge-15", ready="Unknown", ago=60.0)
    mend.cluster.plane.api.patch(POLICY, {"spec": {"mode": "Act", "maxUnhealthy": 1}})
    try:
        shown = mend("overrider", "override", "edge-15", "--reason", "really dead", typed="y\n")
    finally:
        mend.cluster.plane.api.patch(POLICY, {"spec": {"mode": "DryRun", "maxUnhealthy": "40%"}})

    assert shown.returncode == 0, shown.stderr
    assert (
        "It would override these limits of the guard:\n  Too many targets are unhealthy in the cluster"
        in shown.stdout
    )
    stands = mend.cluster.plane.api.get(f"{ORDERS}/edge-15")["spec"]
    assert (stands["by"], stands["pastGuard"]) == (mend.name("overrider"), True)
    mend("overrider", "override", "edge-15", "--withdraw")


def test_stopping_one_and_all(mend: Mend) -> None:
    for name in ("edge-10", "edge-11"):
        make_silent_node(mend.cluster, name)
    tried = mend("operator", "stop", "edge-10", "--dry-run")
    unchanged = mend.cluster.plane.api.get(f"{REMEDIATIONS}/edge-10")["metadata"]
    stopped = mend("operator", "stop", "edge-10", typed="y\n")
    declined = mend("operator", "stop", "--all", typed="n\n")
    not_paused = mend.cluster.plane.api.get(POLICY)["spec"]
    handle = mend("operator", "stop", "--all", "--yes", "--reason", "fire")
    paused = mend.cluster.plane.api.get(POLICY)["spec"]
    mend("operator", "resume")

    assert (tried.returncode, "deletionTimestamp" in unchanged) == (0, False)
    assert stopped.returncode == 0, stopped.stderr
    assert "edge-10   WaitingForConfirmation   ends at once; nothing was released" in stopped.stdout
    assert (declined.returncode, "pause" in not_paused) == (1, False)
    assert handle.returncode == 0, handle.stderr
    assert paused["pause"] == {"reason": "fire", "by": mend.name("operator")}
    for name in ("edge-10", "edge-11"):
        assert "deletionTimestamp" in mend.cluster.plane.api.get(f"{REMEDIATIONS}/{name}")["metadata"]


def test_a_cluster_that_is_not_there_is_3(tmp_path: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        server = f"https://127.0.0.1:{unused.getsockname()[1]}"
    kubeconfig = tmp_path / "config"
    kubeconfig.write_text(
        json.dumps(
            {
                "clusters": [{"name": "c", "cluster": {"server": server}}],
                "contexts": [{"name": "c", "context": {"cluster": "c"}}],
                "current-context": "c",
            }
        )
    )
    shown = run("status", KUBECONFIG=str(kubeconfig))

    assert shown.returncode == 3
    assert shown.stderr.startswith("kubectl mend: no answer from the cluster: ")


def test_a_cluster_that_hangs_is_4_when_our_time_is_up_and_3_when_its_own_is(mend: Mend) -> None:
    mend("viewer", "status")
    mend.cluster.plane.pause("kube-apiserver")
    try:
        hurried = mend("viewer", "status", "--timeout", "1s")
        patient = mend("viewer", "status")
    finally:
        mend.cluster.plane.resume("kube-apiserver")

    assert (hurried.returncode, patient.returncode) == (4, 3)
    assert hurried.stderr.startswith("kubectl mend: gave up after 1s.")


def test_kubectl_finds_the_plugin(mend: Mend) -> None:
    kubectl = mend.cluster.plane.programs["kubectl"]
    path = f"{PROGRAM.parent}:{os.environ['PATH']}"
    shown = subprocess.run(
        [kubectl, "mend", "version"],
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.startswith("kubectl mend ")
