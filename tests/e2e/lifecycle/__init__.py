"""[lifecycle] Upgraded, downgraded, uninstalled and installed again, with a power cycle at every phase."""
