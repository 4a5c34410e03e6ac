"""Reviewed answers of `kubectl mend simulate`: a command each, and its output.

`python -m tests.unit.cli.simulate.goldens` rewrites the answers; the reviewer reads the difference.
"""

import io
import os
import shlex
import shutil
import tempfile
from contextlib import chdir, redirect_stdout
from pathlib import Path
from typing import Final
from unittest.mock import patch

from nodemend.cli.exit_codes import ExitCode
from nodemend.cli.main import main
from tests.unit.cli.simulate.clusters import as_list, edge_cluster

FOLDER: Final = Path(__file__).with_name("golden")
EXAMPLE: Final = Path(__file__).parents[4] / "deploy" / "examples" / "edge-cluster.json"
"""The cluster of the goldens, for README.md and the how-to: a simulation that needs no cluster."""
GOLDENS: Final = sorted(FOLDER.glob("*.txt"))
_PROMPT: Final = "$ kubectl mend "


def answer(golden: Path) -> str:
    """The command of a golden file, and its output now."""
    command = golden.read_text().splitlines()[0]
    with (
        patch.dict(os.environ),
        tempfile.TemporaryDirectory() as folder,
        chdir(folder),
        redirect_stdout(io.StringIO()) as said,
    ):
        os.environ.pop("COLUMNS", None)  # The answers are for a pipe: no line is folded.
        Path("cluster.json").write_bytes(as_list(edge_cluster()))
        for file in FOLDER.glob("*.yaml"):
            shutil.copy(file, folder)
        code = main(shlex.split(command.removeprefix(_PROMPT)))
    assert code == ExitCode.FINE, f"{golden.name} ends with {code}"
    return f"{command}\n{said.getvalue()}"


def differences() -> list[str]:
    """The names of answers that changed."""
    return [golden.stem for golden in GOLDENS if answer(golden) != golden.read_text()]


if __name__ == "__main__":
    EXAMPLE.write_bytes(as_list(edge_cluster()) + b"\n")
    for path in GOLDENS:
        path.write_text(answer(path))
