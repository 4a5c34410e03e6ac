"""`python -m guest`: builds the guest's image into the cache, or says what is missing."""

import sys
import time

from guest.image import GuestError, build


def main() -> int:
    began = time.monotonic()
    try:
        image = build()
    except GuestError as error:
        print(error, file=sys.stderr)
        return 1
    size = (image.root.stat().st_size + image.kernel.stat().st_size) / 1e6
    print(f"guest: {image.root.parent} ({size:.0f} MB) in {time.monotonic() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
