"""`just words`: each entry matches its bad example and not the good one, and the tool can fail."""

import ast
from pathlib import Path

import pytest

from words import __main__ as program
from words.banned import BannedList, find_banned, read_list
from words.findings import ROOT, Allowed, files_matching, package_of, read_allowed
from words.glossary import (
    Glossary,
    Row,
    bound_names,
    find_old_names,
    glossary_of,
    read_glossary,
    rows_of_file,
    rows_of_name,
)
from words.passages import Block, sentences_in, sentences_of

WORDS = read_list()
GLOSSARY = read_glossary()
BY_ID = {one.id: one for one in WORDS.banned}
SMALL = glossary_of(
    [
        Row("Ward, wards", "GuardTarget", ("=Ward", "ward", "wards")),
        Row("look (book)", "evaluate", ("look",)),
        Row("look_ahead", "prefetch", ("look_ahead",)),
        Row("*_shell.py", "*_io.py", ("file:*_shell",)),
        Row("feeder/words", "feeder messages", ("file:feeder/words",)),
    ],
    [],
    ["src"],
)


def matches(id_: str, text: str) -> bool:
    """True if the entry is found in any sentence of `text`."""
    return any(BY_ID[id_].regex.search(one.text) for one in sentences_of(Block(((1, text),))))


@pytest.mark.parametrize("id_", BY_ID)
def test_a_regex_finds_its_bad_example_and_not_its_good_one(id_: str) -> None:
    assert matches(id_, BY_ID[id_].bad)
    assert not matches(id_, BY_ID[id_].good)


def test_no_replacement_example_has_another_banned_construction() -> None:
    found = {(one.id, other) for one in WORDS.banned for other in BY_ID if matches(other, one.good)}
    assert not found


def test_ids_are_unique_and_entries_complete() -> None:
    assert len(BY_ID) == len(WORDS.banned)
    assert all(one.why and one.use for one in WORDS.banned)


