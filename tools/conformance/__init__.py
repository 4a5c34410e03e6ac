"""What users of the neighbours rely on, row by row, with the tests of ours that hold each row.

The rows are data (`tables/`). A test names those that it holds by `@pytest.mark.conforms("N7")`, a scenario
by a line `# conforms N16`. `python -m conformance` runs these tests and writes docs/reference/conformance.md.
"""
