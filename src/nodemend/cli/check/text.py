"""`kubectl mend check` for a person."""

from collections.abc import Iterator

from nodemend.cli.check.assess_fencing import GROUP
from nodemend.cli.check.fencing_text import render_nodes, render_reasons
from nodemend.cli.check.view import CheckView
from nodemend.decide.explanation import spell_count


def render(view: CheckView, *, by_node: bool = False) -> Iterator[str]:
    """`by_node` with a row for each node."""
    for group in view.groups:
        yield group.name
        for finding in group.findings:
            yield f"  {finding.level:<4}  {finding.text}"
            if finding.hint:
                yield f"          {finding.hint}"
        if group.name == GROUP and view.fencing is not None:
            yield from (f"        {line}" for line in render_reasons(view.fencing))
    yield ""
    if by_node and view.fencing is not None:
        yield from render_nodes(view.fencing)
        yield ""
    counts = (
        spell_count(view.failures, "failure"),
        spell_count(view.warnings, "warning"),
        f"{view.fine} fine",
    )
    yield f"{', '.join(counts)}. Nothing was changed."
    if view.failures or view.warnings:
        yield "See to what is above, and then verify it again."
        yield "Next: kubectl mend check"
    else:
        yield "Next: kubectl mend status"
