"""The alerts, held to their unit tests by promtool (from Debian's package `prometheus`)."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from generate.outputs import CHART, ROOT

ALERTS = CHART / "files" / "alerts.yaml"
TESTS = Path(__file__).with_name("alerts_test.yaml")
RUNBOOKS = ROOT / "docs" / "runbooks"
PROMTOOL = os.environ.get("PROMTOOL") or shutil.which("promtool")

needs_promtool = pytest.mark.skipif(
    PROMTOOL is None, reason="promtool is not installed: apt-get install prometheus, or set PROMTOOL"
)


def alerts() -> list[dict[str, dict[str, str]]]:
    groups = yaml.safe_load(ALERTS.read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


@needs_promtool
def test_the_rules_are_valid() -> None:
    _promtool("check", "rules", str(ALERTS))


@needs_promtool
@pytest.mark.conforms("N6")
def test_each_alert_fires_when_it_should_and_not_before() -> None:
    _promtool("test", "rules", str(TESTS))


def test_each_alert_has_its_tests() -> None:
    tried = {
        test["alertname"]
        for world in yaml.safe_load(TESTS.read_text())["tests"]
        for test in world["alert_rule_test"]
    }

    assert tried == {alert["alert"] for alert in alerts()}


def test_each_alert_has_its_runbook_and_each_runbook_its_alert() -> None:
    named = {alert["annotations"]["runbook_url"] for alert in alerts()}

    assert named == {
        f"https://nodemend.io/docs/runbooks/{file.stem}" for file in RUNBOOKS.glob("Nodemend*.md")
    }


def _promtool(*arguments: str) -> None:
    done = subprocess.run(
        [str(PROMTOOL), *arguments], check=False, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stdout + done.stderr
