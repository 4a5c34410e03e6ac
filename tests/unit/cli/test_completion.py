"""Completion in shells, and through kubectl."""

import os
import subprocess
import sys

import pytest

from nodemend.cli.main import COMMANDS, main


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_there_is_a_script_for_each_shell(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    assert "_KUBECTL_MEND_COMPLETE" in capsys.readouterr().out


def complete(*words: str) -> list[str]:
    """What bash would be offered for the last word."""
    script = "import sys; from nodemend.cli.main import main; sys.exit(main())"
    environment = {
        **os.environ,
        "_KUBECTL_MEND_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(("kubectl-mend", *words)),
        "COMP_CWORD": str(len(words)),
    }
    run = subprocess.run(
        [sys.executable, "-c", script],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return [line.partition(",")[2] for line in run.stdout.splitlines()]


def test_commands_are_completed() -> None:
    assert complete("") == list(COMMANDS)
    assert complete("co") == ["confirm", "completion"]


def test_flags_are_completed() -> None:
    assert "--withdraw" in complete("confirm", "--w")


def test_kubectl_gets_a_program_that_speaks_its_protocol(capsys: pytest.CaptureFixture[str]) -> None:
    main(["completion", "kubectl"])
    script = capsys.readouterr().out

    assert script.startswith("#!/bin/sh\n")
    assert script.endswith("echo :4\n")
