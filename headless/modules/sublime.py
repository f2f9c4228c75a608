"""The module `sublime`."""

from __future__ import annotations

from headless.api.command_text import (
    command_url as command_url,
    format_command as format_command,
    html_format_command as html_format_command,
)
from headless.api import flags as _flags, functions as _functions, logging as _logging
from headless.api.functions import FileTooLargeError as FileTooLargeError
from headless.api.items import (
    CompletionItem as CompletionItem,
    CompletionList as CompletionList,
    ContextStackFrame as ContextStackFrame,
    Html as Html,
    ListInputItem as ListInputItem,
    Phantom as Phantom,
    PhantomSet as PhantomSet,
    QuickPanelItem as QuickPanelItem,
    SymbolLocation as SymbolLocation,
    SymbolRegion as SymbolRegion,
    Syntax as Syntax,
)
from headless.api.region import (
    Edit as Edit,
    HistoricPosition as HistoricPosition,
    Region as Region,
    TextChange as TextChange,
)
from headless.api.selection import Selection as Selection
from headless.api.settings import Settings as Settings
from headless.api.sheet import (
    Buffer as Buffer,
    HtmlSheet as HtmlSheet,
    ImageSheet as ImageSheet,
    Sheet as Sheet,
    TextSheet as TextSheet,
)
from headless.api.types import (
    DIP as DIP,
    CommandArgs as CommandArgs,
    CompletionValue as CompletionValue,
    Kind as Kind,
    Point as Point,
    Value as Value,
    Vector as Vector,
)
from headless.api.view import View as View
from headless.api.window import Window as Window

for _module in (_flags, _functions, _logging):
    for _name, _value in vars(_module).items():
        _own = getattr(_value, "__module__", None) == _module.__name__
        _constant = _module is _flags and _name.isupper() and _name != "TYPE_CHECKING"
        if not _name.startswith("_") and (_own or _constant):
            globals()[_name] = _value
