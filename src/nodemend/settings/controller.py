"""Reads the settings of a controller from its command line and environment: every setting is also a flag.

Flags win over variables, variables over defaults. A wrong setting is reported in one sentence.
"""

import os
import platform
from collections.abc import Callable, Mapping
from typing import Final

import click

from nodemend import __version__
from nodemend.api import well_known
from nodemend.kube.leader_election import LeaseTiming, TimingError
from nodemend.settings.setting import (
    EXIT_WRONG_USAGE,
    Address,
    SettingsError,
    choice_of,
    parse_name,
    parse_namespace,
    parse_namespace_or_none,
    parse_port,
    parse_seconds,
    parse_switch,
    read_as,
    setting,
    settings_class,
    settings_of,
)
from nodemend.telemetry.logging import LogForm, LogLevel


@settings_class
class ControllerSettings:
    system_namespace: str = setting(
        parse_namespace,
        "",
        "The namespace of Nodemend's Leases. By default the pod's namespace (POD_NAMESPACE), else "
        f"{well_known.SYSTEM_NAMESPACE}.",
    )
    identity: str = setting(
        parse_name, "", "The name of this process. By default POD_NAME, else the host name."
    )
    kubeconfig: str = setting(str, "", "A kubeconfig file. By default the pod's own account.")
    context: str = setting(str, "", "The context of the kubeconfig, if not its current one.")
    log_level: LogLevel = setting(choice_of(LogLevel), "info", "debug, info, warning or error.")
    log_form: LogForm = setting(
        choice_of(LogForm), "auto", "json, console, or auto: console on a terminal and json elsewhere."
    )
    probe_address: str = setting(str, "", "The address that /livez and /readyz listen on. By default all.")
    probe_port: int = setting(parse_port, "8081", "The port of /livez and /readyz.")
    metrics_address: str = setting(str, "", "The address that /metrics listens on. By default all.")
    metrics_port: int = setting(parse_port, "8080", "The port of /metrics.")
    lease_duration: float = setting(
        parse_seconds, "15s", "Time for which other replicas wait before they take an unchanged leader Lease."
    )
    renew_deadline: float = setting(
        parse_seconds, "10s", "A leader starts nothing later than this after its last renewal."
    )
    retry_period: float = setting(parse_seconds, "2s", "Interval of renewals.")
    request_timeout: float = setting(parse_seconds, "3s", "Timeout of one request about the leader Lease.")
    machine_health_checks: bool = setting(
        parse_switch,
        "off",
        "on if the checker also serves MachineHealthChecks, else off. The remediator ignores it.",
    )
    workload_clusters: bool = setting(
        parse_switch,
        "off",
        "on if the checker watches the Nodes of workload clusters, by the kubeconfig Secrets of Cluster"
        " API, else off. It needs --machine-health-checks on, and the permission to get these Secrets.",
    )
    medik8s_leases: str = setting(
        parse_namespace_or_none,
        "",
        "The namespace of the Leases by which medik8s' operators share nodes, such as medik8s-leases. The"
        " checker starts nothing on a node that one of them holds. By default they are not read.",
    )
    workload_kubeconfig_suffix: str = setting(
        parse_name,
        "kubeconfig",
        "The suffix of the Secrets with the kubeconfigs of workload clusters. Cluster API's Secrets are"
        " named CLUSTER-kubeconfig; others may hold the kubeconfig of an account with fewer permissions.",
    )
    external_remediation_annotation: bool = setting(
        parse_switch,
        "off",
        "on if the checker follows the annotation host.metal3.io/external-remediation on Machines that none"
        " of Nodemend's checks selects, else off. It needs --machine-health-checks on, and the permission"
        " to remove the annotation.",
    )
    external_remediation_template: str = setting(
        parse_name,
        "external-remediation",
        "The name of the Metal3RemediationTemplate, or of the SelfRemediationTemplate for a Machine without"
        " a host, in the Machine's own namespace. Remediations that this annotation requests are created"
        " from it.",
    )
    power_cycle: bool = setting(
        parse_switch,
        "off",
        "on if the remediator serves Metal3Remediations, and so powers hosts off and on through metal3,"
        " else off. The checker ignores it.",
    )
    node_deletion: bool = setting(
        parse_switch,
        "off",
        "on if the remediator deletes the Nodes of Metal3Remediations that request it, for clusters in"
        " which no controller acts on the out-of-service taint, else off. It needs --power-cycle on, and"
        " the permission to delete Nodes.",
    )
    capm3_kinds: bool = setting(
        parse_switch,
        "off",
        "on if the remediator also serves CAPM3's own Metal3Remediations (infrastructure.cluster.x-k8s.io),"
        " in clusters in which CAPM3 does not, else off. It needs --power-cycle on.",
    )
    self_fencing: bool = setting(
        parse_switch,
        "off",
        "on if the remediator serves SelfRemediations, and so requests nodes to reset themselves by their"
        " watchdog, else off. It needs agents on the nodes. The checker ignores it.",
    )

    @property
    def probes(self) -> Address:
        return Address(self.probe_address, self.probe_port)

    @property
    def metrics(self) -> Address:
        return Address(self.metrics_address, self.metrics_port)

    @property
    def lease(self) -> LeaseTiming:
        """Raises TimingError if the times do not fit together."""
        return LeaseTiming(
            lease_duration=int(self.lease_duration),
            renew_deadline=self.renew_deadline,
            retry_period=self.retry_period,
            request_timeout=self.request_timeout,
        )


