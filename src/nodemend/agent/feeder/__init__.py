"""Feeds the watchdog while the feed lease lasts. Needs the standard library, and little of that."""
