"""Resets one node on a person's explicit word, and times its watchdog."""
