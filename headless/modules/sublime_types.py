"""The module `sublime_types`."""

from __future__ import annotations

from headless.api.types import (
    DIP as DIP,
)
from headless.api.types import (
    CommandArgs as CommandArgs,
)
from headless.api.types import (
    CompletionValue as CompletionValue,
)
from headless.api.types import (
    Event as Event,
)
from headless.api.types import (
    Kind as Kind,
)
from headless.api.types import (
    Point as Point,
)
from headless.api.types import (
    Value as Value,
)
from headless.api.types import (
    Vector as Vector,
)

__all__ = [
    "DIP", "CommandArgs", "CompletionValue", "Event", "Kind", "Point", "Value", "Vector",
]  # fmt: skip
