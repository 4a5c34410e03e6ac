"""Findings of attacks on the product, and the tests that replay each of them."""
