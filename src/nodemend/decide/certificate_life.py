"""What the rest of a certificate's life is worth: whether a node may still count on its peers' answers.

Whoever shows a certificate that is over is answered by nobody. A node that has promised to end itself where
nobody answers would then end for want of a certificate, and all of them together if the API server fails for
all. So long before that it publishes that it has no peers, and thereby promises nothing (decision 52).
"""

from enum import StrEnum
from typing import Final

RENEWED_AFTER: Final = 1 / 4
"""Of a life, at the latest. What is left then is how long an API server may be down for all: meanwhile nobody
gets a certificate, and nobody can take a promise back."""
AGING_SHARE: Final = 2 / 3
"""Of a life: less than that is left by nobody's plan."""
ENDING_SHARE: Final = 1 / 2
"""Of a life. So long the API server may be down at the very least, whatever went wrong before."""


class CertificateStanding(StrEnum):
    FRESH = "fresh"
    AGING = "aging"
    """It should have been replaced, and people should look why it was not."""
    ENDING = "ending"
    """Nothing is promised that rests on it any more."""
    OVER = "over"

    @property
    def lasts(self) -> bool:
        """Whether a node with it counts on its peers, and they on it."""
        return self in (CertificateStanding.FRESH, CertificateStanding.AGING)


def judge_certificate(life: float, left: float, feed_lease: float) -> CertificateStanding:
    """Seconds, all of them. `feed_lease` is G: for so long the node may live without a look of its own."""
    if left <= 0:
        return CertificateStanding.OVER
    if left <= max(life * ENDING_SHARE, feed_lease):
        return CertificateStanding.ENDING
    return CertificateStanding.AGING if left <= life * AGING_SHARE else CertificateStanding.FRESH
