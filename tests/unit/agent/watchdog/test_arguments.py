"""The feeder's command line."""

import pytest

from nodemend.agent.watchdog.main import WrongArgumentsError, evaluate_cpuinfo, parse_arguments
from nodemend.protocol.watchdog_drivers import SECOND, Drill, Machine, Physical, Undetermined, Virtual

PATHS = {name: f"/nowhere/{name}" for name in ("device", "lock", "lease", "permit", "status", "boot-id")}
NEEDED = [word for name, path in PATHS.items() for word in (f"--{name}", path)]


def test_missing_options_have_the_designed_defaults() -> None:
    given = parse_arguments(NEEDED)
    assert given.paths == PATHS
    times = (given.wanted_reset, given.lease_length, given.ping_every, given.check_every)
    assert times == (10 * SECOND, 35 * SECOND, 2 * SECOND, 5 * SECOND)
    assert (given.machine, given.drill, given.check) == (Undetermined(), None, ())


@pytest.mark.parametrize("name", PATHS)
def test_no_path_has_a_default(name: str) -> None:
    place = NEEDED.index(f"--{name}")
    with pytest.raises(WrongArgumentsError, match=f"missing: {name}"):
        parse_arguments(NEEDED[:place] + NEEDED[place + 2 :])


def test_every_option_can_be_set() -> None:
    said = ["--ping-every", "0.5", "--wanted-reset", "4", "--machine", "physical", "--sysrq", "/nowhere/s"]
    drill = ["--drill", "iTCO_wdt,30,61000"]
    given = parse_arguments([*NEEDED, *said, *drill, "--", "/bin/check", "--lock", "x"])
    assert (given.ping_every, given.wanted_reset, given.machine) == (SECOND // 2, 4 * SECOND, Physical())
    assert given.paths["sysrq"] == "/nowhere/s"
    assert given.drill == Drill("iTCO_wdt", 30, 61 * SECOND)
    assert given.check == ("/bin/check", "--lock", "x")


@pytest.mark.parametrize(
    "wrong",
    [
        ["--no-such", "1"],
        ["--device", "/nowhere/again"],
        ["--ping-every"],
        ["--ping-every", "soon"],
        ["--ping-every", "0"],
        ["--ping-every", "-1"],
        ["--ping-every", "1.0005"],
        ["--ping-every", "6"],
        ["--machine", "cloud"],
        ["--drill", "iTCO_wdt,30"],
        ["--drill", "iTCO_wdt,soon,1"],
        ["stray"],
    ],
)
def test_an_invalid_option_is_refused(wrong: list[str]) -> None:
    with pytest.raises(WrongArgumentsError):
        parse_arguments([*NEEDED, *wrong])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"processor: 0\nflags\t\t: fpu hypervisor lahf\n", Virtual()),
        (b"processor: 0\nflags\t\t: fpu lahf\nvmx flags: hypervisor\n", Physical()),
        (b"processor: 0\nflags\t\t: fpu lahf", Undetermined()),
        (b"processor: 0\nFeatures: fp asimd\n", Undetermined()),
        (b"", Undetermined()),
    ],
)
def test_whether_a_machine_is_virtual(text: bytes, expected: Machine) -> None:
    assert evaluate_cpuinfo(text) == expected


def test_a_recorder_command_is_split_into_arguments() -> None:
    assert parse_arguments([*NEEDED, "--recorder", "/bin/record --folder /var"]).recorder == (
        "/bin/record",
        "--folder",
        "/var",
    )
    assert parse_arguments(NEEDED).recorder == ()
