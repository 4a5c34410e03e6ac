"""How soon a reflector may ask again, so that a sick server is never asked more than it can bear."""

from collections.abc import Callable

from nodemend.kube.backoff import Backoff


class RetryPace:
    """Counts what led nowhere since the last good period."""

    def __init__(self, backoff: Backoff, longest_quiet: float, chance: Callable[[], float]) -> None:
        self._backoff = backoff
        self._longest_quiet = longest_quiet
        self._chance = chance
        self._failures = 0

    def fail(self, *, relists: bool, quiet: float | None = None) -> float:
        """Seconds to wait after a failure. `quiet` is what the server asked for.

        A list is a request too: having to relist counts twice, else every turn would cost the server two
        requests at the price of one.
        """
        self._failures += 1
        delay = self._backoff.delay(self._failures, self._chance())
        if relists:
            self._failures += 1
        asked = min(quiet or 0.0, self._longest_quiet)
        return max(delay, asked * (1.0 + 0.1 * self._chance()))

    def recover(self) -> None:
        self._failures = 0
