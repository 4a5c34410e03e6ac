"""Exit codes by which an API check answers its caller. Any other code is a failure."""

CLEAN = 0
"""The Lease has no marker."""
MARKED = 3
"""The Lease has a marker for this boot."""
ABSENT = 4
"""There is no Lease."""
MARKED_FOR_ANOTHER_BOOT = 5
"""The Lease has a marker, and not for this boot."""
NO_NODE = 6
"""The Lease has no marker, and there is no Node of this name: its report belongs to a deleted Node."""
MARKED_FOR_DRILL = 7
"""The Lease has a drill's marker for this boot: only the watchdog may end it."""
STOPPED_GRACEFULLY = 8
"""The Lease has no marker, its agent stopped gracefully, and no agent pod exists that could publish this
boot."""
UNINSTALLED = 9
"""The Lease may not be read, and the API server serves no Nodemend kind: nothing can request the end of a
boot."""
NO_ANSWER = 10
"""The API server was not reached, did not answer in time, or cannot say now: nothing is known."""
TAKEN_OVER = 11
"""The Lease has no marker, and an agent of this boot has published there: the boot gate adds nothing."""
FAILED = 1
