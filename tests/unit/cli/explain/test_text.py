"""The text output of `kubectl mend explain`."""

from nodemend.cli.explain.view import ExplainAnswer, ExplainQuestion, ExplainView, HoldView, render

VIEW = ExplainView(
    node="edge-07",
    health="Unhealthy",
    headline="edge-07 is under remediation, and held. Waiting for a person.",
    questions=(
        ExplainQuestion(
            key="watched", asked="watched by a check", answer=ExplainAnswer.YES, because="nhc/workers"
        ),
        ExplainQuestion(
            key="vouched", asked="confirmed to be down", answer=ExplainAnswer.HOLD, because="Waiting."
        ),
        ExplainQuestion(key="back", asked="back on a new boot", answer=ExplainAnswer.OPEN),
    ),
    held=HoldView(reason="WaitingForConfirmation", sentence="Waiting.", next_step="Switch it off."),
    notes=("A note that is long enough to be wrapped, " + "word " * 20,),
    next_step="Switch it off.",
)


def test_the_answer_first_then_the_reasons_then_what_to_do() -> None:
    assert "\n".join(render(VIEW)) == (
        "edge-07 is under remediation, and held. Waiting for a person.\n"
        "\n"
        "#   QUESTION               ANSWER   BECAUSE\n"
        "1   watched by a check     yes      nhc/workers\n"
        "2   confirmed to be down   HOLD     Waiting.\n"
        "3   back on a new boot     -\n"
        "\n"
        "A note that is long enough to be wrapped, word word word word word word word word word word word\n"
        "word word word word word word word word word\n"
        "Next: Switch it off."
    )
