"""Metrics of the running remediator about hosts and power cycles, on a real API server."""

import re
import urllib.request
from collections.abc import Iterator

import pytest
import yaml

from controlplane.ports import LOOPBACK, free_port
from controlplane.run import ControlPlane
from controlplane.settings import Settings
from controlplane.waiting import wait_until
from foreign_kinds.install import install_definitions
from installed.manifests import install
from installed.programs import start
from nodemend.api.resources import BARE_METAL_HOST
from nodemend.api.well_known import SYSTEM_NAMESPACE
from simulation.cluster.foreign_kinds import a_definition

pytestmark = pytest.mark.real

SCENE = """
- apiVersion: v1
  kind: Node
  metadata: {name: edge-07}
  spec:
    providerID: metal3://default/left-behind
    taints: [{key: node.kubernetes.io/out-of-service, value: nodemend, effect: NoExecute}]
- apiVersion: metal3.io/v1alpha1
  kind: BareMetalHost
  metadata:
    name: left-behind
    namespace: default
    annotations: {reboot.metal3.io/nodemend-gone: '{"mode":"hard"}'}
- apiVersion: metal3.io/v1alpha1
  kind: BareMetalHost
  metadata: {name: given-up, namespace: default, annotations: {capm3.metal3.io/unhealthy: nodemend}}
- apiVersion: remediation.metal3.io/v1alpha1
  kind: Metal3Remediation
  metadata: {name: m-7, namespace: default}
  spec: {}
"""
FAILED = {"status": {"phase": "failed", "message": "Nobody would replace it."}}


@pytest.fixture
def port() -> Iterator[int]:
    """The port of the remediator's metrics."""
    with ControlPlane(Settings(controller_manager=False, scheduler=False)) as plane:
        head = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
        install_definitions(plane, [head | a_definition(BARE_METAL_HOST)])
        install(plane, "powerCycle.enabled=true")
        for document in yaml.safe_load(SCENE):
            plane.api.create(document)
        account = plane.client_with(plane.service_account_token(SYSTEM_NAMESPACE, "nodemend-remediator"))
        account.patch(
            "/apis/remediation.metal3.io/v1alpha1/namespaces/default/metal3remediations/m-7/status", FAILED
        )
        port = free_port()
        start(plane, "nodemend-remediator", "--power-cycle=on", f"--metrics-port={port}")
        yield port


def scrape(port: int) -> dict[str, float]:
    """Every series of Nodemend by name and labels; empty before the endpoint answers."""
    try:
        with urllib.request.urlopen(f"http://{LOOPBACK}:{port}/metrics", timeout=5.0) as answer:
            text = answer.read().decode()
    except OSError:
        return {}
    return {name: float(value) for name, value in re.findall(r"^(nodemend_\S+) (\S+)$", text, re.MULTILINE)}


def test_an_orphaned_hold_a_failed_host_and_a_failure_are_named(port: int) -> None:
    held = 'nodemend_host_held_since_timestamp_seconds{host="left-behind",namespace="default",remediation=""}'
    wait_until("all hosts are looked at", lambda: held in scrape(port), within=60.0)
    shown = scrape(port)

    assert shown['nodemend_host_unhealthy{host="given-up",namespace="default"}'] == 1.0
    failed = 'nodemend_remediation_failed{kind="Metal3Remediation",name="m-7",namespace="default"}'
    assert shown[failed] == 1.0
    in_flight = 'nodemend_remediations_in_flight{kind="Metal3Remediation",phase="failed"}'
    assert shown[in_flight] == 1.0
    assert shown['nodemend_power_off_requests_left_behind_total{outcome="kept"}'] >= 1.0
    never = 'nodemend_power_cycle_failures_total{permanent="no",reason="WaitingForPowerOff"}'
    assert shown[never] == 0.0
