"""A form that an agent has the person fill in: its fields, what they take, and what is wrong with a value.

Standard library alone: the screen checks what is entered as it is entered.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Literal
from urllib.parse import urlsplit

from ..visible import host_of

Value = str | int | float | bool | tuple[str, ...]
"""What a field holds."""
Values = Mapping[str, Value]
"""What a form holds, by the names of its fields. One that holds nothing is not there."""
FieldKind = Literal["string", "number", "integer", "boolean", "array"]

LARGEST = 2**63 - 1
"""The largest integer that the protocol has (docs/protocols/acp.md#elicitation)."""
_INTEGER = re.compile(r"[+-]?[0-9]{1,19}")
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_EMAIL = re.compile(r"[^@\s]+@[^@\s.]+(\.[^@\s.]+)*")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S+")


@dataclass(frozen=True, slots=True)
class FormChoice:
    """A value that a field offers."""

    id: str
    """The value itself."""
    name: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class FormField:
    """One field of a form."""

    name: str
    kind: FieldKind
    """As in the form's JSON schema. A string or an array with `choices` is picked from them."""
    title: str
    description: str = ""
    is_required: bool = False
    default: Value | None = None
    choices: tuple[FormChoice, ...] = ()
    least: float | None = None
    """The smallest number, the fewest characters, or the fewest choices."""
    most: float | None = None
    """The largest number, the most characters, or the most choices."""
    pattern: str = ""
    """A regular expression that a string has to match. Whoever sends the form checks it: it may be slow."""
    format: str = ""
    """email, uri, date, date-time, or something newer."""

    def read(self, text: str) -> Value:
        """The value that a person has written.

        Raises:
            ValueError: it is none of this kind. Its words say what it has to be.
        """
        if self.kind == "integer":
            if not _INTEGER.fullmatch(text.strip()):
                raise ValueError("Enter a whole number.")
            return int(text)
        if self.kind == "number":
            if not _NUMBER.fullmatch(text.strip()):
                raise ValueError("Enter a number.")
            return int(text) if _INTEGER.fullmatch(text.strip()) else float(text)
        return text

    def shown(self, value: Value | None) -> str:
        """A value as a person reads it; empty for none."""
        if value is None:
            return ""
        if isinstance(value, bool):
            return "Yes" if value else "No"
        names = {choice.id: choice.name for choice in self.choices}
        if isinstance(value, tuple):
            return ", ".join(names.get(each, each) for each in value)
        return names.get(value, value) if isinstance(value, str) else f"{value}"

    def problem(self, value: Value | None) -> str:
        """What is wrong with a value, as a sentence; empty if nothing is. None is no value."""
        if value is None or value in ("", ()):
            if self.is_required:
                return "It is required."
            return f"Choose at least {self.least:g}." if value == () and self.least else ""
        match self.kind:
            case "boolean":
                return "" if isinstance(value, bool) else "It is yes or no."
            case "number" | "integer":
                return self._number_problem(value)
            case "array":
                return self._several_problem(value)
            case _:
                return self._text_problem(value)

    def _number_problem(self, value: Value) -> str:
        if isinstance(value, bool) or not isinstance(value, int | float) or not is_finite(value):
            return "Enter a number."
        if self.kind == "integer" and not (isinstance(value, int) and -LARGEST <= value <= LARGEST):
            return "Enter a whole number."
        if self.least is not None and value < self.least:
            return f"It must be at least {_plain(self.least)}."
        if self.most is not None and value > self.most:
            return f"It must be at most {_plain(self.most)}."
        return ""

    def _several_problem(self, value: Value) -> str:
        known = {choice.id for choice in self.choices}
        if not isinstance(value, tuple) or not known.issuperset(value):
            return "Choose from the answers that are offered."
        if self.least is not None and len(value) < self.least:
            return f"Choose at least {_plain(self.least)}."
        if self.most is not None and len(value) > self.most:
            return f"Choose at most {_plain(self.most)}."
        return ""

    def _text_problem(self, value: Value) -> str:
        if not isinstance(value, str):
            return "Enter some text."
        if self.choices:
            known = {choice.id for choice in self.choices}
            return "" if value in known else "Choose one of the answers that are offered."
        if self.least is not None and len(value) < self.least:
            return f"Enter at least {_characters(self.least)}."
        if self.most is not None and len(value) > self.most:
            return f"Enter at most {_characters(self.most)}."
        return _format_problem(self.format, value)


@dataclass(frozen=True, slots=True)
class Form:
    """What an agent asks: fields to fill in, or a page to go to."""

    fields: tuple[FormField, ...] = ()
    page: str = ""
    """The address of the page; then there are no fields."""
    unknown: tuple[str, ...] = ()
    """The titles of required fields of a kind that isn't known: such a form can only be declined."""

    @property
    def host(self) -> str:
        """The host of the page as a browser looks it up; empty if the page is one that nobody is sent to."""
        return host_of(self.page)

    @property
    def is_asked(self) -> bool:
        """Whether there is something to enter or to open, rather than just a yes or a no."""
        return not self.unknown and bool(self.fields or self.page)

    @property
    def defaults(self) -> dict[str, Value]:
        """What the form holds before anything is entered."""
        return {field.name: field.default for field in self.fields if field.default is not None}

    def problems(self, values: Values) -> dict[str, str]:
        """What is wrong with the values, by the names of the fields."""
        found = {field.name: field.problem(values.get(field.name)) for field in self.fields}
        return {name: problem for name, problem in found.items() if problem}

    def field(self, name: str) -> FormField | None:
        """The field of a name."""
        return next((field for field in self.fields if field.name == name), None)


def is_finite(number: float) -> bool:
    """Whether a number is one that a float can be near to. An integer of the wire may have any size."""
    return abs(number) <= sys.float_info.max


def _plain(number: float) -> str:
    return str(int(number)) if float(number).is_integer() else str(number)


def _characters(number: float) -> str:
    return f"{_plain(number)} character{'s' * (number != 1)}"


def _format_problem(kind: str, text: str) -> str:
    """What is wrong with a text of a format. A format that isn't known is the agent's to check."""
    if kind not in _FORMATS:
        return ""
    is_one, advice = _FORMATS[kind]
    try:
        return "" if is_one(text) else advice
    except ValueError:
        return advice


def _is_date(text: str) -> bool:
    return bool(_DATE.fullmatch(text) and date.fromisoformat(text))


def _is_time(text: str) -> bool:
    return bool(_DATE.match(text) and text[10:11] in {"T", "t", " "} and datetime.fromisoformat(text))


def _is_address(text: str) -> bool:
    return bool(_URI.fullmatch(text) and urlsplit(text).scheme)


_FORMATS: Mapping[str, tuple[Callable[[str], bool], str]] = {
    "email": (lambda text: bool(_EMAIL.fullmatch(text)), "Enter an e-mail address, such as name@example.org."),
    "uri": (_is_address, "Enter an address, such as https://example.org."),
    "date": (_is_date, "Enter a date, such as 2026-01-31."),
    "date-time": (_is_time, "Enter a date and a time, such as 2026-01-31T09:30:00Z."),
}
"""By format: whether a text has it, and what to write."""
