"""Models for the objects of a wire, and the kinds of their fields. What can't be read counts as missing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Annotated, Any, TypeVar, cast

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from ..conversation.snapshot import Choice
from ..json_text import as_list, as_object, as_text
from ..visible import blanked

M = TypeVar("M", bound="Wire")

MAX_DEPTH = 100
"""Levels of nesting of a tool's input and output. Deeper values would exhaust the recursion limit."""
MOST = 2**53 - 1
"""The largest number that JSON carries safely. What is larger is no number of lines or tokens."""
MOST_SHORT = 2000
"""Characters of a text that is shown on a line or in a list, such as a title or a step of a plan."""
MAX_NAME = 60
"""Characters of a name."""
MOST_ITEMS = 5000
"""Parts of one list or object of a message."""
MOST_PARTS = 100_000
"""Of a whole message."""
_TOO_DEEP = "(nested too deeply to be shown)"


class Wire(BaseModel):
    """A part of a message. Names are camelCase on the wire; null counts as missing."""

    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True, validate_by_alias=True, frozen=True)


def objects(value: object) -> list[dict[str, Any]]:
    """The objects in a list; none if it isn't one."""
    return [item for item in as_list(value) if isinstance(item, dict)]


def texts(value: object) -> tuple[str, ...]:
    """The texts in a list; none if it isn't one."""
    return tuple(item for item in as_list(value) if isinstance(item, str))


def as_id(value: object) -> str | None:
    """An id as a text, since some agents tell numbers; None where there is anything else."""
    return str(value) if type(value) is int and abs(value) <= MOST else value if isinstance(value, str) else None


def one_line(text: str, most: int) -> str:
    """A text for a person, on one line: without control characters, nor what turns or hides the text, and cut."""
    line = blanked(text[: 4 * most])
    return f"{line[: most - 1]}…" if len(line) > most else line


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) and abs(value) <= MOST else 0.0


def _name(value: object) -> str:
    return one_line(as_text(value), MAX_NAME)


def shallow(value: object) -> object:
    """A value that isn't nested too deeply, or words for it."""
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [inner for each in level for inner in _parts(each)]
        if not level:
            return value
    return _TOO_DEEP


def bounded(value: object) -> tuple[object, bool]:
    """A value with as many parts as can be shown, and whether that is less than all.

    This is the gate for whatever an agent sends: each decoder behind it may go through all that it gets. Texts are as
    long as they are, since a file is one; whoever shows a text cuts it.
    """
    left = MOST_PARTS

    def cut(value: object, depth: int) -> object:
        nonlocal left
        if not isinstance(value, dict | list) or not value:
            return cast("object", value)
        parts = cast("dict[str, object] | list[object]", value)
        if depth == 0:
            left = min(left, -1)
            return _TOO_DEEP
        some = min(len(parts), MOST_ITEMS, max(left, 0))
        left -= len(parts) if len(parts) <= MOST_ITEMS else MOST_PARTS + 1
        if isinstance(parts, dict):
            return {name: cut(each, depth - 1) for name, each in islice(parts.items(), some)}
        return [cut(each, depth - 1) for each in islice(parts, some)]

    found = cut(value, 4 * MAX_DEPTH)
    return found, left < 0


def _parts(value: object) -> Iterable[object]:
    return cast("dict[str, object]", value).values() if isinstance(value, dict) else as_list(value)


def shallow_object(value: object) -> dict[str, Any]:
    """A value as an object whose values aren't nested too deeply."""
    return {name: shallow(each) for name, each in as_object(value).items()}


def as_line(value: object) -> int | None:
    """A line from 1; None for anything else."""
    number = int(value) if isinstance(value, float) and value.is_integer() else value
    return number if type(number) is int and 0 < number <= MOST else None


def _unless_made_here(read: Callable[[object], object]) -> Callable[[object], object]:
    """Reads what comes from the wire, where there are no tuples."""
    return lambda value: cast("object", value) if isinstance(value, tuple) else read(value)