SETTINGS: Final = settings_of(ControllerSettings)


def read_settings(
    flags: Mapping[str, str | None], environment: Mapping[str, str], host_name: str
) -> ControllerSettings:
    """Raises SettingsError for values that are invalid or clash, and for unknown variables."""
    defaults = {
        "identity": environment.get("POD_NAME") or host_name,
        "system_namespace": environment.get("POD_NAMESPACE") or well_known.SYSTEM_NAMESPACE,
    }
    settings = read_as(ControllerSettings, flags, environment, defaults)
    try:
        _ = settings.lease
    except TimingError as error:
        raise SettingsError(f"The times of the leader election do not fit together: {error}.") from error
    _refuse_clash(settings.probes, settings.metrics)
    if settings.workload_clusters and not settings.machine_health_checks:
        raise SettingsError(
            "--workload-clusters is on, but --machine-health-checks is off: it would have no effect."
        )
    _refuse_without_power_cycle(settings)
    if settings.external_remediation_annotation and not settings.machine_health_checks:
        raise SettingsError(
            "--external-remediation-annotation is on, but --machine-health-checks is off:"
            " Machines are not watched."
        )
    return settings


def _refuse_without_power_cycle(settings: ControllerSettings) -> None:
    for flag, on in (("--node-deletion", settings.node_deletion), ("--capm3-kinds", settings.capm3_kinds)):
        if on and not settings.power_cycle:
            raise SettingsError(f"{flag} is on, but --power-cycle is off: it would have no effect.")


def _refuse_clash(probes: Address, metrics: Address) -> None:
    same_host = probes.host == metrics.host or "" in (probes.host, metrics.host)
    if probes.port == metrics.port != 0 and same_host:
        raise SettingsError(f"--probe-port and --metrics-port are both {probes.port}: they must differ.")


def controller_command(program: str, summary: str, run: Callable[[ControllerSettings], int]) -> click.Command:
    """The command `program`. `run` gets the settings and returns the exit code."""

    def call(**flags: str | None) -> None:
        try:
            settings = read_settings(flags, os.environ, platform.node())
        except SettingsError as error:
            click.echo(f"{program}: {error}", err=True)
            raise click.exceptions.Exit(EXIT_WRONG_USAGE) from error
        raise click.exceptions.Exit(run(settings))

    options: list[click.Parameter] = [
        click.Option(
            [one.flag],
            metavar="TEXT" if not one.default else one.default,
            help=f"{one.help} [{one.variable}]",
        )
        for one in SETTINGS
    ]
    command = click.Command(
        program,
        params=options,
        callback=call,
        help=summary,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    return click.version_option(__version__, prog_name=program)(command)
