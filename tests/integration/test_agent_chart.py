"""The chart's agents, as Helm renders them."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from controlplane.run import StartControlPlane
from controlplane.settings import Settings
from generate.outputs import CHART, HOST, install_documents, render_chart
from nodemend.agent.watchdog.main import parse_arguments
from nodemend.api.well_known import AGENT_NAMESPACE
from nodemend.cmd.agent import GRACEFUL_STOP_SECONDS
from nodemend.protocol.timing import RenewalPace
from nodemend.settings.agent import SETTINGS, read_agent_settings

pytest_plugins = ["controlplane.fixtures"]

ON = "selfFencing.enabled=true"
AGENT = "selfFencing.agent"
API_SERVER = f"{AGENT}.apiServer.host=api.example"
INSTALLED = (ON, API_SERVER, f"{AGENT}.installHostParts=true")


def rendered(*settings: str) -> dict[str, dict[str, Any]]:
    """The documents that exist only for agents, by kind."""
    documents = [one for one in yaml.safe_load_all(render_chart(*settings)) if one]
    ours = [one for one in documents if one["metadata"]["name"] in ("nodemend-agent", "nodemend-host-parts")]
    return {one["kind"]: one for one in ours}


def daemon_set(*settings: str) -> dict[str, Any]:
    found: dict[str, Any] = rendered(ON, *settings)["DaemonSet"]
    return found


def pod(*settings: str) -> dict[str, Any]:
    found: dict[str, Any] = daemon_set(*settings)["spec"]["template"]["spec"]
    return found


def container(name: str, *settings: str) -> dict[str, Any]:
    spec = pod(*settings)
    [found] = [one for one in (*spec["initContainers"], *spec["containers"]) if one["name"] == name]
    return dict(found)


def test_without_the_switch_there_are_no_agents() -> None:
    assert not rendered()
    assert "DaemonSet" not in {one["kind"] for one in install_documents()}


def test_the_agent_is_confined_and_has_nothing_of_the_host_but_its_folder() -> None:
    spec = pod()
    agent = container("agent")

    assert [one["name"] for one in spec["containers"]] == ["agent"]
    assert agent["securityContext"] == {
        "runAsNonRoot": True,
        "runAsUser": 65532,
        "runAsGroup": 65532,
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    paths = [one["hostPath"]["path"] for one in spec["volumes"] if "hostPath" in one]
    assert paths == ["/run/nodemend", "/run/nodemend/agent"]
    mounts = {one["mountPath"]: one for one in agent["volumeMounts"]}
    assert mounts["/host"]["readOnly"] is True
    assert mounts["/state"]["name"] == "state"
    assert [path for path, one in mounts.items() if not one.get("readOnly")] == ["/state"]
    assert agent["resources"]["limits"]["memory"] == "128Mi"
    assert not {"hostPID", "hostIPC"} & spec.keys()


def test_a_label_keeps_it_off_a_node() -> None:
    [term] = pod()["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][
        "nodeSelectorTerms"
    ]
    assert term == {
        "matchExpressions": [{"key": "nodemend.io/self-fencing", "operator": "NotIn", "values": ["off"]}]
    }


def test_the_agent_has_time_to_stop_gracefully_unless_it_hangs() -> None:
    probe = container("agent")["livenessProbe"]
    assert pod()["terminationGracePeriodSeconds"] > GRACEFUL_STOP_SECONDS
    hangs_for = probe["periodSeconds"] * probe["failureThreshold"] + probe["terminationGracePeriodSeconds"]
    assert hangs_for + probe["timeoutSeconds"] < RenewalPace().feed_lease


def test_the_one_container_with_root_has_one_right_and_ends() -> None:
    folder = container("folder")

    assert folder["securityContext"]["capabilities"] == {"drop": ["ALL"], "add": ["CHOWN"]}
    assert folder["command"][-2:] == ["/state", "65532"]
    assert folder["volumeMounts"] == [{"name": "state", "mountPath": "/state"}]


@pytest.mark.attack("S10")
def test_no_container_may_write_what_root_on_the_host_runs() -> None:
    """Except the installer, if it is enabled; and a privileged feeder is root on the host."""
    for settings in ((ON,), INSTALLED):
        spec = pod(*settings)
        of_host = {one["name"]: one["hostPath"]["path"] for one in spec["volumes"] if "hostPath" in one}
        writable = {
            (one["name"], of_host[mount["name"]])
            for one in (*spec["initContainers"], *spec["containers"])
            for mount in one["volumeMounts"]
            if mount["name"] in of_host and not mount.get("readOnly")
        }
        own = {("folder", "/run/nodemend/agent"), ("agent", "/run/nodemend/agent")}
        installers = {
            ("host-parts", "/etc/systemd/system"),
            ("host-parts", "/etc/nodemend"),
            ("host-parts", "/usr/lib/nodemend"),
        }
        assert writable == (own | installers if settings is INSTALLED else own)


SCC = f"{AGENT}.securityContextConstraints=true"


@pytest.mark.attack("S17")
def test_selinux_lets_it_see_its_folders() -> None:
    assert pod()["securityContext"]["seLinuxOptions"] == {"type": "spc_t"}
    assert "seLinuxOptions" not in pod(f"{AGENT}.seLinuxType=")["securityContext"]


@pytest.mark.attack("S17")
def test_openshift_allows_only_what_the_agent_uses() -> None:
    assert "SecurityContextConstraints" not in rendered(ON)
    constraints = rendered(ON, SCC)["SecurityContextConstraints"]
    spec, agent = pod(), container("agent")

    assert constraints["users"] == [f"system:serviceaccount:{AGENT_NAMESPACE}:nodemend-agent"]
    assert constraints["groups"] == []
    assert constraints["allowHostNetwork"] is spec["hostNetwork"] is True
    assert constraints["seLinuxContext"]["seLinuxOptions"] == spec["securityContext"]["seLinuxOptions"]
    kinds = {kind for volume in spec["volumes"] for kind in volume if kind != "name"}
    assert kinds <= set(constraints["volumes"])
    added = [one["securityContext"]["capabilities"].get("add", []) for one in (container("folder"), agent)]
    assert {name for names in added for name in names} == set(constraints["allowedCapabilities"])
    assert constraints["allowPrivilegedContainer"] is False
    privileged = rendered(ON, SCC, f"{AGENT}.feederInPod.enabled=true")["SecurityContextConstraints"]
    assert privileged["allowPrivilegedContainer"] is True


def test_peers_reach_it_on_the_node_s_own_network_and_nothing_sends_it_away() -> None:
    spec = pod(f"{AGENT}.port=7000")

    assert daemon_set()["metadata"]["namespace"] == AGENT_NAMESPACE
    assert spec["hostNetwork"] is True
    assert spec["tolerations"] == [{"operator": "Exists"}]
    assert spec["priorityClassName"] == "system-node-critical"
    assert spec["serviceAccountName"] == "nodemend-agent"
    [agent] = spec["containers"]
    assert agent["ports"] == [{"name": "peers", "containerPort": 7000, "hostPort": 7000}]
    for probe in ("livenessProbe", "readinessProbe"):
        assert agent[probe]["httpGet"]["host"] == "127.0.0.1"


def test_its_token_is_bound_to_the_pod_and_short_lived_and_has_the_default_audience() -> None:
    """The boot gate may ask for such a token, and for no other, while the pod is there."""
    spec = pod()
    [account] = [one["projected"]["sources"] for one in spec["volumes"] if one["name"] == "account"]

    assert spec["automountServiceAccountToken"] is False
    assert account[0] == {"serviceAccountToken": {"path": "token", "expirationSeconds": 3600}}
    [trust] = [one["configMap"] for one in spec["volumes"] if one["name"] == "trust"]
    assert trust == {"name": "nodemend-agent-trust", "optional": True}


def test_agents_are_replaced_a_few_at_a_time() -> None:
    spec = daemon_set()["spec"]

    assert spec["updateStrategy"]["rollingUpdate"] == {"maxUnavailable": "10%", "maxSurge": 0}
    assert spec["minReadySeconds"] > 72, "T_safe with the defaults"
    assert daemon_set(f"{AGENT}.rollout.maxUnavailable=1")["spec"]["updateStrategy"] == {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0},
    }


def test_every_setting_that_it_is_given_is_one() -> None:
    reported = {one["name"]: one.get("value", "n1") for one in container("agent", API_SERVER)["env"]}

    settings = read_agent_settings({}, reported)
    assert (settings.state_folder, settings.peers.port, settings.probes.port) == ("/state", 9771, 9772)
    known = {setting.variable for setting in SETTINGS}
    assert set(reported) - known == {"KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"}
    assert reported["KUBERNETES_SERVICE_HOST"] == "api.example"


def test_a_feeder_in_the_pod_is_off_and_where_it_is_on_no_rollout_ends_it() -> None:
    on = f"{AGENT}.feederInPod.enabled=true"
    assert "feeder" not in [one["name"] for one in pod()["containers"]]
    feeder = container("feeder", on)
    reported = parse_arguments(feeder["args"])

    assert feeder["securityContext"]["privileged"] is True
    assert daemon_set(on)["spec"]["updateStrategy"] == {"type": "OnDelete"}
    assert reported.paths["lease"] == "/host/agent/lease"
    assert reported.paths["status"] == "/host/feeder.status"
    assert reported.wanted_reset == 60 * 10**9


def test_nothing_is_installed_on_hosts_without_the_setting() -> None:
    assert [one["name"] for one in pod()["initContainers"]] == ["folder"]
    assert "ConfigMap" not in rendered(ON)

    installer = container("host-parts", *INSTALLED)
    assert installer["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    given = rendered(*INSTALLED)["ConfigMap"]["data"]
    for unit in ("nodemend-feeder.service", "nodemend-boot-gate.service"):
        assert given[unit] == (HOST / unit).read_text()
    assert given["50-nodemend.conf"] == (HOST / "kubelet.service.d" / "50-nodemend.conf").read_text()


def test_the_host_installer_passes_every_setting_that_the_units_need() -> None:
    given = rendered(*INSTALLED)["ConfigMap"]["data"]

    def variables(text: str) -> dict[str, str]:
        return dict(re.findall(r"^(NODEMEND_\w+)=(.*)$", text, re.MULTILINE))

    reported, usual = variables(given["host.env"]), variables((HOST / "host.env").read_text())
    assert reported == usual | {"NODEMEND_API_SERVER": "https://api.example:6443"}


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ((ON, f"{AGENT}.installHostParts=true"), "installHostParts needs selfFencing.agent.apiServer.host"),
        ((*INSTALLED, f"{AGENT}.feederInPod.enabled=true"), "a device has one feeder"),
        ((ON, f"{AGENT}.hostParts.leaseLength=20"), "leaseLength"),
        ((ON, f"{AGENT}.rollout.maxUnavailable=0"), "maxUnavailable"),
        ((ON, f"{AGENT}.ports=1"), "Additional property ports is not allowed"),
    ],
)
def test_settings_that_would_not_work_are_refused(settings: tuple[str, ...], says: str) -> None:
    with pytest.raises(subprocess.CalledProcessError) as refused:
        render_chart(*settings)

    assert says in refused.value.stderr


def test_an_address_of_version_6_is_written_as_one() -> None:
    settings = (ON, f"{AGENT}.apiServer.host=fd00::1", f"{AGENT}.installHostParts=true")
    assert (
        "NODEMEND_API_SERVER=https://[fd00::1]:6443\n" in rendered(*settings)["ConfigMap"]["data"]["host.env"]
    )


def test_the_schema_has_a_default_for_every_value_of_the_agent() -> None:
    values = yaml.safe_load((CHART / "values.yaml").read_text())["selfFencing"]["agent"]
    schema = json.loads((CHART / "values.schema.json").read_text())["definitions"]["agent"]["properties"]

    assert set(values) == set(schema)
    assert Path(values["hostParts"]["device"]).is_absolute()


@pytest.mark.real
def test_a_real_api_server_accepts_the_manifests(start_control_plane: StartControlPlane) -> None:
    allowed = {"kube-apiserver": ("--allow-privileged",)}
    plane = start_control_plane(Settings(controller_manager=False, scheduler=False, flags=allowed))
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": AGENT_NAMESPACE}}
    plane.api.create(namespace)
    for settings in ((ON,), INSTALLED, (ON, f"{AGENT}.feederInPod.enabled=true")):
        documents = [one for one in yaml.safe_load_all(render_chart(*settings)) if one]
        ours = [one for one in documents if one["metadata"].get("namespace") == AGENT_NAMESPACE]
        reported = plane.kubectl("apply", "--server-side", "-f", "-", stdin=yaml.safe_dump_all(ours))

        assert "daemonset.apps/nodemend-agent serverside-applied" in reported
