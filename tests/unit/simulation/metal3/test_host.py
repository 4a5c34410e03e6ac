"""The power state that a host's annotations request."""

import pytest

from simulation.metal3.host import Hold, Host

HARD, SOFT, FORCED = '{"mode":"hard"}', '{"mode":"soft"}', '{"mode":"hard","force":true}'


def host(annotations: dict[str, str]) -> Host:
    return Host({"metadata": {"name": "h", "namespace": "n", "annotations": annotations}})


@pytest.mark.parametrize(
    ("annotations", "hold"),
    [
        ({}, None),
        ({"reboot.metal3.io": ""}, Hold(hard=False)),
        ({"reboot.metal3.io/a": ""}, Hold(hard=False)),
        ({"reboot.metal3.io/a": SOFT, "reboot.metal3.io/b": HARD}, Hold(hard=True)),
        ({"reboot.metal3.io/a": "please"}, Hold(hard=False, unreadable=("reboot.metal3.io/a",))),
        ({"reboot.metal3.io/a": "[]"}, Hold(hard=False, unreadable=("reboot.metal3.io/a",))),
        ({"reboot.metal3.iox": HARD, "baremetalhost.metal3.io/paused": ""}, None),
    ],
)
def test_any_reboot_annotation_is_a_hold_and_any_hard_one_makes_it_hard(
    annotations: dict[str, str], hold: Hold | None
) -> None:
    assert host(annotations).hold(forced_only=False) == hold


def test_outside_of_use_only_forced_ones_count() -> None:
    assert host({"reboot.metal3.io/a": HARD}).hold(forced_only=True) is None
    assert host({"reboot.metal3.io/a": FORCED}).hold(forced_only=True) == Hold(hard=True)
