"""Breaks the decision code on purpose, one small change at a time, and sees whether the tests notice."""
