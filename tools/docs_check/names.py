"""Names in code spans: files, modules, recipes, alerts, metrics, events, settings, values of the chart."""

import re
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from os.path import normpath
from pathlib import Path
from typing import Any, Final

import yaml

from docs_check import foreign
from docs_check.commands import options
from docs_check.pages import Fault, Page
from nodemend.settings.agent import SETTINGS as AGENT_SETTINGS
from nodemend.settings.controller import SETTINGS
from nodemend.telemetry.event_reasons import EVENT_REASONS
from nodemend.telemetry.metrics import METRIC_NAMES

_FILE: Final = re.compile(r"^\.?[\w.*-]+(?:/[\w.*-]+)*/?(?:::\w+(?:\[[^]]*\])?)?$")
_MODULE: Final = re.compile(r"^nodemend(?:\.[a-z_]\w*)+$")
_PROGRAM: Final = re.compile(r"python3? (?:-W \w+ )?-m ([\w.]+)")
_RECIPE: Final = re.compile(r"(?:^|[\s(])just ([a-z][\w-]*)")
_EVENT: Final = re.compile(r"\bevents? `([A-Z][A-Za-z]+)`|`([A-Z][A-Za-z]+)` events?\b")
_METRIC: Final = re.compile(r"^nodemend_[a-z0-9_]+$")
_PARTS: Final = ("_bucket", "_count", "_sum")
_ALERT: Final = re.compile(r"^Nodemend[A-Z]\w+$")
_VARIABLE: Final = re.compile(r"^(NODEMEND_[A-Z0-9_]+)(?:=.*)?$")
_IDENTIFIER: Final = re.compile(r"(?<![\w./-])[A-Za-z]+[a-z][A-Z][A-Za-z]+(?![\w/-])")
_OPTION: Final = re.compile(r"(?<![\w-])--[a-z][\w-]*")
_CODE: Final = ("src", "simulation", "deploy")
_PROGRAMS: Final = ("src", "simulation", "tests", "tools", "bench")
_CODE_SUFFIXES: Final = frozenset({".py", ".yaml", ".tpl", ".json", ".env", ".service", ".conf", ".txt"})
_VALUE: Final = re.compile(r"^[a-z][A-Za-z0-9]+(?:\.[a-z][A-Za-z0-9]+)+(?:=.*)?$")


@dataclass(frozen=True, slots=True)
class Known:
    """All existing names."""

    root: Path
    files: frozenset[str]
    """Tracked files and their folders, relative to the root."""
    file_names: frozenset[str]
    folders: frozenset[str]
    """The names of these folders, without their paths."""
    recipes: frozenset[str]
    alerts: frozenset[str]
    metrics: frozenset[str]
    events: frozenset[str]
    variables: frozenset[str]
    values: frozenset[str]
    """Settings of the chart, as paths with dots."""
    words: frozenset[str]
    """Every identifier of the code and of the deployed files."""
    options: frozenset[str]
    """Options of Nodemend's commands, programs and tools."""


def read_known(root: Path) -> Known:
    chart = root / "deploy" / "chart" / "nodemend"
    alerts = yaml.safe_load((chart / "files" / "alerts.yaml").read_text())["groups"]
    files = _files(root)
    host = (root / "deploy" / "host" / "host.env").read_text()
    return Known(
        root=root,
        files=files,
        file_names=frozenset(Path(one).name for one in files),
        folders=frozenset(Path(one).name for one in files if (root / one).is_dir()),
        recipes=frozenset(foreign.RECIPES)
        | frozenset(re.findall(r"^([a-z][\w-]*)(?: [^:\n]*)?:(?!=)", (root / "justfile").read_text(), re.M)),
        alerts=frozenset(rule["alert"] for group in alerts for rule in group["rules"] if "alert" in rule),
        metrics=frozenset(one.name for one in METRIC_NAMES),
        events=frozenset(one.name for one in EVENT_REASONS),
        variables=frozenset(one.variable for one in (*SETTINGS, *AGENT_SETTINGS))
        | frozenset(re.findall(r"NODEMEND_[A-Z0-9_]+", host)),
        values=frozenset(_paths(yaml.safe_load((chart / "values.yaml").read_text()))),
        words=frozenset(re.findall(r"\w+", _texts(root, _CODE))),
        options=options()
        | {one.flag for one in (*SETTINGS, *AGENT_SETTINGS)}
        | set(re.findall(r"[\"'](--[a-z][\w-]*)[\"'=]", _texts(root, _PROGRAMS))),
    )


def wrong_names(page: Page, known: Known) -> Iterator[Fault]:
    for span in page.spans():
        for check in _CHECKS:
            if wrong := check(span.text, page, known):
                yield Fault(page.path, span.line, wrong)
    for line, text in page.prose:
        for found in _EVENT.finditer(text):
            word = found[1] or found[2]
            if word not in known.events and word not in foreign.EVENTS:
                yield Fault(page.path, line, f"no such event: {word}")
    for block in page.blocks:
        recipes = re.findall(r"^\s*(?:\$ )?just ([a-z][\w-]*)", block.text, re.MULTILINE)
        values = re.findall(r"--set(?:-string)? ([\w.]+)=", block.text)
        for wrong in (
            *(f"no such recipe: just {recipe}" for recipe in recipes if recipe not in known.recipes),
            *(f"the chart has no such value: {value}" for value in values if value not in known.values),
        ):
            yield Fault(page.path, block.line, wrong)


