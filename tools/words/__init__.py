"""Plain English and the field's names, checked: banned constructions in prose, and old names in code."""
