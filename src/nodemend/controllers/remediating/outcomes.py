"""What follows from the answer to a write."""

from typing import Final

from nodemend.kube.api_outcome import Acknowledged, Ok, Reason, Refused, Undecodable, Unknown, WriteOutcome
from nodemend.kube.api_reply import Unsent
from nodemend.kube.reconcile_loop import Outcome, RequeueAfter, Retry

AT_ONCE: Final = RequeueAfter(0.0)
LOOK_AGAIN: Final = 10.0
LOOK_SOON: Final = 2.0


def after_write(outcome: WriteOutcome[Acknowledged], then: RequeueAfter) -> Outcome:
    """`then` when it was written.

    When somebody wrote first, what we decided on is out of date: all is read anew, and no write is retried.
    """
    match outcome:
        case Ok():
            return then
        case Refused(reason=Reason.CONFLICT | Reason.ALREADY_EXISTS | Reason.NOT_FOUND):
            return AT_ONCE
        case Unknown(why) | Undecodable(why) | Unsent(why) | Refused(message=why):
            return Retry(why)
