"""The output for a drill equals the reviewed text, and JSON has the same data."""

import json

import pytest

from nodemend.api.agent import LastReset
from nodemend.cli.drill import Outcome, drilled_view
from nodemend.cli.options import Form
from nodemend.cli.output import as_document
from nodemend.protocol.watchdog_drivers import SECOND, Drill, effective_time
from tests.unit.cli.drill.goldens import CASES, DRAINED, FOLDER, text


@pytest.mark.parametrize("name", CASES)
def test_the_text_is_the_one_that_was_read(name: str) -> None:
    assert text(name) == (FOLDER / f"{name}.txt").read_text()


def test_no_golden_is_left_over() -> None:
    assert {file.stem for file in FOLDER.iterdir()} == set(CASES)


def test_the_same_as_data() -> None:
    drilled = drilled_view(DRAINED, LastReset(boot_id="boot-1", lived_on=9.8), 131.0, "boot-2")
    found = json.loads(as_document(drilled, Form.JSON))

    assert (found["outcome"], found["resetAfterSeconds"], found["backAfterSeconds"]) == ("within", 9.8, 131.0)
    assert found["drill"]["effectiveSeconds"] == 10.0


@pytest.mark.parametrize(
    ("lived_on", "outcome"), [(10.0, Outcome.WITHIN), (10.001, Outcome.LATE), (0.0, Outcome.WITHIN)]
)
def test_the_drill_outcome_is_exact_to_the_second(lived_on: float, outcome: Outcome) -> None:
    assert drilled_view(DRAINED, LastReset(boot_id="boot-1", lived_on=lived_on), 1.0, "b").outcome is outcome


def test_the_line_for_its_settings_is_one_that_the_feeder_understands() -> None:
    drilled = drilled_view(DRAINED, LastReset(boot_id="boot-1", lived_on=19.94), 131.0, "boot-2")
    driver, written, milliseconds = drilled.setting.split(",")
    drill = Drill(driver, int(written), int(milliseconds) * SECOND // 1000)

    assert effective_time("iTCO_wdt", 5, drill) == 20_440 * SECOND // 1000
