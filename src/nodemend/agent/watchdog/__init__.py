"""The feeder: a locked process that feeds the watchdog only while a feed lease is valid."""
