"""A Linux guest with real watchdogs: its image from Debian packages, and QEMU around it."""
