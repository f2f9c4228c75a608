"""What a session can be switched to, as both wires have it."""

from __future__ import annotations

from pydantic import Field

from .wire import Text, Wire


class ModelChoice(Wire):
    """A model that can be switched to."""

    id: str = Field(alias="modelId")
    name: Text = ""
    description: Text = ""


class ModeChoice(Wire):
    """A mode that can be switched to."""

    id: str
    name: Text = ""
    description: Text = ""


class OptionValue(Wire):
    """A value that an option can have."""

    value: str
    name: Text = ""
    description: Text = ""
