"""No test can open the watchdog of the machine it runs on: only code for test guests names the device."""

from tests.tidy.source_tree import name_of, python_files

DEVICE = "/dev/" + "watchdog"
IN_A_GUEST = ("tests/e2e/watchdog/guest/", "tests/e2e/guests/guest/")


def test_the_device_is_named_only_in_what_runs_in_a_guest() -> None:
    named = [
        name_of(path)
        for path in python_files("src", "simulation", "tests", "tools", "bench")
        if DEVICE in path.read_text() and not name_of(path).startswith(IN_A_GUEST)
    ]
    assert not named


def test_what_runs_in_a_guest_is_started_by_nothing_else() -> None:
    """Guest code is copied into the image of the guest, and no other module imports it."""
    modules = [folder.replace("/", ".").rstrip(".") for folder in IN_A_GUEST]
    importing = [
        name_of(path)
        for path in python_files("src", "simulation", "tests", "tools", "bench")
        for module in modules
        if f"from {module}" in path.read_text() and not name_of(path).startswith(IN_A_GUEST)
    ]
    assert not importing
