"""`just shape`: every bar can be met and missed, and the committed lists can be read."""

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from shape import __main__ as program
from shape import bars
from shape.bars import Limits, evaluate, read_limits, table
from shape.named_paths import missing_paths
from shape.tree import ROOT, measure

LIMITS = Limits(
    modules=4,
    median=(4, 6),
    small_lines=3,
    small_modules=1,
    classes_twice_in_package=0,
    classes_twice=0,
    function_lines=2,
    modules_in_package=2,
    fewer_lines=10,
    base_lines=40,
    base_lines_with_simulation=50,
    safety="safety",
    safety_lines=10,
    evidence=("facts", "release"),
    evidence_lines=10,
    not_paths={"nodes/status": "a subresource"},
    small_reasons={"kube/tiny.py": "an example"},
)
GOOD = {
    "safety/facts.py": "class Facts:\n    a = 1\n    b = 2\n    c = 3\n    d = 4\n",
    "safety/release.py": "def release():\n    return 1\n\n\nX = 1\n",
    "kube/client.py": "class Client:\n    a = 1\n    b = 2\n    c = 3\n    d = 4\n",
    "kube/tiny.py": "X = 1\n",
    "kube/__init__.py": "",
    "testing/world.py": "class Facts:\n    pass\n\n\nclass Facts:\n    pass\n",
}
"""Four modules with 16 lines, and 6 lines of the simulation."""


def tree(root: Path, changes: Mapping[str, str] | None = None, **documents: str) -> Path:
    for name, text in {**GOOD, **(changes or {})}.items():
        path = root / "src" / "nodemend" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for name, text in documents.items():
        (root / f"{name}.md").write_text(text)
    return root


def missed(root: Path, limits: Limits = LIMITS) -> list[str]:
    return [one.bar.partition(" at most")[0] for one in evaluate(root, limits) if not one.met]


def test_every_bar_can_be_met(tmp_path: Path) -> None:
    results = evaluate(tree(tmp_path), LIMITS)
    assert [one for one in results if not one.met] == []
    assert len(results) == len(bars.BARS) + 1


A_CLASS = "class Thing:\n    a = 1\n    b = 2\n    c = 3\n"


@pytest.mark.parametrize(
    ("changes", "bar"),
    [
        ({"api/upstream_types.py": A_CLASS}, "modules"),
        ({"kube/client.py": "X = 1\n", "safety/facts.py": "X = 1\n"}, "median lines 4 to 6"),
        ({"kube/tiny.py": "1\n2\n3\n"}, "modules under 3 lines"),
        ({"kube/client.py": "X = 1\n"}, "modules under 3 lines"),
        ({"kube/tiny.py": "class Client:\n    pass\n"}, "classes twice in one package"),
        ({"kube/client.py": A_CLASS.replace("Thing", "Facts")}, "class names twice"),
        ({"kube/client.py": "def f():\n    a = 1\n    return a\n\n"}, "longest function 2 lines"),
        ({"kube/store.py": A_CLASS}, "modules in one package"),
        ({"safety/limits.py": "X = 1\n" * 6}, "safety/"),
        ({"safety/facts.py": "X = 1\n" * 6}, "safety/, evidence to ticket,"),
        ({"kube/client.py": "X = 1\n" * 20}, "lines at least 10 fewer than 40"),
    ],
)
def test_each_bar_can_be_missed(changes: dict[str, str], bar: str, tmp_path: Path) -> None:
    assert bar in missed(tree(tmp_path, changes))


def test_a_safety_package_that_does_not_exist_misses_both_of_its_bars(tmp_path: Path) -> None:
    assert [
        bar for bar in missed(tree(tmp_path), replace(LIMITS, safety="core")) if bar.startswith("core/")
    ] == [
        "core/",
        "core/, evidence to ticket,",
    ]


def test_a_missing_evidence_module_is_named(tmp_path: Path) -> None:
    limits = replace(LIMITS, evidence=("facts", "ticket"))
    results = {one.bar: one for one in evaluate(tree(tmp_path), limits)}
    assert results["safety/, evidence to ticket, at most 10 lines"].offenders == [
        "safety/ticket.py is missing"
    ]


