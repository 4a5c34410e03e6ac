import pytest

from simulation.api_server.selectors import Filter, parse_fields, parse_labels
from simulation.api_server.statuses import Refusal

LABELS = {"app": "a", "example.com/tier": "x"}


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("", True),
        ("app=a", True),
        ("app==b", False),
        ("app!=b", True),
        ("none!=b", True),
        ("app in (a, b)", True),
        ("app notin (a)", False),
        ("none notin (a)", True),
        ("example.com/tier", True),
        ("!example.com/tier", False),
        ("!none,app=a", True),
        ("app=a,example.com/tier=y", False),
    ],
)
def test_labels_are_selected(text: str, matches: bool) -> None:
    chosen = Filter(labels=parse_labels(text))

    assert chosen.matches({"metadata": {"labels": LABELS}}) is matches


@pytest.mark.parametrize("text", ["app in a", "app=a b", "!app=a", "=a", "app in (a"])
def test_what_is_no_label_selector_is_refused(text: str) -> None:
    with pytest.raises(Refusal):
        parse_labels(text)


def test_fields_are_selected() -> None:
    selectable = {"spec.nodeName": lambda pod: str(pod["spec"].get("nodeName", ""))}
    chosen = Filter(terms=parse_fields("spec.nodeName=n1,spec.nodeName!=n2"), selectable=selectable)

    assert chosen.matches({"spec": {"nodeName": "n1"}})
    assert not chosen.matches({"spec": {}})
    with pytest.raises(Refusal):
        parse_fields("nonsense")
