"""`kubectl mend version`."""

import json

import pytest
import yaml

from nodemend import __version__
from nodemend.cli.main import main


def test_it_prints_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["version"]) == 0
    assert capsys.readouterr().out.startswith(f"kubectl mend {__version__} (Python 3.")


def test_programs_can_read_it(capsys: pytest.CaptureFixture[str]) -> None:
    main(["version", "-o", "json"])
    as_json = json.loads(capsys.readouterr().out)
    main(["version", "-o", "yaml"])

    assert as_json == yaml.safe_load(capsys.readouterr().out)
    assert as_json["version"] == __version__