def repository(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / "src" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def only(words: BannedList, *allowed: Allowed) -> BannedList:
    return BannedList(words.banned, allowed, ["src"], ["src"], [], [])


def found_in(folder: Path, *allowed: Allowed) -> list[tuple[str, int]]:
    return [(one.id, one.line) for one in find_banned(folder, only(WORDS, *allowed)).findings]


def test_a_construction_is_found_across_lines_in_comments_docstrings_and_literals(tmp_path: Path) -> None:
    source = '"""Fine.\n\nThe last of\nits own."""\n\n# It is seen\n# off.\nX = f"ask {1} for\\nwhoever"\n'
    folder = repository(tmp_path, a=source)
    assert sorted(found_in(folder)) == [("of-its-own", 3), ("seen-off", 6), ("whoever", 8)]


def test_code_is_not_prose(tmp_path: Path) -> None:
    folder = repository(tmp_path, a='"""Fine."""\n\nnobody = {"told": 1}\nbook = nobody["told"]\n')
    assert found_in(folder) == []


def test_a_fronted_clause_is_a_whole_sentence(tmp_path: Path) -> None:
    """Headings, questions and subordinate clauses are not findings."""
    text = "# What works today\n\nWhat is a lease? Nobody.\n\nIt shows what is held.\n\nWhat is held.\n"
    path = tmp_path / "page.md"
    path.write_text(text)
    clause = BY_ID["fronted-what"].regex
    assert [one.line for one in sentences_in(path, literals=False) if clause.search(one.text)] == [7]


def test_a_link_target_is_not_prose(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text("See [decision 12](0012-dry-run-is-the-default.md).\n")
    assert not any(BY_ID["told"].regex.search(one.text) for one in sentences_in(path, literals=False))


def test_an_exception_covers_its_text_in_its_file_and_nothing_else(tmp_path: Path) -> None:
    folder = repository(
        tmp_path, a='"""Nobody knows."""\n\n# Nobody asks. Nobody knows.\n', b='"""Nobody knows."""\n'
    )
    allowed = Allowed("src/a.py", "Nobody knows", "an example")
    assert sorted(found_in(folder, allowed)) == [("nobody", 1), ("nobody", 3)]
    assert find_banned(folder, only(WORDS, allowed)).used == {allowed}


def test_a_file_name_is_prose(tmp_path: Path) -> None:
    assert found_in(repository(tmp_path, front_door='"""Fine."""\n')) == [("private-room", 0)]


@pytest.mark.parametrize(
    ("name", "new"),
    [
        ("Ward", "GuardTarget"),
        ("_Ward", "GuardTarget"),
        ("_ward", "GuardTarget"),
        ("all_wards", "GuardTarget"),
        ("LOOK_EVERY", "evaluate"),
        ("look_ahead_of", "prefetch"),
    ],
)
def test_an_identifier_is_matched_whole_and_by_its_parts(name: str, new: str) -> None:
    assert [row.new for row in rows_of_name(name, SMALL)] == [new]


@pytest.mark.parametrize(
    "name", ["WardList", "warden", "forward", "onlooker", "__look__", "test_a_ward_is_held", "Look"]
)
def test_a_name_that_only_resembles_an_old_one_stays(name: str) -> None:
    assert rows_of_name(name, SMALL) == ()


def test_file_names_are_matched_by_stem_by_glob_and_with_their_folder() -> None:
    paths = ["src/http_shell.py", "src/ward.py", "src/feeder/words.py", "src/shell.py", "src/other/words.py"]
    assert [bool(rows_of_file(Path(path), SMALL)) for path in paths] == [True, True, True, False, False]


def test_every_kind_of_binding_is_seen() -> None:
    source = (
        "import a as ward1\nclass C:\n    ward2: int\ndef f(ward3, *ward4, ward5=1, **ward6):\n"
        "    self.ward7 = 1\n"
        "    for ward8 in x: pass\n    with y as ward9: pass\n    try: pass\n    except E as ward10: pass\n"
        "    match z:\n        case [*ward11]: pass\n        case {**ward12}: pass\n"
        "        case ward13: pass\n"
        "    return lambda ward14: (ward15 := [ward16 for ward16 in x])\n"
    )
    names = {name for name, _ in bound_names(ast.parse(source)) if name.startswith("ward")}
    assert names == {f"ward{number}" for number in range(1, 17)}


def with_allowed(glossary: Glossary, *allowed: Allowed) -> Glossary:
    return glossary_of(glossary.rows, allowed, glossary.python)


def test_an_old_name_is_found_once_per_file_and_an_exception_covers_it(tmp_path: Path) -> None:
    folder = repository(tmp_path, a="def f(ward):\n    ward = 1\n", b="x = 1\nlook = 2\n")
    found = find_old_names(folder, SMALL).findings
    assert [(one.path, one.line, one.text) for one in found] == [
        ("src/a.py", 1, "ward"),
        ("src/b.py", 2, "look"),
    ]
    allowed = Allowed("src/*.py", "ward", "a hospital")
    result = find_old_names(folder, with_allowed(SMALL, allowed))
    assert [one.path for one in result.findings] == ["src/b.py"]
    assert result.used == {allowed}


def test_every_row_of_the_glossary_can_be_found() -> None:
    assert len(GLOSSARY.rows) > 150
    for row in GLOSSARY.rows:
        for matcher in row.matchers:
            kind, _, rest = matcher.partition(":")
            found = (
                rows_of_file(Path("src", f"{rest.replace('*', 'x')}.py"), GLOSSARY)
                if kind == "file"
                else rows_of_name(matcher.removeprefix("="), GLOSSARY)
            )
            assert row in found, matcher


def test_no_old_name_is_a_new_one() -> None:
    """Otherwise a rename could not be completed. CamelCase names of the right column contain no old name."""
    names = [name.strip() for row in GLOSSARY.rows for part in row.new.split(",") for name in part.split("/")]
    camel = [name for name in names if name.isidentifier() and name != name.lower()]
    assert camel
    assert [name for name in camel if rows_of_name(name, GLOSSARY)] == []


@pytest.mark.parametrize(
    "entry", [{"path": "", "text": "x", "reason": "y"}, {"path": "x", "text": "y", "reason": " "}]
)
def test_an_exception_without_a_path_or_a_reason_is_refused(entry: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="needs a path, a text and a reason"):
        read_allowed([entry])


def test_all_python_of_the_repository_is_scanned() -> None:
    folders = {path.relative_to(ROOT).parts[0] for path in files_matching(ROOT, ["[a-z]*/**/*.py"])}
    assert folders <= set(WORDS.python)
    assert set(WORDS.python) == set(GLOSSARY.python)


@pytest.mark.parametrize(
    ("path", "package"),
    [
        ("src/nodemend/cli/simulate/a.py", "src/nodemend/cli/simulate"),
        ("src/nodemend/kube/a.py", "src/nodemend/kube"),
        ("tests/unit/kube/a.py", "tests/unit"),
        ("README.md", "."),
    ],
)
def test_files_are_counted_under_their_package(path: str, package: str) -> None:
    assert package_of(path) == package


def test_the_program_fails_on_a_finding_and_on_an_exception_that_covers_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(source: str, *allowed: Allowed) -> tuple[int, str]:
        monkeypatch.setattr(program, "ROOT", repository(tmp_path, a=source))
        monkeypatch.setattr(program, "read_list", lambda: only(WORDS, *allowed))
        monkeypatch.setattr(program, "read_glossary", lambda: SMALL)
        monkeypatch.setattr("sys.argv", ["words"])
        status = program.main()
        return status, capsys.readouterr().out.splitlines()[-1]

    assert run('"""Fine."""\n') == (0, "words: 0 banned constructions, 0 glossary identifiers left")
    assert run('"""Nobody."""\n') == (1, "words: 1 banned constructions, 0 glossary identifiers left")
    assert run('"""Nobody knows."""\n') == (1, "words: 1 banned constructions, 0 glossary identifiers left")
    assert run("ward = 1\n") == (1, "words: 0 banned constructions, 1 glossary identifiers left")
    unused = Allowed("src/a.py", "Nobody knows", "an example")
    assert run('"""Fine."""\n', unused) == (1, "words: 0 banned constructions, 0 glossary identifiers left")


def test_paths_limit_the_search(tmp_path: Path) -> None:
    folder = repository(
        tmp_path, a='"""Nobody knows."""\n\nward = 1\n', b='"""Nobody knows."""\n\nward = 1\n'
    )
    banned = find_banned(folder, only(WORDS), ("src/b",)).findings
    names = find_old_names(folder, SMALL, ("src/b",)).findings
    assert {one.path for one in (*banned, *names)} == {"src/b.py"}
    assert (len(banned), len(names)) == (1, 1)
