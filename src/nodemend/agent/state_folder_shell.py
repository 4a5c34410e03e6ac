"""`python3 -m nodemend.agent.state_folder_shell FOLDER USER`: makes the folder that the agent writes to.

Run as root before the agent, which is not: the feeder's own folder is root's, and nobody but the feeder may
write there.
"""

import contextlib
import os
import sys

_ONLY_ITS_OWNER = 0o700


def make_folder(path: str, user: int) -> None:
    """It is there and `user`'s alone when this returns. Raises OSError, also where it is no folder."""
    with contextlib.suppress(FileExistsError):
        os.mkdir(path, _ONLY_ITS_OWNER)
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        found = os.fstat(descriptor)
        if (found.st_uid, found.st_gid) != (user, user):
            # While it is still ours: root without other rights may change the mode of its own files alone.
            os.fchmod(descriptor, _ONLY_ITS_OWNER)
            os.fchown(descriptor, user, user)
    finally:
        os.close(descriptor)


def main(words: list[str]) -> int:
    path, user = words
    make_folder(path, int(user))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
