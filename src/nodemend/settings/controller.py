"""The settings of a controller. Flags win over variables, variables over defaults.

The command line of a controller: every setting as a flag, and one sentence for a wrong one.
"""

import os
import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import click

from nodemend import __version__
from nodemend.api import well_known
from nodemend.kube.leader_election import LeaseTiming, TimingError
from nodemend.settings.setting import (
    Address,
    Setting,
    SettingsError,
    SettingsSource,
    Switch,
    choice_of,
    parse_name,
    parse_namespace,
    parse_namespace_or_none,
    parse_port,
    parse_seconds,
    refuse_unknown,
)
from nodemend.telemetry.logging import LogForm, LogLevel

NAMESPACE: Final = Setting(
    "system-namespace",
    parse_namespace,
    "",
    "The namespace of Nodemend's Leases. By default the pod's namespace (POD_NAMESPACE), else "
    f"{well_known.SYSTEM_NAMESPACE}.",
)
IDENTITY: Final = Setting(
    "identity", parse_name, "", "The name of this process. By default POD_NAME, else the host name."
)
KUBECONFIG: Final = Setting("kubeconfig", str, "", "A kubeconfig file. By default the pod's own account.")
CONTEXT: Final = Setting("context", str, "", "The context of the kubeconfig, if not its current one.")
LOG_LEVEL: Final = Setting("log-level", choice_of(LogLevel), "info", "debug, info, warning or error.")
LOG_FORM: Final = Setting(
    "log-form",
    choice_of(LogForm),
    "auto",
    "json, console, or auto: console on a terminal and json elsewhere.",
)
PROBE_ADDRESS: Final = Setting(
    "probe-address", str, "", "The address that /livez and /readyz listen on. By default all."
)
PROBE_PORT: Final = Setting("probe-port", parse_port, "8081", "The port of /livez and /readyz.")
METRICS_ADDRESS: Final = Setting(
    "metrics-address", str, "", "The address that /metrics listens on. By default all."
)
METRICS_PORT: Final = Setting("metrics-port", parse_port, "8080", "The port of /metrics.")
LEASE_DURATION: Final = Setting(
    "lease-duration",
    parse_seconds,
    "15s",
    "Time for which other replicas wait before they take an unchanged leader Lease.",
)
RENEW_DEADLINE: Final = Setting(
    "renew-deadline", parse_seconds, "10s", "A leader starts nothing later than this after its last renewal."
)
RETRY_PERIOD: Final = Setting("retry-period", parse_seconds, "2s", "Interval of renewals.")
REQUEST_TIMEOUT: Final = Setting(
    "request-timeout", parse_seconds, "3s", "Timeout of one request about the leader Lease."
)

MACHINES: Final = Setting(
    "machine-health-checks",
    choice_of(Switch),
    "off",
    "on if the checker also serves MachineHealthChecks, else off. The remediator ignores it.",
)
WORKLOAD_CLUSTERS: Final = Setting(
    "workload-clusters",
    choice_of(Switch),
    "off",
    "on if the checker watches the Nodes of workload clusters, by the kubeconfig Secrets of Cluster API, else"
    " off. It needs --machine-health-checks on, and the permission to get these Secrets.",
)
WORKLOAD_KUBECONFIG_SUFFIX: Final = Setting(
    "workload-kubeconfig-suffix",
    parse_name,
    "kubeconfig",
    "The suffix of the Secrets with the kubeconfigs of workload clusters. Cluster API's Secrets are named"
    " CLUSTER-kubeconfig; others may hold the kubeconfig of an account with fewer permissions.",
)

EXTERNAL_REMEDIATION: Final = Setting(
    "external-remediation-annotation",
    choice_of(Switch),
    "off",
    "on if the checker follows the annotation host.metal3.io/external-remediation on Machines that none of"
    " Nodemend's checks selects, else off. It needs --machine-health-checks on, and the permission to remove"
    " the annotation.",
)
EXTERNAL_REMEDIATION_TEMPLATE: Final = Setting(
    "external-remediation-template",
    parse_name,
    "external-remediation",
    "The name of the Metal3RemediationTemplate, or of the SelfRemediationTemplate for a Machine without a"
    " host, in the Machine's own namespace. Remediations that this annotation requests are created from it.",
)

POWER_CYCLE: Final = Setting(
    "power-cycle",
    choice_of(Switch),
    "off",
    "on if the remediator serves Metal3Remediations, and so powers hosts off and on through metal3, else off."
    " The checker ignores it.",
)

NODE_DELETION: Final = Setting(
    "node-deletion",
    choice_of(Switch),
    "off",
    "on if the remediator deletes the Nodes of Metal3Remediations that request it, for clusters in which no"
    " controller acts on the out-of-service taint, else off. It needs --power-cycle on, and the permission to"
    " delete Nodes.",
)

CAPM3_KINDS: Final = Setting(
    "capm3-kinds",
    choice_of(Switch),
    "off",
    "on if the remediator also serves CAPM3's own Metal3Remediations (infrastructure.cluster.x-k8s.io), in"
    " clusters in which CAPM3 does not, else off. It needs --power-cycle on.",
)

SELF_FENCING: Final = Setting(
    "self-fencing",
    choice_of(Switch),
    "off",
    "on if the remediator serves SelfRemediations, and so requests nodes to reset themselves by their"
    " watchdog, else off. It needs agents on the nodes. The checker ignores it.",
)

MEDIK8S_LEASES: Final = Setting(
    "medik8s-leases",
    parse_namespace_or_none,
    "",
    "The namespace of the Leases by which medik8s' operators share nodes, such as medik8s-leases. The checker"
    " starts nothing on a node that one of them holds. By default they are not read.",
)