def _file(text: str, page: Page, known: Known) -> str:
    if not _FILE.match(text):
        return ""
    written, _, test = text.partition("::")
    # A placeholder such as NODE stands for any name.
    path = re.sub(r"(?<![A-Za-z])[A-Z]{4,}(?![a-zA-Z.])", "*", written.rstrip("/"))
    missing = f"no such file: {text}"
    if "/" not in path:
        ours = path.endswith((".py", ".md")) and "*" not in path
        return missing if ours and path not in known.file_names else ""
    places = [place for place in _places(path, page) if place in known.files]
    if places:
        name = test.partition("[")[0]
        there = not name or f"def {name}(" in (known.root / places[0]).read_text()
        return "" if there else f"no such test: {text}"
    if "*" in path and any(any(known.root.glob(place)) for place in _places(path, page)):
        return ""
    if _defined_in_module(path, page, known):
        return ""
    # Keys of labels and kinds of APIs have slashes, too: only a text that begins with a folder of the
    # repository is a path.
    return missing if path.split("/")[0] in known.folders else ""


def _defined_in_module(path: str, page: Page, known: Known) -> bool:
    """True if it is `package/module.name`, and the module defines the name."""
    module, _, name = path.rpartition(".")
    return any(
        re.search(rf"^(?:async )?(?:def|class) {re.escape(name)}\b", (known.root / place).read_text(), re.M)
        for place in _places(module, page)
        if place in known.files and place.endswith(".py")
    )


def _places(path: str, page: Page) -> list[str]:
    """The possible bases of a path: the root, the page's folder, the source."""
    starts = (".", page.folder, "src", "src/nodemend", "docs", "tools")
    return [normpath(f"{start}/{path}{ending}") for start in starts for ending in ("", ".py")]


def _module(text: str, _page: Page, known: Known) -> str:
    if not _MODULE.match(text) or text.startswith("nodemend.io"):
        return ""
    path = "src/" + text.replace(".", "/")
    return "" if {path, f"{path}.py"} & known.files else f"no such module: {text}"


def _program(text: str, _page: Page, known: Known) -> str:
    for name in _PROGRAM.findall(text):
        path = name.replace(".", "/")
        places = {f"{start}{path}{end}" for start in ("", "tools/", "src/") for end in ("", ".py")}
        if not places & known.files and name not in ("venv", "pip", "http.server", "pytest"):
            return f"no such program: python -m {name}"
    return ""


def _recipe(text: str, _page: Page, known: Known) -> str:
    wrong = [recipe for recipe in _RECIPE.findall(text) if recipe not in known.recipes]
    return f"no such recipe: just {wrong[0]}" if wrong else ""


def _alert(text: str, _page: Page, known: Known) -> str:
    return f"no such alert: {text}" if _ALERT.match(text) and text not in known.alerts else ""


def _metric(text: str, _page: Page, known: Known) -> str:
    name = text.partition("{")[0]
    if not _METRIC.match(name):
        return ""
    names = {name, *(name.removesuffix(part) for part in _PARTS)}
    return "" if names & known.metrics else f"no such metric: {name}"


def _variable(text: str, _page: Page, known: Known) -> str:
    found = _VARIABLE.match(text)
    return f"no such setting: {found[1]}" if found and found[1] not in known.variables else ""


def _value(text: str, _page: Page, known: Known) -> str:
    name = text.partition("=")[0]
    if not _VALUE.match(text) or not any(one.split(".")[0] == name.split(".")[0] for one in known.values):
        return ""
    # `image.repository` is a value; `machines.deleteMachines` is a field of the policy.
    return "" if name in known.values else f"the chart has no such value: {name}"


def _identifier(text: str, _page: Page, known: Known) -> str:
    """Kinds, fields, conditions, reasons: a name that is not in the code was renamed or is mistyped."""
    for name in _IDENTIFIER.findall(text):
        snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
        if not {name, snake} & known.words and name not in foreign.NAMES | foreign.EVENTS:
            return f"no code names this: {name}"
    return ""


def _option(text: str, _page: Page, known: Known) -> str:
    wrong = [one for one in _OPTION.findall(text) if one not in known.options and one not in foreign.OPTIONS]
    return f"no such option: {wrong[0]}" if wrong else ""


_CHECKS: Final[tuple[Callable[[str, Page, Known], str], ...]] = (
    _file,
    _module,
    _program,
    _recipe,
    _alert,
    _metric,
    _variable,
    _value,
    _identifier,
    _option,
)


def _texts(root: Path, folders: tuple[str, ...]) -> str:
    files = (file for folder in folders for file in sorted((root / folder).rglob("*")))
    return "\n".join(
        file.read_text(errors="replace") for file in files if file.is_file() and file.suffix in _CODE_SUFFIXES
    )


def _files(root: Path) -> frozenset[str]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    files = [one for one in listed if (root / one).exists()]
    folders = {str(parent) for one in files for parent in Path(one).parents if str(parent) != "."}
    return frozenset(files) | folders


def _paths(values: dict[str, Any], prefix: str = "") -> Iterator[str]:
    for key, value in values.items():
        yield f"{prefix}{key}"
        if isinstance(value, dict):
            yield from _paths(value, f"{prefix}{key}.")
