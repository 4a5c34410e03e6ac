"""`kubectl mend run` and `override` for a person."""

from collections.abc import Iterator

from nodemend.cli.run.view import OrderedView, OrderView, TakenBackView
from nodemend.cli.words import quoted, spell_seconds


def render_preview(view: OrderView) -> Iterator[str]:
    """All that a person should know before they order it."""
    yield f"{view.node} {view.state}, by nhc/{view.check}."
    if view.before_by:
        yield f"Its remediation is ordered already, by {view.before_by}: {view.before_reason}"
        yield "That order would be replaced by yours."
    yield from (f"It would be held for now. {sentence}" for sentence in view.held[:1])
    if view.passed:
        yield "It would be let past what the guard says:"
        yield from (f"  {sentence}" for sentence in view.passed)
        yield "The guard says so because one cause may be behind all of it. Look for that first."


def render_ordered(view: OrderedView) -> Iterator[str]:
    order, verb = view.order, "override" if view.order.past_guard else "run"
    if view.dry_run:
        yield f"dry run: the API server would take the order of {order.by} to remediate {order.node} now."
        yield "Nothing was changed."
        yield f"Next: kubectl mend {verb} {order.node} --reason {quoted(order.reason)}"
        return
    past = ", past the guard" if order.past_guard else ""
    yield f"ordered by {order.by}: the remediation of {order.node}, now{past}: {order.reason}"
    if order.held:
        yield f"It is held for now. {order.held[0]}"
    else:
        yield "The checker looks at everything once more, and then begins."
    good_for = spell_seconds(order.good_for)
    yield f"The order is good for {good_for}, and is used up when the remediation is there."
    yield f"  undo, until then:  kubectl mend {verb} {order.node} --withdraw"
    yield f"Next: kubectl mend explain {order.node}"


def render_taken_back(view: TakenBackView) -> Iterator[str]:
    verb = "override" if view.past_guard else "run"
    if view.dry_run:
        yield f"dry run: the API server would take back the order of {view.by} to remediate {view.node}."
        yield "Nothing was changed."
        yield f"Next: kubectl mend {verb} {view.node} --withdraw"
        return
    yield f"withdrawn: the order of {view.by} to remediate {view.node}: {view.reason}"
    yield "A remediation that it has begun by now goes on; kubectl mend stop ends it."
    yield f"  undo:  kubectl mend {verb} {view.node} --reason ..."
    yield f"Next: kubectl mend explain {view.node}"
