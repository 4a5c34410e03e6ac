"""Self-fencing as text: summed up, and node by node on request."""

from pathlib import Path

from nodemend.cli.check.assess import assess
from nodemend.cli.check.view import MOST_REASONS, FencingView, ReasonRow, render, render_reasons
from nodemend.safety.facts import Present
from tests.unit.cli.check.fencing_cluster import GUEST, NODES, SOFTDOG, agent, fencing_facts

WEAK = fencing_facts(
    agents=Present(
        [
            agent(NODES[0]),
            agent(NODES[1], watchdog=SOFTDOG, version="0.3.9"),
            agent(NODES[2], watchdog=GUEST),
            agent(NODES[3], ago=192.0),
        ]
    )
)


GOLDEN = Path(__file__).with_name("golden") / "self_fencing.txt"


def text(*, by_node: bool) -> str:
    lines = list(render(assess(WEAK), by_node=by_node))
    return "\n".join(lines[lines.index("self-fencing") :]) + "\n"


def test_the_text_is_the_one_that_was_read() -> None:
    """`python -m tests.unit.cli.check.test_fencing_text` rewrites the text."""
    assert text(by_node=True) == GOLDEN.read_text()


def test_nodes_have_their_own_rows_only_on_request() -> None:
    few, all_ = text(by_node=False), text(by_node=True)

    assert "WHY NOT BY TIME" in few
    assert "BY-TIME" not in few
    assert [line.split()[0] for line in all_.splitlines() if line.startswith("edge-")] == list(NODES)


def test_only_the_most_frequent_reasons_are_listed_and_the_rest_is_counted() -> None:
    reasons = tuple(
        ReasonRow(nodes=2, why=f"why {number}", to_change="", named=("a", "b"))
        for number in range(MOST_REASONS + 3)
    )
    lines = list(render_reasons(FencingView(reasons=reasons, nodes=())))

    assert lines[-1] == "6 more nodes for other reasons: kubectl mend check -o wide"
    assert len(lines) == MOST_REASONS + 2


if __name__ == "__main__":
    GOLDEN.parent.mkdir(exist_ok=True)
    GOLDEN.write_text(text(by_node=True))
