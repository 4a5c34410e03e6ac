"""The documentation is correct, and the tool that checks it finds each kind of mistake."""

from pathlib import Path

import pytest

from docs_check.__main__ import main
from docs_check.commands import wrong_command, wrong_commands
from docs_check.links import links, wrong_links
from docs_check.names import Known, read_known, wrong_names
from docs_check.pages import Page, parse
from docs_check.snippets import is_shell, wrong_snippets
from tests.tidy.source_tree import ROOT


@pytest.fixture(scope="module")
def known() -> Known:
    return read_known(ROOT)


def page(text: str, path: Path = ROOT / "docs" / "page.md") -> Page:
    return parse(path, text, path.parent.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else ".")


def named(text: str, known: Known) -> list[str]:
    return [fault.text for fault in wrong_names(page(text), known)]


def played(text: str) -> list[str]:
    return [fault.text for fault in wrong_snippets(page(text), ROOT)]


def test_the_documentation_is_right(capsys: pytest.CaptureFixture[str]) -> None:
    ended = main([])
    said = capsys.readouterr().out
    assert ended == 0, said
    assert said.endswith(" snippets: 0 wrong\n")


def test_links_are_held_to_files_and_headings(tmp_path: Path) -> None:
    (tmp_path / "other.md").write_text("# A heading, with `code`\n\n## Twice\n\n## Twice\n")
    here = page(
        "[a](other.md) [b](other.md#a-heading-with-code) [c](other.md#twice-1)\n[d](https://example.com)\n"
        "`[e](code.md)`\n\n    [f](block.md)\n\n[g](gone.md) ![h](gone.svg)\n"
        "[i](other.md#twice-2) [j](#nowhere)\n",
        tmp_path / "page.md",
    )
    assert [fault.text for fault in wrong_links(here, {})] == [
        "no such file: gone.md",
        "no such file: gone.svg",
        "no such heading: other.md#twice-2",
        "no such heading: #nowhere",
    ]
    assert len(links(here)) == 7


@pytest.mark.parametrize(
    "text",
    [
        "`docs/how-to` `tests/tidy/source_tree.py`",
        "`tests/tidy/test_docs_check.py::test_there_are_snippets`",
        "`src/nodemend/cli/main.py` `cli/main` `kube.example.com/name` `just check` `python -m generate`",
        "`NodemendNoLeader` `nodemend_leader` `nodemend_time_to_start_seconds_bucket`",
        "`NODEMEND_LOG_LEVEL=debug` `powerCycle.enabled=true` `NodeHealthCheck` `--log-level` `minInterval`",
        "`kubectl get --previous` `PowerOff` event, events `RemediationHeld`",
    ],
)
def test_names_of_what_there_is_are_right(text: str, known: Known) -> None:
    assert named(text, known) == []


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("`docs/how-to/gone.md`", "no such file: docs/how-to/gone.md"),
        ("`gone.py`", "no such file: gone.py"),
        ("`tests/tidy/source_tree.py::test_x`", "no such test: tests/tidy/source_tree.py::test_x"),
        ("`nodemend.gone`", "no such module: nodemend.gone"),
        ("`python -m gone`", "no such program: python -m gone"),
        ("`just gone`", "no such recipe: just gone"),
        ("    just gone\n", "no such recipe: just gone"),
        ("`NodemendGone`", "no such alert: NodemendGone"),
        ("`nodemend_gone`", "no such metric: nodemend_gone"),
        ("the event `Gone`", "no such event: Gone"),
        ("`NODEMEND_GONE`", "no such setting: NODEMEND_GONE"),
        ("`powerCycle.gone`", "the chart has no such value: powerCycle.gone"),
        ("    helm upgrade x --set powerCycle.gone=1\n", "the chart has no such value: powerCycle.gone"),
        ("a `GoneRemediation`", "no code names this: GoneRemediation"),
        ("the field `goneInterval`", "no code names this: goneInterval"),
        ("the flag `--gone-flag` of it", "no such option: --gone-flag"),
    ],
)
def test_names_of_what_is_not_there_are_faults(text: str, wrong: str, known: Known) -> None:
    assert wrong in named(text, known)


@pytest.mark.parametrize(
    "words",
    [
        "",
        "status",
        "check -o wide",
        "confirm NODE --reason",
        'confirm edge-07 --reason "plugs pulled" # by hand',
        "timeline edge-07 -o json > edge-07.json",
        "explain [OPTIONS] NODE",
        "COMMAND --help",
    ],
)
def test_commands_that_the_program_understands_are_right(words: str) -> None:
    assert wrong_command(words) == ""


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        ("gone", "no such command: gone"),
        ("status --gone", "No such option"),
        ("status -o gone", "-o is one of"),
        ("confirm edge-07 edge-08", "too many arguments: edge-08"),
    ],
)
def test_commands_that_it_does_not_are_faults(words: str, wrong: str) -> None:
    assert wrong in wrong_command(words)
    in_prose = [fault.text for fault in wrong_commands(page(f"Run `kubectl mend {words}`."))]
    in_block = [fault.text for fault in wrong_commands(page(f"    $ kubectl mend {words}\n"))]
    assert in_prose == in_block
    assert len(in_prose) == 1


def test_there_are_snippets() -> None:
    shells = page(
        "    kubectl get nodes\n\ntext\n\n    kind: Node\n\n```sh\nx\n```\n\n- a\n\n      helm list\n"
    )
    assert [is_shell(block) for block in shells.blocks] == [True, False, True, True]


@pytest.mark.parametrize(
    "text",
    [
        "    kubectl mend version --help\n",
        "    $ kubectl mend --help\n    ...\n    Commands:\n",
        "<!-- not executed: needs a cluster -->\n\n    kubectl get nodes\n",
        "<!-- executed by: tests/integration/test_orders.py -->\n\n    kubectl mend run edge-07\n",
        "<!-- all not executed: needs a cluster -->\n\ntext\n\n    kubectl get nodes\n",
    ],
)
def test_snippets_that_are_executed_or_marked_are_right(text: str) -> None:
    assert played(text) == []


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("    kubectl get nodes\n", "neither executed nor marked"),
        ("    kubectl mend version --help > file\n", "neither executed nor marked"),
        ("<!-- not executed: needs a cluster -->\n\ntext\n\n    kubectl get nodes\n", "neither executed"),
        ("<!-- not executed: no -->\n\n    kubectl get nodes\n", "without a reason"),
        (
            "<!-- not executed: see tests/gone.py -->\n\n    kubectl get nodes\n",
            "does not exist: tests/gone.py",
        ),
        ("<!-- executed by: tests/gone.py -->\n\n    kubectl get nodes\n", "does not exist: tests/gone.py"),
        (
            "<!-- executed by: tests/tidy/source_tree.py -->\n\n    kubectl mend confirm --yes\n",
            "does not contain: confirm, --yes",
        ),
        ("<!-- executed by: tests/tidy -->\n\n    kind: Node\n", "no snippet for a shell"),
        ("    kubectl mend simulate --snapshot deploy/examples/gone.json\n", "ends with 2"),
        ("    $ kubectl mend version\n    something else\n", "does not print: something else"),
    ],
)
def test_other_snippets_are_faults(text: str, wrong: str) -> None:
    assert len(played(text)) == 1
    assert wrong in played(text)[0]
