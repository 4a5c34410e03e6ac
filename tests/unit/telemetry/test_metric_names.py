"""Names follow Prometheus' conventions, and every alert asks for metrics that there are."""

import re
from pathlib import Path

import pytest
import yaml

from nodemend.telemetry import metrics
from nodemend.telemetry.metrics import METRIC_NAMES, MetricKind, MetricName

ALERTS = Path(__file__).parents[3] / "deploy" / "chart" / "nodemend" / "files" / "alerts.yaml"


@pytest.mark.parametrize("metric", METRIC_NAMES, ids=lambda metric: metric.name)
def test_a_name_says_whose_it_is_and_what_it_counts(metric: MetricName) -> None:
    assert re.fullmatch(r"nodemend_[a-z_]+", metric.name)
    assert metric.name.endswith("_total") == (metric.kind is MetricKind.COUNTER)
    assert metric.name.endswith("_seconds") or metric.kind is not MetricKind.HISTOGRAM
    assert re.fullmatch(r"[A-Z0-9].*\.", metric.help)


def test_no_counter_or_histogram_has_the_name_of_a_node() -> None:
    assert not [
        metric.name
        for metric in METRIC_NAMES
        if metric.kind is not MetricKind.GAUGE and {"node", "name"} & set(metric.labels)
    ]


def test_no_two_metrics_have_one_name() -> None:
    assert metrics.BUILD_INFO in METRIC_NAMES
    assert len({metric.name for metric in METRIC_NAMES}) == len(METRIC_NAMES)


def test_every_alert_asks_for_metrics_and_labels_that_there_are() -> None:
    known = {metric.name: set(metric.labels) for metric in METRIC_NAMES}
    rules = [rule for group in yaml.safe_load(ALERTS.read_text())["groups"] for rule in group["rules"]]
    asked = [(rule["expr"], name) for rule in rules for name in re.findall(r"nodemend_\w+", rule["expr"])]

    assert asked
    for expression, name in asked:
        wanted = set(",".join(re.findall(r"by \(([^)]*)\)", expression)).replace(" ", "").split(","))
        assert wanted - {"job", ""} <= known[name]