def count(value: object) -> int:
    """A number of something; 0 for anything else."""
    return value if type(value) is int and 0 < value <= MOST else 0


Count = Annotated[int, Field(ge=0, le=MOST)]
"""A number of something."""
AnyCount = Annotated[int, BeforeValidator(count)]
"""A number of something; 0 where there is anything else."""
Number = Annotated[float, BeforeValidator(_number)]
"""A number up to MOST; 0 where there is anything else."""
Object = Annotated[dict[str, Any], BeforeValidator(as_object)]
"""An object; empty where there is anything else."""
Name = Annotated[str, BeforeValidator(_name)]
"""A name that a person sees, in a dialog too; empty where there is anything else."""
Text = Annotated[str, BeforeValidator(as_text)]
"""A text; empty where there is anything else."""
Texts = Annotated[tuple[str, ...], BeforeValidator(_unless_made_here(texts))]
"""The texts of a list; none where there is anything else."""
ShortText = Annotated[str, BeforeValidator(lambda value: as_text(value)[:MOST_SHORT])]
"""A text that is shown on a line or in a list: its beginning; empty where there is anything else."""


def several(model: type[M]) -> Callable[[object], tuple[M, ...]]:
    """Reads the objects of a list. Those that don't fit the model are left out."""
    return lambda value: tuple(found for item in as_list(value) if (found := read(model, item)) is not None)


def read(model: type[M], value: object) -> M | None:
    """Read an object of the wire; None if it doesn't fit the model. A field that is null counts as missing."""
    if not isinstance(value, dict):
        return None
    fields = cast("dict[str, Any]", value)
    try:
        return model.model_validate({name: each for name, each in fields.items() if each is not None})
    except ValidationError:
        return None


def part(model: type[Wire]) -> BeforeValidator:
    """A part that counts as empty if it can't be read, unless it was made here."""
    return BeforeValidator(lambda value: value if isinstance(value, model) else read(model, value) or {})


def parts(model: type[Wire]) -> BeforeValidator:
    """The objects of a list that fit a model."""
    return BeforeValidator(_unless_made_here(several(model)))


class OfferedChoice(Wire):
    """A model, a mode, or a value of an option, that can be switched to."""

    id: str = Field(validation_alias=AliasChoices("modelId", "value", "id"))
    name: ShortText = ""
    description: ShortText = ""


class OfferedChoices(Wire):
    """The models or the modes of a session."""

    current: Text = Field(default="", validation_alias=AliasChoices("currentModelId", "currentModeId"))
    available: Annotated[
        tuple[OfferedChoice, ...],
        parts(OfferedChoice),
        Field(validation_alias=AliasChoices("availableModels", "availableModes")),
    ] = ()


Offered = Annotated[OfferedChoices, part(OfferedChoices)]
"""The models or the modes of a session; none where there is anything else."""


def _values(options: object) -> tuple[OfferedChoice, ...]:
    """The values of an option, which may be in groups."""
    found: list[OfferedChoice] = []
    for item in as_list(options):
        is_group = isinstance(as_object(item).get("options"), list)
        found += several(OfferedChoice)(item["options"] if is_group else [item])
    return tuple(found)


class ConfigOption(Wire):
    """A thing of the session that can be set."""

    id: str
    name: Text = ""
    description: Text = ""
    category: Text = ""
    """mode, model, thought_level, model_config, or something newer."""
    type: Text = "select"
    """select, boolean, or something newer."""
    current: str | bool = Field(default="", alias="currentValue")
    values: Annotated[tuple[OfferedChoice, ...], BeforeValidator(_values), Field(alias="options")] = ()


ConfigOptions = Annotated[tuple[ConfigOption, ...], parts(ConfigOption)]


def choices_of(offered: Iterable[OfferedChoice]) -> tuple[Choice, ...]:
    """What is offered, as the person sees it."""
    return tuple(Choice(each.id, each.name or each.id, each.description) for each in offered)
