"""The module `sublime`."""
# ruff: noqa: F401 - what it imports is what it offers

from __future__ import annotations

from headless.api import flags as _flags
from headless.api import functions as _functions
from headless.api import logging as _logging
from headless.api.command_text import command_url, format_command, html_format_command
from headless.api.functions import FileTooLargeError, _buffers
from headless.api.items import (
    CompletionItem,
    CompletionList,
    ContextStackFrame,
    Html,
    ListInputItem,
    Phantom,
    PhantomSet,
    QuickPanelItem,
    SymbolLocation,
    SymbolRegion,
    Syntax,
)
from headless.api.region import Edit, HistoricPosition, Region, TextChange
from headless.api.selection import Selection
from headless.api.settings import Settings
from headless.api.sheet import Buffer, HtmlSheet, ImageSheet, Sheet, TextSheet
from headless.api.types import DIP, CommandArgs, CompletionValue, Kind, Point, Value, Vector
from headless.api.view import View
from headless.api.window import Window

for _module in (_flags, _functions, _logging):
    for _name, _value in vars(_module).items():
        _own = getattr(_value, "__module__", None) == _module.__name__
        _constant = _module is _flags and _name.isupper() and _name != "TYPE_CHECKING"
        if not _name.startswith("_") and (_own or _constant):
            globals()[_name] = _value
