"""What agents say to one another.

Who asks is proved by a certificate, not by words: a node can ask about itself alone. An answer repeats what
it is about, and a number that nobody could know before, so that none can be kept and shown again.
"""

from typing import Annotated, Final

import msgspec

from nodemend.api.value_forms import BootId, Uid
from nodemend.api.wire import Wire
from nodemend.decide.peer_verdict import Answer
from nodemend.kube.json_decoding import UNREADABLE, decoder_of

PATH: Final = "/v1/marker"
LONGEST: Final = 4096
"""Bytes of a question or an answer."""


_Nonce = Annotated[str, msgspec.Meta(min_length=1, max_length=128)]


class PeerQuestion(Wire):
    """Is there a marker for this boot of mine?"""

    nonce: _Nonce
    node_uid: Uid = msgspec.field(name="nodeUID")
    boot_id: BootId = msgspec.field(name="bootID")


class PeerAnswer(Wire):
    nonce: _Nonce
    node_uid: Uid = msgspec.field(name="nodeUID")
    boot_id: BootId = msgspec.field(name="bootID")
    answer: Answer


def answer_to(question: PeerQuestion, answer: Answer) -> PeerAnswer:
    return PeerAnswer(
        nonce=question.nonce, node_uid=question.node_uid, boot_id=question.boot_id, answer=answer
    )


def read_question(body: bytes) -> PeerQuestion | None:
    """None for whatever is not one."""
    try:
        return decoder_of(PeerQuestion).decode(body)
    except UNREADABLE:
        return None


def read_answer(body: bytes, question: PeerQuestion) -> Answer:
    """SILENT unless it is an answer to this very question."""
    try:
        found = decoder_of(PeerAnswer).decode(body)
    except UNREADABLE:
        return Answer.SILENT
    return found.answer if found == answer_to(question, found.answer) else Answer.SILENT
