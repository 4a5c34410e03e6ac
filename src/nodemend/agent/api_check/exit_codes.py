"""How a check tells its answer to whoever started it: by its exit code. Any other code is a failure."""

CLEAN = 0
"""The Lease has no marker."""
MARKED = 3
"""It has one for this boot."""
ABSENT = 4
"""There is no Lease."""
MARKED_FOR_ANOTHER_BOOT = 5
"""It has one, and not for this boot."""
NO_NODE = 6
"""It has none, and there is no Node of that name: what was published was of one that is gone."""
MARKED_FOR_DRILL = 7
"""It has one for this boot, whose watchdog alone is to end it: a drill."""
STOOD_DOWN = 8
"""It has none, its agent was stopped and said so, and none is there that could publish this boot."""
UNINSTALLED = 9
"""It may not be read, and the API server serves no kind of ours: nobody can ask for the end of any boot."""
NO_ANSWER = 10
"""The API server could not be asked, said nothing in time, or that it cannot tell now: nothing is known."""
TAKEN_OVER = 11
"""It has none, and an agent of this boot has published there: the boot gate adds nothing."""
FAILED = 1
