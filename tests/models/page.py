"""The tables of README.md, from the runs. `python -m tests.models.page` rewrites them."""

from collections.abc import Iterable
from pathlib import Path

from tests.models.full import FULL
from tests.models.mutants import MUTANTS
from tests.models.runs import HOLDING, REACHED, TIGHT, Run

README = Path(__file__).parent / "README.md"
BEGIN = "<!-- from here on made by `python -m tests.models.page` -->\n"


def table(title: str, runs: Iterable[Run]) -> str:
    rows = [f"| {run.name} | {run.model} | `{run.defines}` | {run.shows} |\n" for run in runs]
    return f"\n## {title}\n\n| name | model | defines | shows |\n|---|---|---|---|\n{''.join(rows)}"


def page(text: str) -> str:
    """The page with new tables; the text above them is written by hand."""
    tables = [
        table("What holds", HOLDING),
        table("What holds, in `full` only", FULL),
        table("One tick below", TIGHT),
        table("What must be reachable", REACHED),
        table("Mutants", MUTANTS),
    ]
    return text.partition(BEGIN)[0] + BEGIN + "".join(tables)


if __name__ == "__main__":
    README.write_text(page(README.read_text()))
