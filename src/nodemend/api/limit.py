"""Limits as people write them: a count, or a share in percent."""

from typing import Annotated

from nodemend.api.wire import Rule, about

LIMIT_FORM = Rule(
    "type(self) == int ? self >= 0 && self <= 100000"
    " : self.matches('^([0-9]{1,5}|([0-9]|[1-9][0-9]|100)%)$')",
    "must be a count such as 3, or a share from 0% to 100%, such as 40%",
)

Limit = Annotated[int | str, about("A count such as 3, or a share such as 40%.")]
