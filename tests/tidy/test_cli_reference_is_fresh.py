"""The reference pages are up to date with the code. `python -m generate` regenerates them."""

from pathlib import Path

import pytest

from generate.cli_reference import reference_pages


@pytest.mark.parametrize("file", reference_pages(), ids=lambda file: file.name)
def test_the_page_is_that_of_the_code(file: Path) -> None:
    assert file.read_text() == reference_pages()[file]
