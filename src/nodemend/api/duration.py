"""A duration as a field of an API type."""

from typing import Annotated

from nodemend.api import name_formats
from nodemend.api.quantities import DURATION_PATTERN
from nodemend.api.wire import about

Duration = Annotated[
    str,
    about(
        "A duration, such as 5m.",
        pattern=DURATION_PATTERN,
        min_length=2,
        max_length=16,
        rules=(name_formats.DURATION,),
        example="7m",
    ),
]
