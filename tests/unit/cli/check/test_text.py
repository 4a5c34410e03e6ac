"""The text output of `kubectl mend check`."""

from nodemend.cli.check.view import Group, check_view, fail, ok, render, warn

FOUND = (
    Group(name="cluster", findings=(ok("server 1.36.3; need 1.33 or newer"),)),
    Group(
        name="checks",
        findings=(
            warn("nhc/workers watches the condition StorageReady, which none of its nodes reports"),
            fail("edge-07 has our taint", "kubectl taint node edge-07 x-"),
        ),
    ),
)


def test_groups_lines_hints_and_what_to_do_next() -> None:
    assert "\n".join(render(check_view(FOUND))) == (
        "cluster\n"
        "  ok    server 1.36.3; need 1.33 or newer\n"
        "checks\n"
        "  warn  nhc/workers watches the condition StorageReady, which none of its nodes reports\n"
        "  FAIL  edge-07 has our taint\n"
        "          kubectl taint node edge-07 x-\n"
        "\n"
        "1 failure, 1 warning, 1 fine. Nothing was changed.\n"
        "Fix the findings above, then run the check again.\n"
        "Next: kubectl mend check"
    )


def test_if_all_is_fine_the_next_step_is_the_status() -> None:
    assert list(render(check_view(FOUND[:1])))[-1] == "Next: kubectl mend status"


def test_several_warnings_are_several() -> None:
    twice = Group(name="x", findings=(warn("a"), warn("b")))

    assert list(render(check_view((twice,))))[-3:] == [
        "0 failures, 2 warnings, 0 fine. Nothing was changed.",
        "Fix the findings above, then run the check again.",
        "Next: kubectl mend check",
    ]