def test_private_and_nested_classes_and_the_simulation_are_not_counted(tmp_path: Path) -> None:
    text = "class _Client:\n    class Client:\n        pass\n    c = 3\n    d = 4\n"
    measured = measure(tree(tmp_path, {"kube/store.py": text}))
    assert not measured.classes_twice
    assert not measured.classes_twice_in_package
    assert measured.lines == 21
    assert measured.lines_with_simulation == 27


def test_simulation_code_is_recognized_in_any_folder(tmp_path: Path) -> None:
    root = tree(tmp_path)
    (root / "src/nodemend/testing").rename(root / "simulation")
    assert (measure(root).lines, measure(root).lines_with_simulation) == (16, 22)


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("See `kube/client.py`, `kube/client`, `kube/client.close` and `nodes/status`.", []),
        ("See `kube/store.py`.", ["kube/store.py"]),
        ("See `gone/client`.", ["gone/client"]),
        ("Run src/nodemend/kube/client.py and src/nodemend/kube/store.py.", ["src/nodemend/kube/store.py"]),
        (
            "All of `src/nodemend/*/client.py`, none of `src/nodemend/*/store.py`.",
            ["src/nodemend/*/store.py"],
        ),
        ("`src/nodemend/kube/client.py::close` and `src/nodemend/kube/x.py::y`", ["src/nodemend/kube/x.py"]),
        (
            "[here](src/nodemend/kube/client.py#L1), [there](docs/gone.md), [web](https://x.y/z)",
            ["docs/gone.md"],
        ),
    ],
)
def test_a_path_that_a_document_names_must_exist(text: str, missing: list[str], tmp_path: Path) -> None:
    root = tree(tmp_path, SAFETY=text)
    assert missing_paths(root, LIMITS.not_paths) == [f"SAFETY.md: {path}" for path in missing]
    assert ("paths in documents that do not exist: 0" in missed(root)) == bool(missing)


def test_a_module_that_the_justfile_runs_must_exist(tmp_path: Path) -> None:
    root = tree(tmp_path)
    (root / "tools" / "shape").mkdir(parents=True)
    (root / "justfile").write_text(
        "a:\n    python -m shape\n    python -m pytest\n    python -m tests.gone\n"
    )
    assert missing_paths(root) == ["justfile: tests.gone"]


def test_the_committed_limits_are_read_and_the_base_is_larger_with_the_simulation() -> None:
    limits = read_limits()
    assert limits.base_lines < limits.base_lines_with_simulation
    assert limits.not_paths
    assert measure(ROOT).modules


def test_a_small_module_without_a_reason_is_refused(tmp_path: Path) -> None:
    (tmp_path / "shape.toml").write_text((bars.HERE / "shape.toml").read_text())
    entry = '[[module]]\npath = "kube/tiny.py"\nreason = "{}"\n'
    (tmp_path / "small_modules.toml").write_text(entry.format("an example"))
    assert read_limits(tmp_path).small_reasons == {"kube/tiny.py": "an example"}
    (tmp_path / "small_modules.toml").write_text(entry.format(" "))
    with pytest.raises(ValueError, match=r"without a reason: \['kube/tiny.py'\]"):
        read_limits(tmp_path)


def test_the_table_names_offenders_and_ends_with_the_figure(tmp_path: Path) -> None:
    results = evaluate(tree(tmp_path, {f"kube/s{number}.py": A_CLASS for number in range(3)}), LIMITS)
    lines = list(table(results, shown=1))
    assert lines[-1] == "shape: 7 of 11 bars met"
    assert "    and 2 more (--all)" not in lines
    assert any(line.startswith("class names twice") and line.endswith("MISSED") for line in lines)
    assert "    Thing: kube/s0.py, kube/s1.py, kube/s2.py" in lines


@pytest.mark.parametrize(("name", "status"), [("client", 0), ("gone", 1)])
def test_the_program_fails_when_a_bar_is_missed(
    name: str,
    status: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(program, "ROOT", tree(tmp_path, SAFETY=f"`kube/{name}.py`"))
    monkeypatch.setattr(bars, "read_limits", lambda: LIMITS)
    monkeypatch.setattr(sys, "argv", ["shape"])
    assert program.main() == status
    assert capsys.readouterr().out.splitlines()[-1] == f"shape: {11 - status} of 11 bars met"
