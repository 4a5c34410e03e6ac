"""The command itself: its files, its errors, its other forms."""

import io
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from nodemend.cli.exit_codes import ExitCode
from nodemend.cli.main import main
from tests.unit.cli.simulate.clusters import as_list, check, edge_cluster, node, policy, remedy, workers


@pytest.fixture(autouse=True)
def in_a_folder_with_a_snapshot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    Path("cluster.json").write_bytes(as_list(edge_cluster()))
    Path("unwatched.json").write_bytes(as_list([*workers(), policy()]))
    Path("check.yaml").write_text(yaml.safe_dump(check("workers", dryRun=True)))
    Path("misspelt.yaml").write_text(yaml.safe_dump(policy(maxUnhealty="40%")))
    Path("no_limit.yaml").write_text(yaml.safe_dump(policy(maxUnhealthy="many")))
    Path("nodes.yaml").write_text(yaml.safe_dump(node("n1")))
    return iter([None])


def run(*arguments: str) -> int:
    return main(["simulate", "--utc", *arguments])


def test_unsimulated_recoveries_are_reported_if_a_check_has_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    recovers = check("workers", recovery=remedy("SwitchOn"))
    Path("recovers.json").write_bytes(as_list([*workers(), policy(), recovers]))
    said = "Recoveries succeed at once."
    for snapshot, expected in (("recovers.json", True), ("cluster.json", False)):
        assert run("--snapshot", snapshot, "--fail", "edge-a1@2m", "-o", "json") == ExitCode.FINE
        assert (said in json.loads(capsys.readouterr().out)["assumed"]) is expected


def test_programs_get_every_step(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--snapshot", "cluster.json", "--fail", "edge-a1@2m", "-o", "json") == ExitCode.FINE
    view = json.loads(capsys.readouterr().out)

    assert [(step["at"], step["what"], step["nodes"]) for step in view["steps"]] == [
        (120, "Fail", ["edge-a1"]),
        (420, "Unhealthy", ["edge-a1"]),
        (420, "Begin", ["edge-a1"]),
        (1020, "Back", ["edge-a1"]),
        (1050, "Close", ["edge-a1"]),
    ]
    (remediation,) = view["remediations"]
    assert (remediation["beginsAt"], remediation["overAt"], remediation["ending"]) == (420, 1050, "Healed")
    assert view["totals"]["remediated"] == 1
    assert view["given"]["takenAt"] == "2026-01-31T12:00:00.000Z"
    assert view["assumed"]


def test_a_difference_in_yaml(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("--snapshot", "cluster.json", "--fail", "edge-a1@2m", "--diff", "check.yaml", "-o", "yaml")
    assert run(*arguments) == ExitCode.FINE
    view = yaml.safe_load(capsys.readouterr().out)

    assert (view["first"]["name"], view["second"]["name"]) == ("the current configuration", "check.yaml")
    assert (
        view["only"][0]["why"] == "The check workers sets dryRun, so Nodemend only reports what it would do."
    )


def test_a_snapshot_from_standard_input(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(as_list(edge_cluster()))))
    assert run("--snapshot", "-", "--fail", "edge-a1@2m") == ExitCode.FINE
    assert "Given     27 nodes of standard input at" in capsys.readouterr().out


def test_a_check_that_is_only_tried_is_enough(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--snapshot", "unwatched.json", "--policy", "check.yaml", "--fail", "edge-a1@0s", "--act") == 0
    assert "1 node of 24 would be remediated" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--fail", "edge-a1"], ExitCode.USAGE, "does not say when"),
        (["--fail", "edge-z@2m"], ExitCode.USAGE, "no node matches edge-z"),
        (["--stays-unhealthy", "edge-z"], ExitCode.USAGE, "no node matches edge-z"),
        (["--fail", "rack=r1@2m"], ExitCode.USAGE, "no node has a label rack"),
        (["--fail", "edge-a1@2h"], ExitCode.USAGE, "is at 2h, and it ends after 1h"),
        (["--heal", "edge-a1@2m..61m"], ExitCode.USAGE, "is at 1h01m, and it ends after 1h"),
        (["--for", "0s"], ExitCode.USAGE, "longer than 0s"),
        (["--remediation-takes", "long"], ExitCode.USAGE, "not a duration"),
        (["--symptom", "Ready"], ExitCode.USAGE, "is no condition"),
        (["--policy", "there-is-none.yaml"], ExitCode.USAGE, "there-is-none.yaml"),
        (["--policy", "misspelt.yaml"], ExitCode.USAGE, "misspelt.yaml has a RemediationPolicy with a field"),
        (["--policy", "nodes.yaml"], ExitCode.USAGE, "nodes.yaml has neither a RemediationPolicy"),
        (["--diff", "no_limit.yaml"], ExitCode.USAGE, "must be a count such as 3"),
        (["--policy", "-", "--diff", "-"], ExitCode.USAGE, "Only one file"),
        (["--snapshot", "misspelt.yaml"], ExitCode.USAGE, "misspelt.yaml has no nodes in it"),
        (["--snapshot", "unwatched.json"], ExitCode.WRONG, "unwatched.json has no NodeHealthCheck"),
    ],
)
def test_an_impossible_simulation_is_reported_and_exits_like_other_commands(
    arguments: list[str], code: ExitCode, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--snapshot", "cluster.json", *arguments) == code
    shown = capsys.readouterr()
    assert said in shown.err
    assert not shown.out


@pytest.mark.slow
def test_a_file_needs_nothing_that_talks_to_a_cluster() -> None:
    """It is half of a start. The names of modules are asked in a fresh program."""
    script = (
        "import sys; from nodemend.cli.main import main;"
        "main(['simulate', '--snapshot', 'cluster.json', '--fail', 'edge-a1@2m']);"
        "print(sorted({'aiohttp', 'asyncio', 'rich', 'ssl', 'yaml'} & set(sys.modules)))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert ran.stdout.splitlines()[-1] == "[]"