SETTINGS: Final[tuple[Setting[object], ...]] = (
    NAMESPACE,
    IDENTITY,
    KUBECONFIG,
    CONTEXT,
    LOG_LEVEL,
    LOG_FORM,
    PROBE_ADDRESS,
    PROBE_PORT,
    METRICS_ADDRESS,
    METRICS_PORT,
    LEASE_DURATION,
    RENEW_DEADLINE,
    RETRY_PERIOD,
    REQUEST_TIMEOUT,
    MACHINES,
    WORKLOAD_CLUSTERS,
    MEDIK8S_LEASES,
    WORKLOAD_KUBECONFIG_SUFFIX,
    EXTERNAL_REMEDIATION,
    EXTERNAL_REMEDIATION_TEMPLATE,
    POWER_CYCLE,
    NODE_DELETION,
    CAPM3_KINDS,
    SELF_FENCING,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerSettings:
    identity: str
    system_namespace: str
    kubeconfig: str
    context: str
    log_level: LogLevel
    log_form: LogForm
    probes: Address
    metrics: Address
    lease: LeaseTiming
    machine_health_checks: bool
    workload_clusters: bool
    medik8s_leases: str
    """Namespace of the Leases; empty if they are not read."""
    workload_kubeconfig_suffix: str
    external_remediation_template: str
    """Empty if the annotation that requests remediations is ignored."""
    power_cycle: bool
    node_deletion: bool
    capm3_kinds: bool
    self_fencing: bool


def read_settings(
    flags: Mapping[str, str | None], environment: Mapping[str, str], host_name: str
) -> ControllerSettings:
    """Read the settings. `flags` are by the settings' keys; a flag that is not given is absent or None.

    Raises SettingsError for values that are invalid or clash, and for an unknown NODEMEND_ variable: a
    misspelt setting must not silently be the default.
    """
    refuse_unknown(environment, SETTINGS)
    source = SettingsSource(flags, environment)
    settings = ControllerSettings(
        identity=source.read(IDENTITY, environment.get("POD_NAME") or host_name),
        system_namespace=source.read(
            NAMESPACE, environment.get("POD_NAMESPACE") or well_known.SYSTEM_NAMESPACE
        ),
        kubeconfig=source.read(KUBECONFIG),
        context=source.read(CONTEXT),
        log_level=source.read(LOG_LEVEL),
        log_form=source.read(LOG_FORM),
        probes=Address(source.read(PROBE_ADDRESS), source.read(PROBE_PORT)),
        metrics=Address(source.read(METRICS_ADDRESS), source.read(METRICS_PORT)),
        lease=_lease(source),
        machine_health_checks=source.read(MACHINES) is Switch.ON,
        workload_clusters=source.read(WORKLOAD_CLUSTERS) is Switch.ON,
        medik8s_leases=source.read(MEDIK8S_LEASES),
        workload_kubeconfig_suffix=source.read(WORKLOAD_KUBECONFIG_SUFFIX),
        external_remediation_template=_external_remediation(source),
        power_cycle=source.read(POWER_CYCLE) is Switch.ON,
        node_deletion=source.read(NODE_DELETION) is Switch.ON,
        capm3_kinds=source.read(CAPM3_KINDS) is Switch.ON,
        self_fencing=source.read(SELF_FENCING) is Switch.ON,
    )
    _refuse_clash(settings.probes, settings.metrics)
    if settings.workload_clusters and not settings.machine_health_checks:
        raise SettingsError(
            "--workload-clusters is on, but --machine-health-checks is off: it would have no effect."
        )
    _refuse_without_power_cycle(settings)
    if settings.external_remediation_template and not settings.machine_health_checks:
        raise SettingsError(
            "--external-remediation-annotation is on, but --machine-health-checks is off:"
            " Machines are not watched."
        )
    return settings


def _refuse_without_power_cycle(settings: ControllerSettings) -> None:
    for flag, on in (("--node-deletion", settings.node_deletion), ("--capm3-kinds", settings.capm3_kinds)):
        if on and not settings.power_cycle:
            raise SettingsError(f"{flag} is on, but --power-cycle is off: it would have no effect.")


def _external_remediation(source: SettingsSource) -> str:
    template = source.read(EXTERNAL_REMEDIATION_TEMPLATE)
    return template if source.read(EXTERNAL_REMEDIATION) is Switch.ON else ""


def _lease(source: SettingsSource) -> LeaseTiming:
    try:
        return LeaseTiming(
            lease_duration=int(source.read(LEASE_DURATION)),
            renew_deadline=source.read(RENEW_DEADLINE),
            retry_period=source.read(RETRY_PERIOD),
            request_timeout=source.read(REQUEST_TIMEOUT),
        )
    except TimingError as error:
        raise SettingsError(f"The times of the leader election do not fit together: {error}.") from error


def _refuse_clash(probes: Address, metrics: Address) -> None:
    same_host = probes.host == metrics.host or "" in (probes.host, metrics.host)
    if probes.port == metrics.port != 0 and same_host:
        raise SettingsError(f"--probe-port and --metrics-port are both {probes.port}: they must differ.")


EXIT_WRONG_USAGE: Final = 2


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
            [setting.flag],
            metavar="TEXT" if not setting.default else setting.default,
            help=f"{setting.help} [{setting.variable}]",
        )
        for setting in SETTINGS
    ]
    command = click.Command(
        program,
        params=options,
        callback=call,
        help=summary,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    return click.version_option(__version__, prog_name=program)(command)
