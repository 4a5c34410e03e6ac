"""Flags win over variables, variables over defaults; what is wrong stops the start with a sentence."""

import pytest

from nodemend.kube.leader_election import LeaseTiming
from nodemend.settings.controller import SETTINGS, ControllerSettings, read_settings
from nodemend.settings.setting import Address, Setting, SettingsError
from nodemend.telemetry.logging import LogForm, LogLevel

TIMES = "The times of the leader election do not fit together"
SAFE_FOR = "with clocks off by 1.00% a lease of 15 s is safe for only 14.70 s"


def test_the_defaults_are_those_of_the_chart() -> None:
    assert read_settings({}, {}, "host-1") == ControllerSettings(
        identity="host-1",
        system_namespace="nodemend-system",
        kubeconfig="",
        context="",
        log_level=LogLevel.INFO,
        log_form=LogForm.AUTO,
        probe_address="",
        probe_port=8081,
        metrics_address="",
        metrics_port=8080,
        machine_health_checks=False,
        workload_clusters=False,
        medik8s_leases="",
        workload_kubeconfig_suffix="kubeconfig",
        external_remediation_annotation=False,
        external_remediation_template="external-remediation",
        power_cycle=False,
        node_deletion=False,
        capm3_kinds=False,
        self_fencing=False,
        lease_duration=15.0,
        renew_deadline=10.0,
        retry_period=2.0,
        request_timeout=3.0,
    )
    assert read_settings({}, {}, "host-1").lease == LeaseTiming()


def test_a_pod_knows_its_name_and_namespace() -> None:
    settings = read_settings({}, {"POD_NAME": "checker-0", "POD_NAMESPACE": "mend"}, "host-1")

    assert (settings.identity, settings.system_namespace) == ("checker-0", "mend")


def test_a_flag_wins_over_a_variable_and_a_variable_over_the_default() -> None:
    environment = {"NODEMEND_PROBE_PORT": "9001", "NODEMEND_METRICS_PORT": "9002", "POD_NAMESPACE": "mend"}
    flags = {"probe_port": "9003", "metrics_port": None, "system_namespace": "other"}

    settings = read_settings(flags, environment, "host-1")

    assert (settings.probes.port, settings.metrics.port) == (9003, 9002)
    assert settings.system_namespace == "other"


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
def test_every_setting_can_be_given_either_way(setting: Setting[object]) -> None:
    defaults = read_settings({}, {}, "h")
    texts = {
        "system-namespace": "other",
        "identity": "other",
        "kubeconfig": "/k",
        "context": "c",
        "log-level": "debug",
        "log-form": "json",
        "probe-address": "::1",
        "probe-port": "9001",
        "metrics-address": "::1",
        "metrics-port": "9002",
        "lease-duration": "20s",
        "renew-deadline": "9s",
        "retry-period": "1s",
        "request-timeout": "2s",
        "machine-health-checks": "on",
        "workload-clusters": "on",
        "medik8s-leases": "medik8s-leases",
        "workload-kubeconfig-suffix": "nodemend",
        "external-remediation-annotation": "on",
        "external-remediation-template": "reboot",
        "power-cycle": "on",
        "node-deletion": "on",
        "capm3-kinds": "on",
        "self-fencing": "on",
    }
    text = texts[setting.name]
    # Some of them make no sense without others.
    machines = {"NODEMEND_MACHINE_HEALTH_CHECKS": "on"}
    beside = {
        "workload-clusters": machines,
        "external-remediation-annotation": machines,
        "external-remediation-template": machines | {"NODEMEND_EXTERNAL_REMEDIATION_ANNOTATION": "on"},
        "node-deletion": {"NODEMEND_POWER_CYCLE": "on"},
        "capm3-kinds": {"NODEMEND_POWER_CYCLE": "on"},
    }.get(setting.name, {})
    by_flag = read_settings({setting.key: text}, beside, "h")
    by_variable = read_settings({}, {**beside, setting.variable: text}, "h")

    assert by_flag == by_variable != defaults


@pytest.mark.parametrize(
    ("flags", "environment", "sentence"),
    [
        (
            {"workload_clusters": "on"},
            {},
            "--workload-clusters is on, but --machine-health-checks is off: it would have no effect.",
        ),
        (
            {"node_deletion": "on"},
            {},
            "--node-deletion is on, but --power-cycle is off: it would have no effect.",
        ),
        (
            {"capm3_kinds": "on"},
            {},
            "--capm3-kinds is on, but --power-cycle is off: it would have no effect.",
        ),
        (
            {"external_remediation_annotation": "on"},
            {},
            (
                "--external-remediation-annotation is on, but --machine-health-checks is off:"
                " Machines are not watched."
            ),
        ),
        (
            {"probe_port": "many"},
            {},
            "--probe-port is 'many': it must be a port, 0 to 65535; 0 is any free one.",
        ),
        (
            {},
            {"NODEMEND_LOG_LEVEL": "loud"},
            "NODEMEND_LOG_LEVEL is 'loud': it must be one of debug, info, warning, error.",
        ),
        (
            {},
            {"NODEMEND_PROBES_PORT": "8081"},
            "NODEMEND_PROBES_PORT is set, but there is no such setting. Did you mean NODEMEND_PROBE_PORT?",
        ),
        ({}, {"NODEMEND_XYZZY": "1"}, "NODEMEND_XYZZY is set, but there is no such setting."),
        (
            {"probe_port": "8080"},
            {},
            "--probe-port and --metrics-port are both 8080: they must differ.",
        ),
        (
            {"renew_deadline": "15s"},
            {},
            f"{TIMES}: renew_deadline 15 + stop_within 2 = 17 s, but {SAFE_FOR}.",
        ),
        (
            {},
            {"POD_NAME": "two words"},
            "the default of --identity is 'two words': it must be one printable word.",
        ),
    ],
)
def test_an_invalid_value_is_reported_in_a_sentence(
    flags: dict[str, str | None], environment: dict[str, str], sentence: str
) -> None:
    with pytest.raises(SettingsError) as refused:
        read_settings(flags, environment, "host-1")

    assert str(refused.value) == sentence


def test_variables_of_services_and_of_others_are_left_alone() -> None:
    services = {
        "NODEMEND_CHECKER_SERVICE_HOST": "10.0.0.1",
        "NODEMEND_CHECKER_SERVICE_PORT_METRICS": "8080",
        "NODEMEND_CHECKER_PORT": "tcp://10.0.0.1:8080",
        "NODEMEND_CHECKER_PORT_8080_TCP_ADDR": "10.0.0.1",
        "OTHERS_PORT": "1",
    }

    assert read_settings({}, services, "h") == read_settings({}, {}, "h")


def test_a_service_named_like_the_program_does_not_hide_a_misspelt_setting() -> None:
    environment = {"NODEMEND_SERVICE_HOST": "10.0.0.1", "NODEMEND_LOG_LEVAL": "debug"}

    with pytest.raises(SettingsError, match="NODEMEND_LOG_LEVAL"):
        read_settings({}, environment, "h")


def test_the_same_port_on_other_addresses_is_no_clash() -> None:
    flags = {"probe_port": "8080", "probe_address": "127.0.0.1", "metrics_address": "127.0.0.2"}

    assert read_settings(flags, {}, "h").probes == Address("127.0.0.1", 8080)
