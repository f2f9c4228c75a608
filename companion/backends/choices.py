"""What a session can be switched to, as both wires have it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from pydantic import BeforeValidator, Field

from ..conversation.snapshot import Choice
from .wire import ShortText, Text, Wire, several


class _Offered(Wire):
    name: ShortText = ""
    description: ShortText = ""


class ModelChoice(_Offered):
    """A model that can be switched to."""

    id: str = Field(alias="modelId")


class ModeChoice(_Offered):
    """A mode that can be switched to."""

    id: str


class OptionValue(_Offered):
    """A value that an option can have."""

    id: str = Field(alias="value")


class OfferedModels(Wire):
    """The models of a session."""

    current: Text = Field(default="", alias="currentModelId")
    available: Annotated[
        tuple[ModelChoice, ...], BeforeValidator(several(ModelChoice)), Field(alias="availableModels")
    ] = ()


class OfferedModes(Wire):
    """The modes of a session."""

    current: Text = Field(default="", alias="currentModeId")
    available: Annotated[
        tuple[ModeChoice, ...], BeforeValidator(several(ModeChoice)), Field(alias="availableModes")
    ] = ()


def choices_of(offered: Iterable[ModelChoice | ModeChoice | OptionValue]) -> tuple[Choice, ...]:
    """What is offered, as the person sees it."""
    return tuple(Choice(each.id, each.name or each.id, each.description) for each in offered)
