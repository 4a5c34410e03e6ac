"""The shipped feeder in a Linux guest, with real drivers of emulated watchdogs: does it reset in time?"""
