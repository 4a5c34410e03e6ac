"""Behaviors that users of related projects rely on, row by row, with the tests that check each row.

The rows are data (`tables/`). A test names its rows with `@pytest.mark.conforms("N7")`, a scenario with a
line `# conforms N16`. `python -m conformance` runs these tests and writes docs/reference/conformance.md.
"""
