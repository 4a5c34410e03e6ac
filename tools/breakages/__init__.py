"""Breaks the project on purpose, in a copy, and sees whether CI notices."""
